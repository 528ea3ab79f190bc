//! Results that exist already: what a file of any known format says, as series of one metric each.
//! Owns the common form that comparison and import read; knows no comparison, no lab, no files.
//!
//! A workload's output has one set of values and the lab knows the rest ([`crate::parse`]); a
//! result set found somewhere carries its own cells, labels, repetitions or summaries.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Better, Warning};

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
