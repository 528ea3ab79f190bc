//! The file system under test, and the caches above it.

use std::path::Path;
use std::time::Duration;

use blklab_model::filesystem::words::check_mount;
use blklab_model::outcome::Fault;

use super::disks::numbered;
use super::give_back::unmount_within;
use super::{LabHost, fault};
use crate::cycle::machine::{Problem, Record};
use crate::journal::Made;
use crate::sys::limited::limited;
use crate::sys::{SysError, cgroup, files, mount};

/// Page cache, dentries and inodes (Documentation/admin-guide/sysctl/vm.rst, drop_caches).
const DROP_EVERYTHING: &str = "3";

impl LabHost {
    pub(super) fn mount(&mut self, kind: &str, options: &str, limit: Duration, record: &mut Record) -> Result<(), Problem> {
        check_mount(options).map_err(|bad| Problem::workload(bad.to_string()))?;
        (0..self.trial.disks.len()).try_for_each(|index| self.mount_one(index, kind, options, limit, record))
    }

    fn mount_one(&mut self, index: usize, kind: &str, options: &str, limit: Duration, record: &mut Record) -> Result<(), Problem> {
        let disk = self.disk(index)?;
        let (device, dir) = (disk.device.clone(), disk.dir.clone());
        self.state.journal.will_make(Made::Mount { dir: dir.clone() }).map_err(fault(Fault::Lab))?;
        let (kind, options) = (kind.to_owned(), options.to_owned());
        let (asked, file_system) = (options.clone(), kind.clone());
        let target = dir.clone();
        let mounted = limited(&format!("mount {}", device.display()), limit, move || mount::mount(&device, &target, &kind, &options));
        mounted.map_err(|error| {
            let fault_is = whose(&error, &asked);
            fault(fault_is)(error)
        })?;
        let found = mount::mounted_on(&self.state.roots.proc, &dir).map_err(fault(Fault::Lab))?;
        let found = found.ok_or_else(|| Problem::kernel(format!("{file_system} was mounted on {} and is not there", dir.display())))?;
        if !record.environment.iter().any(|(name, _)| name == "mount.type") {
            record.note("mount.type", found.kind);
        }
        Ok(())
    }

    /// Nothing that the trial started may still hold the file system.
    pub(super) fn unmount(&mut self, limit: Duration) -> Result<(), Problem> {
        if let Some(group) = self.trial.group.as_ref().filter(|_| self.trial.background.is_empty()) {
            cgroup::kill(group);
        }
        let mut first = Ok(());
        for made in self.state.journal.made() {
            let Made::Mount { dir } = &made else { continue };
            let given_back = unmount_within(dir, limit).and_then(|()| self.state.journal.gave_back(&made));
            first = first.and(given_back);
        }
        first.map_err(fault(Fault::Lab))
    }

    pub(super) fn check_space(&self, bytes: u64) -> Result<(), Problem> {
        self.trial.disks.iter().try_for_each(|disk| check_space_below(&disk.dir, bytes))
    }

    /// Clean pages only are dropped, so everything is synced before.
    pub(super) fn drop_caches(&self, limit: Duration) -> Result<(), Problem> {
        sync(limit)?;
        let file = self.state.roots.proc.join("sys/vm/drop_caches");
        limited("drop caches", limit, move || files::write(&file, DROP_EVERYTHING)).map_err(fault(Fault::Lab))
    }

    pub(super) fn verify_mount(&self, read_only: bool, record: &mut Record) -> Result<(), Problem> {
        (0..self.trial.disks.len()).try_for_each(|index| self.verify_mount_of(index, read_only, record))
    }

    fn verify_mount_of(&self, index: usize, read_only: bool, record: &mut Record) -> Result<(), Problem> {
        let dir = &self.disk(index)?.dir;
        let found = mount::mounted_on(&self.state.roots.proc, dir).map_err(fault(Fault::Lab))?;
        let found = found.ok_or_else(|| Problem::lab(format!("{} is no longer mounted: somebody else unmounted it", dir.display())))?;
        record.note(numbered("mount.options", index), &found.options);
        let is_read_only = found.options.split(',').any(|option| option == "ro");
        if is_read_only && !read_only {
            return Err(Problem::kernel(
                "the file system turned read-only during the workload: the kernel found an error in it (see dmesg.txt)",
            ));
        }
        Ok(())
    }
}

fn check_space_below(dir: &Path, bytes: u64) -> Result<(), Problem> {
    let stat = rustix::fs::statvfs(dir).map_err(SysError::io(format!("look at {}", dir.display()))).map_err(fault(Fault::Lab))?;
    let free = stat.f_bavail * stat.f_frsize;
    if free >= bytes {
        return Ok(());
    }
    let sizes = format!("{} MiB, the fresh file system has {} MiB free", bytes >> 20, free >> 20);
    Err(Problem::lab(format!("the workload needs {sizes}; use a larger disk, or smaller parameters")))
}

/// Everything dirty on the host to its disks, so that no old write-back runs beside the measured window.
pub(super) fn sync(limit: Duration) -> Result<(), Problem> {
    let synced = limited("sync", limit, || {
        rustix::fs::sync();
        Ok(())
    });
    synced.map_err(fault(Fault::Lab))
}

/// A kernel without this file system, or without this option, is one thing; one that refuses a fresh file system is another.
fn whose(error: &SysError, options: &str) -> Fault {
    match error {
        SysError::Io { source, .. } if source.raw_os_error() == Some(libc::ENODEV) => Fault::Lab,
        SysError::Io { .. } if !options.is_empty() && options != "noinit_itable" => Fault::Workload,
        SysError::Io { .. }
        | SysError::ReadBack { .. }
        | SysError::MissingProgram { .. }
        | SysError::Program { .. }
        | SysError::TimeOut { .. }
        | SysError::Unsupported { .. } => Fault::Kernel,
    }
}
