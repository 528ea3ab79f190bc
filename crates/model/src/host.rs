//! Hosts: who they are, whether they answer and whether they may work.

use serde::{Deserialize, Serialize};

use crate::disk::Disk;
use crate::id::HostName;
use crate::kernel::{BootMethod, Clock};
use crate::time::{SpanMs, TimestampMs};
use crate::transition::Refused;

/// A host that has not been heard for this long is offline: three missed heartbeats of [`HEARTBEAT_EVERY`].
pub const OFFLINE_AFTER: SpanMs = SpanMs::seconds(15);

/// How often an agent says that it lives.
pub const HEARTBEAT_EVERY: SpanMs = SpanMs::seconds(5);

/// A registered lab machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Unique in the lab.
    pub name: HostName,
    /// What the agent found on it.
    pub facts: HostFacts,
    /// Its disks.
    pub disks: Vec<Disk>,
    /// May it work?
    pub health: HostHealth,
    /// When it was enrolled.
    pub enrolled: TimestampMs,
    /// When it was last heard.
    pub last_seen: TimestampMs,
}

/// Facts of a host, reported by its agent at each start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct HostFacts {
    /// `uname -r`.
    pub kernel_release: String,
    /// `uname -v`.
    pub kernel_version: String,
    /// `uname -m`.
    pub machine: String,
    /// Online processors.
    pub cpus: u32,
    /// Model of the processors.
    pub cpu_model: String,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// `PRETTY_NAME` of os-release.
    pub os: String,
    /// `/proc/cmdline`.
    pub command_line: String,
    /// Version of the agent.
    pub agent_version: String,
    /// Programs of interest found on the host (`fio`, `mkfs.ext4`, ...).
    pub tools: Vec<String>,
    /// `v1`, `v2` or empty: the cgroup hierarchy used for limits.
    pub cgroup: String,
    /// How it gets its kernel.
    #[serde(default)]
    pub boot: BootMethod,
    /// What its times are measured by.
    #[serde(default)]
    pub clock: Clock,
    /// Builds kernels when asked.
    #[serde(default)]
    pub builder: bool,
}

/// May a host work?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "health")]
pub enum HostHealth {
    /// It may claim jobs.
    Healthy,
    /// An undo failed; it must be cleaned (or rebooted) before it works again.
    Dirty {
        /// What could not be undone.
        reason: String,
    },
    /// An admin (or a failed A/A check) took it out.
    Quarantined {
        /// Why.
        reason: String,
    },
}

/// What may happen to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostEvent {
    /// The agent says that its host is clean.
    ReportedClean,
    /// The agent says that it could not clean up.
    ReportedDirty(String),
    /// An admin takes it out.
    Quarantine(String),
    /// An admin gives it back.
    Release,
}

/// The next health of a host. A quarantine ends only by [`HostEvent::Release`].
pub fn step(health: &HostHealth, event: HostEvent) -> Result<HostHealth, Refused> {
    use HostEvent as E;
    use HostHealth as H;
    match (health, event) {
        (H::Healthy | H::Dirty { .. }, E::ReportedClean) => Ok(H::Healthy),
        (H::Healthy | H::Dirty { .. }, E::ReportedDirty(reason)) => Ok(H::Dirty { reason }),
        (H::Quarantined { .. }, E::ReportedClean | E::ReportedDirty(_)) => Ok(health.clone()),
        (H::Healthy | H::Dirty { .. } | H::Quarantined { .. }, E::Quarantine(reason)) => Ok(H::Quarantined { reason }),
        (H::Quarantined { .. }, E::Release) => Ok(H::Healthy),
        (H::Healthy | H::Dirty { .. }, E::Release) => Err(Refused::new("host", health, "Release")),
    }
}

impl Host {
    /// Has it been heard lately?
    pub fn is_online(&self, now: TimestampMs) -> bool {
        now - self.last_seen < OFFLINE_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_until_clean_quarantined_until_released() {
        let dirty = step(&HostHealth::Healthy, HostEvent::ReportedDirty("umount".into())).unwrap();
        assert_eq!(step(&dirty, HostEvent::ReportedClean), Ok(HostHealth::Healthy));
        let out = step(&dirty, HostEvent::Quarantine("A/A".into())).unwrap();
        assert_eq!(step(&out, HostEvent::ReportedClean).as_ref(), Ok(&out));
        assert_eq!(step(&out, HostEvent::Release), Ok(HostHealth::Healthy));
        assert!(step(&HostHealth::Healthy, HostEvent::Release).is_err());
    }
}
