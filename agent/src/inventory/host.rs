//! Facts of the machine: kernel, processors, memory, programs.

use std::collections::BTreeSet;

use blklab_model::host::HostFacts;
use blklab_model::kernel::{BootMethod, Clock};

use crate::sys::cgroup::Hierarchy;
use crate::sys::command;
use crate::sys::files::read_if_there;
use crate::sys::roots::Roots;

/// Programs listed at most; a host has two or three thousand.
const MAX_TOOLS: usize = 10_000;

/// Reads everything that a report says about a host.
pub fn facts(roots: &Roots, hierarchy: &Hierarchy) -> HostFacts {
    let uname = rustix::system::uname();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    let cpuinfo = read_if_there(&roots.proc.join("cpuinfo")).unwrap_or_default();
    let meminfo = read_if_there(&roots.proc.join("meminfo")).unwrap_or_default();
    let os = read_if_there(&roots.etc.join("os-release")).unwrap_or_default();
    HostFacts {
        kernel_release: text(uname.release()),
        kernel_version: text(uname.version()),
        machine: text(uname.machine()),
        cpus: std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
        cpu_model: field(&cpuinfo, "model name", ':').unwrap_or_default(),
        memory_bytes: memory_bytes(&meminfo),
        os: field(&os, "PRETTY_NAME", '=').unwrap_or_default().trim_matches('"').to_owned(),
        command_line: read_if_there(&roots.proc.join("cmdline")).unwrap_or_default(),
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        tools: tools(),
        cgroup: hierarchy.word().to_owned(),
        boot: BootMethod::None,
        clock: Clock::Real,
        builder: false,
    }
}

/// Identifies this boot of the kernel.
pub fn boot_id(roots: &Roots) -> String {
    read_if_there(&roots.proc.join("sys/kernel/random/boot_id")).unwrap_or_default()
}

/// Identifies this machine, across boots where systemd gave it an id.
pub fn machine_id(roots: &Roots) -> String {
    read_if_there(&roots.etc.join("machine-id")).unwrap_or_else(|| boot_id(roots))
}

/// Every program that a workload could name: which ones it will need is not known here.
fn tools() -> Vec<String> {
    let names: BTreeSet<String> = command::installed().collect();
    names.into_iter().take(MAX_TOOLS).collect()
}

fn field(text: &str, name: &str, separator: char) -> Option<String> {
    text.lines().find_map(|line| line.split_once(separator).filter(|(key, _)| key.trim() == name)).map(|(_, value)| value.trim().to_owned())
}

/// `MemTotal:       24683528 kB`
fn memory_bytes(meminfo: &str) -> u64 {
    let total = field(meminfo, "MemTotal", ':').unwrap_or_default();
    total.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_all_that_a_report_needs() {
        let facts = facts(&Roots::live(), &Hierarchy::WithoutLimits(None));
        assert!(!facts.kernel_release.is_empty() && facts.cpus > 0 && facts.memory_bytes > 1 << 20);
        assert!(facts.tools.iter().any(|tool| tool == "dd"), "{:?}", facts.tools);
        assert!(!boot_id(&Roots::live()).is_empty());
    }

    #[test]
    fn memory_is_in_bytes() {
        assert_eq!(memory_bytes("MemTotal:       24683528 kB\nMemFree: 1 kB"), 24_683_528 << 10);
    }
}
