//! Builders for tests: each gives something believable, and one call changes one thing.

use std::collections::BTreeMap;

use crate::build::{BuildRequest, ConfigBase, NamedFile};
use crate::disk::{Disk, DiskFacts, DiskHealth};
use crate::experiment::Experiment;
use crate::experiment::state::ExperimentState;
use crate::host::{Host, HostFacts, HostHealth};
use crate::id::{CellId, ExperimentId, JobId, TrialId, WorkloadName};
use crate::kernel::{Blob, BootMethod, KernelRecord, KernelSource};
use crate::matrix::Cell;
use crate::record::{Boot, CpuUse, ExperimentRecord, Measurement, TrialDetails, TrialRecord};
use crate::time::{SpanMs, TimestampMs};
use crate::trial::TrialState;
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

/// A host that boots kernels of the lab.
pub fn booting_host(name: &str, classes: &[&str]) -> Host {
    let mut host = host(name, classes);
    host.facts.boot = BootMethod::Qemu;
    host
}

/// A kernel of the lab, built from one patch; `digit` makes its signature, build id and digests, none of which are of real files.
pub fn kernel(name: &str, digit: char) -> KernelRecord {
    let blob = |kind: char, bytes| Blob { sha256: format!("{kind}{}", digit.to_string().repeat(63)), bytes };
    KernelRecord {
        name: id(name),
        id: id(&digit.to_string().repeat(64)),
        release: format!("6.1.0-{name}"),
        build_id: digit.to_string().repeat(40),
        source: KernelSource::Git {
            repo: "/srv/linux.git".into(),
            commit: "830b3c68c1fb1e9176028d02ef86f3cf76aa2476".into(),
            tree: digit.to_string().repeat(40),
            patches: vec!["bfq: idle for no one".into()],
        },
        toolchain: "gcc 12.2.0, GNU ld 2.40".into(),
        image: blob('1', 8_000_000),
        modules: Some(blob('2', 900_000)),
        arguments: String::new(),
        config: Some(blob('3', 30_000)),
        log: Some(blob('4', 2_000)),
        created: TimestampMs(1_000),
    }
}

/// A request for a kernel with one patch.
pub fn build_request(name: &str) -> BuildRequest {
    BuildRequest {
        name: id(name),
        repo: "/srv/linux.git".into(),
        commit: "830b3c68c1fb1e9176028d02ef86f3cf76aa2476".into(),
        patches: vec![NamedFile { name: "idle.mbox".into(), text: "Subject: [PATCH] bfq: idle for no one\n\n---\n".into() }],
        base: ConfigBase::Target("tinyconfig".into()),
        fragments: vec![NamedFile { name: "lab.config".into(), text: "CONFIG_PVH=y\n".into() }],
        salt: None,
    }
}

/// A workload `name` with one task that reads a file of `{size}`, and two metrics.
pub fn workload(name: &str) -> Workload {
    crate::workload::file::parse("workload.toml", &workload_file(name)).expect("a good workload")
}

/// The file of [`workload`].
pub fn workload_file(name: &str) -> String {
    format!(
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
    )
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

/// A lab after an experiment: what [`report::build`](crate::report::build::build) takes.
#[derive(Debug, Clone)]
pub struct Story {
    /// The experiment.
    pub experiment: ExperimentRecord,
    /// Its cells.
    pub cells: Vec<Cell>,
    /// Its trials.
    pub trials: Vec<TrialRecord>,
    /// Their values.
    pub measurements: Vec<Measurement>,
    /// The hosts.
    pub hosts: Vec<Host>,
}

impl Story {
    /// Plans `experiment` on `hosts` and lets every trial end with the values that `value` gives for (cell, arm, run, metric).
    pub fn finished(
        experiment: Experiment,
        workloads: BTreeMap<WorkloadName, Workload>,
        hosts: Vec<Host>,
        mut value: impl FnMut(&Cell, u32, u32, &str) -> f64,
    ) -> Story {
        let number = ExperimentId(1);
        let expansion = crate::matrix::expand(&experiment, &workloads, &hosts, 1).expect("a good matrix");
        let jobs = crate::plan::plan(&expansion.cells, experiment.rounds, experiment.runs_per_boot(), 1);
        let mut trials = Vec::new();
        let mut measurements = Vec::new();
        for (job, planned) in (0u32..).zip(&jobs) {
            for (position, trial) in (0u32..).zip(&planned.trials) {
                let cell = &expansion.cells[trial.cell as usize];
                let id = TrialId { cell: CellId { experiment: number, cell: trial.cell }, run: trial.run, arm: trial.arm };
                let started = TimestampMs(trials.len() as i64 * 2_000);
                let boot = planned.kernel.is_booted().then(|| Boot { id: format!("boot-of-job-{job}"), ms: 6_300 });
                trials.push(TrialRecord {
                    id,
                    job: JobId { experiment: number, job },
                    position,
                    seed: trial.seed,
                    state: TrialState::Completed,
                    attempt: 1,
                    started: Some(started),
                    ended: Some(started + SpanMs(1_900)),
                    details: Some(TrialDetails {
                        cpu: Some(CpuUse { user_pct: 1.0, system_pct: 5.0, iowait_pct: 40.0 }),
                        boot,
                        ..TrialDetails::default()
                    }),
                });
                for metric in &workloads[&cell.workload].metrics {
                    let value = value(cell, trial.arm, trial.run, &metric.name);
                    measurements.push(Measurement { trial: id, metric: metric.name.clone(), value });
                }
            }
        }
        let named = experiment.matrix.kernels.iter().filter(|kernel| kernel.is_booted());
        let kernels = named.zip('a'..='f').map(|(name, digit)| kernel(name.label(), digit));
        let experiment = ExperimentRecord {
            id: number,
            kernels: kernels.map(|kernel| (kernel.name.clone(), kernel)).collect(),
            definition: experiment,
            workloads,
            seed: 1,
            state: ExperimentState::Finished,
            submitter: "someone".into(),
            created: TimestampMs(0),
            started: Some(TimestampMs(0)),
            finished: Some(TimestampMs(trials.len() as i64 * 2_000)),
            impossible: expansion.impossible,
            file_name: "experiment.toml".into(),
            file_text: experiment_file().into(),
            imported: None,
        };
        Story { experiment, cells: expansion.cells, trials, measurements, hosts }
    }

    /// The report of it.
    pub fn report(&self) -> crate::report::Report {
        crate::report::build::build(crate::report::build::Inputs {
            experiment: &self.experiment,
            cells: &self.cells,
            trials: &self.trials,
            measurements: &self.measurements,
            hosts: &self.hosts,
        })
    }
}

/// Noise of about one per cent, the same for the same arguments: tests need neither luck nor a generator.
pub fn noise(arm: u32, round: u32) -> f64 {
    let mut mix = u64::from(arm) << 32 | u64::from(round);
    for _ in 0..3 {
        mix = (mix ^ (mix >> 29)).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    1.0 + ((mix >> 40) as f64 / f64::from(1u32 << 24) - 0.5) * 0.03
}
