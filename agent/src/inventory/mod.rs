//! What disks and what machine there are, read from sysfs, procfs and udev. Reading only: whether a disk may be used is decided by
//! [`crate::guard`].

mod facts;
pub mod host;
mod identity;
mod transport;

use blklab_model::disk::DiskFacts;
use blklab_model::id::DiskId;

use crate::sys::block;
use crate::sys::roots::Roots;

/// Kernel names that are never disks of a lab: memory, floppies, optical drives; and loop devices, which have no stable id (the agent
/// knows those that it made itself).
const NEVER: [&str; 6] = ["fd", "loop", "nbd", "ram", "sr", "zram"];

/// A disk that the kernel has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its stable id; none when it has nothing that outlives a reboot.
    pub id: Option<DiskId>,
    /// What the kernel says of it.
    pub facts: DiskFacts,
}

/// Every disk of the host, sorted by kernel name.
pub fn scan(roots: &Roots) -> Vec<Found> {
    let names = block::folder_names(&roots.sys.join("block"));
    let is_disk = |name: &String| {
        let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
        !NEVER.contains(&kind) && block::size_bytes(roots, name).is_ok_and(|bytes| bytes > 0)
    };
    names
        .into_iter()
        .filter(is_disk)
        .map(|name| Found { id: identity::stable_id(roots, &name), facts: facts::read(roots, &name) })
        .collect()
}

/// Facts of one disk by its kernel name, also of a loop device.
pub fn facts(roots: &Roots, name: &str) -> DiskFacts {
    facts::read(roots, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A disk in a tree like sysfs: its device folder, and the link below `block/`.
    fn disk(roots: &Roots, device: &str, name: &str, files: &[(&str, &str)]) {
        let folder = roots.sys.join("devices").join(device).join(name);
        for (file, text) in [("size", "2048"), ("dev", "8:0"), ("queue/rotational", "1")].iter().chain(files) {
            let path = folder.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir_all(roots.sys.join("block")).unwrap();
        std::os::unix::fs::symlink(&folder, roots.block(name)).unwrap();
    }

    fn lab(root: &Path) -> Roots {
        let roots = Roots::under(root);
        disk(
            &roots,
            "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block",
            "sda",
            &[
                ("device/wwid", "naa.50014ee2b1f5e7aa\n"),
                ("device/model", "WDC WD2003FYYS-0\n"),
                ("device/rev", "1D02\n"),
                ("device/queue_depth", "31\n"),
                ("device/vpd_pg80", "\0\u{80}\0\u{c}WD-WMAY00000"),
                ("queue/scheduler", "none [mq-deadline] kyber bfq\n"),
                ("queue/logical_block_size", "512\n"),
                ("queue/read_ahead_kb", "128\n"),
                ("queue/nr_requests", "64\n"),
                ("queue/iosched/fifo_batch", "16\n"),
            ],
        );
        disk(
            &roots,
            "pci0000:00/0000:01:00.0/host3/rport-3:0-1/target3:0:1/3:0:1:0/block",
            "sdb",
            &[("device/wwid", "naa.6005076801810523\n"), ("queue/nr_requests", "128")],
        );
        disk(
            &roots,
            "pci0000:00/0000:02:00.0/nvme/nvme0",
            "nvme0n1",
            &[
                ("wwid", "eui.0025385b71b00a1f\n"),
                ("device/model", "Samsung SSD 980\n"),
                ("device/firmware_rev", "1B4Q\n"),
                ("device/serial", "S64DN\n"),
                ("queue/rotational", "0"),
            ],
        );
        disk(&roots, "pci0000:00/0000:00:02.0/virtio1/block", "vda", &[("serial", "")]);
        disk(&roots, "virtual/block", "loop0", &[]);
        disk(&roots, "virtual/block", "zram0", &[]);
        disk(&roots, "pci0000:00/usb1/1-1/host9/target9:0:0/9:0:0:0/block", "sdc", &[("size", "0")]);
        roots
    }

    #[test]
    fn the_disks_of_a_lab_are_described() {
        let root = tempfile::tempdir().unwrap();
        let found = scan(&lab(root.path()));
        insta::assert_debug_snapshot!(found);
    }

    #[test]
    fn udev_fills_in_what_sysfs_lacks() {
        let root = tempfile::tempdir().unwrap();
        let roots = lab(root.path());
        std::fs::create_dir_all(&roots.udev).unwrap();
        std::fs::write(roots.udev.join("b8:0"), "S:disk/by-id/x\nE:ID_SERIAL=QEMU_HARDDISK_7\nE:ID_SERIAL_SHORT=7\n").unwrap();
        let found = scan(&roots);
        let vda = found.iter().find(|found| found.facts.kernel_name == "vda").unwrap();
        assert_eq!(vda.id.as_ref().unwrap().as_str(), "serial-QEMU_HARDDISK_7");
    }
}
