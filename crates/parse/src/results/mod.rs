//! Results that exist already: what a file of any known format says, as series of one metric each.
//! Owns the common form that comparison and import read; knows no comparison, no lab, no files.
//!
//! A workload's output has one set of values and the lab knows the rest ([`crate::parse`]); a
//! result set found somewhere carries its own cells, labels, repetitions or summaries.

mod table;
mod tool;

use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;

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
    /// The output of one run of a tool.
    Tool(Tool),
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Table => "table",
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

/// The format of a file, by its beginning; none where no format is known. The name helps where formats look alike.
pub fn detect(_file_name: &str, head: &[u8]) -> Option<Format> {
    let text = String::from_utf8_lossy(head);
    if table::is_table(&text) {
        return Some(Format::Table);
    }
    if text.contains("\"fio version\"") || (text.contains("\"jobs\"") && text.contains("\"jobname\"")) {
        return Some(Format::Tool(Tool::Fio));
    }
    // dd prints little: its whole output is in the beginning.
    crate::parse(Tool::Dd, head).is_ok().then_some(Format::Tool(Tool::Dd))
}

/// Reads a file of a known format.
///
/// # Errors
/// [`ReadError`], where nothing of it can be used; what is odd besides is a warning of the result.
pub fn read(format: Format, _file_name: &str, input: impl BufRead) -> Result<ResultSet, ReadError> {
    match format {
        Format::Table => table::read(input),
        Format::Tool(one) => tool::read(one, input),
    }
}
