//! The thread of the kernel that writes the journal of a file system, and its I/O priority. Only jbd2 (ext3, ext4) has one per file system:
//! `jbd2/DEVICE-INODE` (fs/jbd2/journal.c, jbd2_journal_start_thread).

use blklab_model::outcome::Fault;
use blklab_model::workload::command::IoPriority;
use rustix::process::Pid;

use super::disks::numbered;
use super::{LabHost, fault};
use crate::cycle::machine::{Problem, Record};
use crate::sys::roots::Roots;
use crate::sys::{files, ioprio};

/// A name of a thread is cut to this many bytes (`TASK_COMM_LEN` of include/linux/sched.h, less the end), but those of kernel threads
/// since 5.17 are shown in full.
const COMM_BYTES: usize = 15;

impl LabHost {
    /// Sets the priority for every disk of the trial.
    pub(super) fn set_journal_priority(&self, priority: IoPriority, record: &mut Record) -> Result<(), Problem> {
        for index in 0..self.trial.disks.len() {
            let thread = self.journal_thread(index)?;
            ioprio::set(Some(thread), priority).map_err(fault(Fault::Lab))?;
            record.note(numbered("journal.ioprio", index), priority.to_string());
        }
        self.verify_journal_priority(priority)
    }

    /// The threads must still be there, with that priority.
    pub(super) fn verify_journal_priority(&self, priority: IoPriority) -> Result<(), Problem> {
        for index in 0..self.trial.disks.len() {
            let thread = self.journal_thread(index)?;
            let got = ioprio::get(thread).map_err(fault(Fault::Lab))?;
            if got != Some(priority) {
                let got = got.map_or_else(|| "none".to_owned(), |got| got.to_string());
                return Err(Problem::lab(format!(
                    "the journal thread has the I/O priority {got}, not {priority}; did somebody use ionice?"
                )));
            }
        }
        Ok(())
    }

    fn journal_thread(&self, index: usize) -> Result<Pid, Problem> {
        let disk = self.disk(index)?;
        find(&self.state.roots, &disk.name).ok_or_else(|| {
            Problem::workload(format!("no thread writes a journal for {}; was the file system made without one (^has_journal)?", disk.name))
        })
    }
}

/// The journal thread of the file system on this disk.
fn find(roots: &Roots, disk: &str) -> Option<Pid> {
    let begins = format!("jbd2/{disk}-");
    let cut: String = begins.chars().take(COMM_BYTES).collect();
    let entries = std::fs::read_dir(&roots.proc).ok()?;
    let is_journal = |pid: &Pid| {
        let folder = roots.proc.join(pid.as_raw_nonzero().to_string());
        // A program may call itself what it likes; a thread of the kernel has no command line.
        let name = files::read_if_there(&folder.join("comm")).unwrap_or_default();
        let is_kernel = files::read_if_there(&folder.join("cmdline")).is_none();
        is_kernel && (name.starts_with(&begins) || name == cut)
    };
    let pids = entries.flatten().filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    pids.into_iter().find(is_journal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_thread_of_this_disk_is_found() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots { proc: root.path().to_owned(), ..Roots::live() };
        let threads = [
            (10, "jbd2/loop11-8", ""),
            (11, "jbd2/loop1-8", "jbd2/loop1-8\0--pretends"),
            (12, "jbd2/loop1-8", ""),
            (13, "jbd2/nvme10n1p1", ""),
            (14, "kworker/0:1", ""),
        ];
        for (pid, comm, cmdline) in threads {
            let folder = root.path().join(pid.to_string());
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("comm"), format!("{comm}\n")).unwrap();
            std::fs::write(folder.join("cmdline"), cmdline).unwrap();
        }
        std::fs::create_dir(root.path().join("sys")).unwrap();
        assert_eq!(find(&roots, "loop1"), Pid::from_raw(12));
        assert_eq!(find(&roots, "loop11"), Pid::from_raw(10));
        assert_eq!(find(&roots, "nvme10n1p1"), Pid::from_raw(13), "a name that was cut");
        assert_eq!(find(&roots, "sda"), None);
    }
}
