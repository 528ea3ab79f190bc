//! Messages between the command line (or a page) and the coordinator.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use blklab_model::host::Host;
use blklab_model::id::{BuildId, ExperimentId, HostName, JobId, KernelId, KernelName};
use blklab_model::imported::PublishedSummary;
use blklab_model::kernel::{Blob, KernelRecord, KernelSource};
use blklab_model::time::TimestampMs;
use blklab_model::workload::metric::Better;

use crate::agent::LastBoot;

/// `POST /api/v1/experiments`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submit {
    /// The experiment file.
    pub file: NamedText,
    /// Workload files that lie beside it; they come before the coordinator's own.
    pub workloads: Vec<NamedText>,
    /// Values set on the command line over the file's.
    pub overrides: Overrides,
    /// Who asks.
    pub submitter: String,
}

/// A file as its author named it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedText {
    /// Path or name, for messages.
    pub name: String,
    /// Contents.
    pub text: String,
}

/// Values of the command line over those of the experiment file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Overrides {
    /// `--scale`: a table `[scale.NAME]` of the file, applied before all others.
    #[serde(default)]
    pub scale: Option<String>,
    /// `--rounds`.
    pub rounds: Option<u32>,
    /// `--runs-per-boot`: a number, or `auto`.
    #[serde(default)]
    pub runs_per_boot: Option<String>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--set NAME=VALUE`: fixed workload parameters.
    pub parameters: BTreeMap<String, String>,
    /// `--only AXIS=VALUE,...`: keeps only these values of an axis of the matrix.
    #[serde(default)]
    pub only: BTreeMap<String, Vec<String>>,
    /// `--host`: only these hosts.
    pub hosts: Vec<HostName>,
}

/// Answer to [`Submit`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submitted {
    /// The experiment.
    pub id: ExperimentId,
    /// Page of the experiment, relative to the coordinator.
    pub path: String,
    /// Cells that will be measured.
    pub cells: u32,
    /// Trials in all.
    pub trials: u32,
    /// What may make its values mean something else, each with a remedy.
    #[serde(default)]
    pub cautions: Vec<String>,
    /// Cells that cannot be measured, each with its reason.
    pub impossible: Vec<String>,
    /// Boots in all; none where kernels stay as they are.
    #[serde(default)]
    pub boots: u32,
    /// Milliseconds that it will take once it begins, from earlier trials of the same workloads on the same hosts; none without any.
    #[serde(default)]
    pub eta_ms: Option<u64>,
}

/// `POST /api/v1/imports`: values that somebody else measured, as an experiment. Answer: [`Submitted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Import {
    /// Short name.
    pub name: String,
    /// One line.
    pub title: String,
    /// What a reader wants to know.
    pub question: String,
    /// Where the values come from.
    pub source: String,
    /// Who imports.
    pub submitter: String,
    /// Labels of the arms, the baseline first; at least two.
    pub arms: Vec<String>,
    /// Cells.
    pub cells: Vec<ImportCell>,
    /// Per cent; a smaller change does not matter.
    pub smallest_effect_pct: f64,
    /// What was read, in words.
    pub sources: Vec<String>,
    /// What was odd about it.
    pub warnings: Vec<String>,
}

/// A cell of an import.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportCell {
    /// What was run, as column and value.
    pub cell: BTreeMap<String, String>,
    /// What was measured.
    pub metrics: Vec<ImportMetric>,
}

/// A metric in a cell of an import.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportMetric {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// What each arm has, in their order; none where it has nothing.
    pub arms: Vec<Option<ImportData>>,
}

/// What is known of a metric in one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportData {
    /// Every value.
    Values(Vec<ImportValue>),
    /// A summary.
    Summary(PublishedSummary),
}

/// One value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ImportValue {
    /// In the unit of the metric; finite.
    pub value: f64,
    /// The round it was taken in, where that is known: values of one round are pairs.
    pub round: Option<u64>,
}

/// `GET /api/v1/experiments/ID/progress`, and each server-sent event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The experiment.
    pub id: ExperimentId,
    /// `queued`, `running`, `finished`, `cancelled`.
    pub state: String,
    /// Trials in all.
    pub trials: u32,
    /// Trials that are over.
    pub over: u32,
    /// Of those: failed.
    pub failed: u32,
    /// Rounds in all.
    pub rounds: u32,
    /// The first round that is not finished, from 1.
    pub round: u32,
    /// Milliseconds to go once it has its hosts for itself, boots included, guessed from its own trials and earlier ones on the same
    /// hosts; none when there are none, and when it is over.
    pub eta_ms: Option<u64>,
    /// Experiments before it in the queue.
    pub ahead: u32,
    /// `lab-1: x12.c3.r5.a1 workload` for each host that works on it.
    pub now: Vec<String>,
    /// The verdict in one sentence, so far.
    pub headline: String,
}

/// A line of the list of experiments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentLine {
    /// Its number.
    pub id: ExperimentId,
    /// Short name.
    pub name: String,
    /// One line.
    pub title: String,
    /// `queued`, `running`, `finished`, `cancelled`.
    pub state: String,
    /// Who asked.
    pub submitter: String,
    /// When it was accepted.
    pub created: TimestampMs,
    /// The verdict in one sentence, so far.
    pub headline: String,
    /// Trials in all.
    pub trials: u32,
    /// Trials that are over.
    pub over: u32,
    /// Of those: failed.
    pub failed: u32,
    /// Milliseconds to go, guessed; none when unknown or over.
    pub eta_ms: Option<u64>,
    /// Milliseconds of host time spent so far.
    pub cost_ms: u64,
    /// Were its values measured by somebody else?
    #[serde(default)]
    pub imported: bool,
}

/// A host with what it does now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostLine {
    /// The host.
    pub host: Host,
    /// Has it been heard lately?
    pub online: bool,
    /// The job it works on.
    pub job: Option<JobId>,
    /// Trial and phase, in words.
    pub at: Option<String>,
    /// The kernel build it works on.
    #[serde(default)]
    pub build: Option<BuildId>,
    /// How its last boot went, where it boots kernels.
    #[serde(default)]
    pub last_boot: Option<LastBoot>,
}

/// `/hosts/NAME.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostDetails {
    /// The host with what it does now.
    #[serde(flatten)]
    pub line: HostLine,
    /// Its last boots for experiments, the newest first.
    pub boots: Vec<HostBoot>,
}

/// A boot of a host for a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostBoot {
    /// The job.
    pub job: JobId,
    /// The kernel's name in the lab, or `as-booted`.
    pub kernel: String,
    /// When the first report of a trial in it came in.
    pub at: Option<TimestampMs>,
    /// From the order to the agent's answer, milliseconds; none when it did not answer.
    pub boot_ms: Option<u64>,
    /// `booted`, or why not.
    pub outcome: String,
}

/// A kernel with what the lab did with it: `/kernels.json` is a list of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelLine {
    /// The kernel.
    pub kernel: KernelRecord,
    /// Experiments that name it, the newest first; only the newest experiments of the lab are looked through.
    pub experiments: Vec<ExperimentId>,
    /// The build that gave it.
    pub build: Option<BuildId>,
}

/// `POST /api/v1/kernels`, after the files were put at `PUT /api/v1/blobs/SHA256`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddKernel {
    /// Its name in the lab.
    pub name: KernelName,
    /// Signature.
    pub id: KernelId,
    /// `uname -r`.
    pub release: String,
    /// GNU build id, hexadecimal.
    pub build_id: String,
    /// Where it comes from.
    pub source: KernelSource,
    /// Compiler and linker, as far as known.
    pub toolchain: String,
    /// bzImage or vmlinux.
    pub image: Blob,
    /// Tar of `lib/modules/RELEASE`.
    pub modules: Option<Blob>,
    /// Words for its command line, beside those that the boot needs (Documentation/admin-guide/kernel-parameters.rst).
    #[serde(default)]
    pub arguments: String,
    /// Its `.config`.
    pub config: Option<Blob>,
}

/// `POST /api/v1/builds?submitter=NAME` with a [`blklab_model::build::BuildRequest`] answers with this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildAccepted {
    /// Its number.
    pub id: BuildId,
    /// Page of the build, relative to the coordinator.
    pub path: String,
}

/// A line of `GET /api/v1/builds`; `GET /api/v1/builds/ID` gives the whole [`blklab_model::build::BuildRecord`], patches included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildLine {
    /// Its number.
    pub id: BuildId,
    /// The kernel that it gives.
    pub kernel: KernelName,
    /// `v6.1 + 2 patches`.
    pub what: String,
    /// Who asked.
    pub submitter: String,
    /// `queued`, `building on lab-1`, `built`, `failed: does not apply`, `cancelled`.
    pub state: String,
    /// When it was asked.
    pub created: TimestampMs,
    /// When a builder took it last.
    pub started: Option<TimestampMs>,
    /// When it was over.
    pub finished: Option<TimestampMs>,
}
