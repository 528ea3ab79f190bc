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
    /// Base unit of the value: `B/s`, `s`, `1/s`, `1` ...
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// Per cent; a smaller change does not matter.
    pub smallest_effect_pct: f64,
    /// Its place in the report.
    pub role: Role,
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
