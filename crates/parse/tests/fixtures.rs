//! Every output under `fixtures/` is parsed and compared with its snapshot: a new file there is a new
//! test.

use std::{
    fs,
    path::{Path, PathBuf},
};

use blklab_parse::{ParseError, Parsed, Tool, check_field, parse};

#[test]
fn every_output_reads_as_before() {
    for tool in Tool::ALL {
        let files = files_of(tool);
        assert!(!files.is_empty(), "{tool} has no fixture");
        for file in files {
            let parsed = parse(tool, &fs::read(&file).unwrap());
            let name = file.file_name().unwrap().to_str().unwrap();
            let mut settings = insta::Settings::clone_current();
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings.bind(|| insta::assert_snapshot!(format!("{tool}/{name}"), page(tool, &parsed)));
        }
    }
}

#[test]
fn every_value_has_a_checked_name() {
    for tool in Tool::ALL {
        for file in files_of(tool) {
            let Ok(parsed) = parse(tool, &fs::read(&file).unwrap()) else {
                continue;
            };
            for field in parsed.values.keys() {
                check_field(tool, field).unwrap();
            }
        }
    }
}

/// Files, not the folder of job files.
fn files_of(tool: Tool) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(tool.name());
    let entries = fs::read_dir(&folder).expect("fixtures are readable").map(|entry| entry.expect("fixtures are readable").path());
    let mut files: Vec<_> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// Values with units, warnings with lines.
fn page(tool: Tool, parsed: &Result<Parsed, ParseError>) -> String {
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return format!("failed to {error}"),
    };
    let mut page = String::new();
    for (field, value) in &parsed.values {
        let unit = check_field(tool, field).expect("a field of the tool").unit;
        page += &format!("{field} = {} {unit}\n", rounded(*value));
    }
    for warning in &parsed.warnings {
        page += &format!("line {}: {}\n", warning.line, warning.message);
    }
    page
}

/// Seven digits: enough to see a change, few enough to read.
fn rounded(value: f64) -> f64 {
    format!("{value:.6e}").parse().expect("a printed number")
}
