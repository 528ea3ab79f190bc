//! From a Debian package to a report: two kernels are added, booted in turns on a virtual host, measured and compared, by the programs as
//! people run them. Skipped where there is no QEMU or no kernel in `target/kernels`, or failed when `BLKLAB_REQUIRE_VMS=1`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use blklab_coordinator::client::Client;
use blklab_lab_tests::{TestLab, program};
use blklab_model::kernel::BootMethod;
use blklab_model::trial::TrialState;
use blklab_wire::people::{NamedText, Overrides, Submit, Submitted};
use tempfile::TempDir;

/// Six emulated boots and twelve trials on a crowded machine; on an idle one it takes two minutes.
const ENDS_WITHIN: Duration = Duration::from_secs(1200);

/// How often the lab is looked at.
const LOOK_PERIOD: Duration = Duration::from_secs(1);

const EXPERIMENT: &str = r#"
name = "two-boots"
title = "Does an argument of the kernel matter?"
compare = "kernel"
baseline = "plain"
rounds = 3

[matrix]
kernel = ["plain", "with-argument"]
scheduler = ["mq-deadline", "bfq"]
filesystem = ["raw"]
disk_class = ["sata-hdd"]
workload = ["sequential-reader"]

[parameters]
size_mib = 4
"#;

/// Three units of an array at once: what a multi-disk workload needs of a virtual host.
const OVER_DISKS: &str = r#"
name = "three-disks"
title = "Do three readers of three disks depend on the scheduler?"
compare = "scheduler"
baseline = "none"
rounds = 3

[matrix]
scheduler = ["none", "mq-deadline"]
filesystem = ["ext4"]
disk_class = ["fc-array"]
workload = ["scaling-readers"]

[parameters]
disks = 3
size = "2 MiB"
"#;

/// The newest Debian kernel that `make test` has fetched.
fn kernel() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/kernels");
    let mut packages: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    packages.retain(|path| path.extension().is_some_and(|end| end == "deb"));
    packages.sort();
    packages.pop()
}

fn can_boot() -> Option<PathBuf> {
    let has_qemu = Path::new("/usr/bin/qemu-system-x86_64").is_file();
    let found = kernel().filter(|_| has_qemu);
    if found.is_none() {
        assert!(std::env::var("BLKLAB_REQUIRE_VMS").as_deref() != Ok("1"), "BLKLAB_REQUIRE_VMS=1, but there is no QEMU or no kernel");
        eprintln!("skipped: there is no QEMU or no kernel in target/kernels; `make test` fetches what is missing");
    }
    found
}

fn command(name: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the test runs the programs that it tests")]
    Command::new(program(name))
}

/// A controller that ends with the test.
struct Controller(Child);

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn disk(serial: &str, class: &str, bus: &str) -> String {
    format!("[[host.disk]]\nserial = \"{serial}\"\nclass = \"{class}\"\nbus = \"{bus}\"\nsize = \"1 GiB\"\nmodel = \"{class}\"\n")
}

fn control(lab: &TestLab, folder: &Path, kernel: &Path) -> Controller {
    let token = folder.join("token");
    fs::write(&token, lab.token("enrol")).expect("a token");
    let units: String = (1..=3).map(|n| disk(&format!("array-{n}"), "fc-array", "virtio-scsi")).collect();
    let text = format!(
        "coordinator = \"{}\"\ntoken_file = \"{}\"\nstate_dir = \"{}\"\naccelerator = \"tcg\"\nknown_good = {{ package = \"{}\" }}\n\
         [[host]]\nname = \"vm\"\nboot = \"qemu\"\n{}{units}",
        lab.url,
        token.display(),
        folder.join("state").display(),
        kernel.display(),
        disk("sata-1", "sata-hdd", "ahci"),
    );
    let file = folder.join("control.toml");
    fs::write(&file, text).expect("a configuration");
    let child = command("blklab-agent").args(["control", "--die-with-parent", "--config"]).arg(file).stdin(Stdio::null()).spawn();
    Controller(child.expect("a controller"))
}

fn add_kernel(lab: &TestLab, kernel: &Path, name: &str, arguments: &[&str]) {
    let mut add = command("blklab");
    add.args(["kernel", "add", "--name", name, "--deb"]).arg(kernel).args(arguments);
    let output = add.env("BLKLAB_SERVER", &lab.url).env("BLKLAB_TOKEN", lab.token("submit")).output().expect("the command line");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_kernels_from_a_package_to_a_report() {
    let Some(kernel) = can_boot() else { return };
    let lab = TestLab::new().await;
    let folder = TempDir::new().expect("a folder");
    let _controller = control(&lab, folder.path(), &kernel);
    tokio::task::block_in_place(|| {
        add_kernel(&lab, &kernel, "plain", &[]);
        add_kernel(&lab, &kernel, "with-argument", &["--arguments", "audit=0"]);
    });
    let client = lab.client();
    let deadline = tokio::time::Instant::now() + ENDS_WITHIN;
    while client.hosts().await.expect("hosts").is_empty() {
        assert!(tokio::time::Instant::now() < deadline, "no virtual host has enrolled");
        tokio::time::sleep(LOOK_PERIOD).await;
    }
    let hosts = client.hosts().await.expect("hosts");
    assert_eq!(hosts[0].host.facts.boot, BootMethod::Qemu);

    let submitted = run(&client, EXPERIMENT, deadline).await;
    assert_eq!((submitted.cells, submitted.trials, submitted.boots), (2, 12, 6));

    // Every trial proves what it ran on; trials of one job share a boot and those of two do not.
    let mut tx = lab.lab.store.read().await.expect("a transaction");
    let trials = blklab_coordinator::store::trial_list(&mut tx, submitted.id).await.expect("trials");
    let mut boots = std::collections::BTreeMap::new();
    for trial in &trials {
        assert_eq!(trial.state, TrialState::Completed);
        let environment = &trial.details.as_ref().expect("details").environment;
        let of = |name: &str| environment.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone()).expect("a value");
        let expected = if trial.id.arm == 0 { "plain" } else { "with-argument" };
        assert_eq!(of("kernel.name"), expected);
        boots.entry(trial.job).or_insert_with(Vec::new).push(of("boot.id"));
    }
    assert!(boots.values().all(|ids| ids.len() == 2 && ids[0] == ids[1]), "{boots:?}");
    let mut ids: Vec<&String> = boots.values().map(|ids| &ids[0]).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6, "each job has a boot of its own");
    let report = client.report(submitted.id).await.expect("a report");
    assert_eq!(report.cells.len(), 2);

    // Each trial of a workload over several disks prepares, reads and gives back every one of them.
    let submitted = run(&client, OVER_DISKS, deadline).await;
    let report = client.report(submitted.id).await.expect("a report");
    assert_eq!(report.cells[0].disks.len(), 3);
    let mut tx = lab.lab.store.read().await.expect("a transaction");
    for trial in &blklab_coordinator::store::trial_list(&mut tx, submitted.id).await.expect("trials") {
        let environment = &trial.details.as_ref().expect("details").environment;
        for number in 2..=3 {
            assert!(environment.iter().any(|(name, _)| name.ends_with(&format!("(disk {number})"))), "disk {number}: {environment:?}");
        }
    }
}

/// Runs an experiment to its end, without a failed trial.
async fn run(client: &Client, text: &str, deadline: tokio::time::Instant) -> Submitted {
    let file = NamedText { name: "e.toml".into(), text: text.into() };
    let submit = Submit { file, workloads: Vec::new(), overrides: Overrides::default(), submitter: "a tester".into() };
    let submitted = client.submit(&submit).await.expect("an experiment");
    loop {
        let progress = client.progress(submitted.id).await.expect("progress");
        if progress.state == "finished" {
            assert_eq!((progress.over, progress.failed), (submitted.trials, 0), "{progress:?}");
            return submitted;
        }
        assert!(tokio::time::Instant::now() < deadline, "{progress:?}");
        tokio::time::sleep(LOOK_PERIOD).await;
    }
}
