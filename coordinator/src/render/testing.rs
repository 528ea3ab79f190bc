//! Sample reports for snapshot tests and for looking at pages without a lab. All go through the same planning, statistics and
//! judgement as real ones; only the measured values are given here.

use std::collections::BTreeMap;

use blklab_model::build::{BuildFailure, BuildFault, BuildRecord, BuildState};
use blklab_model::crash::{BOOT_STEP, Crash, CrashKind};
use blklab_model::experiment::state::ExperimentState;
use blklab_model::host::{Host, HostHealth};
use blklab_model::id::ExperimentId;
use blklab_model::kernel::{Blob, Clock, KernelSource};
use blklab_model::matrix::{Cell, CellKind, Impossible};
use blklab_model::outcome::{Failure, Fault};
use blklab_model::record::{CpuUse, OutputRef, TrialDetails};
use blklab_model::report::Report;
use blklab_model::report::headline::headline;
use blklab_model::testing::{self as model, Story, noise};
use blklab_model::time::{SpanMs, TimestampMs};
use blklab_model::trial::TrialState;
use blklab_model::{disk::DiskHealth, experiment, workload};
use blklab_wire::agent::LastBoot;
use blklab_wire::people::{BuildLine, ExperimentLine, HostBoot, HostDetails, HostLine, KernelLine, Progress};

/// A Friday noon: what samples call now.
pub const NOW: TimestampMs = TimestampMs(1_777_636_989_000);

/// Rates of the real-time and of the best-effort reader in four runs, MB/s.
type Readers = [[f64; 4]; 2];

/// Two concurrent readers, MB/s as published: LKML, thread about the io-throttle patches against 2.6.30-rc4, 2009. For each disk and
/// kernel the real-time and the best-effort reader of runs 1 to 4.
const PUBLISHED: [(&str, Readers, Readers); 3] = [
    ("sata-ncq", [[82.4, 86.8, 85.7, 87.0], [44.2, 45.2, 44.9, 45.2]], [[45.0, 44.7, 45.1, 44.9], [53.4, 45.7, 66.0, 44.7]]),
    ("sata-no-ncq", [[54.5, 59.0, 56.9, 59.1], [29.1, 30.2, 29.8, 30.3]], [[33.1, 29.7, 29.2, 29.0], [29.2, 29.1, 31.7, 30.1]]),
    ("ssd", [[235.0, 238.0, 237.0, 237.0], [121.0, 122.0, 121.0, 121.0]], [[236.0, 126.0, 231.0, 119.0], [118.0, 118.0, 118.0, 118.0]]),
];

/// What each of them read.
const PUBLISHED_BYTES: f64 = 234_179_072.0;

/// Every sample.
pub fn all() -> Vec<Report> {
    vec![classic(), schedulers(), under_way(), quiet(), hostile(), kernels(), virtual_time()]
}

/// The published readers: two kernels, three disks, four rounds.
pub fn classic() -> Report {
    let asked = parsed(
        r#"
        name = "rt-be-io-throttle"
        title = "Do the io-throttle patches take the disk from a real-time reader?"
        source = "LKML, io-throttle patches against 2.6.30-rc4 (2009)"
        compare = "scheduler"
        baseline = "2.6.30-rc4"
        rounds = 4
        [matrix]
        scheduler = [{ name = "none", label = "2.6.30-rc4" }, { name = "bfq", label = "2.6.30-rc4+io-throttle-v16" }]
        filesystem = ["ext4"]
        disk_class = ["sata-ncq", "sata-no-ncq", "ssd"]
        workload = ["rt-be-readers"]
        "#,
    );
    let hosts = vec![model::host("lab-1", &["sata-ncq", "sata-no-ncq", "ssd"])];
    let mut story = story(7, asked, hosts, |cell, arm, round, metric| {
        let (_, base, patched) = PUBLISHED.iter().find(|(disk, _, _)| *disk == cell.disk_class.as_str()).expect("a published disk");
        let [rt, be] = if arm == 0 { base } else { patched };
        let run = round as usize;
        match metric {
            "rt_rate" => rt[run] * 1e6,
            "be_rate" => be[run] * 1e6,
            _ => rt[run] / be[run],
        }
    });
    let rates: Vec<_> = story.measurements.iter().map(|of| (of.trial, of.metric.as_str(), of.value)).collect();
    for (trial, metric, rate) in rates {
        if let Some(task) = metric.strip_suffix("_rate")
            && let Some(details) = story.trials.iter_mut().find(|of| of.id == trial).and_then(|of| of.details.as_mut())
        {
            details.elapsed_s.insert(task.to_owned(), PUBLISHED_BYTES / rate);
        }
    }
    let mut report = story.report();
    report.axis = "kernel".into();
    report
}

/// Four schedulers, three classes of disks, two workloads, ten rounds: something of everything.
pub fn schedulers() -> Report {
    schedulers_story(10).report()
}

/// The same after a quarter of its trials.
pub fn under_way() -> Report {
    let mut story = schedulers_story(6);
    story.experiment.state = ExperimentState::Running;
    story.experiment.finished = None;
    let over = story.trials.len() / 4;
    for trial in &mut story.trials[over..] {
        trial.state = TrialState::Queued;
        (trial.started, trial.ended, trial.details) = (None, None, None);
    }
    let open: Vec<_> = story.trials[over..].iter().map(|trial| trial.id).collect();
    story.measurements.retain(|measurement| !open.contains(&measurement.trial));
    story.report()
}

/// One question, one disk, no change.
pub fn quiet() -> Report {
    let asked = model::experiment(&[("rounds = 6", "rounds = 10\naa_cells = 1")]);
    let hosts = vec![model::host("lab-1", &["sata-hdd"])];
    let workloads = model::workloads(&["reader"]);
    let value = |_: &Cell, arm, round, metric: &str| if metric == "rate" { 118e6 * noise(arm, round) } else { 0.55 * noise(arm, round) };
    Story::finished(asked, workloads, hosts, value).report()
}

/// What a console says around a panic.
const CONSOLE: &str = "\
[   12.402311] BUG: kernel NULL pointer dereference, address: 0000000000000018
[   12.402377] RIP: 0010:bfq_dispatch_request+0x1b/0x40 [bfq]
[   12.402415] Call Trace:
[   12.402431]  <TASK>
[   12.402446]  __blk_mq_do_dispatch_sched+0xa2/0x2c0
[   12.402487]  blk_mq_run_work_fn+0x5f/0x70
[   12.402521]  </TASK>
[   12.402533] Kernel panic - not syncing: Fatal exception";

/// Three kernels on a virtual host, five rounds: one panics now and then, one never comes up.
pub fn kernels() -> Report {
    let asked = parsed(
        r#"
        name = "slice-idle-0"
        title = "Do sequential readers lose when bfq does not wait for their next request?"
        compare = "kernel"
        baseline = "base"
        rounds = 5
        aa_cells = 1
        [matrix]
        kernel = ["base", "slice-idle-0", "broken"]
        scheduler = ["mq-deadline", "bfq"]
        filesystem = ["ext4"]
        disk_class = ["sata-hdd"]
        workload = ["rt-be-readers"]
        "#,
    );
    let mut story = story(21, asked, vec![model::booting_host("vm-1", &["sata-hdd"])], |cell, arm, round, metric| {
        let is_bfq = cell.arms[0].setting.scheduler.name == "bfq";
        let factor = if is_bfq && arm == 1 && cell.kind == CellKind::Compare { 0.2 } else { 1.0 };
        let rate = 33e6 * factor * noise(arm + 8 * cell.number, round);
        if metric == "rt_over_be" { 1.0 } else { rate }
    });
    let crash = |kind, title: &str, excerpt: &str| Crash { kind, title: title.into(), excerpt: excerpt.into() };
    for trial in &mut story.trials {
        let cell = &story.cells[trial.id.cell.cell as usize];
        let setting = &cell.arms[trial.id.arm as usize].setting;
        let details = trial.details.get_or_insert_default();
        match setting.kernel.label() {
            "broken" => {
                let hang = crash(CrashKind::DoesNotBoot, "its agent did not answer in time", "[    0.000000] Linux version 6.1.0-broken");
                trial.state = TrialState::Failed(hang.failure(BOOT_STEP));
                (details.boot, details.phases) = (None, Vec::new());
            }
            "slice-idle-0" if setting.scheduler.name == "bfq" && trial.id.run % 2 == 1 => {
                let panic = crash(CrashKind::Panic, "Kernel panic - not syncing: Fatal exception", CONSOLE);
                trial.state = TrialState::Failed(panic.failure("workload"));
                details.phases.retain(|(phase, _)| phase != "unmount");
            }
            _ => {}
        }
    }
    let over: Vec<_> = story.trials.iter().filter(|trial| trial.state == TrialState::Completed).map(|trial| trial.id).collect();
    story.measurements.retain(|measurement| over.contains(&measurement.trial));
    story.report()
}

/// Two kernels under the virtual clock.
pub fn virtual_time() -> Report {
    let asked = parsed(
        r#"
        name = "slice-idle-0-virtual"
        title = "The same in virtual time"
        compare = "kernel"
        baseline = "base"
        rounds = 5
        clock = "virtual"
        [matrix]
        kernel = ["base", "slice-idle-0"]
        scheduler = ["mq-deadline", "bfq"]
        filesystem = ["ext4"]
        disk_class = ["sata-hdd"]
        workload = ["rt-be-readers"]
        "#,
    );
    let mut host = model::booting_host("vm-2", &["sata-hdd"]);
    host.facts.clock = Clock::Virtual;
    let story = story(22, asked, vec![host], |cell, arm, round, _| {
        let is_slow = cell.arms[0].setting.scheduler.name == "bfq" && arm == 1;
        let quiet = 1.0 + (noise(arm, round) - 1.0) / 500.0;
        33e6 * if is_slow { 0.2 } else { 1.0 } * quiet
    });
    story.report()
}

/// A report whose every free text tries to be markup, with one and no value where two are needed.
pub fn hostile() -> Report {
    const EVIL: &str = "<script>alert('x')</script>\"'&";
    let asked = parsed(
        r#"
        name = "evil"
        title = "<script>alert('title')</script>"
        question = "</p><img src=x onerror=alert(1)>"
        source = "javascript:alert(1)"
        compare = "scheduler"
        baseline = "<b>none</b>"
        rounds = 3
        [matrix]
        scheduler = [{ name = "none", label = "<b>none</b>" }, { name = "bfq", label = "=cmd|' /C calc'!A1" }]
        filesystem = [{ type = "ext4", label = "\"><svg/onload=alert(2)>" }, "xfs"]
        disk_class = ["sata-hdd"]
        workload = ["rt-be-readers"]
        "#,
    );
    let mut story = story(666, asked, vec![model::host("lab-1", &["sata-hdd"])], |_, arm, round, _| 1e6 * noise(arm, round));
    story.experiment.submitter = EVIL.into();
    story.experiment.impossible.push(Impossible { what: EVIL.into(), reason: "Ünï\u{202e}çödé\n\tand a line break".into() });
    // The first cell keeps one round, the second has none: every trial of it failed with a message of its own.
    for trial in &mut story.trials {
        let details = trial.details.get_or_insert_default();
        details.warnings.push(EVIL.into());
        details.environment.push((EVIL.into(), EVIL.into()));
        details.outputs.push(OutputRef { name: "../<x>.out".into(), sha256: String::new(), bytes: 1, truncated_bytes: 0 });
        if trial.id.cell.cell > 0 || trial.id.run > 0 {
            trial.state = TrialState::Failed(Failure { fault: Fault::Workload, step: EVIL.into(), message: EVIL.repeat(20) });
        }
    }
    for host in &mut story.hosts {
        host.facts.kernel_release = EVIL.into();
        host.disks[0].facts.model = EVIL.into();
    }
    story.report()
}

fn schedulers_story(rounds: u32) -> Story {
    let asked = parsed(&format!(
        r#"
        name = "rt-be-readers"
        title = "Does a real-time reader get ahead of a best-effort one?"
        question = "Two readers share a disk. Which schedulers serve the real-time one first, and what does it cost the other?"
        source = "LKML, 2.6.30-rc4, io-throttle patches (2009): two dd, ionice -c1 -n0 against -c2 -n7"
        compare = "scheduler"
        baseline = "none"
        rounds = {rounds}
        aa_cells = 2
        [matrix]
        scheduler = ["none", "mq-deadline", "kyber", "bfq"]
        filesystem = ["ext4", "xfs"]
        disk_class = ["sata-hdd", "fc-array", "ssd", "nvme-ssd"]
        workload = ["rt-be-readers", "random-overwrite"]
        "#
    ));
    let hosts = vec![model::host("lab-1", &["sata-hdd", "fc-array"]), model::host("lab-2", &["ssd"])];
    let mut story = story(12, asked, hosts, scheduler_value);
    for trial in &mut story.trials {
        let cell = &story.cells[trial.id.cell.cell as usize];
        let kyber_on_ssd = cell.disk_class.as_str() == "ssd" && cell.arms[trial.id.arm as usize].label == "kyber";
        let overwrite = cell.workload.as_str() == "random-overwrite";
        if kyber_on_ssd && overwrite {
            trial.state = TrialState::Failed(Failure {
                fault: Fault::Kernel,
                step: "set scheduler".into(),
                message: "the kernel offers `kyber` but setting it was refused: Invalid argument".into(),
            });
            trial.details.get_or_insert_default().phases.truncate(2);
        } else if trial.id.cell.cell == 0 && trial.id.run == 2 && trial.id.arm == 3 {
            trial.state = TrialState::Failed(Failure {
                fault: Fault::Lab,
                step: "mkfs".into(),
                message: "mkfs.ext4: No space left on device; free some and submit again".into(),
            });
        }
    }
    story
}

/// bfq knows I/O priorities: the real-time reader gains what the other one loses. Single cells have a flaw each.
fn scheduler_value(cell: &Cell, arm: u32, round: u32, metric: &str) -> f64 {
    let scheduler = if cell.kind == CellKind::Aa { "none" } else { cell.arms[arm as usize].label.as_str() };
    let rate = match cell.disk_class.as_str() {
        "sata-hdd" => 21e6,
        "fc-array" => 46e6,
        _ => 92e6,
    };
    let xfs = cell.arms[0].setting.filesystem.label == "xfs";
    let noise = noise(arm + 8 * cell.number, round);
    let wide = (noise - 1.0) * 10.0;
    let (rt, be) = match scheduler {
        "bfq" => (1.71, 0.53),
        "mq-deadline" => (1.02, 0.99),
        _ => (1.0, 1.0),
    };
    match metric {
        // Two modes, taken by whole trials.
        "rt_rate" if cell.disk_class.as_str() == "ssd" && xfs && (arm * 5 + round * round).is_multiple_of(3) => rate * noise * 0.55,
        "rt_rate" => rate * rt * noise,
        "be_rate" if cell.disk_class.as_str() == "fc-array" && scheduler == "kyber" => rate * (0.93 + 1.5 * wide),
        "be_rate" => rate * be * noise,
        "rt_over_be" => rt / be * noise,
        "rate" if scheduler == "kyber" => 118.0 * 0.87 * noise,
        "rate" => 118.0 * noise,
        // The 99th percentile of a latency: noisy by nature.
        _ => 0.041 * (1.0 + wide / 2.0),
    }
}

fn parsed(text: &str) -> experiment::Experiment {
    experiment::file::parse("experiment.toml", text).expect("a good experiment")
}

/// A finished experiment `number` with the shipped workloads, its records filled as agents fill them.
fn story(number: u32, asked: experiment::Experiment, hosts: Vec<Host>, value: impl FnMut(&Cell, u32, u32, &str) -> f64) -> Story {
    let shipped = [include_str!("../../../workloads/rt-be-readers.toml"), include_str!("../../../workloads/random-overwrite.toml")];
    let workloads: BTreeMap<_, _> = shipped
        .map(|text| workload::file::parse("workload.toml", text).expect("a good workload"))
        .map(|workload| (workload.name.clone(), workload))
        .into();
    let mut story = Story::finished(asked, workloads, hosts, value);
    let begin = NOW.0 - 3_600_000;
    story.experiment.id = ExperimentId(number);
    story.experiment.submitter = "ada@example.org".into();
    story.experiment.created = TimestampMs(begin - 60_000);
    story.experiment.started = Some(TimestampMs(begin));
    story.experiment.finished = story.experiment.finished.map(|at| at + SpanMs(begin));
    for trial in &mut story.trials {
        trial.id.cell.experiment = ExperimentId(number);
        trial.started = trial.started.map(|at| at + SpanMs(begin));
        let cell = &story.cells[trial.id.cell.cell as usize];
        let setting = &cell.arms[trial.id.arm as usize].setting;
        let boot = trial.details.take().and_then(|details| details.boot);
        let booted = boot.as_ref().filter(|_| trial.position == 0).map(|boot| (BOOT_STEP.to_owned(), boot.ms));
        let release = story.experiment.kernels.iter().find(|(name, _)| name.as_str() == setting.kernel.label());
        let release = release.map_or("6.18.1", |(_, kernel)| kernel.release.as_str());
        let phases: [(&str, u64); 5] = [("mkfs", 210), ("prepare", 640), ("drop caches", 55), ("workload", 1_150), ("unmount", 40)];
        let phases = phases.map(|(phase, ms)| (phase.to_owned(), ms + u64::from(trial.id.run % 3)));
        trial.details = Some(TrialDetails {
            phases: booted.into_iter().chain(phases).collect(),
            boot,
            environment: [("kernel release", release), ("scheduler", setting.scheduler.name.as_str()), ("nr_requests", "256")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            outputs: ["rt.out", "be.out", "monitor.txt"]
                .map(|name| OutputRef { name: name.into(), sha256: String::new(), bytes: 300, truncated_bytes: 0 })
                .to_vec(),
            cpu: Some(CpuUse { user_pct: 0.9, system_pct: 6.4, iowait_pct: 41.7 + f64::from(trial.id.arm) }),
            ..TrialDetails::default()
        });
    }
    for measurement in &mut story.measurements {
        measurement.trial.cell.experiment = ExperimentId(number);
    }
    for host in &mut story.hosts {
        host.last_seen = ago(2_000);
        host.enrolled = ago(86_400_000 * 9);
        host.facts.os = "Debian GNU/Linux 12 (bookworm)".into();
        host.facts.cpu_model = "Example Xeon 2.4 GHz".into();
        for disk in &mut host.disks {
            disk.facts.rotational = disk.class.as_str().starts_with("sata-");
            disk.facts.model = format!("file-backed {}", disk.class);
            disk.facts.queue_depth = Some(32);
            disk.facts.scheduler = Some("none".into());
            disk.facts.tunables = [("nr_requests", "256"), ("read_ahead_kb", "128")].map(|(n, v)| (n.to_owned(), v.to_owned())).into();
            disk.facts.limits = "throttled below: 40 MB/s, 125 IOPS".into();
        }
    }
    story
}

/// How far [`under_way`] is.
pub fn progress(report: &Report) -> Progress {
    let over = report.trials.completed + report.trials.failed;
    Progress {
        id: report.id,
        state: report.state.word().to_owned(),
        trials: report.trials.planned,
        over,
        failed: report.trials.failed,
        rounds: report.rounds,
        round: 3,
        eta_ms: Some(161_000),
        ahead: 0,
        now: vec!["lab-1: x12.c3.r2.a1 rt-be-readers".into(), "lab-2: x12.c5.r2.a0 rt-be-readers".into()],
        headline: headline(report),
    }
}

/// A line of the list for a report.
pub fn line(report: &Report) -> ExperimentLine {
    let over = report.trials.completed + report.trials.failed;
    ExperimentLine {
        id: report.id,
        name: report.name.clone(),
        title: report.title.clone(),
        state: report.state.word().to_owned(),
        submitter: report.submitter.clone(),
        created: report.created,
        headline: report.headline.clone(),
        trials: report.trials.planned,
        over,
        failed: report.trials.failed,
        eta_ms: (!report.state.is_over()).then_some(161_000),
        cost_ms: u64::from(over) * 2_000,
        imported: report.imported.is_some(),
    }
}

/// Four hosts: one works, one is idle with a refused disk, one is dirty, one is away.
pub fn hosts() -> Vec<HostLine> {
    let line = |name: &str, classes: &[&str]| {
        let mut host = model::host(name, classes);
        host.last_seen = ago(3_000);
        host.facts.os = "Debian GNU/Linux 12 (bookworm)".into();
        host.facts.agent_version = "0.1.0".into();
        for disk in &mut host.disks {
            disk.facts.limits = "throttled below: 40 MB/s, 125 IOPS".into();
            disk.facts.scheduler = Some("mq-deadline".into());
            disk.facts.queue_depth = Some(32);
            disk.facts.tunables = [("nr_requests", "256"), ("read_ahead_kb", "128")].map(|(n, v)| (n.to_owned(), v.to_owned())).into();
        }
        HostLine { host, online: true, job: None, at: None, build: None, last_boot: None }
    };
    let mut busy = line("lab-1", &["sata-hdd", "fc-array"]);
    busy.job = Some(model::id("x12.j4"));
    busy.at = Some("x12.c3.r2.a1 rt-be-readers: prepare".into());
    let mut idle = line("lab-2", &["ssd", "nvme-ssd"]);
    idle.host.disks[1].health =
        DiskHealth::Refused { reason: "carries a foreign signature (ext4); wipe it with wipefs(8) to give it to the lab".into() };
    let mut dirty = line("lab-3", &["ssd"]);
    dirty.host.health = HostHealth::Dirty { reason: "umount /mnt/blklab: target is busy".into() };
    let mut away = line("lab-4", &["sata-hdd"]);
    away.online = false;
    away.host.last_seen = ago(7_200_000);
    vec![busy, idle, dirty, away]
}

/// A virtual host with its last boots.
pub fn booting_host() -> HostDetails {
    let mut host = model::booting_host("vm-1", &["sata-hdd"]);
    host.last_seen = ago(2_000);
    host.enrolled = ago(86_400_000);
    host.facts.clock = Clock::Virtual;
    host.facts.os = "Debian GNU/Linux 12 (bookworm)".into();
    let boot = |job: u32, kernel: &str, boot_ms: Option<u64>, outcome: &str| HostBoot {
        job: model::id(&format!("x21.j{job}")),
        kernel: kernel.into(),
        at: Some(ago(20_000 * i64::from(9 - job))),
        boot_ms,
        outcome: outcome.into(),
    };
    let last_boot = LastBoot { kernel: "6.1.0-base".into(), boot_ms: Some(6_300), outcome: "booted".into() };
    HostDetails {
        line: HostLine { host, online: true, job: Some(model::id("x21.j8")), at: None, build: None, last_boot: Some(last_boot) },
        boots: vec![
            boot(8, "base", Some(6_300), "booted"),
            boot(7, "broken", None, "does not boot: its agent did not answer in time"),
            boot(6, "slice-idle-0", Some(7_100), "booted"),
            boot(5, "slice-idle-0", Some(5_900), "booted"),
        ],
    }
}

/// Kernels of the list: from git with a patch, a package, an upload.
pub fn kernel_lines() -> Vec<KernelLine> {
    let line = |name: &str, digit, experiments: &[u32], build| {
        let mut kernel = model::kernel(name, digit);
        kernel.created = ago(3_600_000);
        KernelLine { kernel, experiments: experiments.iter().map(|id| ExperimentId(*id)).collect(), build }
    };
    let mut package = line("debian-6.1", 'c', &[22, 21, 20, 12, 7], None);
    package.kernel.source = KernelSource::Package { package: "linux-image-6.1.0-40-amd64".into(), version: "6.1.153-1".into() };
    package.kernel.release = "6.1.0-40-amd64".into();
    package.kernel.log = None;
    let mut upload = line("mine", 'd', &[], None);
    upload.kernel.source = KernelSource::Upload { file: "bzImage".into() };
    (upload.kernel.modules, upload.kernel.config, upload.kernel.log) = (None, None, None);
    vec![line("slice-idle-0", 'b', &[21], Some(model::id("b2"))), package, upload]
}

/// Builds of the list, one in each state.
pub fn build_lines() -> Vec<BuildLine> {
    let line = |id: &str, kernel: &str, what: &str, state: &str, took: Option<i64>| BuildLine {
        id: model::id(id),
        kernel: model::id(kernel),
        what: what.into(),
        submitter: "ada@example.org".into(),
        state: state.into(),
        created: ago(7_200_000),
        started: took.map(|_| ago(7_000_000)),
        finished: took.filter(|ms| *ms > 0).map(|ms| ago(7_000_000 - ms)),
    };
    vec![
        line("b5", "next", "master", "queued", None),
        line("b4", "journal-rt", "v6.1.192 + 1 patch", "building on lab-1", Some(0)),
        line("b3", "stale", "v6.1.192 + 2 patches", "failed: does not apply", Some(21_000)),
        line("b2", "slice-idle-0", "v6.1.192 + 1 patch", "built", Some(95_000)),
        line("b1", "base", "v6.1.192", "cancelled", Some(900)),
    ]
}

/// A build whose patch does not apply.
pub fn failed_build() -> BuildRecord {
    let message = "0001-idle.mbox: does not apply\nblock/bfq-iosched.c: hunk #1 at line 7204\n-\tbfqd->bfq_slice_idle = bfq_slice_idle;\n\
                   +\tbfqd->bfq_slice_idle = 0;";
    BuildRecord {
        id: model::id("b3"),
        request: model::build_request("stale"),
        submitter: "ada@example.org".into(),
        state: BuildState::Failed(BuildFailure { fault: BuildFault::DoesNotApply, message: message.into() }),
        attempt: 1,
        log: Some(Blob { sha256: "4".repeat(64), bytes: 14 }),
        created: ago(7_200_000),
        started: Some(ago(7_000_000)),
        finished: Some(ago(6_979_000)),
    }
}

fn ago(ms: i64) -> TimestampMs {
    NOW + SpanMs(-ms)
}
