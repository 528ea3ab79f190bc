//! `blklab-agent inventory`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use blklab_model::disk::DiskFacts;
use blklab_model::id::{DiskClass, DiskId};
use serde::Serialize;

use crate::config::{Config, LoopDiskConfig};
use crate::guard::probe::{self, Subject};
use crate::guard::{self, Refusal};
use crate::inventory::{self, Found, host};
use crate::journal::Journal;
use crate::sys::roots::Roots;

/// How the list is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Json,
}

/// One disk of the host.
#[derive(Debug, Serialize)]
pub(super) struct Listing {
    id: Option<DiskId>,
    /// None for a disk that the configuration does not list.
    class: Option<DiskClass>,
    /// Why it is refused, or would be if it were listed; none when nothing stands against it.
    refused: Option<String>,
    /// It could be listed.
    can_be_listed: bool,
    facts: DiskFacts,
}

impl Listing {
    /// For `check`: a disk of the configuration, and whether it may be used.
    pub(super) fn finding(self) -> Option<(String, Result<(), String>)> {
        self.class?;
        let name = format!("disk {} ({})", self.id.map(|id| id.to_string()).unwrap_or_default(), self.facts.kernel_name);
        Some((name, self.refused.map_or(Ok(()), Err)))
    }
}

/// Lists all disks of the host, the configuration's loop disks, and disks of the configuration that are not there.
pub(super) fn print(config: &Config, form: Form) -> anyhow::Result<ExitCode> {
    let (listings, missing) = list(config)?;
    let text = match form {
        Form::Json => serde_json::to_string_pretty(&listings)? + "\n",
        Form::Text => render(&listings, &missing, &config.loop_disks),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The disks that are there, and the ids of those that should be.
pub(super) fn list(config: &Config) -> anyhow::Result<(Vec<Listing>, Vec<DiskId>)> {
    let roots = Roots::live();
    let journal = Journal::open(&config.state_dir, &host::boot_id(&roots))?;
    let found = inventory::scan(&roots);
    let listings = found.iter().map(|disk| listing(config, &roots, &journal, disk, &found)).collect::<anyhow::Result<Vec<_>>>()?;
    let is_missing = |id: &&DiskId| !found.iter().any(|found| found.id.as_ref() == Some(*id));
    let missing = config.disks.iter().map(|disk| &disk.id).filter(is_missing).cloned().collect();
    Ok((listings, missing))
}

fn listing(config: &Config, roots: &Roots, journal: &Journal, disk: &Found, all: &[Found]) -> anyhow::Result<Listing> {
    let entry = config.disks.iter().find(|entry| Some(&entry.id) == disk.id.as_ref());
    let same_id = all.iter().filter(|other| other.id == disk.id).count();
    // Also for a disk that is not listed: would anything else stand against it?
    let subject = Subject { name: &disk.facts.kernel_name, id: disk.id.as_ref(), allowed: true, same_id };
    let standing = probe::standing(roots, &subject)?;
    let ours = disk.id.as_ref().and_then(|id| journal.signature(id));
    let refusal = guard::decide(&standing, ours).err();
    let is_in_use = refusal.as_ref().is_some_and(Refusal::is_in_use);
    Ok(Listing {
        id: disk.id.clone(),
        class: entry.map(|entry| entry.class.clone()),
        refused: refusal.map(|refusal| refusal.to_string()),
        can_be_listed: entry.is_none() && disk.id.is_some() && !is_in_use,
        facts: disk.facts.clone(),
    })
}

fn render(listings: &[Listing], missing: &[DiskId], loop_disks: &[LoopDiskConfig]) -> String {
    let mut text = String::new();
    for disk in listings {
        let id = disk.id.as_ref().map_or("no stable id", DiskId::as_str);
        let class = disk.class.as_ref().map_or("not listed", DiskClass::as_str);
        let _ = writeln!(text, "{}  {id}  [{class}]\n    {}", disk.facts.kernel_name, facts_line(&disk.facts));
        match (&disk.refused, &disk.class) {
            (None, Some(_)) => text.push_str("    may be used\n"),
            (None, None) => text.push_str("    blank and unused, but not listed: the lab does not touch it\n"),
            (Some(reason), _) => {
                let _ = writeln!(text, "    refused: {reason}");
            }
        }
        if let Some(id) = disk.id.as_ref().filter(|_| disk.can_be_listed) {
            let class = likely_class(&disk.facts);
            let _ = writeln!(text, "    to give it to the lab:\n        [[disk]]\n        id = \"{id}\"\n        class = \"{class}\"");
        }
    }
    for id in missing {
        let _ = writeln!(text, "{id}  is listed in the configuration and not there");
    }
    for disk in loop_disks {
        let limits = if disk.limits.is_none() { "no limits".to_owned() } else { disk.limits.words() };
        let _ = writeln!(text, "{}  [{}]\n    {} MiB, {limits}; made when the agent starts", disk.id, disk.class, disk.size_bytes >> 20);
    }
    text
}

fn facts_line(facts: &DiskFacts) -> String {
    let size = format!("{:.1} GB", facts.size_bytes as f64 / 1e9);
    let depth = facts.queue_depth.map(|depth| format!("queue depth {depth}")).unwrap_or_default();
    let firmware = if facts.firmware.is_empty() { String::new() } else { format!("firmware {}", facts.firmware) };
    let schedulers = format!("schedulers {}", facts.schedulers.join(" "));
    let kind = if facts.rotational { "rotational" } else { "not rotational" };
    let words = [facts.transport.as_str(), kind, &size, &facts.model, &firmware, &depth, &schedulers];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// A suggestion only: the class is the lab's own word.
fn likely_class(facts: &DiskFacts) -> String {
    let transport = if facts.transport.is_empty() { "disk" } else { &facts.transport };
    match (transport, facts.rotational) {
        ("fc", _) => "fc-array".to_owned(),
        (transport, true) => format!("{transport}-hdd"),
        (transport, false) => format!("{transport}-ssd"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_admin_reads() {
        let facts = |name: &str, transport: &str, rotational: bool| DiskFacts {
            kernel_name: name.into(),
            transport: transport.into(),
            rotational,
            size_bytes: 2_000_398_934_016,
            model: "WDC WD2003FYYS-0".into(),
            firmware: "1D02".into(),
            queue_depth: Some(31),
            schedulers: vec!["none".into(), "bfq".into()],
            ..DiskFacts::default()
        };
        let id: DiskId = "wwn-0x5".parse().unwrap();
        let listing = |facts: DiskFacts| Listing { id: Some(id.clone()), class: None, refused: None, can_be_listed: false, facts };
        let listings = [
            Listing { class: Some("sata-hdd".parse().unwrap()), ..listing(facts("sda", "sata", true)) },
            Listing { can_be_listed: true, ..listing(facts("sdb", "nvme", false)) },
            Listing { refused: Some("vda is mounted on /".into()), ..listing(facts("vda", "virtio", true)) },
        ];
        let config = crate::config::parse(
            "a",
            "name = \"a\"\ncoordinator = \"http://x\"\ntoken_file = \"t\"\nstate_dir = \"/s\"\n[[loop_disk]]\nname = \"slow\"\nclass = \"fc\"\nsize = \"64M\"\nread_iops = 9\n",
        );
        insta::assert_snapshot!(render(&listings, &["wwn-0x7".parse().unwrap()], &config.unwrap().loop_disks));
    }
}
