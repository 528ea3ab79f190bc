//! Whole trials on real block devices: loop disks that the agent makes of files. They need root; without it each test says that it is
//! skipped, and fails when `BLKLAB_REQUIRE_ROOT=1` says that it must not be.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blklab_agent::cycle::machine::Machine;
use blklab_agent::cycle::plan::plan;
use blklab_agent::cycle::run::{Cycle, run};
use blklab_agent::host::{LabHost, StateError};
use blklab_agent::launch::Launcher;
use blklab_agent::stop::Stop;
use blklab_model::disk::{Disk, DiskHealth};
use blklab_model::filesystem::Format;
use blklab_model::outcome::{Failure, Fault, Outcome};
use blklab_model::scheduler::{QueueTunables, Scheduler, Tunables};
use blklab_model::workload::Target;
use blklab_model::workload::command::{Builtin, Command as Load, IoPriority};
use blklab_model::workload::resolve::{ResolvedLoad, ResolvedWorkload};
use blklab_parse::Tool;
use blklab_wire::agent::TrialSpec;
use support::Coordinator;

const MIB: u64 = 1 << 20;

/// One at a time: caches are dropped and times are compared.
static ALONE: Mutex<()> = Mutex::new(());

/// None, with a word on why, when this test cannot run here.
fn alone() -> Option<MutexGuard<'static, ()>> {
    if rustix::process::geteuid().is_root() {
        return Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner));
    }
    assert!(std::env::var("BLKLAB_REQUIRE_ROOT").as_deref() != Ok("1"), "BLKLAB_REQUIRE_ROOT=1, but this is not root");
    eprintln!("skipped: loop devices, mounts and control groups need root");
    None
}

/// A host with loop disks `loop-a`, without limits, and `loop-b`, which reads 8 MiB/s.
struct Lab {
    dir: tempfile::TempDir,
    coordinator: Coordinator,
    host: Option<LabHost>,
}

const DISKS: &str = "
[[loop_disk]]
name = \"a\"
class = \"ssd\"
size = \"64 MiB\"

[[loop_disk]]
name = \"b\"
class = \"sata-hdd\"
size = \"64 MiB\"
read_bytes_per_s = \"8 MiB\"
";

impl Lab {
    fn new() -> Self {
        Self::with(DISKS)
    }

    fn with(disks: &str) -> Self {
        let mut lab = Lab { dir: tempfile::tempdir().unwrap(), coordinator: Coordinator::start(), host: None };
        lab.host = Some(lab.start(disks).unwrap());
        lab
    }

    fn start(&self, disks: &str) -> Result<LabHost, StateError> {
        let launcher = Launcher { program: env!("CARGO_BIN_EXE_blklab-agent").into() };
        LabHost::start(self.coordinator.config(self.dir.path(), disks), launcher, &Stop::default())
    }

    fn host(&mut self) -> &mut LabHost {
        self.host.as_mut().unwrap()
    }

    fn disk(&mut self, id: &str) -> Disk {
        self.host().disks().into_iter().find(|disk| disk.id.as_str() == id).unwrap()
    }

    fn device(&mut self, id: &str) -> String {
        format!("/dev/{}", self.disk(id).facts.kernel_name)
    }

    fn run(&mut self, spec: &TrialSpec) -> Cycle {
        run(&plan(spec).unwrap(), self.host(), &Stop::default(), &|_| ())
    }

    /// What a trial must never leave behind, and then what an agent must not.
    fn close(mut self) {
        assert!(!mounts().contains(&self.state_dir()), "a trial left a mount");
        self.host().close().unwrap();
        self.assert_nothing_left();
    }

    fn state_dir(&self) -> String {
        self.dir.path().join("state").display().to_string()
    }

    fn assert_nothing_left(&self) {
        let state_dir = self.state_dir();
        assert!(!loop_devices().contains(&state_dir), "{}", loop_devices());
        assert!(!mounts().contains(&state_dir), "{}", mounts());
        assert_eq!(groups(), Vec::<PathBuf>::new());
        assert!(!self.dir.path().join("state/disks").exists(), "backing files are left");
    }
}

/// A panic in a test must not leave devices behind either.
impl Drop for Lab {
    fn drop(&mut self) {
        if let Some(host) = &mut self.host {
            let _ = host.close();
        }
    }
}

fn mounts() -> String {
    std::fs::read_to_string("/proc/self/mountinfo").unwrap()
}

fn loop_devices() -> String {
    let folders = std::fs::read_dir("/sys/block").unwrap().map(|entry| entry.unwrap().path());
    folders.filter_map(|folder| std::fs::read_to_string(folder.join("loop/backing_file")).ok()).collect()
}

/// Control groups of this test's agents: their names begin with that of its process.
fn groups() -> Vec<PathBuf> {
    let name = format!("test-{}-", std::process::id());
    let parents = ["blkio", "unified", "."].map(|hierarchy| Path::new("/sys/fs/cgroup").join(hierarchy).join("blklab"));
    let groups = parents.iter().filter_map(|parent| std::fs::read_dir(parent).ok()).flatten().flatten().map(|entry| entry.path());
    groups.filter(|path| path.file_name().is_some_and(|found| found.to_string_lossy().starts_with(&name))).collect()
}

fn tool(argv: &[&str]) -> Output {
    #[expect(clippy::disallowed_methods, reason = "the test looks at the host by itself, not through the agent")]
    let output = Command::new(argv[0]).args(&argv[1..]).output().unwrap();
    output
}

fn must(argv: &[&str]) -> String {
    let output = tool(argv);
    assert!(output.status.success(), "{argv:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn program(name: &str, argv: &[&str]) -> ResolvedLoad {
    let command = Load::Argv(argv.iter().map(|word| (*word).to_owned()).collect());
    ResolvedLoad { name: name.into(), disk: 0, command, io_priority: None, start_after_ms: 0, timeout_s: 60 }
}

fn shell(name: &str, line: &str) -> ResolvedLoad {
    ResolvedLoad { name: name.into(), disk: 0, command: Load::Shell(line.into()), io_priority: None, start_after_ms: 0, timeout_s: 60 }
}

fn builtin(name: &str, builtin: Builtin) -> ResolvedLoad {
    ResolvedLoad { name: name.into(), disk: 0, command: Load::Builtin(builtin), io_priority: None, start_after_ms: 0, timeout_s: 60 }
}

fn file(name: &str, mib: u64) -> ResolvedLoad {
    builtin(&format!("prepare-{name}"), Builtin::WriteFile { path: format!("{{dir}}/{name}"), bytes: mib * MIB })
}

/// A trial on ext4 that does nothing yet.
fn mounted(disk: &str, scheduler: &str, tasks: Vec<ResolvedLoad>) -> TrialSpec {
    TrialSpec {
        memory_cap_bytes: None,
        seed: 0,
        trial: "x1.c0.r0.a0".parse().unwrap(),
        attempt: 1,
        disks: vec![disk.parse().unwrap()],
        scheduler: Scheduler { name: scheduler.into(), tunables: Tunables::new(), label: scheduler.into() },
        tunables: QueueTunables::default(),
        format: Format::Made { kind: "ext4".into(), mkfs: Vec::new(), mount: "noatime".into(), journal_ioprio: None },
        workload: ResolvedWorkload {
            name: "test".parse().unwrap(),
            version: 1,
            target: Target::Mounted,
            tools: vec!["dd".into()],
            disks: 1,
            space_bytes: 16 * MIB,
            prepare: Vec::new(),
            background: Vec::new(),
            tasks,
        },
    }
}

fn raw(disk: &str, tasks: Vec<ResolvedLoad>) -> TrialSpec {
    let mounted = mounted(disk, "none", tasks);
    let workload = ResolvedWorkload { target: Target::Raw, ..mounted.workload.clone() };
    TrialSpec { format: Format::Raw, workload, ..mounted }
}

fn linear_read(limit_mib: u64) -> ResolvedLoad {
    builtin(
        "reader",
        Builtin::LinearRead { path: "{disk}".into(), block_bytes: 256 << 10, limit_bytes: Some(limit_mib * MIB), direct: true },
    )
}

fn completed(cycle: &Cycle) {
    assert_eq!(cycle.outcome, Some(Outcome::Completed));
    assert_eq!(cycle.dirty, None);
}

fn failure(cycle: &Cycle) -> &Failure {
    assert_eq!(cycle.dirty, None);
    match &cycle.outcome {
        Some(Outcome::Failed(failure)) => failure,
        other => panic!("expected a failure, got {other:?}"),
    }
}

fn text(cycle: &Cycle, output: &str) -> String {
    let found = cycle.record.outputs.iter().find(|found| found.name == output);
    let names: Vec<_> = cycle.record.outputs.iter().map(|output| &output.name).collect();
    let found = found.unwrap_or_else(|| panic!("no output {output} among {names:?}"));
    String::from_utf8(STANDARD.decode(&found.base64).unwrap()).unwrap()
}

fn environment(cycle: &Cycle) -> BTreeMap<&str, &str> {
    cycle.record.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

#[test]
fn two_readers_on_ext4_under_every_scheduler() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let before = lab.disk("loop-a");
    assert_eq!(before.health, DiskHealth::Usable);
    assert_eq!(before.facts.transport, "loop");
    assert_eq!(lab.disk("loop-b").facts.limits, "throttled below: 8.0 MiB/s read");
    for scheduler in before.facts.schedulers.clone() {
        let reader = |name: &str, file: &str, priority| ResolvedLoad {
            io_priority: Some(priority),
            ..program(name, &["dd", &format!("if={{dir}}/{file}"), "of=/dev/null", "bs=1M"])
        };
        let tasks = vec![reader("rt", "x", IoPriority::Realtime(0)), reader("be", "y", IoPriority::BestEffort(7))];
        let mut spec = mounted("loop-a", &scheduler, tasks);
        spec.workload.prepare = vec![file("x", 8), file("y", 8)];
        spec.tunables.values.insert("read_ahead_kb".into(), "256".into());
        if scheduler == "bfq" {
            spec.scheduler.tunables.insert("low_latency".into(), "0".into());
        }
        let cycle = lab.run(&spec);
        completed(&cycle);
        let environment = environment(&cycle);
        assert_eq!(environment["scheduler"], scheduler);
        assert_eq!(environment["queue.read_ahead_kb"], "256");
        assert_eq!(environment["mount.type"], "ext4");
        assert!(environment["mount.options"].contains("noatime"), "{}", environment["mount.options"]);
        for task in ["rt", "be"] {
            let parsed = blklab_parse::parse(Tool::Dd, text(&cycle, &format!("{task}.err")).as_bytes()).unwrap();
            assert_eq!(parsed.values["bytes"], (8 * MIB) as f64);
        }
        let window = cycle.record.window.unwrap();
        let longest = cycle.record.elapsed.iter().map(|task| task.seconds).fold(0.0, f64::max);
        assert_eq!(cycle.record.elapsed.len(), 2);
        assert!(longest > 0.0 && longest * 1000.0 <= (window.end_ms - window.start_ms) as f64 + 1.0, "{longest} s in {window:?}");
        let monitor = text(&cycle, "monitor.txt");
        assert!(monitor.starts_with(&format!("@ {}\ncpu ", window.start_ms)), "{monitor}");
        assert!(monitor.contains(&format!(" {} ", before.facts.kernel_name)), "{monitor}");
    }
    let after = lab.disk("loop-a");
    assert_eq!(after.health, DiskHealth::Usable, "the disk is blank again");
    assert_eq!((after.facts.scheduler, after.facts.tunables), (before.facts.scheduler, before.facts.tunables));
    lab.close();
}

/// Those that the host can make and its kernel knows; the others are named.
/// Both disks are formatted, set, mounted and measured at once, each task finds its own, and both are given back.
#[test]
fn a_trial_on_two_disks() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let devices = ["loop-a", "loop-b"].map(|disk| lab.device(disk));
    let queue = |device: &str, file: &str| {
        let name = device.trim_start_matches("/dev/");
        std::fs::read_to_string(format!("/sys/block/{name}/queue/{file}")).unwrap()
    };
    let before = devices.each_ref().map(|device| (queue(device, "scheduler"), queue(device, "nr_requests")));
    let on = |disk: u32, load: ResolvedLoad| ResolvedLoad { name: format!("{}.{}", load.name, disk + 1), disk, ..load };
    let line = "findmnt -n -o SOURCE -T {dir}; findmnt -n -o SOURCE -T {dir2}; cat {dir}/x | wc -c; touch {dir1}/seen";
    let mut spec = mounted("loop-a", "bfq", (0..2).map(|disk| on(disk, shell("task", line))).collect());
    spec.disks.push("loop-b".parse().unwrap());
    spec.tunables.values.insert("nr_requests".into(), "32".into());
    spec.workload.disks = 2;
    spec.workload.prepare = (0..2).map(|disk| on(disk, file("x", u64::from(disk) + 1))).collect();
    let cycle = lab.run(&spec);
    completed(&cycle);
    for (disk, size) in [(1, MIB), (2, 2 * MIB)] {
        let expected = format!("{}\n{}\n{size}\n", devices[disk - 1], devices[1]);
        assert_eq!(text(&cycle, &format!("task.{disk}.out")), expected, "task of disk {disk}");
    }
    let monitor = text(&cycle, "monitor.txt");
    assert!(devices.iter().all(|device| monitor.contains(&format!(" {} ", device.trim_start_matches("/dev/")))), "{monitor}");
    let environment = environment(&cycle);
    assert_eq!((environment["queue.nr_requests"], environment.get("queue.nr_requests (disk 2)")), ("32", None), "set alike");
    assert!(environment.contains_key("disk.kernel_name (disk 2)") && environment.contains_key("mount.options (disk 2)"));
    let after = devices.each_ref().map(|device| (queue(device, "scheduler"), queue(device, "nr_requests")));
    assert_eq!(after, before, "both queues are as they were");
    for device in &devices {
        assert!(!tool(&["blkid", "-p", device]).status.success(), "{device} still holds a file system");
    }
    lab.close();
}

#[test]
fn every_file_system_of_the_host() {
    let Some(_alone) = alone() else { return };
    // mkfs.xfs takes nothing below 300 MiB.
    let mut lab = Lab::with("[[loop_disk]]\nname = \"c\"\nclass = \"ssd\"\nsize = \"320 MiB\"\n");
    let known = std::fs::read_to_string("/proc/filesystems").unwrap();
    for kind in blklab_model::filesystem::KNOWN {
        let is_known = known.split_whitespace().any(|word| word == kind);
        if !is_known || blklab_agent::sys::command::find(&format!("mkfs.{kind}")).is_none() {
            eprintln!("skipped {kind}: the kernel does not know it, or mkfs.{kind} is not installed");
            continue;
        }
        let mut spec = mounted("loop-c", "none", vec![program("reader", &["dd", "if={dir}/x", "of=/dev/null", "bs=1M"])]);
        spec.format = Format::Made { kind: kind.into(), mkfs: Vec::new(), mount: String::new(), journal_ioprio: None };
        spec.workload.prepare = vec![file("x", 4)];
        let cycle = lab.run(&spec);
        completed(&cycle);
        assert_eq!(environment(&cycle)["mount.type"], kind);
        assert_eq!(lab.disk("loop-c").health, DiskHealth::Usable, "{kind} left something behind");
    }
    lab.close();
}

#[test]
fn a_task_may_start_after_the_others() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let late = ResolvedLoad { start_after_ms: 700, ..program("late", &["true"]) };
    let cycle = lab.run(&mounted("loop-a", "none", vec![program("early", &["true"]), late]));
    completed(&cycle);
    let elapsed = |name: &str| cycle.record.elapsed.iter().find(|task| task.task == name).unwrap().seconds;
    assert!(elapsed("late") >= 0.7 && elapsed("early") < elapsed("late"), "{:?}", cycle.record.elapsed);
    lab.close();
}

/// With less memory than the file, a second read finds little of it in the page cache; with more, all of it.
#[test]
fn a_cap_on_memory_holds_for_the_page_cache() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let read = "dd if={dir}/x of=/dev/null bs=1M";
    let from_disk = |cycle: &Cycle| -> u64 { text(cycle, "second.out").trim().parse().unwrap() };
    let twice = format!(
        "{read} && read -r a b before rest < /sys/block/$(basename {{disk}})/stat && {read} && read -r a b after rest < /sys/block/$(basename {{disk}})/stat"
    );
    let mut spec =
        mounted("loop-a", "none", vec![shell("second", &format!("({twice} && echo $(( (after - before) / 2048 ))) 2>/dev/null"))]);
    spec.workload.prepare = vec![file("x", 48)];
    spec.workload.space_bytes = 48 * MIB;
    let cycle = lab.run(&spec);
    completed(&cycle);
    assert!(from_disk(&cycle) < 2, "MiB read again without a cap: {}", from_disk(&cycle));
    spec.memory_cap_bytes = Some(24 * MIB);
    let cycle = lab.run(&spec);
    completed(&cycle);
    assert!(from_disk(&cycle) > 24, "MiB read again under a cap: {}", from_disk(&cycle));
    assert_eq!(environment(&cycle)["memory.cap"], "24 MiB");
    lab.close();
}

/// The priority of the journal thread is an axis that needs no patch: while the tasks run, the kernel's own tool sees it.
#[test]
fn the_journal_thread_has_the_priority_that_was_asked() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let name = lab.device("loop-a").trim_start_matches("/dev/").to_owned();
    let look = format!("grep -lx 'jbd2/{name}-8' /proc/[0-9]*/comm | cut -d/ -f3 | xargs ionice -p");
    // What ext4 gives it by itself: DEFAULT_JOURNAL_IOPRIO of fs/ext4/super.c.
    for (asked, seen) in [(Some("realtime:4"), "realtime: prio 4"), (Some("idle"), "idle"), (None, "best-effort: prio 3")] {
        let mut spec = mounted("loop-a", "none", vec![shell("look", &look)]);
        let priority = asked.map(|text| text.parse().unwrap());
        spec.format = Format::Made { kind: "ext4".into(), mkfs: Vec::new(), mount: String::new(), journal_ioprio: priority };
        let cycle = lab.run(&spec);
        completed(&cycle);
        assert_eq!(text(&cycle, "look.out").trim(), seen);
        assert_eq!(environment(&cycle).get("journal.ioprio").copied(), asked);
    }

    let priority = Some("realtime:4".parse().unwrap());
    let mut spec = mounted("loop-a", "none", vec![shell("look", &look)]);
    let without = vec!["-O".into(), "^has_journal".into()];
    spec.format = Format::Made { kind: "ext4".into(), mkfs: without, mount: String::new(), journal_ioprio: priority };
    let cycle = lab.run(&spec);
    assert!(failure(&cycle).message.contains("no thread writes a journal"), "{:?}", failure(&cycle));
    lab.close();
}

/// The caches are cold: reading a file that was just written reaches the disk.
#[test]
fn the_measured_window_reads_from_the_disk() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let mut spec = mounted("loop-a", "none", vec![program("reader", &["dd", "if={dir}/x", "of=/dev/null", "bs=1M"])]);
    spec.workload.prepare = vec![file("x", 8)];
    let cycle = lab.run(&spec);
    completed(&cycle);
    let name = lab.disk("loop-a").facts.kernel_name;
    let monitor = text(&cycle, "monitor.txt");
    // Field 6 of a diskstats line: sectors of 512 bytes read.
    let sectors: Vec<u64> = monitor
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            (fields.get(2) == Some(&name.as_str())).then(|| fields[5].parse().unwrap())
        })
        .collect();
    let read = (sectors.last().unwrap() - sectors[0]) * 512;
    assert!(read >= 8 * MIB, "{read} bytes were read from the disk");
    lab.close();
}

#[test]
fn limits_below_the_elevator_slow_the_disk() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let mut rates = Vec::new();
    for disk in ["loop-a", "loop-b"] {
        let cycle = lab.run(&raw(disk, vec![linear_read(16)]));
        completed(&cycle);
        let parsed = blklab_parse::parse(Tool::Builtin, text(&cycle, "reader.out").as_bytes()).unwrap();
        assert_eq!(parsed.values["bytes"], (16 * MIB) as f64);
        rates.push(parsed.values["bytes_per_second"] / MIB as f64);
        assert_eq!(environment(&cycle).contains_key("limits"), disk == "loop-b");
    }
    // The throttle's first slice may pass more than its share.
    assert!(rates[1] < 12.0, "limited to 8 MiB/s, but read {:.1} MiB/s", rates[1]);
    assert!(rates[0] > 1.5 * rates[1], "without a limit {:.1} MiB/s, with one {:.1}", rates[0], rates[1]);
    lab.close();
}

/// Classic 4 in small: the limits are below the elevator, so a scheduler that knows priorities serves the real-time reader first.
///
/// One pair of trials on a shared machine may show anything: rounds are added up until the effect stands out. If limits hid the scheduler,
/// no number of rounds would show it.
#[test]
fn a_scheduler_above_the_limits_still_decides() {
    const MAX_ROUNDS: usize = 12;
    let Some(_alone) = alone() else { return };
    let disk = "[[loop_disk]]\nname = \"c\"\nclass = \"hdd\"\nsize = \"64 MiB\"\nread_bytes_per_s = \"16 MiB\"\nread_iops = 125\n";
    let mut lab = Lab::with(disk);
    let reader = |name: &str, io_priority| ResolvedLoad {
        io_priority: Some(io_priority),
        ..program(name, &["dd", &format!("if={{dir}}/{name}"), "of=/dev/null", "bs=1M"])
    };
    let mut seconds: BTreeMap<(&str, String), f64> = BTreeMap::new();
    for round in 0..MAX_ROUNDS {
        // Who starts first changes from round to round.
        let order = if round % 2 == 0 { ["none", "bfq"] } else { ["bfq", "none"] };
        for scheduler in order {
            let tasks = vec![reader("rt", IoPriority::Realtime(0)), reader("be", IoPriority::BestEffort(7))];
            let mut spec = mounted("loop-c", scheduler, tasks);
            spec.workload.prepare = vec![file("rt", 8), file("be", 8)];
            let cycle = lab.run(&spec);
            completed(&cycle);
            for elapsed in cycle.record.elapsed {
                *seconds.entry((scheduler, elapsed.task)).or_default() += elapsed.seconds;
            }
        }
        let advantage = |scheduler| seconds[&(scheduler, "be".to_owned())] / seconds[&(scheduler, "rt".to_owned())];
        if round > 0 && advantage("bfq") > 1.2 && advantage("bfq") > 1.1 * advantage("none") {
            lab.close();
            return;
        }
    }
    panic!("after {MAX_ROUNDS} rounds the real-time reader gains nothing by the scheduler: {seconds:?}");
}

#[test]
fn the_disk_must_be_listed() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let cycle = lab.run(&raw("wwn-0x5000000000000001", vec![linear_read(1)]));
    assert_eq!(failure(&cycle).fault, Fault::Lab);
    assert!(failure(&cycle).message.contains("is not on the allow-list"), "{:?}", failure(&cycle));
    lab.close();
}

#[test]
fn a_file_system_of_somebody_else_is_refused_and_kept() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let device = lab.device("loop-a");
    must(&["mkfs.ext4", "-q", "-F", &device]);
    let uuid = || must(&["blkid", "--probe", "--output", "value", "--match-tag", "UUID", &device]);
    let before = uuid();
    let cycle = lab.run(&raw("loop-a", vec![linear_read(1)]));
    assert_eq!(failure(&cycle).fault, Fault::Lab);
    assert!(failure(&cycle).message.contains("which this agent did not put there"), "{:?}", failure(&cycle));
    assert_eq!(uuid(), before, "nothing was written");

    let mount_point = lab.dir.path().join("elsewhere");
    std::fs::create_dir(&mount_point).unwrap();
    must(&["mount", &device, mount_point.to_str().unwrap()]);
    let refused = lab.disk("loop-a").health;
    let cycle = lab.run(&mounted("loop-a", "none", vec![program("true", &["true"])]));
    must(&["umount", mount_point.to_str().unwrap()]);
    assert!(failure(&cycle).message.contains("is mounted on"), "{:?}", failure(&cycle));
    assert!(matches!(refused, DiskHealth::Refused { reason } if reason.contains("is mounted on")));
    assert_eq!(uuid(), before);
    must(&["wipefs", "--quiet", "--all", &device]);
    lab.close();
}

/// blkid ends with status 2 for a blank device and for one that answers every read with EIO. The second may carry anything.
#[test]
fn a_disk_that_cannot_be_read_is_refused_and_kept() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let device = lab.device("loop-a");
    must(&["mkfs.ext4", "-q", "-F", &device]);
    let image = must(&["losetup", "--noheadings", "--output", "BACK-FILE", &device]).trim().to_owned();
    // Reads beyond the end of its file are errors of the loop device.
    let whole = std::fs::read(&image).unwrap();
    File::options().write(true).open(&image).unwrap().set_len(0).unwrap();
    assert_eq!(tool(&["blkid", "--probe", &device]).status.code(), Some(2), "blkid takes it for blank");
    let refused = lab.disk("loop-a").health;
    assert!(matches!(&refused, DiskHealth::Refused { reason } if reason.contains("carries cannot be told")), "{refused:?}");
    let cycle = lab.run(&mounted("loop-a", "none", vec![program("true", &["true"])]));
    assert_eq!(failure(&cycle).fault, Fault::Lab);
    std::fs::write(&image, &whole).unwrap();
    assert!(must(&["blkid", "--probe", &device]).contains("TYPE=\"ext4\""), "nothing was written");
    must(&["wipefs", "--quiet", "--all", &device]);
    assert_eq!(lab.disk("loop-a").health, DiskHealth::Usable);
    lab.close();
}

/// Words of an experiment that would give mkfs or mount a second device. The second one carries a file system, which must stay.
#[test]
fn an_experiment_reaches_no_other_disk() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let other = lab.device("loop-b");
    must(&["mkfs.ext4", "-q", "-F", &other]);
    let made = |kind: &str, mkfs: &[&str], mount: &str| Format::Made {
        kind: kind.into(),
        mkfs: mkfs.iter().map(|word| (*word).to_owned()).collect(),
        mount: mount.into(),
        journal_ioprio: None,
    };
    let cases = [
        (made("btrfs", &[&other], ""), "mkfs.btrfs"),
        (made("xfs", &["-l", &format!("logdev={other}")], ""), "mkfs.xfs"),
        (made("ext4", &[], &format!("journal_path={other}")), "mount"),
        (made("ext4", &[], "journal_dev=0x701"), "mount"),
    ];
    for (format, step) in cases {
        let cycle = lab.run(&TrialSpec { format, ..mounted("loop-a", "none", vec![program("true", &["true"])]) });
        assert_eq!((failure(&cycle).fault, failure(&cycle).step.as_str()), (Fault::Workload, step));
    }
    assert!(must(&["blkid", "--probe", &other]).contains("TYPE=\"ext4\""));
    must(&["wipefs", "--quiet", "--all", &other]);
    lab.close();
}

#[test]
fn a_partition_table_is_refused() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let device = lab.device("loop-a");
    // A boot signature with one partition: sector 0 ends in 55 aa, entry 1 at offset 446.
    let mut sector = vec![0_u8; 512];
    sector[446 + 4] = 0x83;
    sector[446 + 8..446 + 12].copy_from_slice(&2048_u32.to_le_bytes());
    sector[446 + 12..446 + 16].copy_from_slice(&2048_u32.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    std::fs::write(&device, &sector).unwrap();
    let refused = lab.disk("loop-a").health;
    assert!(matches!(&refused, DiskHealth::Refused { reason } if reason.contains("`dos`")), "{refused:?}");
    must(&["wipefs", "--quiet", "--all", &device]);
    assert_eq!(lab.disk("loop-a").health, DiskHealth::Usable);
    lab.close();
}

/// In the middle of a trial the loop device is detached, and its number goes to somebody's image.
#[test]
fn a_disk_that_became_another_is_not_wiped() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let device = lab.device("loop-a");
    let image = lab.dir.path().join("somebody.img");
    File::create(&image).unwrap().set_len(16 * MIB).unwrap();
    must(&["mkfs.ext4", "-q", "-F", image.to_str().unwrap()]);
    let steps = plan(&raw("loop-a", vec![shell("task", "true")])).unwrap();
    let (from, to) = (device.clone(), image.clone());
    let cycle = run(&steps, lab.host(), &Stop::default(), &move |phase| {
        if phase.word() == "verify" {
            must(&["losetup", "--detach", &from]);
            must(&["losetup", &from, to.to_str().unwrap()]);
        }
    });
    let dirty = cycle.dirty.unwrap();
    assert!(dirty.starts_with("release disk: ") && dirty.contains(&format!("is now attached to {}", image.display())), "{dirty}");
    assert!(must(&["blkid", "--probe", &device]).contains("TYPE=\"ext4\""), "the image is untouched");
    let refused = lab.disk("loop-a").health;
    assert!(matches!(&refused, DiskHealth::Refused { reason } if reason.contains("restart the agent")), "{refused:?}");
    lab.host().close().unwrap();
    assert!(must(&["losetup", &device]).contains("somebody.img"), "what is somebody's is not detached");
    must(&["losetup", "--detach", &device]);
    lab.close();
}

/// A file of that name in a folder of the configuration may be anybody's, or a link to something dear.
#[test]
fn a_backing_file_replaces_nothing() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let image = must(&["losetup", "--noheadings", "--output", "BACK-FILE", &lab.device("loop-a")]).trim().to_owned();
    lab.host().close().unwrap();
    lab.host = None;
    let dear = lab.dir.path().join("dear");
    std::fs::write(&dear, "dear").unwrap();
    std::fs::create_dir_all(Path::new(&image).parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&dear, &image).unwrap();
    lab.host = Some(lab.start(DISKS).unwrap());
    let refused = lab.disk("loop-a").health;
    assert!(matches!(&refused, DiskHealth::Refused { reason } if reason.contains("is there already")), "{refused:?}");
    assert_eq!(lab.disk("loop-b").health, DiskHealth::Usable);
    lab.host().close().unwrap();
    assert_eq!(std::fs::read_to_string(&dear).unwrap(), "dear");
    std::fs::remove_file(&image).unwrap();
    std::fs::remove_dir(Path::new(&image).parent().unwrap()).unwrap();
    lab.close();
}

#[test]
fn a_full_disk_is_found_early() {
    let Some(_alone) = alone() else { return };
    let disks = format!("{DISKS}\n[[loop_disk]]\nname = \"huge\"\nclass = \"ssd\"\nsize = \"100000 G\"\n");
    let mut lab = Lab::with(&disks);
    let health = lab.disk("loop-huge").health;
    assert!(matches!(&health, DiskHealth::Refused { reason } if reason.contains("MiB are free there")), "{health:?}");
    assert_eq!(lab.disk("loop-a").health, DiskHealth::Usable, "the others work");

    let mut spec = mounted("loop-a", "none", vec![program("true", &["true"])]);
    spec.workload.prepare = vec![file("x", 100)];
    let cycle = lab.run(&spec);
    assert_eq!(failure(&cycle).step, "prepare prepare-x");
    assert!(failure(&cycle).message.contains("No space left on device"), "{:?}", failure(&cycle));
    spec.workload.space_bytes = 60 * MIB;
    let cycle = lab.run(&spec);
    assert_eq!((failure(&cycle).fault, failure(&cycle).step.as_str()), (Fault::Lab, "check space"));
    lab.close();
}

#[test]
fn a_task_that_hangs_is_killed_with_all_its_children() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    // A child in a session of its own, with its own file open on the disk: only the control group still knows it.
    let line = "setsid sh -c 'exec 3>{dir}/held; sleep 1000' & sleep 1000";
    let hang = ResolvedLoad { timeout_s: 1, ..shell("rt", line) };
    let cycle = lab.run(&mounted("loop-a", "none", vec![hang]));
    assert_eq!((failure(&cycle).fault, failure(&cycle).step.as_str()), (Fault::Workload, "task rt"));
    assert_eq!(failure(&cycle).message, "it did not end within 1 s and was killed");
    lab.close();
}

#[test]
fn failures_of_tasks_are_quoted() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let fails = |lab: &mut Lab, task| {
        let cycle = lab.run(&mounted("loop-a", "none", vec![task]));
        let failure = failure(&cycle);
        assert_eq!((failure.fault, failure.step.as_str()), (Fault::Workload, "task rt"));
        failure.message.clone()
    };
    let message = fails(&mut lab, program("rt", &["dd", "if={dir}/nonesuch", "of=/dev/null"]));
    assert!(message.starts_with("it ended with exit status: 1, saying: dd: failed to open"), "{message}");
    let message = fails(&mut lab, program("rt", &["fs_merk", "-d", "{dir}"]));
    assert_eq!(message, "failed to run `fs_merk`: it is not installed");
    let mut spec = mounted("loop-a", "none", vec![program("true", &["true"])]);
    spec.workload.tools = vec!["iozone".into()];
    let cycle = lab.run(&spec);
    assert_eq!(failure(&cycle).fault, Fault::Lab);
    assert_eq!(failure(&cycle).message, "failed to run `iozone`: it is not installed; install the Debian package iozone3");
    spec.workload.tools.clear();
    spec.scheduler.tunables.insert("slice_idel".into(), "0".into());
    let cycle = lab.run(&spec);
    assert!(failure(&cycle).message.starts_with("there is no `queue/iosched/slice_idel`"), "{:?}", failure(&cycle));
    spec.scheduler.tunables.clear();
    spec.format =
        Format::Made { kind: "ext4".into(), mkfs: vec!["-O".into(), "nonesuch".into()], mount: String::new(), journal_ioprio: None };
    let cycle = lab.run(&spec);
    assert_eq!((failure(&cycle).fault, failure(&cycle).step.as_str()), (Fault::Workload, "mkfs.ext4"));
    spec.format = Format::Made { kind: "ext4".into(), mkfs: Vec::new(), mount: "nonesuch=1".into(), journal_ioprio: None };
    let cycle = lab.run(&spec);
    assert_eq!((failure(&cycle).fault, failure(&cycle).step.as_str()), (Fault::Workload, "mount"));
    lab.close();
}

/// Written to /dev/kmsg by the task, in the words of the kernel: the oops is the result, and the host stays dirty until the next boot.
#[test]
fn an_oops_is_a_result_and_outlives_the_agent() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let says = |words: &str| raw("loop-a", vec![shell("task", &format!("echo '{words}' > /dev/kmsg"))]);
    completed(&lab.run(&says("traps: fio[812] general protection fault ip:7f2c sp:7ffd error:0 in libc.so.6")));
    assert_eq!(lab.host().kernel_fault(), None);
    let cycle = lab.run(&says("Oops: 0000 [#1] of a test of blklab"));
    assert!(matches!(&cycle.outcome, Some(Outcome::Failed(Failure { fault: Fault::Kernel, .. }))), "{:?}", cycle.outcome);
    assert!(cycle.dirty.is_some());
    let still = lab.host().clean_trial().unwrap_err();
    assert!(still.contains("reboot this host") && still.contains("of a test of blklab"), "{still}");
    lab.host().close().unwrap();
    lab.host = None;
    lab.host = Some(lab.start(DISKS).unwrap());
    assert!(lab.host().kernel_fault().is_some(), "a restart of the agent heals no kernel");
    lab.close();
}

#[test]
fn background_loads_run_beside_the_tasks_and_are_stopped() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let mut spec = mounted("loop-a", "mq-deadline", vec![shell("task", "sleep 0.5")]);
    let tree = Builtin::MakeTree { path: "{dir}/tree".into(), files: 20, file_bytes: 16 << 10 };
    let copy = Builtin::TreeCopy { from: "{dir}/tree".into(), to: "{dir}/copy".into(), forever: true };
    spec.workload.prepare = vec![builtin("prepare-1", tree)];
    spec.workload.background = vec![builtin("copy", copy), shell("endless", "while :; do sleep 0.01; done")];
    let cycle = lab.run(&spec);
    completed(&cycle);
    let parsed = blklab_parse::parse(Tool::Builtin, text(&cycle, "copy.out").as_bytes()).unwrap();
    assert!(parsed.values["operations"] >= 20.0, "it copied the tree at least once: {:?}", parsed.values);
    assert!(parsed.values["elapsed_s"] >= 0.5, "it ran for the whole window: {:?}", parsed.values);

    spec.workload.background = vec![shell("copy", "echo no tree >&2; exit 3")];
    let cycle = lab.run(&spec);
    assert_eq!(failure(&cycle).fault, Fault::Workload);
    assert!(text(&cycle, "copy.err").contains("no tree"));
    lab.close();
}

#[test]
fn a_stop_ends_a_trial_at_once_and_gives_everything_back() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new();
    let stop = Stop::default();
    let steps = plan(&mounted("loop-a", "none", vec![shell("task", "sleep 1000")])).unwrap();
    let asker = stop.clone();
    // The stop comes when the workload phase begins, that is, before or during the task.
    let cycle = run(&steps, lab.host(), &stop, &|phase| {
        if phase.word() == "workload" {
            asker.ask()
        }
    });
    assert_eq!(cycle.outcome, None);
    assert_eq!(cycle.dirty, None);
    lab.close();
}

#[test]
fn a_second_agent_on_the_same_folder_is_refused() {
    let Some(_alone) = alone() else { return };
    let lab = Lab::new();
    let error = lab.start(DISKS).unwrap_err().to_string();
    assert!(error.contains(&format!("is in use by another agent (process {})", std::process::id())), "{error}");
    lab.close();
}

/// The agent as a process of its own, with the coordinator of the tests.
struct AgentProcess {
    child: Child,
    log: PathBuf,
}

impl AgentProcess {
    fn start(config: &Path) -> Self {
        let log = config.with_extension("log");
        #[expect(clippy::disallowed_methods, reason = "the test starts the agent as an admin would")]
        let mut command = Command::new(env!("CARGO_BIN_EXE_blklab-agent"));
        let child = command.args(["run", "--config"]).arg(config).stderr(File::create(&log).unwrap()).spawn().unwrap();
        AgentProcess { child, log }
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A lab whose agent is a process, in the middle of a trial.
fn agent_in_mid_cycle() -> (Lab, PathBuf, AgentProcess) {
    let lab = Lab { dir: tempfile::tempdir().unwrap(), coordinator: Coordinator::start(), host: None };
    let config = lab.dir.path().join("agent.toml");
    std::fs::write(&config, lab.coordinator.config_text(lab.dir.path(), DISKS)).unwrap();
    let mut spec = mounted("loop-b", "bfq", vec![shell("task", "setsid sleep 1000 & sleep 1000")]);
    spec.workload.background = vec![shell("endless", "cd {dir} && sleep 1000")];
    lab.coordinator.push_job(0, vec![spec]);
    let agent = AgentProcess::start(&config);
    let at_work = |beat: &blklab_wire::agent::Heartbeat| beat.at.as_ref().is_some_and(|at| at.phase == "workload");
    lab.coordinator.wait_until("the task runs", |inner| inner.heartbeats.iter().any(at_work));
    assert!(mounts().contains(&lab.state_dir()), "a file system is mounted");
    assert_eq!(groups().len(), 1, "a control group is there");
    (lab, config, agent)
}

#[test]
fn after_kill_9_clean_gives_everything_back() {
    let Some(_alone) = alone() else { return };
    let (lab, config, mut agent) = agent_in_mid_cycle();
    let refused = tool(&[env!("CARGO_BIN_EXE_blklab-agent"), "clean", "--config", config.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1), "a living agent is not cleaned away");
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    let said = must(&[env!("CARGO_BIN_EXE_blklab-agent"), "clean", "--config", config.to_str().unwrap()]);
    for word in ["unmounted", "control group", "restored queue", "detached", "removed file"] {
        assert!(said.contains(word), "{word} is missing in:\n{said}");
    }
    lab.assert_nothing_left();
    let again = must(&[env!("CARGO_BIN_EXE_blklab-agent"), "clean", "--config", config.to_str().unwrap()]);
    assert_eq!(again, "nothing to clean\n");
}

#[test]
fn after_kill_9_the_next_agent_begins_clean_and_the_trial_completes() {
    let Some(_alone) = alone() else { return };
    let (lab, config, mut agent) = agent_in_mid_cycle();
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    lab.coordinator.push_job(1, vec![mounted("loop-b", "bfq", vec![program("true", &["true"])])]);
    let mut agent = AgentProcess::start(&config);
    lab.coordinator.wait_until("the trial is handed in", |inner| !inner.reports.is_empty());
    let inner = lab.coordinator.tell();
    assert_eq!(inner.reports[0].outcome, Outcome::Completed);
    drop(inner);
    terminate(&mut agent);
    lab.assert_nothing_left();
}

#[test]
fn sigterm_in_mid_cycle_gives_everything_back() {
    let Some(_alone) = alone() else { return };
    let (lab, _config, mut agent) = agent_in_mid_cycle();
    terminate(&mut agent);
    lab.assert_nothing_left();
    let inner = lab.coordinator.tell();
    assert!(inner.reports.is_empty(), "an unfinished trial is not reported");
    assert_eq!(inner.heartbeats.last().unwrap().job, None, "the coordinator hears that the job is free");
}

/// Ends an agent as a service manager does, and checks how it ended.
fn terminate(agent: &mut AgentProcess) {
    let pid = rustix::process::Pid::from_child(&agent.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let status = loop {
        match agent.child.try_wait().unwrap() {
            Some(status) => break status,
            None => assert!(Instant::now() < deadline, "the agent does not end"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(0), "{}", std::fs::read_to_string(&agent.log).unwrap());
}
