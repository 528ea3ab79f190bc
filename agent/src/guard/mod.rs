//! The lab never writes to a disk that is not meant for it. This module decides that, as a function of facts; [`probe`] reads them.
//!
//! A disk may be used when the configuration lists it by its stable id *and* nobody uses it *and* it is blank or carries the very file
//! system that the lab put on it. Listing a disk is consent to use it empty, never consent to empty it.

pub mod probe;

use blklab_model::id::DiskId;

/// What is known about a disk at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// Kernel name.
    pub name: String,
    /// Its stable id, if it has one.
    pub id: Option<DiskId>,
    /// True when the configuration lists it.
    pub allowed: bool,
    /// How many disks of the host carry the same id.
    pub same_id: usize,
    /// Folders where it or a partition of it is mounted.
    pub mounted: Vec<String>,
    /// Swap areas on it.
    pub swap: Vec<String>,
    /// What is stacked on it or a partition (`dm-0`, `md127`).
    pub holders: Vec<String>,
    /// Its partitions.
    pub partitions: Vec<String>,
    /// The kernel refuses writes.
    pub read_only: bool,
    /// What blkid(8) finds on it.
    pub signature: Signature,
    /// Somebody holds it exclusively: open(2) with O_EXCL fails. This sees mounts of other namespaces and users without a name in sysfs.
    pub claimed: bool,
}

/// What lies on a disk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Signature {
    /// Nothing that anybody knows.
    #[default]
    Blank,
    /// A file system, partition table, RAID or LVM label.
    Found {
        /// `ext4`, `gpt`, `LVM2_member`...
        kind: String,
        /// Of a file system.
        uuid: Option<String>,
    },
    /// It could not be looked at; so it may be anything.
    Unknown {
        /// Why.
        reason: String,
    },
}

/// Why a disk is not used. Each says what is wrong and what would cure it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing tells it from others after a reboot.
    #[error(
        "{name} has no stable id (no WWN, no serial number), so it cannot be told from others after a reboot; give a virtual disk a serial number"
    )]
    NoStableId {
        /// Kernel name.
        name: String,
    },
    /// Two disks, one id.
    #[error("{count} disks carry the id `{id}`; for paths of one multipath disk list its `dm-uuid-...` instead")]
    NotUnique {
        /// The id.
        id: DiskId,
        /// How many.
        count: usize,
    },
    /// Not in the configuration.
    #[error(
        "{name} (`{id}`) is not on the allow-list; to give it to the lab, add to the agent's configuration: [[disk]] id = \"{id}\", class = \"...\""
    )]
    NotAllowed {
        /// Kernel name.
        name: String,
        /// The id.
        id: DiskId,
    },
    /// In use as a file system.
    #[error("{name} is mounted on {}; unmount it, or take it off the allow-list if it is not the lab's", dirs.join(", "))]
    Mounted {
        /// Kernel name.
        name: String,
        /// Where.
        dirs: Vec<String>,
    },
    /// In use as swap.
    #[error("{name} is used as swap ({}); `swapoff` it, or take it off the allow-list", areas.join(", "))]
    Swap {
        /// Kernel name.
        name: String,
        /// Which areas.
        areas: Vec<String>,
    },
    /// Something is stacked on it.
    #[error("{name} is part of {}; stop that volume (mdadm --stop, vgchange -an, dmsetup remove), or take the disk off the allow-list", holders.join(", "))]
    Held {
        /// Kernel name.
        name: String,
        /// By what.
        holders: Vec<String>,
    },
    /// It has partitions.
    #[error("{name} has partitions ({}); if nothing on it is needed, `wipefs --all` them and the disk", partitions.join(", "))]
    Partitioned {
        /// Kernel name.
        name: String,
        /// Which.
        partitions: Vec<String>,
    },
    /// It cannot be written.
    #[error("{name} is read-only; clear its write protection (blockdev --setrw), or take it off the allow-list")]
    ReadOnly {
        /// Kernel name.
        name: String,
    },
    /// It carries something that the lab did not write.
    #[error("{name} carries `{kind}`{}, which this agent did not put there; if nothing on it is needed, run `wipefs --all /dev/{name}`", uuid.as_ref().map(|uuid| format!(" (UUID {uuid})")).unwrap_or_default())]
    ForeignSignature {
        /// Kernel name.
        name: String,
        /// Of what kind.
        kind: String,
        /// Of a file system.
        uuid: Option<String>,
    },
    /// It cannot be said what it carries.
    #[error("what {name} carries cannot be told: {reason}")]
    UnknownSignature {
        /// Kernel name.
        name: String,
        /// Why.
        reason: String,
    },
    /// Somebody has it open for himself.
    #[error(
        "{name} is in exclusive use by somebody else (a mount in another namespace, a volume manager, a running mkfs); `fuser -v /dev/{name}` may name it"
    )]
    Claimed {
        /// Kernel name.
        name: String,
    },
}

impl Refusal {
    /// Does somebody work with the disk right now? Then nobody should be invited to give it to the lab.
    pub fn is_in_use(&self) -> bool {
        match self {
            Refusal::Mounted { .. } | Refusal::Swap { .. } | Refusal::Held { .. } | Refusal::Claimed { .. } => true,
            Refusal::NoStableId { .. }
            | Refusal::NotUnique { .. }
            | Refusal::NotAllowed { .. }
            | Refusal::ReadOnly { .. }
            | Refusal::Partitioned { .. }
            | Refusal::ForeignSignature { .. }
            | Refusal::UnknownSignature { .. } => false,
        }
    }
}

/// May the lab write to this disk? `ours` is the UUID of the file system that the lab put on it, if it has.
pub fn decide(standing: &Standing, ours: Option<&str>) -> Result<(), Refusal> {
    let name = standing.name.clone();
    let Some(id) = standing.id.clone() else { return Err(Refusal::NoStableId { name }) };
    if standing.same_id > 1 {
        return Err(Refusal::NotUnique { id, count: standing.same_id });
    }
    if !standing.allowed {
        return Err(Refusal::NotAllowed { name, id });
    }
    if !standing.mounted.is_empty() {
        return Err(Refusal::Mounted { name, dirs: standing.mounted.clone() });
    }
    if !standing.swap.is_empty() {
        return Err(Refusal::Swap { name, areas: standing.swap.clone() });
    }
    if !standing.holders.is_empty() {
        return Err(Refusal::Held { name, holders: standing.holders.clone() });
    }
    if standing.read_only {
        return Err(Refusal::ReadOnly { name });
    }
    if !standing.partitions.is_empty() {
        return Err(Refusal::Partitioned { name, partitions: standing.partitions.clone() });
    }
    if standing.claimed {
        return Err(Refusal::Claimed { name });
    }
    match &standing.signature {
        Signature::Blank => Ok(()),
        Signature::Found { uuid: Some(uuid), .. } if Some(uuid.as_str()) == ours => Ok(()),
        Signature::Found { kind, uuid } => Err(Refusal::ForeignSignature { name, kind: kind.clone(), uuid: uuid.clone() }),
        Signature::Unknown { reason } => Err(Refusal::UnknownSignature { name, reason: reason.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Standing {
        Standing { name: "sdb".into(), id: Some("wwn-0x5".parse().unwrap()), allowed: true, same_id: 1, ..Standing::default() }
    }

    fn signature(kind: &str, uuid: Option<&str>) -> Signature {
        Signature::Found { kind: kind.into(), uuid: uuid.map(str::to_owned) }
    }

    #[test]
    fn a_blank_listed_disk_and_our_own_file_system_are_taken() {
        assert_eq!(decide(&good(), None), Ok(()));
        assert_eq!(decide(&Standing { signature: signature("ext4", Some("u-1")), ..good() }, Some("u-1")), Ok(()));
    }

    /// Each fact alone is enough for a no, whatever else is right.
    #[test]
    fn every_doubt_is_a_refusal_with_a_cure() {
        let bad = [
            Standing { id: None, ..good() },
            Standing { same_id: 2, ..good() },
            Standing { allowed: false, ..good() },
            Standing { mounted: vec!["/".into(), "/boot".into()], ..good() },
            Standing { swap: vec!["/dev/sdb2".into()], ..good() },
            Standing { holders: vec!["dm-0".into()], ..good() },
            Standing { read_only: true, ..good() },
            Standing { partitions: vec!["sdb1".into()], ..good() },
            Standing { claimed: true, ..good() },
            Standing { signature: signature("ext4", Some("u-2")), ..good() },
            Standing { signature: signature("gpt", None), ..good() },
            Standing { signature: Signature::Unknown { reason: "blkid is not installed".into() }, ..good() },
        ];
        let texts = bad.map(|standing| decide(&standing, Some("u-1")).unwrap_err().to_string());
        insta::assert_snapshot!(texts.join("\n"));
    }
}
