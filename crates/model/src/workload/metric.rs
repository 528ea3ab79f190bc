//! What a workload measures, and what counts as a change.

use serde::{Deserialize, Serialize};

pub use blklab_stats::Better;

/// One measured quantity of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Unique in the workload.
    pub name: String,
    /// Where the value comes from.
    pub source: MetricSource,
    /// How the values of a load that runs on each disk become one; none for other loads.
    #[serde(default)]
    pub combine: Option<Combine>,
    /// Base unit of the value: `B/s`, `s`, `1/s`, `1` ...
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// Per cent; a smaller change does not matter.
    pub smallest_effect_pct: f64,
    /// Its place in the report.
    pub role: Role,
}

/// How the values of several disks become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Combine {
    /// All together: rates, counts.
    Sum,
    /// The disk on average.
    Mean,
    /// The slowest of rates, the first of times.
    Min,
    /// The last of times.
    Max,
}

impl Combine {
    /// One value from those of all disks; NaN without any.
    pub fn apply(self, values: &[f64]) -> f64 {
        let sum: f64 = values.iter().sum();
        match self {
            Combine::Sum if values.is_empty() => f64::NAN,
            Combine::Sum => sum,
            Combine::Mean => sum / values.len() as f64,
            Combine::Min => values.iter().copied().fold(f64::NAN, f64::min),
            Combine::Max => values.iter().copied().fold(f64::NAN, f64::max),
        }
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricSource {
    /// A field that a parser finds in the output of a load.
    Parsed {
        /// The load.
        load: String,
        /// The parser (`dd`, `fio`, `builtin`).
        parser: String,
        /// The field.
        field: String,
    },
    /// Seconds from the common start of the tasks to the end of this one, by the agent's clock.
    Elapsed {
        /// The task.
        load: String,
    },
    /// One metric over another, of the same trial.
    Ratio {
        /// Numerator.
        over: String,
        /// Denominator.
        under: String,
    },
}

/// The place of a metric in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The question: it decides the verdict of the cell.
    Primary,
    /// The other side of a trade-off: judged and shown beside.
    Background,
    /// Helps to understand: shown, not counted.
    Explaining,
}
