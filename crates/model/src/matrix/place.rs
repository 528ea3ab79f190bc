//! Where a cell can be measured: on one host, on as many of its disks as the workload needs.

use std::collections::HashMap;

use super::{Arm, Point};
use crate::disk::{Disk, DiskHealth};
use crate::filesystem::Format;
use crate::host::{Host, HostHealth};
use crate::id::{DiskId, HostName};
use crate::kernel::{Clock, Kernel};
use crate::workload::{Target, Workload};

/// Arms that were planned on each disk so far.
pub(super) type Load = HashMap<(HostName, DiskId), usize>;

/// A host with the disks that measure a cell.
pub(super) struct Place<'a> {
    pub(super) host: &'a Host,
    /// In the order in which a workload counts them.
    pub(super) disks: Vec<&'a Disk>,
}

/// The place whose busiest disk has the least to do. `disks` come in the order in which ties are broken.
///
/// # Errors
/// Why there is none, and what would cure it.
pub(super) fn find<'a>(point: &Point<'_>, disks: &[(&'a Host, &'a Disk)], load: &Load, clock: Clock) -> Result<Place<'a>, String> {
    let of_class: Vec<_> = disks.iter().filter(|(_, disk)| disk.class == *point.disk_class).copied().collect();
    if of_class.is_empty() {
        let mut classes: Vec<&str> = disks.iter().map(|(_, disk)| disk.class.as_str()).collect();
        classes.sort_unstable();
        classes.dedup();
        let help = crate::source::suggest(point.disk_class.as_str(), classes);
        return Err(format!("no host offers a disk of class `{}`; {help}", point.disk_class));
    }
    let load_of = |host: &Host, disk: &Disk| load.get(&(host.name.clone(), disk.id.clone())).copied().unwrap_or(0);
    let mut hosts: Vec<Place<'_>> = Vec::new();
    let mut refusals = Vec::new();
    for (host, disk) in of_class {
        match refusal(point, host, disk, clock) {
            Some(reason) => refusals.push(format!("{}/{}: {reason}", host.name, disk.id)),
            None => match hosts.iter_mut().find(|place| place.host.name == host.name) {
                Some(place) => place.disks.push(disk),
                None => hosts.push(Place { host, disks: vec![disk] }),
            },
        }
    }
    let needed = point.disks();
    let mut best: Option<(usize, Place<'_>)> = None;
    for mut place in hosts {
        let (host, usable) = (place.host, place.disks.len());
        if usable < needed {
            refusals
                .push(format!("{}: the workload needs {needed} disks of class `{}`, {usable} can be used", host.name, point.disk_class));
            continue;
        }
        place.disks.sort_by_key(|disk| load_of(host, disk));
        place.disks.truncate(needed);
        let busiest = place.disks.last().map_or(0, |disk| load_of(host, disk));
        if best.as_ref().is_none_or(|(least, _)| busiest < *least) {
            best = Some((busiest, place));
        }
    }
    let (_, mut place) = best.ok_or_else(|| refusals.join("; "))?;
    // The same disks are the same ones in every cell, whatever the dice said.
    place.disks.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(place)
}

/// Why no arm of a point can run on a disk.
fn refusal(point: &Point<'_>, host: &Host, disk: &Disk, clock: Clock) -> Option<String> {
    match &host.health {
        HostHealth::Healthy => {}
        HostHealth::Dirty { reason } => return Some(format!("the host is dirty: {reason}")),
        HostHealth::Quarantined { reason } => return Some(format!("the host is quarantined: {reason}")),
    }
    match &disk.health {
        DiskHealth::Usable => {}
        DiskHealth::Refused { reason } => return Some(format!("its agent refuses the disk: {reason}")),
        DiskHealth::Missing => return Some("the disk is missing".to_owned()),
        DiskHealth::Quarantined { reason } => return Some(format!("the disk is quarantined: {reason}")),
    }
    if host.facts.clock != clock {
        return Some(format!("the host measures {} time, the experiment asks for {}", host.facts.clock.word(), clock.word()));
    }
    let reasons: Vec<String> = point.arms.iter().filter_map(|arm| refusal_of_disk(arm, point.workload, host, disk)).collect();
    (reasons.len() == point.arms.len()).then(|| reasons[0].clone())
}

/// Why one arm cannot run at a place.
pub(super) fn arm_refusal(arm: &Arm, workload: &Workload, place: &Place<'_>) -> Option<String> {
    let used = workload.disks_with(&arm.setting.parameters) as usize;
    place.disks.iter().take(used).find_map(|disk| refusal_of_disk(arm, workload, place.host, disk))
}

/// Why one arm cannot use a disk.
fn refusal_of_disk(arm: &Arm, workload: &Workload, host: &Host, disk: &Disk) -> Option<String> {
    match &arm.setting.kernel {
        Kernel::AsBooted => {}
        Kernel::Built(_) if host.facts.boot.boots() => {}
        Kernel::Built(name) => {
            return Some(format!("the kernel of host {} is fixed (boot = \"none\"), so it cannot boot `{name}`", host.name));
        }
    }
    let scheduler = &arm.setting.scheduler.name;
    if !disk.facts.schedulers.contains(scheduler) {
        return Some(format!("the disk offers no scheduler `{scheduler}` (it has {})", disk.facts.schedulers.join(", ")));
    }
    match (&workload.needs.target, &arm.setting.filesystem.format) {
        (Target::Mounted, Format::Raw) => return Some("the workload needs a file system; the cell has a raw disk".to_owned()),
        (Target::Raw, Format::Made { .. }) => return Some("the workload needs the raw disk; add `raw` to matrix.filesystem".to_owned()),
        (Target::Mounted, Format::Made { .. }) | (Target::Raw, Format::Raw) => {}
    }
    let mkfs = arm.setting.filesystem.format.mkfs_program();
    if let Some(tool) = workload.needs.tools.iter().chain(mkfs.iter()).find(|tool| !host.facts.tools.contains(tool)) {
        return Some(format!("host {} has no `{tool}`; install it and restart the agent", host.name));
    }
    let resolved = workload.resolve(&arm.setting.parameters, 0).ok()?;
    (resolved.space_bytes > disk.facts.size_bytes)
        .then(|| format!("the workload needs {} MiB, the disk has {} MiB", resolved.space_bytes >> 20, disk.facts.size_bytes >> 20))
}

#[cfg(test)]
mod tests {
    use crate::host::Host;
    use crate::matrix::{Expansion, expand};
    use crate::testing::{disk, experiment, host, id, workload_file};
    use crate::workload::file::parse;

    /// As many readers as disks; the number of disks is swept.
    fn expansion(hosts: &[Host], disks: &str) -> Expansion {
        let text = workload_file("reader")
            .replace("needs.tools", "needs.disks = \"{disks}\"\nparameters.disks = { default = 1 }\nneeds.tools")
            .replace("name = \"reader\"\n        argv", "name = \"reader\"\neach_disk = true\n        argv")
            .replace("better = ", "combine = \"sum\"\nbetter = ");
        let workloads = [(id("reader"), parse("workload.toml", &text).unwrap())].into();
        let asked = experiment(&[("[matrix]", &format!("[matrix]\nparameters.disks = {disks}"))]);
        expand(&asked, &workloads, hosts, 3).unwrap()
    }

    fn host_of(disks: usize) -> Host {
        let mut host = host("array", &[]);
        host.disks = (1..=disks).map(|number| disk(&format!("lun-{number}"), "sata-hdd")).collect();
        host
    }

    #[test]
    fn a_cell_gets_as_many_disks_of_one_host_as_it_needs() {
        let found = expansion(&[host_of(4), host("single", &["sata-hdd"])], "[4, 2]");
        assert_eq!(found.impossible, []);
        let disks: Vec<usize> = found.cells.iter().map(|cell| cell.disks.len()).collect();
        assert_eq!(disks, [4, 2]);
        assert!(found.cells.iter().all(|cell| cell.host.as_str() == "array" && cell.disks.is_sorted()));
    }

    #[test]
    fn too_few_disks_are_a_reason() {
        let found = expansion(&[host_of(3)], "[4]");
        assert_eq!(found.cells, []);
        assert_eq!(found.impossible[0].reason, "array: the workload needs 4 disks of class `sata-hdd`, 3 can be used");
    }

    #[test]
    fn narrow_cells_spread_over_the_disks() {
        let found = expansion(&[host_of(4)], "[1, 3]");
        let [narrow, wide] = &found.cells[..] else { panic!("{found:?}") };
        assert!(!wide.disks.contains(&narrow.disks[0]), "the busy disk is left out");
    }

    #[test]
    fn cells_of_one_disk_are_still_read() {
        let cell = &expansion(&[host_of(1)], "[1]").cells[0];
        let old = serde_json::to_string(cell).unwrap().replace("\"disks\":[\"lun-1\"]", "\"disk\":\"lun-1\"");
        assert!(old.contains("\"disk\":"), "{old}");
        assert_eq!(serde_json::from_str::<crate::matrix::Cell>(&old).unwrap(), *cell);
    }
}
