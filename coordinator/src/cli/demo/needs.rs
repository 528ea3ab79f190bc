//! What this machine lacks for a demo, each with its remedy.

use std::path::Path;

/// One line for each thing that the demo cannot do here.
pub(super) fn cannot_do() -> Vec<String> {
    let mut lines = Vec::new();
    if !rustix::process::geteuid().is_root() {
        lines.push("not root: no loop disk, mount, scheduler or limit can be set, so no trial can run; try `sudo make demo`".to_owned());
        lines.push("what runs without root: the coordinator with its pages, and an agent that lists this machine's disks".to_owned());
    }
    if !Path::new("/dev/loop-control").exists() {
        lines.push("no /dev/loop-control: load the loop module (modprobe loop)".to_owned());
    }
    if !throttles() {
        lines.push("no cgroup controller can limit block I/O (blkio in v1, io in v2): the three disks will not differ".to_owned());
    }
    lines
}

fn throttles() -> bool {
    let v1 = Path::new("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device").exists();
    let v2 =
        std::fs::read_to_string("/sys/fs/cgroup/cgroup.controllers").is_ok_and(|text| text.split_whitespace().any(|word| word == "io"));
    v1 || v2
}
