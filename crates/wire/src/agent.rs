//! Messages between an agent and the coordinator. A host keeps one agent: a second one under the same name is refused.

use serde::{Deserialize, Serialize};

use blklab_model::disk::Disk;
use blklab_model::filesystem::Format;
use blklab_model::host::HostFacts;
use blklab_model::id::{BuildId, DiskId, HostName, JobId, KernelId, KernelName, TrialId};
use blklab_model::kernel::Blob;
use blklab_model::outcome::Outcome;
use blklab_model::scheduler::{QueueTunables, Scheduler};
use blklab_model::time::TimestampMs;
use blklab_model::workload::resolve::ResolvedWorkload;

/// `POST /api/v1/agent/hello` at each start of an agent, with the lab's enrolment token or the host's own as bearer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`crate::PROTOCOL`].
    pub protocol: u32,
    /// Name of the host.
    pub host: HostName,
    /// `MACHINE.RANDOM`: the machine id (or boot id) and a part drawn anew at each start of the agent. An agent that was restarted on
    /// its machine takes its name over at once (its state folder is locked, so the former one is gone); one on another machine is
    /// refused while the first is alive.
    pub incarnation: String,
    /// Facts of the host.
    pub facts: HostFacts,
    /// Its disks.
    pub disks: Vec<Disk>,
}

/// Answer to [`Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The host's own token; given once, on enrolment. The agent keeps it and sends it from then on.
    pub token: Option<String>,
    /// How often to send a [`Heartbeat`].
    pub heartbeat_ms: u64,
}

/// `POST /api/v1/agent/heartbeat`. Renews the lease of the job that is worked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// Name of the host.
    pub host: HostName,
    /// See [`Hello::incarnation`].
    pub incarnation: String,
    /// What it works on.
    pub job: Option<JobId>,
    /// The trial and its phase, for live pages.
    pub at: Option<TrialPhase>,
    /// What could not be undone, when the host is dirty.
    pub dirty: Option<String>,
    /// The kernel build it works on.
    #[serde(default)]
    pub build: Option<BuildId>,
    /// The last boot, for hosts that boot kernels.
    #[serde(default)]
    pub last_boot: Option<LastBoot>,
}

/// How the last boot of a host went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastBoot {
    /// `uname -r`, or the name of the kernel if it did not come so far.
    pub kernel: String,
    /// From the order to the agent's answer, milliseconds; none when it did not answer.
    pub boot_ms: Option<u64>,
    /// `booted`, or why not: `panic: Kernel panic - not syncing: ...`.
    pub outcome: String,
}

/// Where an agent is in its job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialPhase {
    /// The trial.
    pub trial: TrialId,
    /// Its phase (`mkfs`, `workload`...).
    pub phase: String,
}

/// Answer to [`Heartbeat`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeartbeatReply {
    /// The job is no longer this host's (cancelled, or its lease ran out): stop after the running trial.
    pub drop_job: bool,
    /// The build is no longer this host's: stop it.
    #[serde(default)]
    pub drop_build: bool,
}

/// `POST /api/v1/agent/claim`: waits up to `wait_ms` for a job; answered with `null` when there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Name of the host.
    pub host: HostName,
    /// See [`Hello::incarnation`].
    pub incarnation: String,
    /// Milliseconds to wait at most; the coordinator caps it at [`MAX_CLAIM_WAIT_MS`].
    pub wait_ms: u64,
}

/// A claim waits no longer than this, below the idle time-outs of common proxies (60 s).
pub const MAX_CLAIM_WAIT_MS: u64 = 25_000;

/// A job as the agent gets it: self-contained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The job.
    pub job: JobId,
    /// What must be running.
    pub kernel: KernelSpec,
    /// To be run in this order. After a restart only those that are still open.
    pub trials: Vec<TrialSpec>,
}

/// What must be running for a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelSpec {
    /// Whatever runs; on a host that boots kernels, its known-good one.
    AsBooted,
    /// A kernel of the lab, booted afresh for this job.
    Boot(BootSpec),
}

/// A kernel that is to be booted. Its files are at `GET /api/v1/agent/blobs/SHA256`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootSpec {
    /// Its name in the lab.
    pub name: KernelName,
    /// Signature.
    pub id: KernelId,
    /// What `uname -r` must say.
    pub release: String,
    /// What `/sys/kernel/notes` must say.
    pub build_id: String,
    /// bzImage or vmlinux.
    pub image: Blob,
    /// Tar of `lib/modules/RELEASE`.
    pub modules: Option<Blob>,
    /// Words for its command line, beside those that the boot needs (Documentation/admin-guide/kernel-parameters.rst).
    #[serde(default)]
    pub arguments: String,
}

/// What ran during a trial, as the host itself said; the coordinator counts no report that proves another kernel than the job asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootProof {
    /// `uname -r`.
    pub release: String,
    /// GNU build id from `/sys/kernel/notes`, hexadecimal.
    pub build_id: String,
    /// `/proc/sys/kernel/random/boot_id`: trials of one boot share it.
    pub boot_id: String,
    /// The token that the controller drew for this boot, read back from `/proc/cmdline`.
    pub token: String,
    /// From the order to the agent's answer, milliseconds of the world's time.
    pub boot_ms: u64,
}

/// One trial as the agent gets it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialSpec {
    /// The trial.
    pub trial: TrialId,
    /// From 1; uploads are idempotent by trial and attempt.
    pub attempt: u32,
    /// On which disks, in the order in which the workload counts them.
    pub disks: Vec<DiskId>,
    /// Set before the workload, read back after it.
    pub scheduler: Scheduler,
    /// Likewise.
    pub tunables: QueueTunables,
    /// Raw or a fresh file system.
    pub format: Format,
    /// What is run.
    pub workload: ResolvedWorkload,
    /// Bytes of memory for background loads and tasks together, page cache included; none leaves them what the host has.
    #[serde(default)]
    pub memory_cap_bytes: Option<u64>,
    /// Of disks that are modelled: equal for all arms of a cell in a round, so that they meet the same disk.
    #[serde(default)]
    pub seed: u64,
}

/// `POST /api/v1/agent/trial`: how one trial ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialReport {
    /// Name of the host.
    pub host: HostName,
    /// The job it belongs to.
    pub job: JobId,
    /// The trial.
    pub trial: TrialId,
    /// Of the spec.
    pub attempt: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// When it began, by the host's clock.
    pub started: TimestampMs,
    /// Phases with their time, in order.
    pub phases: Vec<PhaseTime>,
    /// The measured window.
    pub window: Option<Window>,
    /// Seconds from the start of the window to the end of each task.
    pub elapsed: Vec<TaskElapsed>,
    /// Raw outputs: the truth.
    pub outputs: Vec<Output>,
    /// What was read back: kernel release, scheduler, tunables, mount options.
    pub environment: Vec<(String, String)>,
    /// What ran, where the job asked for a kernel.
    #[serde(default)]
    pub boot: Option<BootProof>,
}

/// Time of one phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTime {
    /// Its name.
    pub phase: String,
    /// Milliseconds.
    pub ms: u64,
}

/// The measured window on the monotonic clock of the monitor records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Start, milliseconds.
    pub start_ms: u64,
    /// End, milliseconds.
    pub end_ms: u64,
}

/// Elapsed time of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskElapsed {
    /// Its name.
    pub task: String,
    /// Seconds.
    pub seconds: f64,
}

/// One raw output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// `rt.out`, `rt.err`, `monitor.txt`, `dmesg.txt`: a load's name with its stream, or a monitor.
    pub name: String,
    /// Its bytes, base64.
    pub base64: String,
    /// Bytes that were cut off because of [`MAX_OUTPUT_BYTES`].
    pub truncated_bytes: u64,
}

/// Longest single output kept, in bytes; fio's JSON+ with whole histograms stays below.
pub const MAX_OUTPUT_BYTES: usize = 4 << 20;

/// Longest report taken, in bytes of JSON.
pub const MAX_REPORT_BYTES: usize = 32 << 20;

/// Answer to [`TrialReport`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialReceipt {
    /// False when this report was known already (sent twice) or came too late to count.
    pub counted: bool,
}

/// Why a request was refused; the body of every answer that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What is wrong.
    pub error: String,
    /// What would cure it.
    pub help: String,
}
