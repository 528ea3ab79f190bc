//! Configurations of the demo: an agent with three loop disks whose limits make them classes, or a controller of three virtual hosts.

use std::path::Path;

/// A disk of the demo.
struct DemoDisk {
    class: &'static str,
    size: &'static str,
    iops: u32,
    bytes_per_s: &'static str,
    why: &'static str,
}

/// Limits are set below the elevator. They stand for bandwidth and a cap on requests, not for seeks: what a loop disk cannot show.
const DISKS: [DemoDisk; 3] = [
    DemoDisk { class: "sata-hdd", size: "384 MiB", iops: 250, bytes_per_s: "40 MiB", why: "a 7200 rpm disk with other work to do" },
    DemoDisk { class: "fc-array", size: "384 MiB", iops: 1500, bytes_per_s: "80 MiB", why: "one LUN of a mid-range array" },
    DemoDisk {
        class: "ssd",
        size: "384 MiB",
        iops: 8000,
        bytes_per_s: "160 MiB",
        why: "a SATA SSD, scaled down to what two cores can drive",
    },
];

/// Text of `agent.toml`.
pub(super) fn agent_config(folder: &Path, coordinator: &str) -> String {
    let folder = folder.display();
    let mut text = format!(
        "# Written by `blklab demo`.\nname = \"demo-host\"\ncoordinator = \"{coordinator}\"\ntoken_file = \"{folder}/data/enrol.token\"\nstate_dir = \"{folder}/agent\"\n"
    );
    for disk in &DISKS {
        let DemoDisk { class, size, iops, bytes_per_s, why } = disk;
        text.push_str(&format!(
            "\n# {why}\n[[loop_disk]]\nname = \"{class}\"\nclass = \"{class}\"\nsize = \"{size}\"\nread_iops = {iops}\nwrite_iops = {iops}\n\
             read_bytes_per_s = \"{bytes_per_s}\"\nwrite_bytes_per_s = \"{bytes_per_s}\"\n"
        ));
    }
    text
}

/// Virtual hosts of the demo.
pub(super) const VIRTUAL_HOSTS: usize = 3;

/// A SATA disk, a LUN of an array, an NVMe SSD; each on a host of its own, so that the rounds of all three go on side by side.
const VIRTUAL_DISKS: [(&str, &str, &str); VIRTUAL_HOSTS] =
    [("sata-hdd", "ahci", "sata-hdd"), ("fc-array", "virtio-scsi", "fc-array"), ("nvme-ssd", "nvme", "nvme-ssd")];

/// Configuration of the demo's controller.
pub(super) fn control_config(folder: &Path, coordinator: &str, known_good: &Path) -> String {
    let (folder, known_good) = (folder.display(), known_good.display());
    let mut text = format!(
        "# Written by `blklab demo`.\ncoordinator = \"{coordinator}\"\ntoken_file = \"{folder}/data/enrol.token\"\n\
         state_dir = \"{folder}/agent\"\nknown_good = {{ package = \"{known_good}\" }}\n"
    );
    // Two of three at once: the disks are slow, so an emulated host waits more than it works.
    text.push_str("parallel = 2\n");
    for (class, bus, model) in VIRTUAL_DISKS {
        text.push_str(&format!(
            "\n[[host]]\nname = \"vm-{class}\"\nboot = \"qemu\"\n\n[[host.disk]]\nserial = \"{class}-1\"\nclass = \"{class}\"\n\
             bus = \"{bus}\"\nsize = \"2 GiB\"\nmodel = \"{model}\"\n"
        ));
    }
    text
}
