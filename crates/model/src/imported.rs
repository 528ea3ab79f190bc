//! What an imported experiment says of itself: values that somebody else measured, in an order that nobody recorded. Knows words and
//! numbers; knows no files.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Marks an experiment as imported, and holds what its trials cannot.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Imported {
    /// What was read, in words.
    pub sources: Vec<String>,
    /// What was odd about it.
    pub warnings: Vec<String>,
    /// Series whose values of one round are pairs.
    pub paired: BTreeSet<(u32, String)>,
    /// What is known as summaries only, by cell, arm and metric.
    pub summaries: Vec<ImportedSummary>,
}

/// One metric of one arm of which only a summary is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedSummary {
    /// Number of the cell.
    pub cell: u32,
    /// Number of the arm.
    pub arm: u32,
    /// The metric.
    pub metric: String,
    /// The summary.
    pub of: PublishedSummary,
}

/// A summary as it was published, in the unit of the metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PublishedSummary {
    /// Number of runs, where it was published.
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

impl Imported {
    /// The summary of a metric of an arm.
    pub fn summary(&self, cell: u32, arm: u32, metric: &str) -> Option<PublishedSummary> {
        let is_it = |one: &&ImportedSummary| one.cell == cell && one.arm == arm && one.metric == metric;
        self.summaries.iter().find(is_it).map(|one| one.of)
    }
}
