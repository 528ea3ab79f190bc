//! Scheduler and tunables of the disk under test: remembered, set, verified, restored.

use std::collections::BTreeSet;
use std::path::Path;

use blklab_model::outcome::Fault;
use blklab_model::scheduler::Tunables;

use super::disks::numbered;
use super::{LabHost, fault};
use crate::cycle::machine::{Problem, Record};
use crate::journal::Made;
use crate::sys::roots::Roots;
use crate::sys::{self, SysError, block, files};

impl LabHost {
    pub(super) fn remember_queues(&mut self, further: &BTreeSet<String>) -> Result<(), Problem> {
        for taken in &self.trial.disks {
            let disk = taken.name.clone();
            let roots = &self.state.roots;
            let mut tunables = block::tunables(roots, &disk);
            let queue = roots.block(&disk).join("queue");
            tunables.extend(further.iter().filter_map(|file| Some((file.clone(), files::read_if_there(&queue.join(file))?))));
            let (_, scheduler) = block::schedulers(roots, &disk);
            self.state.journal.will_make(Made::Queue { disk, scheduler, tunables }).map_err(fault(Fault::Lab))?;
        }
        Ok(())
    }

    /// All that can be; what fails stays in the journal.
    pub(super) fn restore_queues(&mut self) -> Result<(), Problem> {
        let mut first = Ok(());
        for made in self.state.journal.made() {
            let Made::Queue { disk, scheduler, tunables } = &made else { continue };
            let restored = restore(&self.state.roots, disk, scheduler.as_deref(), tunables);
            let given_back = restored.and_then(|()| self.state.journal.gave_back(&made));
            first = first.and(given_back);
        }
        first.map_err(fault(Fault::Lab))
    }

    /// A scheduler that is offered and cannot be set is a fault of the kernel; one that is not there is a fault of the lab.
    pub(super) fn set_scheduler(&self, name: &str) -> Result<(), Problem> {
        self.trial.disks.iter().try_for_each(|disk| self.set_scheduler_of(&disk.name, name))
    }

    fn set_scheduler_of(&self, disk: &str, name: &str) -> Result<(), Problem> {
        let file = self.state.roots.block(disk).join("queue/scheduler");
        let Err(error) = files::set(&file, name) else { return Ok(()) };
        let (offered, _) = block::schedulers(&self.state.roots, disk);
        if offered.iter().any(|offer| offer == name) {
            return Err(fault(Fault::Kernel)(error));
        }
        let offers = offered.join(", ");
        Err(Problem::lab(format!("the kernel does not offer scheduler `{name}` on {disk} (it offers {offers}); load or build its module")))
    }

    pub(super) fn set_tunable(&self, name: &str, value: &str) -> Result<(), Problem> {
        self.trial.disks.iter().try_for_each(|disk| self.set_tunable_of(&disk.name, name, value))
    }

    fn set_tunable_of(&self, disk: &str, name: &str, value: &str) -> Result<(), Problem> {
        let queue = self.state.roots.block(disk).join("queue");
        let file = queue.join(name);
        if !is_plain(name) || !file.exists() {
            let known = block::folder_names(&queue.join(Path::new(name).parent().unwrap_or(Path::new("")))).join(", ");
            return Err(Problem::workload(format!("there is no `queue/{name}` on {disk} with this scheduler; there are {known}")));
        }
        files::set(&file, value).map_err(fault(Fault::Workload))
    }

    /// Notes every tunable as it is, and compares those that the trial set.
    pub(super) fn verify_queues(&self, scheduler: &str, wanted: &Tunables, record: &mut Record) -> Result<(), Problem> {
        (0..self.trial.disks.len()).try_for_each(|index| self.verify_queue(index, scheduler, wanted, record))
    }

    fn verify_queue(&self, index: usize, scheduler: &str, wanted: &Tunables, record: &mut Record) -> Result<(), Problem> {
        let disk = self.disk(index)?;
        let (_, active) = block::schedulers(&self.state.roots, &disk.name);
        let mut found = block::tunables(&self.state.roots, &disk.name);
        let queue = self.state.roots.block(&disk.name).join("queue");
        found.extend(wanted.keys().filter_map(|file| Some((file.clone(), files::read_if_there(&queue.join(file))?))));
        // Of further disks, only what differs from the first: they were set alike.
        let mut note = |name: String, value: &str| {
            if index == 0 || !record.environment.contains(&(name.clone(), value.to_owned())) {
                record.note(numbered(&name, index), value);
            }
        };
        note("scheduler".to_owned(), active.as_deref().unwrap_or_default());
        for (name, value) in &found {
            note(format!("queue.{name}"), value);
        }
        let changed = |what: &str, from: &str, to: &str| {
            Problem::lab(format!(
                "{what} of {} was `{to}` after the workload, not `{from}`: somebody else changed it; stop udev rules or tuning daemons on the lab's disks",
                disk.name
            ))
        };
        if active.as_deref() != Some(scheduler) {
            return Err(changed("the scheduler", scheduler, active.as_deref().unwrap_or("")));
        }
        for (name, value) in wanted {
            let now = found.get(name).map_or("", String::as_str);
            if !files::same_value(now, value) {
                return Err(changed(name, value, now));
            }
        }
        Ok(())
    }
}

/// Sets a queue as it was. The scheduler first, for a switch resets `nr_requests` and makes `iosched/` anew; then whatever still differs.
pub(super) fn restore(roots: &Roots, disk: &str, scheduler: Option<&str>, tunables: &Tunables) -> sys::Result<()> {
    let queue = roots.block(disk).join("queue");
    if !queue.exists() {
        // The disk is gone, and its queue with it.
        return Ok(());
    }
    if let (Some(wanted), (_, Some(active))) = (scheduler, block::schedulers(roots, disk))
        && wanted != active
    {
        files::set(&queue.join("scheduler"), wanted)?;
    }
    let mut first_error: Option<SysError> = None;
    for (name, value) in tunables {
        let file = queue.join(name);
        let now = files::read_if_there(&file);
        if now.is_some_and(|now| !files::same_value(&now, value))
            && let Err(error) = files::set(&file, value)
        {
            first_error.get_or_insert(error);
        }
    }
    first_error.map_or(Ok(()), Err)
}

/// A name from an experiment must stay below `queue/`.
fn is_plain(name: &str) -> bool {
    name.split('/').all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_restored_where_it_differs() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots::under(root.path());
        let queue = roots.block("sdb").join("queue");
        std::fs::create_dir_all(&queue).unwrap();
        for (file, text) in [("scheduler", "bfq"), ("nr_requests", "64"), ("read_ahead_kb", "128")] {
            std::fs::write(queue.join(file), text).unwrap();
        }
        let before =
            Tunables::from([("nr_requests".into(), "256".into()), ("read_ahead_kb".into(), "128".into()), ("gone".into(), "1".into())]);
        restore(&roots, "sdb", Some("none"), &before).unwrap();
        assert_eq!(std::fs::read_to_string(queue.join("nr_requests")).unwrap(), "256");
        restore(&roots, "sdz", Some("none"), &before).expect("a disk that is gone needs nothing");
    }

    #[test]
    fn names_stay_below_the_queue() {
        assert!(is_plain("iosched/slice_idle"));
        for name in ["../../dev", "/etc/passwd", "", "a//b", "a b"] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
