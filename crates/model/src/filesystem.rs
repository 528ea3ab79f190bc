//! File systems as an axis: type, mkfs arguments and mount options; or the raw disk.

pub mod words;

use serde::{Deserialize, Serialize};

use crate::workload::command::IoPriority;

/// File systems that the agent knows how to make; each needs its `mkfs.TYPE` on the host.
pub const KNOWN: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"];

/// Those whose journal is written by a thread of the kernel with an I/O priority of its own (jbd2; ext3 mounts through ext4).
pub const WITH_JOURNAL_THREAD: [&str; 2] = ["ext3", "ext4"];

/// Is there such a thread?
pub fn has_journal_thread(kind: &str) -> bool {
    WITH_JOURNAL_THREAD.contains(&kind)
}

/// One value of the file-system axis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Filesystem {
    /// What people read; unique on the axis.
    pub label: String,
    /// How the disk is used.
    pub format: Format,
}

/// How a disk is used by a trial.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "use")]
pub enum Format {
    /// No file system: the workload opens the disk itself.
    Raw,
    /// Made anew for each trial.
    Made {
        /// One of [`KNOWN`].
        #[serde(rename = "type")]
        kind: String,
        /// Further arguments of `mkfs.TYPE`.
        mkfs: Vec<String>,
        /// Options of mount(8), comma separated, may be empty.
        mount: String,
        /// I/O priority of the thread that writes the journal, set after the mount; none leaves what the kernel gives it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        journal_ioprio: Option<IoPriority>,
    },
}

impl Format {
    /// The `mkfs` program that this needs, if any.
    pub fn mkfs_program(&self) -> Option<String> {
        match self {
            Format::Raw => None,
            Format::Made { kind, .. } => Some(format!("mkfs.{kind}")),
        }
    }
}
