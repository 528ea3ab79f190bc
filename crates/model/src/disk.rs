//! Disks: what the kernel says of them, which class the lab gives them, and whether they may be used.

use serde::{Deserialize, Serialize};

use crate::id::{DiskClass, DiskId};
use crate::scheduler::Tunables;
use crate::transition::Refused;

/// A disk that an agent offers to the lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// Stable id, the same after a reboot.
    pub id: DiskId,
    /// The lab's word for its kind; cells are planned by class.
    pub class: DiskClass,
    /// What the kernel reports.
    pub facts: DiskFacts,
    /// May it be used now?
    pub health: DiskHealth,
}

/// Facts of a block device, from `/sys/block/NAME` (Documentation/ABI/stable/sysfs-block) and udev.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct DiskFacts {
    /// Kernel name at the moment (`sda`); not stable.
    pub kernel_name: String,
    /// `sata`, `fc`, `sas`, `nvme`, `virtio`, `loop`, ... or empty when unknown.
    pub transport: String,
    /// `queue/rotational`.
    pub rotational: bool,
    /// `device/queue_depth` where the driver has one, else `queue/nr_requests`.
    pub queue_depth: Option<u32>,
    /// Bytes.
    pub size_bytes: u64,
    /// Bytes of a logical block.
    pub logical_block_bytes: u32,
    /// `device/model`, trimmed.
    pub model: String,
    /// `device/rev` or `device/firmware_rev`, trimmed.
    pub firmware: String,
    /// Serial number, trimmed.
    pub serial: String,
    /// What `queue/scheduler` offers.
    pub schedulers: Vec<String>,
    /// The active scheduler when the inventory was taken.
    pub scheduler: Option<String>,
    /// Files of `queue/` with their values.
    pub tunables: Tunables,
    /// Limits set below the elevator, in words (`throttled below: 40 MB/s, 125 IOPS`), empty when none.
    pub limits: String,
}

/// May a disk be used?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "health")]
pub enum DiskHealth {
    /// Trials may run on it.
    Usable,
    /// The agent refuses it: mounted, has holders, carries a foreign signature...
    Refused {
        /// What is wrong and what would cure it.
        reason: String,
    },
    /// On the allow-list, not present.
    Missing,
    /// An admin took it out.
    Quarantined {
        /// Why.
        reason: String,
    },
}

/// What may happen to a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskEvent {
    /// The agent's inventory: its own view of the disk.
    Reported(DiskHealth),
    /// An admin takes it out.
    Quarantine(String),
    /// An admin gives it back; the next inventory says how it is.
    Release,
}

/// The next health of a disk. A quarantine outlives any report of the agent.
pub fn step(health: &DiskHealth, event: DiskEvent) -> Result<DiskHealth, Refused> {
    use DiskEvent as E;
    use DiskHealth as H;
    match (health, event) {
        (H::Quarantined { reason }, E::Reported(_)) => Ok(H::Quarantined { reason: reason.clone() }),
        (H::Usable | H::Refused { .. } | H::Missing, E::Reported(seen)) => Ok(seen),
        (H::Usable | H::Refused { .. } | H::Missing | H::Quarantined { .. }, E::Quarantine(reason)) => Ok(H::Quarantined { reason }),
        (H::Quarantined { .. }, E::Release) => Ok(H::Missing),
        (H::Usable | H::Refused { .. } | H::Missing, E::Release) => Err(Refused::new("disk", health, "Release")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarantine_outlives_reports_until_released() {
        let health = step(&DiskHealth::Usable, DiskEvent::Quarantine("slow".into())).unwrap();
        let health = step(&health, DiskEvent::Reported(DiskHealth::Usable)).unwrap();
        assert_eq!(health, DiskHealth::Quarantined { reason: "slow".into() });
        let health = step(&health, DiskEvent::Release).unwrap();
        assert_eq!(step(&health, DiskEvent::Reported(DiskHealth::Usable)), Ok(DiskHealth::Usable));
        assert!(step(&DiskHealth::Usable, DiskEvent::Release).is_err());
    }
}
