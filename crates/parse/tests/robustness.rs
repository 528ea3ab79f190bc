//! No input makes a parser panic or give a value that nothing could have measured: arbitrary bytes, and
//! real outputs that were cut, damaged, doubled and mixed.

use std::{fs, path::Path, sync::LazyLock};

use blklab_parse::{
    Tool, check_field,
    monitor::{parse_monitor, summarise},
    parse,
};
use proptest::prelude::*;

/// Every file under `fixtures/`, read once.
static FIXTURES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let folders = fs::read_dir(root).expect("fixtures are readable").map(|entry| entry.expect("fixtures are readable").path());
    let files = folders.filter(|path| path.is_dir()).flat_map(|folder| fs::read_dir(folder).expect("fixtures are readable"));
    let mut files: Vec<_> = files.map(|entry| entry.expect("fixtures are readable").path()).filter(|path| path.is_file()).collect();
    files.sort();
    files.into_iter().map(|path| fs::read(path).expect("fixtures are readable")).collect()
});

/// One change to an output; positions are shares of its length.
#[derive(Clone, Debug)]
enum Damage {
    Cut(f64),
    Drop(f64, f64),
    Double(f64, f64),
    Overwrite(f64, Vec<u8>),
    Insert(f64, String),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = || 0.0..1.0;
    prop_oneof![
        at().prop_map(Damage::Cut),
        (at(), at()).prop_map(|(a, b)| Damage::Drop(a, b)),
        (at(), at()).prop_map(|(a, b)| Damage::Double(a, b)),
        (at(), prop::collection::vec(any::<u8>(), 1..8)).prop_map(|(at, bytes)| Damage::Overwrite(at, bytes)),
        (at(), "[-{}\\[\\]\",:@0-9e+.\n\r nai]{1,12}").prop_map(|(at, text)| Damage::Insert(at, text)),
    ]
}

fn apply(mut output: Vec<u8>, damage: &Damage) -> Vec<u8> {
    let place = |share: &f64, output: &[u8]| (share * output.len() as f64) as usize;
    let span = |a: &f64, b: &f64, output: &[u8]| {
        let (a, b) = (place(a, output), place(b, output));
        a.min(b)..a.max(b)
    };
    match damage {
        Damage::Cut(at) => output.truncate(place(at, &output)),
        Damage::Drop(a, b) => {
            output.drain(span(a, b, &output));
        }
        Damage::Double(a, b) => {
            let copy = output[span(a, b, &output)].to_vec();
            let at = span(a, b, &output).end;
            output.splice(at..at, copy);
        }
        Damage::Overwrite(at, bytes) => {
            let at = place(at, &output);
            let end = (at + bytes.len()).min(output.len());
            output.splice(at..end, bytes.iter().copied());
        }
        Damage::Insert(at, text) => {
            let at = place(at, &output);
            output.splice(at..at, text.bytes());
        }
    }
    output
}

fn check(output: &[u8]) {
    for tool in Tool::ALL {
        match parse(tool, output) {
            Err(error) => assert!(error.to_string().contains("expected")),
            Ok(parsed) => {
                assert!(!parsed.values.is_empty());
                assert!(parsed.values.values().all(|value| value.is_finite() && *value >= 0.0));
                assert!(parsed.values.keys().all(|field| check_field(tool, field).is_ok()));
                assert!(parsed.warnings.len() <= 50);
                let lines = output.iter().filter(|&&byte| byte == b'\n').count() + 1;
                assert!(parsed.warnings.iter().all(|warning| (1..=lines).contains(&warning.line)));
            }
        }
    }
    let (records, warnings) = parse_monitor(output);
    assert!(warnings.len() <= 50);
    assert!(records.windows(2).all(|pair| pair[0].ms <= pair[1].ms));
    if let Some(summary) = summarise(&records, 0..=u64::MAX) {
        let rates = summary.disks.values().chain(summary.series.iter().flat_map(|part| part.disks.values()));
        for disk in rates {
            let numbers = [disk.read.iops, disk.write.bytes_per_second, disk.queue_mean, disk.util_pct];
            assert!(numbers.iter().all(|number| number.is_finite() && *number >= 0.0));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(output in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&output);
    }

    #[test]
    fn arbitrary_text(output in "[-+{}\\[\\]\",:@0-9eE. a-z/\r\n]{0,400}") {
        check(output.as_bytes());
    }

    #[test]
    fn damaged_outputs(which in any::<prop::sample::Index>(), damages in prop::collection::vec(damage(), 1..5)) {
        let output = which.get(&FIXTURES).clone();
        check(&damages.iter().fold(output, apply));
    }

    #[test]
    fn recordings_of_any_numbers(rows in prop::collection::vec(any::<(u64, [u64; 8], [u64; 17])>(), 0..8)) {
        let words = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let record = |(ms, cpu, disk): &(u64, [u64; 8], [u64; 17])| {
            format!("@ {ms}\ncpu {}\n8 0 sda {}\n", words(cpu), words(disk))
        };
        let mut rows = rows;
        rows.sort_by_key(|row| row.0);
        check(rows.iter().map(record).collect::<String>().as_bytes());
    }

    #[test]
    fn any_field_name(field in "[a-z._0-9{}#*é]{0,60}") {
        for tool in Tool::ALL {
            if let Err(error) = check_field(tool, &field) {
                prop_assert!(error.close.len() <= 3);
            }
        }
    }
}
