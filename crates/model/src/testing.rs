//! Builders for tests: each gives something believable, and one call changes one thing.

use std::collections::BTreeMap;

use crate::disk::{Disk, DiskFacts, DiskHealth};
use crate::experiment::Experiment;
use crate::host::{Host, HostFacts, HostHealth};
use crate::id::WorkloadName;
use crate::time::TimestampMs;
use crate::workload::Workload;

/// Parses an id or name that the test knows to be good.
pub fn id<T: std::str::FromStr>(text: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    text.parse().expect("a good id")
}

/// A healthy host with one disk for each class.
pub fn host(name: &str, classes: &[&str]) -> Host {
    Host {
        name: id(name),
        facts: HostFacts {
            kernel_release: "6.18.1".into(),
            machine: "x86_64".into(),
            cpus: 4,
            memory_bytes: 8 << 30,
            tools: ["dd", "fio", "mkfs.ext4", "mkfs.xfs"].map(str::to_owned).to_vec(),
            ..HostFacts::default()
        },
        disks: classes.iter().map(|class| disk(&format!("loop-{class}"), class)).collect(),
        health: HostHealth::Healthy,
        enrolled: TimestampMs(0),
        last_seen: TimestampMs(0),
    }
}

/// A usable disk with the four schedulers of today.
pub fn disk(name: &str, class: &str) -> Disk {
    Disk {
        id: id(name),
        class: id(class),
        facts: DiskFacts {
            kernel_name: "loop8".into(),
            transport: "loop".into(),
            size_bytes: 1 << 30,
            logical_block_bytes: 512,
            schedulers: crate::scheduler::CURRENT.map(str::to_owned).to_vec(),
            ..DiskFacts::default()
        },
        health: DiskHealth::Usable,
    }
}

/// A workload `name` with one task that reads a file of `{size}`, and two metrics.
pub fn workload(name: &str) -> Workload {
    let text = format!(
        r#"
        name = "{name}"
        version = 1
        title = "One reader"
        needs.tools = ["dd"]
        needs.space = ["{{size}}"]
        parameters.size = {{ default = "8 MiB", help = "size of the file" }}

        [[prepare]]
        builtin = "write-file"
        with = {{ path = "{{dir}}/a", size = "{{size}}" }}

        [[task]]
        name = "reader"
        argv = ["dd", "if={{dir}}/a", "of=/dev/null", "bs=1M"]

        [[metric]]
        name = "rate"
        load = "reader"
        parser = "dd"
        field = "bytes_per_second"
        unit = "B/s"
        better = "higher"

        [[metric]]
        name = "time"
        elapsed = "reader"
        unit = "s"
        better = "lower"
        role = "explaining"
        "#
    );
    crate::workload::file::parse("workload.toml", &text).expect("a good workload")
}

/// Workloads by name.
pub fn workloads(names: &[&str]) -> BTreeMap<WorkloadName, Workload> {
    names.iter().map(|name| (id(name), workload(name))).collect()
}

/// Compares two schedulers with the workload `reader` on `sata-hdd`, ext4, six rounds.
pub fn experiment_file() -> &'static str {
    r#"
name = "bfq-question"
title = "Is bfq slower than none?"
compare = "scheduler"
rounds = 6

[matrix]
scheduler = ["none", "bfq"]
filesystem = ["ext4"]
disk_class = ["sata-hdd"]
workload = ["reader"]
"#
}

/// [`experiment_file`] with texts replaced, each of which must be there.
pub fn experiment(changes: &[(&str, &str)]) -> Experiment {
    let mut text = experiment_file().to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    crate::experiment::file::parse("experiment.toml", &text).expect("a good experiment")
}
