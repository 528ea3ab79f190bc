//! Results that exist already: what a file of any known format says, as series of one metric each.
//! Owns the common form that comparison and import read; knows no comparison, no lab, no files.
//!
//! A workload's output has one set of values and the lab knows the rest ([`crate::parse`]); a
//! result set found somewhere carries its own cells, labels, repetitions or summaries.

mod fio_log;
mod go_bench;
mod hyperfine;
mod iostat;
mod lkp;
mod phoronix;
mod table;
mod tool;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, Read as _};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Better, ParseError, Tool, Warning};

/// What one input says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultSet {
    /// In the order of the input; no two have the same label, cell and metric.
    pub series: Vec<Series>,
    /// What was odd, with its line.
    pub warnings: Vec<Warning>,
}

/// One metric of one cell under one label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What was compared, where the input says it: a kernel, a system, a commit. None: the file is
    /// one arm by itself.
    pub label: Option<String>,
    /// What was run, as column and value: `test` = `random read`, `disks` = `16`.
    pub cell: BTreeMap<String, String>,
    /// Name of the metric.
    pub metric: String,
    /// Unit of the values as printed after a number; base units (`s`, `B/s`) wherever the tool's are known.
    pub unit: String,
    /// Which way is better; none where the format does not say and the name is not known.
    pub better: Option<Better>,
    /// What is known of the repetitions.
    pub data: Data,
}

/// What is known of the repetitions of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Data {
    /// Every repetition, in the order of the input, finite.
    Values(Vec<Repetition>),
    /// A summary only.
    Summary(Summary),
}

/// One repetition.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repetition {
    /// The value in the series' unit.
    pub value: f64,
    /// The round it was taken in, where the input says so: base and candidate of one round are a pair.
    pub round: Option<u64>,
}

/// A published summary, in the series' unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of repetitions, where it was published.
    pub n: Option<u64>,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation with divisor n-1.
    pub sd: Option<f64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
}

/// A format that holds results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table in CSV; docs/compare.md has its columns.
    Table,
    /// A log of fio: bandwidth, operations or latencies of one job.
    FioLog,
    /// JSON of hyperfine.
    Hyperfine,
    /// Text of Go's benchmarks, as benchstat reads it.
    GoBench,
    /// `composite.xml` of the Phoronix Test Suite.
    Phoronix,
    /// JSON of the Linux Kernel Performance tests.
    Lkp,
    /// Text of iostat.
    Iostat,
    /// JSON of iostat.
    IostatJson,
    /// The output of one run of a tool.
    Tool(Tool),
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Table => "table",
            Format::FioLog => "fio log",
            Format::Hyperfine => "hyperfine",
            Format::GoBench => "Go benchmark",
            Format::Phoronix => "Phoronix",
            Format::Lkp => "LKP",
            Format::Iostat | Format::IostatJson => "iostat",
            Format::Tool(tool) => tool.name(),
        })
    }
}

/// Why a file cannot be read. Completes "failed to read FILE".
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file system said no.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A line is not what the format asks for.
    #[error("line {line}: {what}; {remedy}")]
    Line {
        /// From 1.
        line: usize,
        /// What is there.
        what: String,
        /// What would cure it.
        remedy: String,
    },
    /// It is no output of the tool.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

impl ReadError {
    pub(crate) fn at(line: usize, what: &str, remedy: &str) -> ReadError {
        ReadError::Line { line, what: what.to_owned(), remedy: remedy.to_owned() }
    }
}

/// The format of a file, by its beginning; none where no format is known. A name that holds that of a tool settles what the beginning
/// leaves open: some tools print their result at the end.
pub fn detect(file_name: &str, head: &[u8]) -> Option<Format> {
    let text = String::from_utf8_lossy(head);
    if table::is_table(&text) {
        return Some(Format::Table);
    }
    if fio_log::is_log(file_name, &text) {
        return Some(Format::FioLog);
    }
    if phoronix::is_composite(&text) {
        return Some(Format::Phoronix);
    }
    if iostat::is_json(&text) {
        return Some(Format::IostatJson);
    }
    if iostat::is_text(&text) {
        return Some(Format::Iostat);
    }
    if hyperfine::is_export(&text) {
        return Some(Format::Hyperfine);
    }
    if lkp::is_stats(&text) {
        return Some(Format::Lkp);
    }
    if go_bench::is_output(&text) {
        return Some(Format::GoBench);
    }
    if text.contains("\"fio version\"") || (text.contains("\"jobs\"") && text.contains("\"jobname\"")) {
        return Some(Format::Tool(Tool::Fio));
    }
    let printed = PRINTED.into_iter().find(|tool| crate::parse(*tool, head).is_ok());
    let name = file_name.to_ascii_lowercase().replace(['-', '+'], "_");
    let named = || PRINTED.into_iter().find(|tool| name.contains(&tool.name().replace(['-', '+'], "_")));
    printed.or_else(named).map(Format::Tool)
}

/// Tools whose output is told by what it says. dd comes last: it says least.
const PRINTED: [Tool; 9] =
    [Tool::Builtin, Tool::Iozone, Tool::FsMark, Tool::Dbench, Tool::Postmark, Tool::Bonnie, Tool::Hdparm, Tool::Pgbench, Tool::Dd];

/// Reads a file of a known format.
///
/// # Errors
/// [`ReadError`], where nothing of it can be used; what is odd besides is a warning of the result.
pub fn read(format: Format, file_name: &str, input: impl BufRead) -> Result<ResultSet, ReadError> {
    match format {
        Format::Table => table::read(input),
        Format::FioLog => fio_log::read(file_name, input),
        Format::Hyperfine => hyperfine::read(&whole(input)?),
        Format::GoBench => go_bench::read(&whole(input)?),
        Format::Phoronix => phoronix::read(&whole(input)?),
        Format::Lkp => lkp::read(file_name, &whole(input)?),
        Format::Iostat => iostat::read_text(&whole(input)?),
        Format::IostatJson => iostat::read_json(&whole(input)?),
        Format::Tool(one) => tool::read(one, input),
    }
}

/// The text of a format that is read at once.
fn whole(input: impl BufRead) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    let read = input.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if read as u64 > MAX_BYTES {
        return Err(ReadError::at(1, "more than 256 MiB", "split it, or summarise it in a table"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// An input that is read as a whole: JSON of fio with all its jobs has a few megabytes.
const MAX_BYTES: u64 = 256 << 20;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Every output that a parser reads is known by its beginning, whatever the file is called.
    #[test]
    fn outputs_of_tools_are_told_apart() {
        let mut checked = 0;
        for tool in Tool::ALL {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(tool.name());
            let Ok(entries) = std::fs::read_dir(&folder) else { panic!("{}", folder.display()) };
            for entry in entries {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    continue;
                }
                let bytes = std::fs::read(&path).unwrap();
                if crate::parse(tool, &bytes).is_ok() {
                    let head = &bytes[..bytes.len().min(16 * 1024)];
                    assert_eq!(detect("x", head), Some(Format::Tool(tool)), "{}", path.display());
                    checked += 1;
                }
            }
        }
        assert!(checked > 40, "{checked}");
    }

    #[test]
    fn other_files_are_in_no_format() {
        for text in ["", "# Notes\n\nnothing to see\n", "{\"a\": 1}", "a,b,c\n1,2,3\n", "\u{0}\u{1}"] {
            assert_eq!(detect("notes.md", text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(detect("run-1.dbench.txt", b"waiting\n"), Some(Format::Tool(Tool::Dbench)));
    }

    proptest::proptest! {
        /// Whatever a file holds and whatever it is called, reading it ends without a panic and gives finite values.
        #[test]
        fn any_input_is_read_or_refused(text in "[\\x00-\\x7f\u{e4}]{0,300}", table in "(metric|value|mean|kernel|n|sd|,|\"|\n|1|-|e|x){0,60}", log in "([0-9]{0,22}|,| |\n){0,60}") {
            for (name, text) in [("x.csv", &text), ("x.csv", &table), ("x_clat.1.log", &log), ("a_bw.log", &text)] {
                for format in [Format::Table, Format::FioLog, Format::Tool(Tool::Fio), Format::Tool(Tool::Dd)] {
                    let _ = detect(name, text.as_bytes());
                    let Ok(set) = read(format, name, text.as_bytes()) else { continue };
                    for series in &set.series {
                        if let Data::Values(values) = &series.data {
                            proptest::prop_assert!(values.iter().all(|one| one.value.is_finite()));
                        }
                    }
                }
            }
        }
    }
}
