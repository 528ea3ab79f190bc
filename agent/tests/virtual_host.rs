//! Virtual hosts that boot a real kernel, and every way in which one may end. Needs QEMU and a Debian kernel in `target/kernels`, which
//! `make test` fetches; no root. Without them the tests are skipped, or fail when `BLKLAB_REQUIRE_VMS=1` says that they must not be.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blklab_agent::control::config::{self, ControlConfig};
use blklab_agent::control::host::ControlledHost;
use blklab_agent::control::{self, ControlError};
use blklab_agent::cycle::run::Cycle;
use blklab_agent::host::StateError;
use blklab_agent::session::{Order, Ran, ReadyKernel, Runner};
use blklab_agent::stop::Stop;
use blklab_agent::sys::command;
use blklab_bootimage::deb::Package;
use blklab_bootimage::image;
use blklab_bootimage::modules::{Source, Subset, pack};
use blklab_model::filesystem::Format;
use blklab_model::kernel::{Blob, BootMethod};
use blklab_model::outcome::{Failure, Fault, Outcome};
use blklab_model::scheduler::{QueueTunables, Scheduler, Tunables};
use blklab_model::workload::Target;
use blklab_model::workload::command::{Builtin, Command as Load};
use blklab_model::workload::resolve::{ResolvedLoad, ResolvedWorkload};
use blklab_wire::agent::{BootSpec, TrialSpec};

/// A boot on a machine that also runs other tests.
const BOOTS_WITHIN: Duration = Duration::from_secs(300);

/// The user `nobody`, by the number that it has everywhere on Linux.
const NOBODY: u32 = 65_534;

const SATA: &str = r#"
[[host]]
name = "vm"
boot = "qemu"
memory = "768 MiB"
boot_limit_s = 90

[[host.disk]]
serial = "sata-1"
class = "sata-hdd"
bus = "ahci"
size = "1 GiB"
model = "sata-hdd"
"#;

const ARRAY_AND_SSD: &str = r#"
[[host]]
name = "vm"
boot = "qemu"
memory = "768 MiB"

[[host.disk]]
serial = "lun-0"
class = "fc-array"
bus = "virtio-scsi"
size = "1 GiB"
model = "fc-array"

[[host.disk]]
serial = "lun-1"
class = "fc-array"
bus = "virtio-scsi"
size = "1 GiB"
model = "fc-array"

[[host.disk]]
serial = "nvme-1"
class = "nvme-ssd"
bus = "nvme"
size = "1 GiB"
model = "nvme-ssd"
"#;

/// One at a time: two emulated machines on two processors would measure each other. None where there is nothing to boot.
fn alone() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    let why = if command::find("qemu-system-x86_64").is_none() {
        "there is no qemu-system-x86_64"
    } else if kernel().is_none() {
        "there is no linux-image-6.1.0-*-amd64_*.deb in target/kernels"
    } else {
        return Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner));
    };
    assert!(std::env::var("BLKLAB_REQUIRE_VMS").as_deref() != Ok("1"), "BLKLAB_REQUIRE_VMS=1, but {why}");
    eprintln!("skipped: {why}; `make test` fetches what is missing");
    None
}

/// A kernel as files, made once.
struct Kernel {
    package: PathBuf,
    folder: tempfile::TempDir,
    facts: image::Facts,
}

fn kernel() -> Option<&'static Kernel> {
    static KERNEL: OnceLock<Option<Kernel>> = OnceLock::new();
    KERNEL
        .get_or_init(|| {
            let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/kernels");
            let mut packages: Vec<PathBuf> = fs::read_dir(kernels).ok()?.map(|entry| entry.unwrap().path()).collect();
            packages.retain(|path| path.extension().is_some_and(|end| end == "deb"));
            packages.sort();
            let path = packages.pop()?.canonicalize().unwrap();
            let package = Package::open(&path).unwrap();
            let (_, bytes) = package.image().unwrap();
            let (facts, _) = image::inspect(&bytes).unwrap();
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("image"), &bytes).unwrap();
            fs::write(folder.path().join("cut-image"), &bytes[..bytes.len() / 2]).unwrap();
            let mut tar = Vec::new();
            pack(&Subset::choose(&Source::Package(&package), &facts.release).unwrap(), &mut tar).unwrap();
            fs::write(folder.path().join("modules"), tar).unwrap();
            Some(Kernel { package: path, folder, facts })
        })
        .as_ref()
}

impl Kernel {
    /// As a kernel of the lab with further arguments.
    fn with(&self, arguments: &str) -> ReadyKernel {
        let blob = |digit: &str| Blob { sha256: digit.repeat(64), bytes: 0 };
        let spec = BootSpec {
            name: "under-test".parse().unwrap(),
            id: "a".repeat(64).parse().unwrap(),
            release: self.facts.release.clone(),
            build_id: self.facts.build_id.clone(),
            image: blob("b"),
            modules: Some(blob("c")),
            arguments: arguments.to_owned(),
        };
        let file = |name: &str| self.folder.path().join(name);
        ReadyKernel::Boot { spec: Box::new(spec), image: file("image"), modules: Some(file("modules")) }
    }
}

fn agent() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_blklab-agent"))
}

fn config_text(state_dir: &Path, hosts: &str) -> String {
    format!(
        "coordinator = \"http://127.0.0.1:1\"\ntoken_file = \"{0}/token\"\nstate_dir = \"{0}\"\naccelerator = \"tcg\"\n\
         known_good = {{ package = \"{1}\" }}\n{hosts}",
        state_dir.display(),
        kernel().unwrap().package.display()
    )
}

struct Lab {
    dir: tempfile::TempDir,
    config: ControlConfig,
    host: ControlledHost,
    job: u32,
    _lock: fs::File,
}

impl Lab {
    /// A host that is known to be well.
    fn new(hosts: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = config::parse("control.toml", &config_text(dir.path(), hosts)).unwrap();
        let (mut made, lock) = control::prepare(&config, agent(), &Stop::default()).unwrap();
        let (_, host) = made.pop().unwrap();
        let mut lab = Lab { dir, config, host, job: 0, _lock: lock };
        lab.host.take_inventory(&Stop::default()).unwrap();
        lab
    }

    /// Runs a trial in the present job.
    fn run(&mut self, kernel: &ReadyKernel, tasks: Vec<ResolvedLoad>) -> Ran {
        self.run_watched(kernel, tasks, &|_| ())
    }

    /// Likewise; `enter` is told of each phase.
    fn run_watched(&mut self, kernel: &ReadyKernel, tasks: Vec<ResolvedLoad>, enter: &dyn Fn(&str)) -> Ran {
        let spec = trial(&self.host.disks()[0].id.clone(), tasks);
        let order = Order { job: format!("x1.j{}", self.job).parse().unwrap(), kernel: kernel.clone(), spec };
        self.host.trial(&order, &Stop::default(), enter)
    }

    /// Runs a trial in a job of its own.
    fn run_anew(&mut self, kernel: &ReadyKernel, tasks: Vec<ResolvedLoad>) -> Ran {
        self.job += 1;
        self.run(kernel, tasks)
    }

    /// Whatever happened, the next trial is a good one.
    fn assert_well(&mut self) {
        let ran = self.run_anew(&kernel().unwrap().with(""), reader());
        assert_eq!(ran.cycle.outcome, Some(Outcome::Completed), "the lab did not recover");
    }

    fn close(mut self) {
        self.host.close().unwrap();
        assert_eq!(processes_of(self.dir.path()), Vec::<u32>::new(), "a virtual host is left");
    }
}

fn reader() -> Vec<ResolvedLoad> {
    vec![shell("reader", "dd if={dir}/x of=/dev/null bs=1M")]
}

fn shell(name: &str, line: &str) -> ResolvedLoad {
    ResolvedLoad { name: name.into(), disk: 0, command: Load::Shell(line.into()), io_priority: None, start_after_ms: 0, timeout_s: 300 }
}

fn trial(disk: &blklab_model::id::DiskId, tasks: Vec<ResolvedLoad>) -> TrialSpec {
    let write = Load::Builtin(Builtin::WriteFile { path: "{dir}/x".into(), bytes: 2 << 20 });
    TrialSpec {
        memory_cap_bytes: None,
        seed: 1,
        trial: "x1.c0.r0.a0".parse().unwrap(),
        attempt: 1,
        disks: vec![disk.clone()],
        scheduler: Scheduler { name: "bfq".into(), tunables: Tunables::new(), label: "bfq".into() },
        tunables: QueueTunables::default(),
        format: Format::Made { kind: "ext4".into(), mkfs: Vec::new(), mount: "noatime".into(), journal_ioprio: None },
        workload: ResolvedWorkload {
            name: "test".parse().unwrap(),
            version: 1,
            target: Target::Mounted,
            tools: vec!["dd".into()],
            space_bytes: 16 << 20,
            disks: 1,
            prepare: vec![ResolvedLoad {
                name: "prepare".into(),
                disk: 0,
                command: write,
                io_priority: None,
                start_after_ms: 0,
                timeout_s: 60,
            }],
            background: Vec::new(),
            tasks,
        },
    }
}

fn failure(cycle: &Cycle) -> &Failure {
    match &cycle.outcome {
        Some(Outcome::Failed(failure)) => failure,
        other => panic!("expected a failure, got {other:?}"),
    }
}

fn output(cycle: &Cycle, name: &str) -> String {
    let found = cycle.record.outputs.iter().find(|found| found.name == name).unwrap();
    String::from_utf8(STANDARD.decode(&found.base64).unwrap()).unwrap()
}

/// Emulators whose working folder lies in `dir`.
fn processes_of(dir: &Path) -> Vec<u32> {
    let of = |entry: fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let is_qemu = fs::read_to_string(entry.path().join("comm")).ok()?.starts_with("qemu-system");
        (is_qemu && fs::read_link(entry.path().join("cwd")).ok()?.starts_with(dir)).then_some(pid)
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(of).collect()
}

fn kill_9(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

fn wait_for<T>(what: &str, within: Duration, mut ready: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + within;
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(Instant::now() < deadline, "{what}: not within {within:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn trials_run_on_a_kernel_that_proves_itself() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new(SATA);
    assert_eq!(lab.host.facts().boot, BootMethod::Qemu);
    let disks = lab.host.disks();
    let facts = &disks[0].facts;
    assert!(facts.rotational && facts.transport == "sata" && facts.queue_depth == Some(32), "{facts:?}");

    let kernel = kernel().unwrap();
    let first = lab.run_anew(&kernel.with("blklab.test=1"), reader());
    assert_eq!(first.cycle.outcome, Some(Outcome::Completed), "{:?}", first.cycle);
    let proof = first.boot.unwrap();
    assert_eq!((&proof.release, &proof.build_id), (&kernel.facts.release, &kernel.facts.build_id));
    assert_eq!(first.cycle.phases[0].phase, "boot", "the boot is charged to the trial that waited for it");
    let second = lab.run(&kernel.with("blklab.test=1"), reader());
    assert_eq!(second.boot.as_ref().unwrap().boot_id, proof.boot_id, "one job is one boot");
    assert_eq!(second.cycle.phases[0].phase, "check");
    let third = lab.run_anew(&kernel.with(""), reader());
    assert_ne!(third.boot.unwrap().boot_id, proof.boot_id, "another job is another boot");

    // An image that is not what the lab thinks it is.
    let ReadyKernel::Boot { mut spec, image, modules } = kernel.with("") else { panic!() };
    spec.build_id = "0".repeat(40);
    let wrong = lab.run_anew(&ReadyKernel::Boot { spec, image, modules }, reader());
    let failure = failure(&wrong.cycle);
    assert_eq!(failure.fault, Fault::Lab);
    assert!(failure.message.contains("another kernel runs than `under-test`"), "{}", failure.message);
    lab.assert_well();
    lab.close();
}

#[test]
fn an_array_and_an_ssd_tell_their_own_facts() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new(ARRAY_AND_SSD);
    let disks = lab.host.disks();
    let facts: Vec<_> = disks.iter().map(|disk| (disk.class.as_str(), disk.facts.serial.as_str(), disk.facts.rotational)).collect();
    assert_eq!(facts, [("fc-array", "lun-0", true), ("fc-array", "lun-1", true), ("nvme-ssd", "nvme-1", false)]);
    assert_eq!(disks[2].facts.transport, "nvme");
    let ran = lab.run_anew(&ReadyKernel::AsBooted, reader());
    assert_eq!(ran.cycle.outcome, Some(Outcome::Completed), "{:?}", ran.cycle);
    lab.close();
}

#[test]
fn each_boot_that_fails_has_its_class_and_the_lab_recovers() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new(SATA);
    let kernel = kernel().unwrap();
    let ReadyKernel::Boot { spec, modules, .. } = kernel.with("") else { panic!() };
    let cut = ReadyKernel::Boot { spec, image: kernel.folder.path().join("cut-image"), modules };
    let cases = [
        (kernel.with("rdinit=/nonexistent"), "panic: Kernel panic - not syncing: "),
        // It waits for a root device for ever.
        (kernel.with("rdinit=/nonexistent root=/dev/none rootwait"), "does not boot: its agent did not answer in time"),
        (kernel.with("module_blacklist=ahci"), "does not boot: it finds no disk sata-1"),
        (cut, "does not boot: it is cut short"),
    ];
    for (kernel, expected) in cases {
        let ran = lab.run_anew(&kernel, reader());
        let failed = failure(&ran.cycle);
        assert_eq!((failed.fault, failed.step.as_str()), (Fault::Kernel, "boot"), "{failed:?}");
        assert!(failed.message.starts_with(expected), "{}", failed.message);
        assert_eq!(ran.boot, None);
        let began = Instant::now();
        let again = lab.run(&kernel, reader());
        assert_eq!(failure(&again.cycle).fault, Fault::Kernel);
        assert!(began.elapsed() < Duration::from_secs(1), "other trials of the job do not try again");
        assert!(lab.host.last_boot().unwrap().outcome.starts_with(expected), "{:?}", lab.host.last_boot());
    }
    lab.assert_well();
    lab.close();
}

#[test]
fn each_end_in_mid_trial_has_its_class_and_the_lab_recovers() {
    let Some(_alone) = alone() else { return };
    let mut lab = Lab::new(SATA);
    let kernel = kernel().unwrap().with("");

    let panic = lab.run_anew(&kernel, vec![shell("crash", "echo c > /proc/sysrq-trigger; sleep 100")]);
    let failed = failure(&panic.cycle);
    assert_eq!((failed.fault, failed.step.as_str()), (Fault::Kernel, "workload"));
    assert!(failed.message.starts_with("panic: Kernel panic - not syncing: sysrq triggered crash"), "{}", failed.message);
    assert!(output(&panic.cycle, "console.txt").contains("sysrq_handle_crash"));
    // The rest of the job goes on, on a fresh boot of the same kernel.
    let next = lab.run(&kernel, reader());
    assert_eq!(next.cycle.outcome, Some(Outcome::Completed));

    // Whoever stops the agent stops what pets the watchdog, as a kernel does that schedules nothing any more.
    let hang = lab.run_anew(&kernel, vec![shell("hang", "for pid in $(pidof init); do [ $pid = 1 ] || kill -STOP $pid; done; sleep 200")]);
    let failed = failure(&hang.cycle);
    assert_eq!(failed.fault, Fault::Kernel);
    assert!(failed.message.starts_with("hang: "), "{}", failed.message);

    let off = lab.run_anew(&kernel, vec![shell("off", "echo o > /proc/sysrq-trigger; sleep 100")]);
    let failed = failure(&off.cycle);
    assert_eq!(failed.fault, Fault::Lab);
    assert!(failed.message.starts_with("power lost: "), "{}", failed.message);

    let dir = lab.dir.path().to_owned();
    let (tell, told) = std::sync::mpsc::channel();
    let killer = std::thread::spawn(move || {
        told.recv().unwrap();
        kill_9(processes_of(&dir).pop().unwrap());
    });
    let killed = lab.run_watched(&kernel, vec![shell("sleep", "sleep 100")], &|phase| {
        if phase == "workload" {
            tell.send(()).unwrap();
        }
    });
    let failed = failure(&killed.cycle);
    assert_eq!(failed.fault, Fault::Lab);
    assert!(failed.message.starts_with("power lost: its machine was ended from outside"), "{}", failed.message);
    killer.join().unwrap();
    lab.assert_well();
    lab.close();
}

#[test]
fn a_second_controller_is_refused() {
    let Some(_alone) = alone() else { return };
    let lab = Lab::new(SATA);
    let refused = control::prepare(&lab.config, agent(), &Stop::default()).map(|_| ()).unwrap_err();
    assert!(matches!(refused, ControlError::State(StateError::InUse { .. })), "{refused}");
    lab.close();
}

/// A controller as people run it.
struct Controller {
    dir: tempfile::TempDir,
    child: Child,
}

impl Controller {
    /// Starts one, as another user if one is given.
    fn start(user: Option<u32>) -> Self {
        // Below /var/tmp, which every user may enter; the checkout may lie below somebody's home.
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let state = dir.path().join("state");
        fs::create_dir(&state).unwrap();
        let program = dir.path().join("blklab-agent");
        fs::copy(agent(), &program).unwrap();
        fs::copy(&kernel().unwrap().package, dir.path().join("kernel.deb")).unwrap();
        let text = config_text(&state, SATA)
            .replace(&kernel().unwrap().package.display().to_string(), &format!("{}/kernel.deb", dir.path().display()));
        let file = dir.path().join("control.toml");
        fs::write(&file, text).unwrap();
        fs::write(state.join("token"), "secret").unwrap();
        let mut argv = vec![program.display().to_string(), "control".into(), "--config".into(), file.display().to_string()];
        if let Some(user) = user {
            chown(&state, Some(user), Some(user)).unwrap();
            chown(state.join("token"), Some(user), Some(user)).unwrap();
            let drop = ["setpriv".to_owned(), "--clear-groups".into(), format!("--reuid={user}"), format!("--regid={user}")];
            argv.splice(0..0, drop);
        }
        let log = fs::File::create(dir.path().join("log")).unwrap();
        #[expect(clippy::disallowed_methods, reason = "the test is about a process")]
        let child = Command::new(&argv[0]).args(&argv[1..]).current_dir("/").stdin(Stdio::null()).stderr(log).spawn().unwrap();
        Controller { dir, child }
    }

    fn wait_for_boot(&self) {
        let log = self.dir.path().join("log");
        wait_for("a boot", BOOTS_WITHIN, || fs::read_to_string(&log).unwrap().contains("booted").then_some(()));
    }

    fn assert_nothing_runs(&self) {
        let left = || processes_of(self.dir.path()).is_empty().then_some(());
        wait_for("the end of every virtual host", Duration::from_secs(20), left);
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_controller_that_is_killed_leaves_nothing_running_and_no_disk() {
    let Some(_alone) = alone() else { return };
    let mut controller = Controller::start(None);
    controller.wait_for_boot();
    assert_eq!(processes_of(controller.dir.path()).len(), 1);
    kill_9(controller.child.id());
    controller.child.wait().unwrap();
    controller.assert_nothing_runs();
    let images: Vec<_> = fs::read_dir(controller.dir.path().join("state/hosts/vm/run")).unwrap().map(|entry| entry.unwrap()).collect();
    assert!(images.iter().all(|entry| entry.metadata().unwrap().len() < 1 << 20), "a disk is left: {images:?}");
}

#[test]
fn an_ordinary_user_can_run_virtual_hosts() {
    let Some(_alone) = alone() else { return };
    let user = rustix::process::geteuid().is_root().then_some(NOBODY);
    let mut controller = Controller::start(user);
    controller.wait_for_boot();
    let pid = rustix::process::Pid::from_raw(i32::try_from(controller.child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    wait_for("an orderly end", Duration::from_secs(60), || controller.child.try_wait().unwrap());
    controller.assert_nothing_runs();
}

#[test]
fn no_space_for_disks_is_the_labs_fault() {
    let Some(_alone) = alone() else { return };
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can mount a small file system");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let tmpfs = dir.path().join("small");
    fs::create_dir(&tmpfs).unwrap();
    // Room for images, not for the reserve beside them.
    rustix::mount::mount("tmpfs", &tmpfs, "tmpfs", rustix::mount::MountFlags::empty(), Some(c"size=520M")).unwrap();
    let config = config::parse("control.toml", &config_text(&tmpfs, SATA)).unwrap();
    let result = control::prepare(&config, agent(), &Stop::default()).map(|(mut made, lock)| {
        let reason = made[0].1.take_inventory(&Stop::default()).unwrap_err();
        drop((made, lock));
        reason
    });
    rustix::mount::unmount(&tmpfs, rustix::mount::UnmountFlags::DETACH).unwrap();
    let reason = result.map_err(|error| error.to_string()).unwrap_or_else(|error| error);
    assert!(reason.contains("space"), "{reason}");
}
