//! Experiments: a question, a matrix, a number of rounds. [`mod@file`] reads the TOML form, [`state`] is their life.

pub mod axis;
pub mod file;
pub mod state;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::filesystem::Filesystem;
use crate::id::{DiskClass, WorkloadName};
use crate::kernel::{Clock, Kernel};
use crate::scheduler::{QueueTunables, Scheduler};
use axis::Axis;

/// An experiment as its file describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Short name; many experiments may share it.
    pub name: String,
    /// One line.
    pub title: String,
    /// What a reader wants to know.
    pub question: String,
    /// Where the question comes from.
    pub source: String,
    /// The axis whose values are compared inside a cell.
    pub compare: Axis,
    /// The value that the others are compared with.
    pub baseline: String,
    /// Passes over all arms of each cell.
    pub rounds: u32,
    /// Times that each boot measures all of its cells, one after the other. The mean of their logs is one replicate.
    #[serde(default)]
    pub runs_per_boot: RunsPerBoot,
    /// Memory for the loads of a trial, page cache included, bytes; none leaves them what the host has.
    #[serde(default)]
    pub memory_cap_bytes: Option<u64>,
    /// Of all random choices; none lets the coordinator draw one, which it records.
    pub seed: Option<u64>,
    /// So many cells are run again with the baseline under two labels.
    pub aa_cells: u32,
    /// The axes.
    pub matrix: Matrix,
    /// Fixed workload parameters.
    pub parameters: Parameters,
    /// The same for disks of one class: a slow disk gets less to do.
    pub parameters_by_disk_class: BTreeMap<DiskClass, Parameters>,
    /// Two-sided level of a single look (statistics.md 1.5).
    pub alpha: f64,
    /// Only hosts with this clock measure it.
    #[serde(default)]
    pub clock: Clock,
}

/// How often a boot measures each cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunsPerBoot {
    /// So often.
    Fixed(u32),
    /// As often as earlier experiments say that it pays off; the coordinator decides at submission.
    Auto,
}

impl Default for RunsPerBoot {
    fn default() -> Self {
        RunsPerBoot::Fixed(1)
    }
}

impl Experiment {
    /// Runs of each boot; 1 as long as nobody has decided.
    pub fn runs_per_boot(&self) -> u32 {
        match self.runs_per_boot {
            RunsPerBoot::Fixed(runs) => runs.max(1),
            RunsPerBoot::Auto => 1,
        }
    }
}

/// Workload parameters by name.
pub type Parameters = BTreeMap<String, String>;

/// The axes of an experiment. Each holds at least one value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// Kernels.
    pub kernels: Vec<Kernel>,
    /// Schedulers with their tunables.
    pub schedulers: Vec<Scheduler>,
    /// Tunables of the queue.
    pub tunables: Vec<QueueTunables>,
    /// File systems, or the raw disk.
    pub filesystems: Vec<Filesystem>,
    /// Classes of disks.
    pub disk_classes: Vec<DiskClass>,
    /// Workloads.
    pub workloads: Vec<WorkloadName>,
    /// Workload parameters that are swept.
    pub parameters: BTreeMap<String, Vec<String>>,
}
