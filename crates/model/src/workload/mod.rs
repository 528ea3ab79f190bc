//! Workloads: what a trial does on its disk, and what is measured.
//!
//! [`mod@file`] reads the TOML form, [`resolve`] fills in parameters, [`command`] holds what an agent can run. A resolved workload is
//! self-contained: the agent needs no file and no default.

pub mod command;
pub mod file;
pub mod metric;
pub mod order;
pub mod placeholder;
pub mod resolve;
pub mod size;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::filesystem::Format;
use crate::id::WorkloadName;
use command::{IoPriority, Template};
use metric::Metric;
use order::FinishOrder;

/// Disks that a trial may use at once: the widest of the published scaling tables has sixteen.
pub const MAX_DISKS: u32 = 16;

/// A workload as its file describes it: parameters are still open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Unique in the lab.
    pub name: WorkloadName,
    /// Grows with each change that makes old and new values incomparable.
    pub version: u32,
    /// One line.
    pub title: String,
    /// What it shows, where it comes from.
    pub description: String,
    /// What it needs of a host and a disk.
    pub needs: Needs,
    /// Parameters with their defaults.
    pub parameters: BTreeMap<String, Parameter>,
    /// Run once a trial, on the fresh file system, before caches are dropped; not measured, not throttled.
    pub prepare: Vec<Load>,
    /// Start before the tasks and are stopped after them.
    pub background: Vec<Load>,
    /// Start together; the measured window lasts from their start to the end of the last one.
    pub tasks: Vec<Load>,
    /// What is judged.
    pub metrics: Vec<Metric>,
    /// In which order tasks should end.
    #[serde(default)]
    pub finish_orders: Vec<FinishOrder>,
}

/// What a workload needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// Programs on the host.
    pub tools: Vec<String>,
    /// On a file system, the raw disk, or either.
    pub target: Target,
    /// Sizes that must fit on each disk together; may hold placeholders.
    pub space: Vec<String>,
    /// Sizes that are read more than once through the page cache, on each disk together; may hold placeholders. Empty where nothing is.
    #[serde(default)]
    pub working_set: Vec<String>,
    /// Number of disks of one host, 1 to [`MAX_DISKS`]; may be a placeholder.
    #[serde(default = "one")]
    pub disks: String,
}

fn one() -> String {
    "1".to_owned()
}

/// What a workload works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Files below `{dir}`, on a file system of each disk.
    Mounted,
    /// The block device `{disk}`.
    Raw,
}

impl Target {
    /// Can it be had on a disk that is used in this way?
    pub fn fits(self, format: &Format) -> bool {
        match (self, format) {
            (Target::Mounted, Format::Made { .. }) | (Target::Raw, Format::Raw) => true,
            (Target::Mounted, Format::Raw) | (Target::Raw, Format::Made { .. }) => false,
        }
    }
}

/// A value that an experiment may set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Used where the experiment is silent.
    pub default: String,
    /// What it means, with its unit.
    pub help: String,
}

/// A process of a workload, parameters still open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Unique in the workload; names its outputs.
    pub name: String,
    /// What is run.
    pub command: Template,
    /// It runs once for each disk, all of them at once, where `{dir}` and `{disk}` are of that disk; else once, on the first disk.
    #[serde(default)]
    pub each_disk: bool,
    /// I/O priority (ioprio_set(2)); none leaves what is inherited.
    pub io_priority: Option<IoPriority>,
    /// Milliseconds after the common start at which a task begins.
    #[serde(default)]
    pub start_after_ms: u32,
    /// Seconds after which it is killed and the trial has failed.
    pub timeout_s: u32,
}

impl Load {
    /// The names under which it runs, and under which its outputs are kept: its own, or `NAME.1` to `NAME.DISKS`.
    pub fn instances(&self, disks: u32) -> Vec<String> {
        if self.each_disk { (1..=disks).map(|number| format!("{}.{number}", self.name)).collect() } else { vec![self.name.clone()] }
    }
}
