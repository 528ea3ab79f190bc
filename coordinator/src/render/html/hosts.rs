//! `/hosts` and `/hosts/NAME`: what is wrong first, then facts.

use askama::Template;
use blklab_model::disk::{Disk, DiskHealth};
use blklab_model::host::HostHealth;
use blklab_model::kernel::{AS_BOOTED, BootMethod, Clock};
use blklab_model::time::TimestampMs;
use blklab_wire::people::{HostBoot, HostDetails, HostLine};

use super::Badge;
use crate::render::number::{bytes, memory};
use crate::render::when::{When, ago, span};

/// A host in a list.
#[derive(Debug, Clone)]
pub struct HostRow {
    pub(super) name: String,
    pub(super) badge: Badge,
    /// What an admin should look at; empty when all is well.
    pub(super) troubles: Vec<String>,
    pub(super) at: String,
    pub(super) kernel: String,
    pub(super) disks: String,
    pub(super) last_seen: When,
}

/// All hosts.
#[derive(Template)]
#[template(path = "hosts/list.html")]
pub struct HostsPage {
    sentence: String,
    hosts: Vec<HostRow>,
}

/// One host.
#[derive(Template)]
#[template(path = "hosts/one.html")]
pub struct HostPage {
    row: HostRow,
    job: Option<String>,
    experiment: Option<String>,
    facts: Vec<(&'static str, String)>,
    /// Programs on its path: hundreds.
    tools: Vec<String>,
    disks: Vec<DiskRow>,
    enrolled: When,
    build: Option<String>,
    boots: Vec<BootRow>,
    /// `6.3 s, 5.9 s to 7.1 s`: median and range of those that came up.
    boot_times: String,
}

struct BootRow {
    at: Option<When>,
    kernel: String,
    /// Has it a page?
    is_of_lab: bool,
    job: String,
    experiment: String,
    badge: Badge,
    trouble: String,
    took: String,
}

struct DiskRow {
    id: String,
    class: String,
    badge: Badge,
    trouble: String,
    facts: Vec<(&'static str, String)>,
    tunables: Vec<(String, String)>,
}

impl HostsPage {
    /// Hosts with troubles come first.
    pub fn new(lines: &[HostLine], now: TimestampMs) -> HostsPage {
        let mut hosts: Vec<HostRow> = lines.iter().map(|line| HostRow::new(line, now)).collect();
        hosts.sort_by_key(|host| (host.troubles.is_empty(), host.name.clone()));
        let sick = hosts.iter().filter(|host| !host.troubles.is_empty()).count();
        let sentence = match (sick, hosts.len()) {
            (_, 0) => "No host is enrolled yet. Start `blklab-agent run` on one with the enrolment token of this coordinator.".to_owned(),
            (0, 1) => "The one host is well.".to_owned(),
            (0, all) => format!("All {all} hosts are well."),
            (sick, all) => format!("{sick} of {all} hosts need{} a look.", if sick == 1 { "s" } else { "" }),
        };
        HostsPage { sentence, hosts }
    }
}

impl HostRow {
    /// Puts a host into words.
    pub(super) fn new(line: &HostLine, now: TimestampMs) -> HostRow {
        let host = &line.host;
        let mut troubles = Vec::new();
        let badge = match &host.health {
            _ if !line.online => {
                troubles.push(format!("not heard since {}", ago(host.last_seen, now)).replace(" ago", ""));
                Badge::state("failed", '✖', "offline")
            }
            HostHealth::Dirty { reason } => {
                troubles.push(format!("could not be cleaned: {reason}"));
                Badge::state("unstable", '!', "dirty")
            }
            HostHealth::Quarantined { reason } => {
                troubles.push(format!("taken out: {reason}"));
                Badge::state("unstable", '!', "quarantined")
            }
            HostHealth::Healthy if line.job.is_some() => Badge::state("better", '●', "at work"),
            HostHealth::Healthy if line.build.is_some() => Badge::state("better", '●', "building"),
            HostHealth::Healthy => Badge::state("same", '○', "idle"),
        };
        troubles.extend(host.disks.iter().filter_map(|disk| disk_trouble(disk).map(|trouble| format!("disk {}: {trouble}", disk.id))));
        HostRow {
            name: host.name.to_string(),
            badge,
            troubles,
            at: line.at.clone().or_else(|| line.build.map(|build| format!("build {build}"))).unwrap_or_default(),
            kernel: host.facts.kernel_release.clone(),
            disks: host.disks.iter().map(|disk| disk.class.as_str()).collect::<Vec<_>>().join(", "),
            last_seen: When::new(host.last_seen, now),
        }
    }
}

impl HostPage {
    /// Everything about one host.
    pub fn new(host: &HostDetails, now: TimestampMs) -> HostPage {
        let line = &host.line;
        let facts = &line.host.facts;
        let boots_by_lab = facts.boot.boots();
        let last_boot = line.last_boot.as_ref().map(|boot| {
            let took = boot.boot_ms.map_or_else(String::new, |ms| format!(" in {}", span(ms)));
            format!("{}{took}: {}", boot.kernel, boot.outcome)
        });
        let words = [
            (if boots_by_lab { "known-good kernel" } else { "kernel" }, format!("{} {}", facts.kernel_release, facts.kernel_version)),
            ("boots kernels", how_it_boots(facts.boot).to_owned()),
            ("last boot", last_boot.unwrap_or_default()),
            ("clock", clock(facts.clock, boots_by_lab).to_owned()),
            ("builds kernels", (if facts.builder { "yes" } else { "" }).to_owned()),
            ("command line", facts.command_line.clone()),
            ("system", facts.os.clone()),
            ("processors", format!("{} {} {}", facts.cpus, facts.machine, facts.cpu_model)),
            ("memory", memory(facts.memory_bytes)),
            ("cgroups", facts.cgroup.clone()),
            ("agent", facts.agent_version.clone()),
        ];
        HostPage {
            row: HostRow::new(line, now),
            job: line.job.map(|job| job.to_string()),
            experiment: line.job.map(|job| job.experiment.to_string()),
            facts: stated(words),
            tools: facts.tools.clone(),
            disks: line.host.disks.iter().map(DiskRow::new).collect(),
            enrolled: When::new(line.host.enrolled, now),
            build: line.build.map(|build| build.to_string()),
            boots: host.boots.iter().map(|boot| BootRow::new(boot, now)).collect(),
            boot_times: boot_times(&host.boots),
        }
    }
}

impl BootRow {
    fn new(boot: &HostBoot, now: TimestampMs) -> BootRow {
        let came_up = boot.boot_ms.is_some();
        BootRow {
            at: boot.at.map(|at| When::new(at, now)),
            kernel: boot.kernel.clone(),
            is_of_lab: boot.kernel != AS_BOOTED,
            job: boot.job.to_string(),
            experiment: boot.job.experiment.to_string(),
            badge: if came_up { Badge::state("same", '○', "booted") } else { Badge::state("failed", '✖', "failed") },
            trouble: if came_up { String::new() } else { boot.outcome.clone() },
            took: boot.boot_ms.map(span).unwrap_or_default(),
        }
    }
}

fn how_it_boots(method: BootMethod) -> &'static str {
    match method {
        BootMethod::None => "",
        BootMethod::Qemu => "as a virtual host (qemu): its controller starts it afresh for each job",
        BootMethod::Ssh => "over ssh: its controller loads the kernel and boots it once for each job",
    }
}

fn clock(clock: Clock, boots_by_lab: bool) -> &'static str {
    match clock {
        Clock::Real if boots_by_lab => "real",
        Clock::Real => "",
        Clock::Virtual => "virtual: it counts instructions, and is never compared with the other one",
    }
}

fn boot_times(boots: &[HostBoot]) -> String {
    let mut times: Vec<u64> = boots.iter().filter_map(|boot| boot.boot_ms).collect();
    times.sort_unstable();
    match times.as_slice() {
        [] => String::new(),
        [only] => span(*only),
        [first, .., last] => format!("{}, from {} to {}", span(times[times.len() / 2]), span(*first), span(*last)),
    }
}

impl DiskRow {
    fn new(disk: &Disk) -> DiskRow {
        let facts = &disk.facts;
        let badge = match &disk.health {
            DiskHealth::Usable => Badge::state("same", '○', "usable"),
            DiskHealth::Refused { .. } => Badge::state("failed", '✖', "refused"),
            DiskHealth::Missing => Badge::state("failed", '✖', "missing"),
            DiskHealth::Quarantined { .. } => Badge::state("unstable", '!', "quarantined"),
        };
        let schedulers = facts.schedulers.iter().map(|name| match &facts.scheduler {
            Some(active) if active == name => format!("[{name}]"),
            Some(_) | None => name.clone(),
        });
        let words = [
            ("now", facts.kernel_name.clone()),
            ("model", facts.model.clone()),
            ("firmware", facts.firmware.clone()),
            ("serial", facts.serial.clone()),
            ("transport", facts.transport.clone()),
            ("rotational", (if facts.rotational { "yes" } else { "no" }).to_owned()),
            ("size", bytes(facts.size_bytes)),
            ("logical block", bytes(u64::from(facts.logical_block_bytes))),
            ("queue depth", facts.queue_depth.map(|depth| depth.to_string()).unwrap_or_default()),
            ("schedulers", schedulers.collect::<Vec<_>>().join(" ")),
            ("limits", facts.limits.clone()),
        ];
        DiskRow {
            id: disk.id.to_string(),
            class: disk.class.to_string(),
            badge,
            trouble: disk_trouble(disk).unwrap_or_default(),
            facts: stated(words),
            tunables: facts.tunables.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        }
    }
}

fn disk_trouble(disk: &Disk) -> Option<String> {
    match &disk.health {
        DiskHealth::Usable => None,
        DiskHealth::Refused { reason } => Some(format!("refused by the agent: {reason}")),
        DiskHealth::Missing => Some("on the allow-list, but not present".to_owned()),
        DiskHealth::Quarantined { reason } => Some(format!("taken out: {reason}")),
    }
}

/// Facts that are known.
fn stated<const N: usize>(facts: [(&'static str, String); N]) -> Vec<(&'static str, String)> {
    facts.into_iter().map(|(name, value)| (name, value.trim().to_owned())).filter(|(_, value)| !value.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::{self, NOW};

    #[test]
    fn what_is_wrong_comes_first() {
        let page = HostsPage::new(&testing::hosts(), NOW);
        let names: Vec<&str> = page.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["lab-2", "lab-3", "lab-4", "lab-1"]);
        assert_eq!(page.sentence, "3 of 4 hosts need a look.");
        assert_eq!(page.hosts[2].troubles, ["not heard since 2 h"]);
    }
}
