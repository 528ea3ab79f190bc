//! What a reader sees at the end: one value from which page, text, JSON and CSV are rendered.
//!
//! [`build`](build::build) makes it from what the lab remembers; nothing in here is stored, so a better method judges old trials too.

pub mod build;
pub mod headline;
pub mod imported;
pub mod kernel;
pub mod order;
pub mod spread;
pub mod time;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use blklab_stats::{Comparison, Judgement, SummaryComparison};

use crate::disk::DiskFacts;
use crate::experiment::state::ExperimentState;
use crate::host::HostFacts;
use crate::id::{CellId, DiskClass, DiskId, ExperimentId, HostName, TrialId, WorkloadName};
use crate::imported::PublishedSummary;
use crate::kernel::Clock;
use crate::matrix::{CellKind, Impossible};
use crate::outcome::Failure;
use crate::record::{Boot, CpuUse};
use crate::time::TimestampMs;
use crate::workload::metric::{Better, Role};

pub use kernel::{KernelFaults, ReportKernel};
pub use order::{OrderComparison, OrderVerdict};
pub use spread::BootSpread;
pub use time::TimeSpent;

/// Everything about one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Its number.
    pub id: ExperimentId,
    /// Short name.
    pub name: String,
    /// One line.
    pub title: String,
    /// What a reader wants to know.
    pub question: String,
    /// Where the question comes from.
    pub source: String,
    /// Who asked.
    pub submitter: String,
    /// Where it is in its life.
    pub state: ExperimentState,
    /// When it was accepted, begun and over.
    pub created: TimestampMs,
    /// See `created`.
    pub started: Option<TimestampMs>,
    /// See `created`.
    pub finished: Option<TimestampMs>,
    /// Of all random choices.
    pub seed: u64,
    /// Planned rounds.
    pub rounds: u32,
    /// The compared axis (`scheduler`).
    pub axis: String,
    /// Label of the baseline.
    pub baseline: String,
    /// Labels of the candidates, in the order of the file.
    pub candidates: Vec<String>,
    /// What its times were measured by.
    #[serde(default)]
    pub clock: Clock,
    /// The kernels of the lab that it names, with their boots.
    #[serde(default)]
    pub kernels: Vec<ReportKernel>,
    /// Candidates under which the kernel failed, or stopped failing, worst first.
    #[serde(default)]
    pub kernel_faults: Vec<KernelFaults>,
    /// Finish orders over all cells, those least by chance first.
    #[serde(default)]
    pub finish_orders: Vec<OrderComparison>,
    /// What may make its values mean something else, each with a remedy.
    #[serde(default)]
    pub cautions: Vec<String>,
    /// Where the time went.
    #[serde(default)]
    pub time: TimeSpent,
    /// Runs of each boot; their mean is one replicate.
    #[serde(default = "one")]
    pub runs_per_boot: u32,
    /// How many would pay off, once boots with several runs have shown it.
    #[serde(default)]
    pub spread: Option<BootSpread>,
    /// Nominal level of a single comparison.
    pub alpha: f64,
    /// The verdict in one sentence.
    pub headline: String,
    /// How many comparisons ended how; primary and background metrics, A/A cells apart.
    pub counts: Counts,
    /// The same for A/A cells: each change here is a false alarm.
    pub aa_counts: Counts,
    /// False alarms to be expected among `counts` if nothing had changed.
    pub expected_false_alarms: f64,
    /// Trials by their end.
    pub trials: TrialCounts,
    /// Hosts that measured.
    pub hosts: Vec<ReportHost>,
    /// Disks that measured.
    pub disks: Vec<ReportDisk>,
    /// What was read, of an imported experiment; none of what the lab itself measured.
    #[serde(default)]
    pub imported: Option<ImportedFrom>,
    /// Cells in the order of the expansion.
    pub cells: Vec<CellReport>,
    /// What of the matrix could not be run.
    pub impossible: Vec<Impossible>,
}

fn one() -> u32 {
    1
}

/// Where imported values come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedFrom {
    /// What was read, in words.
    pub sources: Vec<String>,
    /// What was odd about it.
    pub warnings: Vec<String>,
}

/// Comparisons by kind of verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Suspected or confirmed regressions, variance regressions too.
    pub regressions: u32,
    /// Suspected or confirmed improvements.
    pub improvements: u32,
    /// Nothing changed within the smallest effect that matters.
    pub no_change: u32,
    /// More rounds could tell.
    pub inconclusive: u32,
    /// Too noisy to tell.
    pub unstable: u32,
    /// Nothing to judge: too few values, failed trials.
    pub no_test: u32,
}

/// Trials by their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TrialCounts {
    /// In the plan.
    pub planned: u32,
    /// With values.
    pub completed: u32,
    /// Without.
    pub failed: u32,
    /// Of a cancelled experiment.
    pub cancelled: u32,
}

/// A host of the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportHost {
    /// Its name.
    pub name: HostName,
    /// What it is.
    pub facts: HostFacts,
}

/// A disk of the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportDisk {
    /// Its host.
    pub host: HostName,
    /// Its id.
    pub id: DiskId,
    /// Its class.
    pub class: DiskClass,
    /// What it is.
    pub facts: DiskFacts,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellReport {
    /// Its number.
    pub id: CellId,
    /// What it is for.
    pub kind: CellKind,
    /// Its workload.
    pub workload: WorkloadName,
    /// One line about the workload.
    pub workload_title: String,
    /// Class of its disk.
    pub disk_class: DiskClass,
    /// Its host.
    pub host: HostName,
    /// Its disk.
    pub disks: Vec<DiskId>,
    /// Values of the varying axes by axis, without workload, disk class and the compared one.
    pub labels: BTreeMap<String, String>,
    /// Baseline first.
    pub arms: Vec<ArmReport>,
    /// For each candidate and metric.
    pub comparisons: Vec<ComparisonReport>,
    /// For each candidate and finish order of the workload.
    #[serde(default)]
    pub finish_orders: Vec<OrderComparison>,
    /// Its trials in run order.
    pub trials: Vec<TrialReport>,
}

/// One arm of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmReport {
    /// Value on the compared axis.
    pub label: String,
    /// What was set, in words, axis by axis.
    pub setting: Vec<(String, String)>,
    /// Trials with values.
    pub completed: u32,
    /// Trials without.
    pub failed: u32,
    /// Mean processor use of its completed trials.
    pub cpu: Option<CpuUse>,
    /// For each metric of the workload, in its order.
    pub series: Vec<Series>,
}

/// The values of one metric in one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// By round.
    pub points: Vec<Point>,
    /// In the place of points, where only a summary was published.
    #[serde(default)]
    pub summary: Option<PublishedSummary>,
}

/// One replicate: the value of a trial, or the mean of the logs of the runs of one boot, as a value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Its trial; the first one of several runs.
    pub trial: TrialId,
    /// Runs it is made of.
    #[serde(default = "one")]
    pub runs: u32,
    /// Its round, from 0.
    pub round: u32,
    /// Place of the trial among all of the cell, in the order in which they ran, from 0.
    pub order: u32,
    /// In the unit of the series.
    pub value: f64,
}

/// A candidate against the baseline in one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonReport {
    /// Number of the candidate's arm.
    pub arm: u32,
    /// Its label.
    pub candidate: String,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// Its place in the report.
    pub role: Role,
    /// Per cent; a smaller change does not matter.
    pub smallest_effect_pct: f64,
    /// Statistics; none when there was nothing to compare.
    pub comparison: Option<Comparison>,
    /// Statistics of summaries; none when values are known.
    #[serde(default)]
    pub summary: Option<SummaryComparison>,
    /// The verdict with its gates.
    pub judgement: Judgement,
    /// p adjusted over all primary and background comparisons of the report (Benjamini-Hochberg).
    pub adjusted_p: Option<f64>,
}

/// One trial of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialReport {
    /// Its number.
    pub id: TrialId,
    /// Its round, from 0.
    pub round: u32,
    /// Its run in the boot, from 0.
    #[serde(default)]
    pub run: u32,
    /// Its arm.
    pub arm: u32,
    /// Place in run order, from 0; none when it has not run.
    pub order: Option<u32>,
    /// `queued`, `running`, `completed`, `failed`, `cancelled`.
    pub state: String,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// When it began.
    pub started: Option<TimestampMs>,
    /// Attempts begun.
    pub attempt: u32,
    /// Value by metric.
    pub values: BTreeMap<String, f64>,
    /// Names of its raw outputs.
    pub outputs: Vec<String>,
    /// Remarks of the parsers.
    pub warnings: Vec<String>,
    /// Phases with their milliseconds.
    pub phases: Vec<(String, u64)>,
    /// What was read back.
    pub environment: Vec<(String, String)>,
    /// The boot it ran in; trials that share one are not independent of one another.
    #[serde(default)]
    pub boot: Option<Boot>,
}

impl Report {
    /// Is something worse: a value, or a kernel that fails where the baseline's does not?
    pub fn is_regression(&self) -> bool {
        self.counts.regressions > 0 || self.kernel_faults.iter().any(KernelFaults::is_regression)
    }
}
