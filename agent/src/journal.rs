//! What the agent has made on its host and not yet given back. Each entry is on the disk before the thing itself exists, so that after
//! a `kill -9` or a power cut the next start, or `blklab-agent clean`, finds everything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use blklab_model::id::DiskId;
use blklab_model::scheduler::Tunables;
use serde::{Deserialize, Serialize};

use crate::sys::{self, SysError, files};

/// Something that the agent made or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "made")]
pub enum Made {
    /// A file that backs a loop disk.
    BackingFile {
        /// Where.
        path: PathBuf,
    },
    /// A loop device on a backing file; its number is looked up when it is removed.
    LoopDevice {
        /// The file.
        file: PathBuf,
    },
    /// A mounted file system.
    Mount {
        /// Where.
        dir: PathBuf,
    },
    /// A control group.
    Cgroup {
        /// Its folder.
        path: PathBuf,
    },
    /// Scheduler and tunables of a queue, as they were before.
    Queue {
        /// Kernel name of the disk.
        disk: String,
        /// Its scheduler, when it had one.
        scheduler: Option<String>,
        /// Values by name below `queue/`.
        tunables: Tunables,
    },
}

impl Made {
    /// Does it end with the kernel that it was made under? Only files outlive a boot.
    fn ends_with_boot(&self) -> bool {
        match self {
            Made::BackingFile { .. } => false,
            Made::LoopDevice { .. } | Made::Mount { .. } | Made::Cgroup { .. } | Made::Queue { .. } => true,
        }
    }

    /// Does it belong to one trial, or to the agent for as long as it runs?
    pub fn is_of_a_trial(&self) -> bool {
        match self {
            Made::BackingFile { .. } | Made::LoopDevice { .. } => false,
            Made::Mount { .. } | Made::Cgroup { .. } | Made::Queue { .. } => true,
        }
    }
}

/// The journal, a small file in the state folder.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    content: Content,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Content {
    /// `/proc/sys/kernel/random/boot_id` of the last writer.
    boot_id: String,
    /// In the order of making.
    made: Vec<Made>,
    /// UUIDs of the file systems that the lab put on its disks and has not wiped: the only signatures that are its own.
    signatures: BTreeMap<DiskId, String>,
    /// What the kernel of this boot said when it broke.
    #[serde(default)]
    kernel_fault: Option<String>,
}

impl Journal {
    /// Opens the journal of a state folder; entries of a former boot that ended with it are dropped.
    pub fn open(state_dir: &Path, boot_id: &str) -> sys::Result<Self> {
        let path = state_dir.join("journal.json");
        let mut content = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| SysError::Unsupported {
                act: format!("read {}", path.display()),
                reason: format!("{error}; look what is left with `losetup -a` and `findmnt`, remove it, then remove the file"),
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Content::default(),
            Err(error) => return Err(SysError::io(format!("read {}", path.display()))(error)),
        };
        if content.boot_id != boot_id {
            content.made.retain(|made| !made.ends_with_boot());
            content.kernel_fault = None;
            boot_id.clone_into(&mut content.boot_id);
        }
        Ok(Journal { path, content })
    }

    /// What is to be given back, the latest first.
    pub fn made(&self) -> Vec<Made> {
        self.content.made.iter().rev().cloned().collect()
    }

    /// Call before making it.
    pub fn will_make(&mut self, made: Made) -> sys::Result<()> {
        if !self.content.made.contains(&made) {
            self.content.made.push(made);
            self.save()?;
        }
        Ok(())
    }

    /// Call after it was given back.
    pub fn gave_back(&mut self, made: &Made) -> sys::Result<()> {
        self.content.made.retain(|entry| entry != made);
        self.save()
    }

    /// Call before a file system with this UUID is made on a disk.
    pub fn will_sign(&mut self, disk: &DiskId, uuid: &str) -> sys::Result<()> {
        self.content.signatures.insert(disk.clone(), uuid.to_owned());
        self.save()
    }

    /// Call after the disk was wiped.
    pub fn wiped(&mut self, disk: &DiskId) -> sys::Result<()> {
        if self.content.signatures.remove(disk).is_some() {
            self.save()?;
        }
        Ok(())
    }

    /// The UUID that the lab put on a disk, if it has.
    pub fn signature(&self, disk: &DiskId) -> Option<&str> {
        self.content.signatures.get(disk).map(String::as_str)
    }

    /// Call when the kernel reported a fault of its own; the first one counts.
    pub fn kernel_broke(&mut self, line: &str) -> sys::Result<()> {
        if self.content.kernel_fault.is_none() {
            self.content.kernel_fault = Some(line.to_owned());
            self.save()?;
        }
        Ok(())
    }

    /// What the kernel said, if it broke since it was booted.
    pub fn kernel_fault(&self) -> Option<&str> {
        self.content.kernel_fault.as_deref()
    }

    fn save(&self) -> sys::Result<()> {
        let text = serde_json::to_vec_pretty(&self.content).expect("names and paths always serialise");
        files::replace(&self.path, &text, 0o600)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Made {
        Made::BackingFile { path: "/lab/a.img".into() }
    }

    fn mount() -> Made {
        Made::Mount { dir: "/lab/mnt".into() }
    }

    #[test]
    fn what_was_announced_is_found_by_the_next_process() {
        let dir = tempfile::tempdir().unwrap();
        let disk: DiskId = "wwn-1".parse().unwrap();
        let mut journal = Journal::open(dir.path(), "boot-1").unwrap();
        journal.will_make(file()).unwrap();
        journal.will_make(mount()).unwrap();
        journal.will_sign(&disk, "uuid-1").unwrap();
        let mut journal = Journal::open(dir.path(), "boot-1").unwrap();
        assert_eq!(journal.made(), [mount(), file()], "the latest first");
        assert_eq!(journal.signature(&disk), Some("uuid-1"));
        journal.gave_back(&mount()).unwrap();
        journal.wiped(&disk).unwrap();
        let journal = Journal::open(dir.path(), "boot-1").unwrap();
        assert_eq!((journal.made(), journal.signature(&disk)), (vec![file()], None));
    }

    #[test]
    fn a_boot_ends_all_but_files() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), "boot-1").unwrap();
        journal.will_make(file()).unwrap();
        journal.will_make(mount()).unwrap();
        assert_eq!(Journal::open(dir.path(), "boot-2").unwrap().made(), [file()]);
    }

    #[test]
    fn a_broken_kernel_is_remembered_until_it_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), "boot-1").unwrap();
        assert_eq!(journal.kernel_fault(), None);
        journal.kernel_broke("Oops: 0000 [#1]").unwrap();
        journal.kernel_broke("Oops: 0000 [#2]").unwrap();
        assert_eq!(Journal::open(dir.path(), "boot-1").unwrap().kernel_fault(), Some("Oops: 0000 [#1]"));
        assert_eq!(Journal::open(dir.path(), "boot-2").unwrap().kernel_fault(), None);
    }

    #[test]
    fn a_broken_journal_stops_the_agent_instead_of_being_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("journal.json"), "{").unwrap();
        let error = Journal::open(dir.path(), "boot-1").unwrap_err().to_string();
        assert!(error.contains("losetup -a"), "{error}");
    }
}
