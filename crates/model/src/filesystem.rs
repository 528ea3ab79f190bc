//! File systems as an axis: type, mkfs arguments and mount options; or the raw disk.

use serde::{Deserialize, Serialize};

/// File systems that the agent knows how to make; each needs its `mkfs.TYPE` on the host.
pub const KNOWN: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"];

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
