//! Foreign result files: each is known by its beginning, reads as before, and no damage to it makes a reader panic.

use std::{fs, path::Path};

use blklab_parse::results::{Data, ReadError, ResultSet, detect, read};
use proptest::prelude::*;

fn files() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures-results");
    let entries = fs::read_dir(folder).expect("fixtures are readable").map(|entry| entry.expect("fixtures are readable").path());
    let named = entries.map(|path| (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), path));
    let mut files: Vec<_> =
        named.filter(|(name, _)| name != "README.md").map(|(name, path)| (name, fs::read(path).unwrap_or_default())).collect();
    files.sort();
    files
}

fn read_as_detected(name: &str, bytes: &[u8]) -> Option<Result<ResultSet, ReadError>> {
    let format = detect(name, &bytes[..bytes.len().min(16 << 10)])?;
    Some(read(format, name, bytes))
}

/// A line for each series, then the warnings.
fn page(set: &ResultSet) -> String {
    let mut page = String::new();
    for series in &set.series {
        let cell: Vec<String> = series.cell.iter().map(|(column, value)| format!("{column}={value}")).collect();
        let data = match &series.data {
            Data::Values(values) => format!("{:?}", values.iter().map(|one| one.value).collect::<Vec<_>>()),
            Data::Summary(summary) => format!("mean {} of {:?}", summary.mean, summary.n),
        };
        let label = series.label.as_deref().unwrap_or("-");
        page += &format!("{label} | {} | {} [{}] {:?}: {data}\n", cell.join(", "), series.metric, series.unit, series.better);
    }
    for warning in &set.warnings {
        page += &format!("line {}: {}\n", warning.line, warning.message);
    }
    page
}

#[test]
fn every_file_reads_as_before() {
    for (name, bytes) in files() {
        let set = read_as_detected(&name, &bytes).expect(&name).expect(&name);
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format!("results/{name}"), page(&set)));
    }
}

#[test]
fn a_file_that_is_torn_is_an_error_with_a_line_or_what_is_there() {
    for (name, bytes) in files() {
        let torn = &bytes[..bytes.len() / 2];
        match read_as_detected(&name, torn) {
            None => {}
            Some(Ok(set)) => assert!(!set.series.is_empty(), "{name}"),
            Some(Err(error)) => assert!(error.to_string().starts_with("line "), "{name}: {error}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn no_damage_makes_a_reader_panic(file in 0usize..8, cut in 0.0..1.0f64, at in 0.0..1.0f64, noise in prop::collection::vec(any::<u8>(), 0..12)) {
        let files = files();
        let (name, mut bytes) = files[file % files.len()].clone();
        bytes.truncate((cut * bytes.len() as f64) as usize + 1);
        let place = (at * bytes.len() as f64) as usize;
        bytes.splice(place..place, noise);
        if let Some(Ok(set)) = read_as_detected(&name, &bytes) {
            for series in &set.series {
                if let Data::Values(values) = &series.data {
                    prop_assert!(values.iter().all(|one| one.value.is_finite()), "{series:?}");
                }
            }
        }
    }
}
