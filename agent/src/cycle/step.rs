//! The words of a plan.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use blklab_model::id::DiskId;
use blklab_model::scheduler::Tunables;
use blklab_model::workload::command::IoPriority;
use blklab_model::workload::resolve::ResolvedLoad;

/// One step of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Which part of the trial it belongs to; people see this live.
    pub phase: Phase,
    /// What is done.
    pub action: Action,
    /// How long it may take.
    pub limit: Duration,
    /// What gives back what it did; runs in reverse order at the end, whatever happened.
    pub undo: Option<Action>,
}

/// A part of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Is everything there, and may the disk be used?
    Check,
    /// A fresh file system.
    Mkfs,
    /// Files that the workload needs.
    Prepare,
    /// Scheduler, tunables, cold caches.
    Settle,
    /// What is measured.
    Workload,
    /// Is everything still as it was set?
    Verify,
    /// Undo.
    GiveBack,
}

impl Phase {
    /// The word in reports and heartbeats.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Check => "check",
            Phase::Mkfs => "mkfs",
            Phase::Prepare => "prepare",
            Phase::Settle => "settle",
            Phase::Workload => "workload",
            Phase::Verify => "verify",
            Phase::GiveBack => "give-back",
        }
    }
}

/// What can be done in a step. Undo actions succeed when there is nothing (left) to undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// From here on the kernel log belongs to this trial.
    MarkKernelLog,
    /// Undo: keeps the kernel log since the mark; an oops in it is a kernel fault.
    CollectKernelLog,
    /// Programs must be installed.
    CheckTools {
        /// Their names.
        tools: Vec<String>,
    },
    /// The disk must pass the guard and be large enough; from here on it is a disk under test. What follows is done to all of them.
    TakeDisk {
        /// Which.
        disk: DiskId,
        /// Bytes that it must hold.
        space_bytes: u64,
    },
    /// Undo: wipes what the trial left on the disks, so that they are blank for the next.
    ReleaseDisks,
    /// Remembers scheduler and tunables.
    RememberQueues {
        /// Files of `queue/` beyond the usual ones.
        files: BTreeSet<String>,
    },
    /// Undo: sets them as they were.
    RestoreQueues,
    /// Makes the control group of the trial.
    OpenGroup,
    /// Undo: kills whatever is left in it and removes it.
    CloseGroup,
    /// Passes the guard once more and wipes old signatures.
    Blank,
    /// Makes a file system.
    MakeFilesystem {
        /// `ext4`...
        kind: String,
        /// Further arguments of `mkfs`.
        args: Vec<String>,
    },
    /// Mounts it.
    Mount {
        /// `ext4`...
        kind: String,
        /// Options of mount(8).
        options: String,
    },
    /// A step and an undo.
    Unmount,
    /// The mounted file system must have this much room.
    CheckSpace {
        /// Bytes.
        bytes: u64,
    },
    /// Runs a load that is not measured.
    Prepare {
        /// Which.
        load: ResolvedLoad,
    },
    /// Everything dirty to its disk.
    Sync,
    /// Chooses the scheduler and reads it back.
    SetScheduler {
        /// Its name.
        name: String,
    },
    /// Writes a file of `queue/` and reads it back.
    SetTunable {
        /// Its name below `queue/`.
        file: String,
        /// What is written.
        value: String,
    },
    /// Sets the I/O priority of the journal threads and reads it back.
    SetJournalPriority {
        /// What they get.
        priority: IoPriority,
    },
    /// Empties the page cache, dentries and inodes.
    DropCaches,
    /// Sets the limits of the disk below on the trial's control group.
    Limit,
    /// Caps the memory of all loads that start from now on.
    CapMemory {
        /// Page cache included.
        bytes: u64,
    },
    /// Starts a background load.
    StartBackground {
        /// Which.
        load: ResolvedLoad,
    },
    /// A step and an undo: ends the background loads and keeps what they say.
    StopBackground,
    /// Runs the tasks together: this is the measured window.
    Measure {
        /// Which.
        tasks: Vec<ResolvedLoad>,
    },
    /// Scheduler and tunables must still be as they were set.
    VerifyQueues {
        /// The scheduler.
        scheduler: String,
        /// Values by name below `queue/`.
        tunables: Tunables,
    },
    /// The journal threads must still have it.
    VerifyJournalPriority {
        /// What they got.
        priority: IoPriority,
    },
    /// The file system must still be mounted, and writable unless it was mounted read-only.
    VerifyMount {
        /// Asked to be read-only.
        read_only: bool,
    },
}

/// As failures name it: `mkfs.ext4`, `task rt`.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::MarkKernelLog => f.write_str("mark kernel log"),
            Action::CollectKernelLog => f.write_str("collect kernel log"),
            Action::CheckTools { .. } => f.write_str("check tools"),
            Action::TakeDisk { disk, .. } => write!(f, "take disk {disk}"),
            Action::ReleaseDisks => f.write_str("release disk"),
            Action::RememberQueues { .. } => f.write_str("remember queue"),
            Action::RestoreQueues => f.write_str("restore queue"),
            Action::OpenGroup => f.write_str("open control group"),
            Action::CloseGroup => f.write_str("close control group"),
            Action::Blank => f.write_str("blank disk"),
            Action::MakeFilesystem { kind, .. } => write!(f, "mkfs.{kind}"),
            Action::Mount { .. } => f.write_str("mount"),
            Action::Unmount => f.write_str("unmount"),
            Action::CheckSpace { .. } => f.write_str("check space"),
            Action::Prepare { load } => write!(f, "prepare {}", load.name),
            Action::Sync => f.write_str("sync"),
            Action::SetScheduler { name } => write!(f, "set scheduler {name}"),
            Action::SetTunable { file, value } => write!(f, "set {file}={value}"),
            Action::SetJournalPriority { priority } => write!(f, "set journal priority {priority}"),
            Action::DropCaches => f.write_str("drop caches"),
            Action::Limit => f.write_str("limit the disk below"),
            Action::CapMemory { .. } => f.write_str("cap memory"),
            Action::StartBackground { load } => write!(f, "background {}", load.name),
            Action::StopBackground => f.write_str("stop background"),
            Action::Measure { tasks } => {
                let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
                write!(f, "tasks {}", names.join(", "))
            }
            Action::VerifyQueues { .. } => f.write_str("verify queue"),
            Action::VerifyJournalPriority { .. } => f.write_str("verify journal priority"),
            Action::VerifyMount { .. } => f.write_str("verify mount"),
        }
    }
}
