//! The lab with a real builder: from somebody who asks for a kernel to the kernel's row, on a repository that is nearly a kernel.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use blklab_agent::build::NamedText;
use blklab_agent::build::fake::{Fake, RELEASE};
use blklab_agent::builder::{self, config};
use blklab_agent::session::Pauses;
use blklab_agent::stop::Stop;
use blklab_bootimage::modules::Index;
use blklab_lab_tests::{TestLab, program};
use blklab_model::build::{BuildFault, BuildRecord, BuildRequest, BuildState, ConfigBase, NamedFile};
use blklab_model::id::BuildId;
use blklab_model::job::LEASE;
use blklab_model::kernel::KernelSource;
use blklab_model::testing::id;
use tokio::process::{Child, Command};

/// Longer than a build of the fake kernel takes on a machine under load.
const PATIENCE: Duration = Duration::from_secs(180);

/// Between two looks.
const TICK: Duration = Duration::from_millis(50);

/// What asks for the fake kernel by its whole commit id.
fn request(fake: &Fake, name: &str, patches: &[NamedText]) -> BuildRequest {
    BuildRequest {
        name: id(name),
        repo: fake.repository().to_string_lossy().into_owned(),
        commit: fake.git(&["rev-parse", "v1"]).trim().to_owned(),
        patches: patches.iter().map(|patch| NamedFile { name: patch.name.clone(), text: patch.text.clone() }).collect(),
        base: ConfigBase::Target("tinyconfig".into()),
        fragments: vec![NamedFile { name: "lab.config".into(), text: "CONFIG_SMP=y\n".into() }],
        salt: None,
    }
}

/// A builder's configuration, with everything in a folder.
fn configuration(lab: &TestLab, dir: &Path) -> String {
    std::fs::write(dir.join("enrolment"), lab.token("enrol")).unwrap();
    let (url, dir) = (&lab.url, dir.display());
    format!("name = \"builder\"\ncoordinator = \"{url}\"\ntoken_file = \"{dir}/enrolment\"\nstate_dir = \"{dir}/state\"\n")
}

async fn ended(lab: &TestLab, build: BuildId) -> BuildRecord {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let record = lab.client().build_record(build).await.unwrap();
        if record.state.is_over() {
            return record;
        }
        assert!(Instant::now() < deadline, "{record:?}");
        tokio::time::sleep(TICK).await;
    }
}

/// A builder of this process, on a thread of its own.
struct Builder {
    stop: Stop,
    thread: std::thread::JoinHandle<Result<(), builder::BuilderError>>,
}

impl Builder {
    fn start(lab: &TestLab, dir: &Path) -> Builder {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut config = config::parse("builder.toml", &configuration(lab, dir)).unwrap();
        config.limits.space_bytes = 0;
        let stop = Stop::default();
        let asked = stop.clone();
        let pauses = Pauses { first: TICK, longest: TICK };
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(builder::serve(&config, asked, pauses))
        });
        Builder { stop, thread }
    }

    fn end(self) {
        self.stop.ask();
        self.thread.join().unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_patch_becomes_a_kernel_of_the_lab_and_the_same_is_built_once() {
    let (lab, dir, fake) = (TestLab::new().await, tempfile::tempdir().unwrap(), Fake::new());
    let client = lab.client();
    let patch = fake.patch("fs/super.c", "return 3;", "return 4;");
    let patched = request(&fake, "patched", &[patch]);
    let asked = client.build(&patched, "a tester").await.unwrap();
    let builder = Builder::start(&lab, dir.path());
    assert_eq!(ended(&lab, asked.id).await.state, BuildState::Built { reused: false });
    let kernel = client.kernel(&id("patched")).await.unwrap();
    assert_eq!((kernel.release.as_str(), kernel.build_id.len()), (RELEASE, 40));
    assert!(matches!(&kernel.source, KernelSource::Git { patches, .. } if patches == &["change it"]), "{:?}", kernel.source);
    let modules = lab.lab.blobs.open_file(&kernel.modules.unwrap().sha256).unwrap().0;
    assert_eq!(Index::of_tar(modules, "modules").unwrap().names().collect::<Vec<_>>(), ["elevator"]);
    let log = client.page(&format!("/api/v1/builds/{}/log", asked.id)).await.unwrap();
    assert!(log.contains("== make\n") && log.contains("== built 6.1.0-fake"), "{log}");

    assert_eq!(client.build(&patched, "another").await.unwrap(), asked, "the same request gave the kernel that is here");
    let twin = client.build(&BuildRequest { name: id("twin"), ..patched.clone() }, "a tester").await.unwrap();
    assert_eq!(ended(&lab, twin.id).await.state, BuildState::Built { reused: true });
    let twin = client.kernel(&id("twin")).await.unwrap();
    assert_eq!((&twin.id, &twin.image), (&kernel.id, &kernel.image));

    let mut stale = patched.patches[0].clone();
    stale.text = stale.text.replace("-\treturn 3;", "-\treturn 7;");
    let stale = client.build(&BuildRequest { name: id("stale"), patches: vec![stale], ..patched }, "a tester").await.unwrap();
    let BuildState::Failed(failure) = ended(&lab, stale.id).await.state else { panic!("a stale patch was built") };
    assert_eq!(failure.fault, BuildFault::DoesNotApply);
    assert!(failure.message.contains("fs/super.c") && failure.message.contains("return 7;"), "{failure:?}");

    let lost = BuildRequest { commit: "v99".into(), ..request(&fake, "lost", &[]) };
    let lost = ended(&lab, client.build(&lost, "a tester").await.unwrap().id).await;
    assert!(matches!(&lost.state, BuildState::Failed(failure) if failure.fault == BuildFault::Infrastructure), "{lost:?}");
    assert_eq!(lost.attempt, 3, "only faults of the infrastructure are tried again");
    builder.end();
}

#[tokio::test]
async fn a_lease_that_ran_out_while_the_coordinator_was_away_is_given_again() {
    let (lab, fake) = (TestLab::new().await, Fake::new());
    let (first, second) = (lab.builder("builder-1").await, lab.builder("builder-2").await);
    let asked = lab.client().build(&request(&fake, "slow", &[]), "a tester").await.unwrap();
    assert!(first.heartbeat_of_build(asked.id).await.unwrap().drop_build, "nobody was given it yet");
    let spec = first.claim_build().await.unwrap().unwrap();
    lab.pass(LEASE).await;
    assert_eq!(lab.client().build_record(asked.id).await.unwrap().state, BuildState::Queued);
    assert!(!first.heartbeat_of_build(asked.id).await.unwrap().drop_build, "it went on meanwhile");
    assert_eq!(second.claim_build().await.unwrap(), None, "and has it again");
    let record = lab.client().build_record(asked.id).await.unwrap();
    assert!(matches!(record.state, BuildState::Leased { .. }) && record.attempt == spec.attempt, "{record:?}");
}

/// The builder as it is installed.
fn spawn(config: &Path) -> Child {
    #[expect(clippy::disallowed_methods, reason = "the test runs the program that it tests")]
    let mut command = std::process::Command::new(program("blklab-agent"));
    command.arg("builder").arg("--config").arg(config).stdin(Stdio::null());
    Command::from(command).kill_on_drop(true).spawn().unwrap()
}

#[tokio::test]
async fn a_builder_that_was_killed_begins_again_and_leaves_no_make_behind() {
    let (lab, dir, fake) = (TestLab::new().await, tempfile::tempdir().unwrap(), Fake::new());
    let (config, once) = (dir.path().join("builder.toml"), dir.path().join("once"));
    std::fs::write(&config, configuration(&lab, dir.path())).unwrap();
    let rule = "vmlinux: $(OBJECTS)\n";
    let hang = format!("{rule}\ttest -e {0} || {{ echo $$PPID > {0}; sleep 1000; }}\n", once.display());
    let patch = fake.patch("Makefile", rule, &hang);
    let asked = lab.client().build(&request(&fake, "patched", &[patch]), "a tester").await.unwrap();
    let mut killed = spawn(&config);
    let deadline = Instant::now() + PATIENCE;
    let make = loop {
        assert!(Instant::now() < deadline, "make never came so far");
        match std::fs::read_to_string(&once) {
            Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
            Ok(_) | Err(_) => tokio::time::sleep(TICK).await,
        }
    };
    killed.kill().await.unwrap();
    let stat = format!("/proc/{make}/stat");
    assert!(std::fs::read_to_string(&stat).is_ok(), "make goes on without its builder");

    let mut next = spawn(&config);
    let record = ended(&lab, asked.id).await;
    assert_eq!((&record.state, record.attempt), (&BuildState::Built { reused: false }, 2));
    assert!(!std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(" Z ")), "the make of the killed builder was ended");
    next.kill().await.unwrap();
}
