//! The configuration of the demo's agent: three loop disks whose limits make them classes.

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
