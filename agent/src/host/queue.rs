//! Scheduler and tunables of the disk under test: remembered, set, verified, restored.

use std::collections::BTreeSet;
use std::path::Path;

use blklab_model::outcome::Fault;
use blklab_model::scheduler::Tunables;

use super::{LabHost, fault};
use crate::cycle::machine::{Problem, Record};
use crate::journal::Made;
use crate::sys::roots::Roots;
use crate::sys::{self, SysError, block, files};

impl LabHost {
    pub(super) fn remember_queue(&mut self, further: &BTreeSet<String>) -> Result<(), Problem> {
        let disk = self.disk()?.name.clone();
        let roots = &self.state.roots;
        let mut tunables = block::tunables(roots, &disk);
        let queue = roots.block(&disk).join("queue");
        tunables.extend(further.iter().filter_map(|file| Some((file.clone(), files::read_if_there(&queue.join(file))?))));
        let (_, scheduler) = block::schedulers(roots, &disk);
        self.state.journal.will_make(Made::Queue { disk, scheduler, tunables }).map_err(fault(Fault::Lab))
    }

    pub(super) fn restore_queue(&mut self) -> Result<(), Problem> {
        let made = self.state.journal.made().into_iter().find(|made| matches!(made, Made::Queue { .. }));
        let Some(made) = made else { return Ok(()) };
        if let Made::Queue { disk, scheduler, tunables } = &made {
            restore(&self.state.roots, disk, scheduler.as_deref(), tunables).map_err(fault(Fault::Lab))?;
        }
        self.state.journal.gave_back(&made).map_err(fault(Fault::Lab))
    }

    /// A scheduler that is offered and cannot be set is a fault of the kernel; one that is not there is a fault of the lab.
    pub(super) fn set_scheduler(&mut self, name: &str) -> Result<(), Problem> {
        let disk = &self.disk()?.name;
        let file = self.state.roots.block(disk).join("queue/scheduler");
        let Err(error) = files::set(&file, name) else { return Ok(()) };
        let (offered, _) = block::schedulers(&self.state.roots, disk);
        if offered.iter().any(|offer| offer == name) {
            return Err(fault(Fault::Kernel)(error));
        }
        let offers = offered.join(", ");
        Err(Problem::lab(format!("the kernel does not offer scheduler `{name}` on {disk} (it offers {offers}); load or build its module")))
    }

    pub(super) fn set_tunable(&mut self, name: &str, value: &str) -> Result<(), Problem> {
        let disk = &self.disk()?.name;
        let queue = self.state.roots.block(disk).join("queue");
        let file = queue.join(name);
        if !is_plain(name) || !file.exists() {
            let known = block::folder_names(&queue.join(Path::new(name).parent().unwrap_or(Path::new("")))).join(", ");
            return Err(Problem::workload(format!("there is no `queue/{name}` on {disk} with this scheduler; there are {known}")));
        }
        files::set(&file, value).map_err(fault(Fault::Workload))
    }

    /// Notes every tunable as it is, and compares those that the trial set.
    pub(super) fn verify_queue(&mut self, scheduler: &str, wanted: &Tunables, record: &mut Record) -> Result<(), Problem> {
        let disk = self.disk()?;
        let (_, active) = block::schedulers(&self.state.roots, &disk.name);
        let mut found = block::tunables(&self.state.roots, &disk.name);
        let queue = self.state.roots.block(&disk.name).join("queue");
        found.extend(wanted.keys().filter_map(|file| Some((file.clone(), files::read_if_there(&queue.join(file))?))));
        record.note("scheduler", active.clone().unwrap_or_default());
        for (name, value) in &found {
            record.note(format!("queue.{name}"), value);
        }
        let changed = |what: &str, from: &str, to: &str| {
            Problem::lab(format!(
                "{what} was `{to}` after the workload, not `{from}`: somebody else changed it; stop udev rules or tuning daemons on the lab's disks"
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
