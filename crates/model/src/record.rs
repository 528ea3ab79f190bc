//! What the lab remembers: experiments, jobs and trials with their state. The store keeps them, the report is made of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::experiment::Experiment;
use crate::experiment::state::ExperimentState;
use crate::id::{ExperimentId, HostName, JobId, KernelName, TrialId, WorkloadName};
use crate::imported::Imported;
use crate::job::JobState;
use crate::kernel::{Kernel, KernelRecord};
use crate::matrix::Impossible;
use crate::time::TimestampMs;
use crate::trial::TrialState;
use crate::workload::Workload;

/// An experiment that was accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRecord {
    /// Its number.
    pub id: ExperimentId,
    /// What was asked, overrides included.
    pub definition: Experiment,
    /// The workloads as they were at submission.
    pub workloads: BTreeMap<WorkloadName, Workload>,
    /// The kernels of its matrix as they were at submission.
    #[serde(default)]
    pub kernels: BTreeMap<KernelName, KernelRecord>,
    /// Of all random choices.
    pub seed: u64,
    /// Where it is in its life.
    pub state: ExperimentState,
    /// Who asked.
    pub submitter: String,
    /// When it was accepted.
    pub created: TimestampMs,
    /// When its first job was claimed.
    pub started: Option<TimestampMs>,
    /// When it was over.
    pub finished: Option<TimestampMs>,
    /// What of its matrix cannot be run.
    pub impossible: Vec<Impossible>,
    /// Name of the file that was submitted.
    pub file_name: String,
    /// Its text.
    pub file_text: String,
    /// Values that somebody else measured; none of what the lab itself measures.
    #[serde(default)]
    pub imported: Option<Imported>,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Its number.
    pub id: JobId,
    /// Who may run it.
    pub host: HostName,
    /// What must be running.
    pub kernel: Kernel,
    /// Which round.
    pub round: u32,
    /// Where it is in its life.
    pub state: JobState,
}

/// A trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Cell, round and arm.
    pub id: TrialId,
    /// The job that runs it.
    pub job: JobId,
    /// Place in the job, from 0.
    pub position: u32,
    /// Fills `{seed}` of the workload.
    pub seed: u64,
    /// Where it is in its life.
    pub state: TrialState,
    /// Attempts begun so far; the first one is 1.
    pub attempt: u32,
    /// When the attempt that ended it began, by the host's clock.
    pub started: Option<TimestampMs>,
    /// When its report came in.
    pub ended: Option<TimestampMs>,
    /// What its last report said.
    pub details: Option<TrialDetails>,
}

/// What the report of a trial said, beside its raw outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct TrialDetails {
    /// Phases with their milliseconds, in order.
    pub phases: Vec<(String, u64)>,
    /// The measured window on the clock of the monitor, milliseconds.
    pub window_ms: Option<(u64, u64)>,
    /// Seconds from the start of the window to the end of each task.
    pub elapsed_s: BTreeMap<String, f64>,
    /// What was read back from the host.
    pub environment: Vec<(String, String)>,
    /// Raw outputs in the artifact store.
    pub outputs: Vec<OutputRef>,
    /// Processor use in the measured window.
    pub cpu: Option<CpuUse>,
    /// What the parsers remarked.
    pub warnings: Vec<String>,
    /// The boot it ran in, where its host boots kernels.
    #[serde(default)]
    pub boot: Option<Boot>,
}

/// One boot of a host. Trials that share it are not independent of one another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    /// `/proc/sys/kernel/random/boot_id`.
    pub id: String,
    /// From the order to the agent's answer, milliseconds of the world's time.
    pub ms: u64,
}

/// A raw output in the artifact store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputRef {
    /// `rt.out`, `monitor.txt`...
    pub name: String,
    /// Hexadecimal SHA-256 of the bytes, which is their key.
    pub sha256: String,
    /// Length kept.
    pub bytes: u64,
    /// Length cut off.
    pub truncated_bytes: u64,
}

/// Processor use in the measured window, per cent of all processors, as iostat(1) prints it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CpuUse {
    /// User mode, nice included.
    pub user_pct: f64,
    /// Kernel mode, interrupts included.
    pub system_pct: f64,
    /// Idle with I/O outstanding.
    pub iowait_pct: f64,
}

/// The value of one metric of one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The trial.
    pub trial: TrialId,
    /// The metric.
    pub metric: String,
    /// In the metric's unit; finite.
    pub value: f64,
}
