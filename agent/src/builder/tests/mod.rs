//! Builders with real git, make and gcc on a repository that is nearly a kernel, and a coordinator that answers, refuses and goes away.

mod coordinator;

use std::path::Path;
use std::time::{Duration, Instant};

use blklab_bootimage::modules::Index;
use blklab_model::build::{BuildFault, BuildRequest, ConfigBase, NamedFile};
use blklab_model::kernel::{Blob, KernelSource};
use blklab_model::testing::id;
use blklab_wire::build::{BuildOutcome, BuildReport, BuiltKernel};

use super::session::{BuilderError, serve};
use crate::build::fake::{Fake, RELEASE};
use crate::build::{NamedText, signature};
use crate::host::StateError;
use crate::session::{Pauses, SessionError};
use crate::stop::Stop;
use coordinator::{Coordinator, Inner};

/// No test has ten seconds.
const SHORT: Pauses = Pauses { first: Duration::from_millis(1), longest: Duration::from_millis(1) };

const PATIENCE: Duration = Duration::from_secs(120);

/// A builder on a thread of its own.
struct Builder {
    stop: Stop,
    thread: std::thread::JoinHandle<Result<(), BuilderError>>,
}

impl Builder {
    fn start(coordinator: &Coordinator, dir: &Path) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (config, stop) = (coordinator.config(dir), Stop::default());
        let asked = stop.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(serve(&config, asked, SHORT))
        });
        Builder { stop, thread }
    }

    fn end(self) -> Result<(), BuilderError> {
        self.stop.ask();
        self.thread.join().unwrap()
    }
}

/// What asks for the fake kernel.
fn request(fake: &Fake, patches: &[NamedText]) -> BuildRequest {
    BuildRequest {
        name: id("fake"),
        repo: fake.repository().to_string_lossy().into_owned(),
        commit: "v1".into(),
        patches: patches.iter().map(|patch| NamedFile { name: patch.name.clone(), text: patch.text.clone() }).collect(),
        base: ConfigBase::Target("tinyconfig".into()),
        fragments: vec![NamedFile { name: "lab.config".into(), text: "CONFIG_SMP=y\n".into() }],
        salt: None,
    }
}

/// A patch whose kernel takes for ever; its make writes its number into a file.
fn endless(fake: &Fake, pid: &Path) -> NamedText {
    let rule = "vmlinux: $(OBJECTS)\n";
    fake.patch("Makefile", rule, &format!("{rule}\techo $$PPID > {}; sleep 1000\n", pid.display()))
}

/// Waits for the number of a process that was started just now.
fn pid_in(file: &Path) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if text.ends_with('\n') {
            return text.trim().to_owned();
        }
        assert!(Instant::now() < deadline, "make never came so far");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_gone(pid: &str) -> bool {
    !std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|state| !state.contains(" Z "))
}

fn built(report: &BuildReport) -> &BuiltKernel {
    let BuildOutcome::Built(kernel) = &report.outcome else { panic!("{report:?}") };
    kernel
}

fn text(inner: &Inner, blob: &Blob) -> String {
    String::from_utf8_lossy(&inner.blobs[&blob.sha256]).into_owned()
}

#[test]
fn a_kernel_is_built_and_its_files_are_there_before_the_report() {
    let (coordinator, dir, fake) = (Coordinator::start(), tempfile::tempdir().unwrap(), Fake::new());
    let patch = fake.patch("fs/super.c", "return 3;", "return 4;");
    coordinator.push(7, 2, request(&fake, &[patch]));
    let builder = Builder::start(&coordinator, dir.path());
    coordinator.wait_until("it is built", |inner| inner.reports.len() == 1);
    builder.end().unwrap();
    let inner = coordinator.tell();
    let hello = &inner.hellos[0];
    assert!(hello.facts.builder && hello.disks.is_empty(), "{hello:?}");
    assert!(inner.heartbeats.iter().any(|beat| beat.build == Some(id("b7"))), "the lease is renewed");
    assert_eq!(inner.heartbeats.last().unwrap().build, None);

    let report = &inner.reports[0];
    let kernel = built(report);
    assert_eq!((report.build, report.attempt, report.host.as_str()), (id("b7"), 2, "builder"));
    assert_eq!((kernel.release.as_str(), kernel.build_id.len()), (RELEASE, 40));
    let KernelSource::Git { commit, patches, .. } = &kernel.source else { panic!("{kernel:?}") };
    assert_eq!((commit.as_str(), patches.as_slice()), (fake.git(&["rev-parse", "v1"]).trim(), &["change it".to_owned()][..]));
    let modules = kernel.modules.as_ref().unwrap();
    for blob in [&kernel.image, &kernel.config, modules, report.log.as_ref().unwrap()] {
        let bytes = &inner.blobs[&blob.sha256];
        assert_eq!((signature::digest(bytes), bytes.len() as u64), (blob.sha256.clone(), blob.bytes));
    }
    assert_eq!(inner.blobs[&kernel.image.sha256][..2], [0x1f, 0x8b], "the compressed image");
    assert!(text(&inner, &kernel.config).contains("CONFIG_SMP=y\n"));
    assert!(text(&inner, report.log.as_ref().unwrap()).contains("== built 6.1.0-fake"));
    let index = Index::of_tar(inner.blobs[&modules.sha256].as_slice(), "modules").unwrap();
    assert_eq!((index.release(), index.names().collect::<Vec<_>>()), (RELEASE, vec!["elevator"]));
}

#[test]
fn a_known_kernel_and_files_that_are_there_are_not_sent_again() {
    let (coordinator, dir, fake) = (Coordinator::start(), tempfile::tempdir().unwrap(), Fake::new());
    let builder = Builder::start(&coordinator, dir.path());
    coordinator.push(1, 1, request(&fake, &[]));
    coordinator.wait_until("it is built", |inner| inner.reports.len() == 1);
    let first = built(&coordinator.tell().reports[0]).clone();
    // Twice from the folder of the last kernel: here the coordinator does not know it, and has its files all the same.
    coordinator.push(2, 1, request(&fake, &[]));
    coordinator.wait_until("it is handed in again", |inner| inner.reports.len() == 2);
    assert_eq!(*built(&coordinator.tell().reports[1]), first);
    coordinator.tell().known.push(first.id.clone());
    coordinator.push(3, 1, request(&fake, &[]));
    coordinator.wait_until("it is reused", |inner| inner.reports.len() == 3);
    builder.end().unwrap();
    let inner = coordinator.tell();
    assert_eq!(inner.reports[2].outcome, BuildOutcome::Reused(first.id));
    assert!(text(&inner, inner.reports[2].log.as_ref().unwrap()).ends_with("== sign\n"), "nothing was compiled");
}

#[test]
fn a_kernel_without_modules_has_none() {
    let (coordinator, dir, fake) = (Coordinator::start(), tempfile::tempdir().unwrap(), Fake::new());
    let bare = BuildRequest { base: ConfigBase::Target("defconfig".into()), ..request(&fake, &[]) };
    let empty = fake.patch("Makefile", "\tcp $(O)/elevator.ko $(LIB)/kernel/\n", "");
    coordinator.push(1, 1, bare);
    coordinator.push(2, 1, request(&fake, &[empty]));
    let builder = Builder::start(&coordinator, dir.path());
    coordinator.wait_until("both are built", |inner| inner.reports.len() == 2);
    builder.end().unwrap();
    assert!(coordinator.tell().reports.iter().all(|report| built(report).modules.is_none()));
}

#[test]
fn an_author_is_told_which_hunk_does_not_apply() {
    let (coordinator, dir, fake) = (Coordinator::start(), tempfile::tempdir().unwrap(), Fake::new());
    let mut stale = fake.patch("block/elevator.c", "return sector + 1;", "return sector + 2;");
    stale.text = stale.text.replace("-\treturn sector + 1;", "-\treturn sector + 7;");
    coordinator.push(1, 1, request(&fake, &[stale]));
    let broken = fake.patch("fs/super.c", "return 3;", "return JOURNAL_PRIORITY;");
    coordinator.push(2, 1, request(&fake, &[broken]));
    let lost = NamedFile { name: "mine.config".into(), text: "CONFIG_NONESUCH=y\n".into() };
    coordinator.push(3, 1, BuildRequest { fragments: vec![lost], ..request(&fake, &[]) });
    coordinator.push(4, 1, BuildRequest { commit: "v99".into(), ..request(&fake, &[]) });
    let builder = Builder::start(&coordinator, dir.path());
    coordinator.wait_until("all are answered", |inner| inner.reports.len() == 4);
    builder.end().unwrap();
    let inner = coordinator.tell();
    let said = [
        (BuildFault::DoesNotApply, "-\treturn sector + 7;"),
        (BuildFault::DoesNotCompile, "'JOURNAL_PRIORITY' undeclared"),
        (BuildFault::DoesNotConfigure, "CONFIG_NONESUCH"),
        (BuildFault::Infrastructure, "v99"),
    ];
    for ((fault, words), report) in said.into_iter().zip(&inner.reports) {
        let BuildOutcome::Failed(failure) = &report.outcome else { panic!("{report:?}") };
        assert_eq!(failure.fault, fault);
        assert!(failure.message.contains(words), "{failure:?}");
        assert!(text(&inner, report.log.as_ref().unwrap()).contains(words), "the log says so, too");
    }
}

#[test]
fn a_build_that_is_taken_back_is_killed_with_its_group() {
    let (coordinator, dir, fake) = (Coordinator::start(), tempfile::tempdir().unwrap(), Fake::new());
    let pid = dir.path().join("pid");
    coordinator.push(1, 1, request(&fake, &[endless(&fake, &pid)]));
    let builder = Builder::start(&coordinator, dir.path());
    let make = pid_in(&pid);
    coordinator.tell().drop_builds = true;
    let claims = coordinator.tell().claims;
    coordinator.wait_until("it claims again", |inner| inner.claims > claims);
    assert!(is_gone(&make));
    coordinator.tell().drop_builds = false;
    coordinator.push(2, 1, request(&fake, &[]));
    coordinator.wait_until("the next one is built", |inner| inner.reports.len() == 1);
    builder.end().unwrap();
    assert_eq!(coordinator.tell().reports[0].build, id("b2"), "of the first one there is nothing to say");
}

#[test]
fn a_builder_that_is_told_to_stop_or_superseded_leaves_nothing_running() {
    for is_superseded in [false, true] {
        let (coordinator, dir, fake) = (Coordinator::start(), tempfile::tempdir().unwrap(), Fake::new());
        let pid = dir.path().join("pid");
        coordinator.push(1, 1, request(&fake, &[endless(&fake, &pid)]));
        let builder = Builder::start(&coordinator, dir.path());
        let make = pid_in(&pid);
        if is_superseded {
            coordinator.tell().refuse.insert("/heartbeat", 409);
            let error = builder.thread.join().unwrap().unwrap_err();
            assert!(matches!(error, BuilderError::Session(SessionError::NameTaken { .. })), "{error}");
        } else {
            builder.end().unwrap();
        }
        assert!(is_gone(&make));
        assert_eq!(coordinator.tell().reports.len(), 0, "it counts as never begun");
    }
}

#[test]
fn a_kernel_waits_until_the_coordinator_is_back() {
    for path in ["/blobs", "/report"] {
        let (coordinator, dir, fake) = (Coordinator::start(), tempfile::tempdir().unwrap(), Fake::new());
        coordinator.tell().refuse.insert(path, 503);
        coordinator.push(1, 1, request(&fake, &[]));
        let builder = Builder::start(&coordinator, dir.path());
        coordinator.wait_until("it was turned away", |inner| inner.refused > 0);
        coordinator.tell().refuse.clear();
        coordinator.wait_until("it is handed in", |inner| inner.reports.len() == 1);
        builder.end().unwrap();
        built(&coordinator.tell().reports[0]);
    }
}

#[test]
fn a_kernel_that_was_not_handed_in_is_found_by_the_next_builder() {
    let (coordinator, dir, fake) = (Coordinator::start(), tempfile::tempdir().unwrap(), Fake::new());
    coordinator.tell().refuse.insert("/blobs", 503);
    coordinator.push(1, 1, request(&fake, &[]));
    let builder = Builder::start(&coordinator, dir.path());
    coordinator.wait_until("it was turned away", |inner| inner.refused > 0);
    builder.end().unwrap();
    coordinator.tell().refuse.clear();
    coordinator.push(1, 2, request(&fake, &[]));
    let builder = Builder::start(&coordinator, dir.path());
    coordinator.wait_until("it is handed in", |inner| inner.reports.len() == 1);
    builder.end().unwrap();
    let inner = coordinator.tell();
    built(&inner.reports[0]);
    assert!(text(&inner, inner.reports[0].log.as_ref().unwrap()).ends_with("== sign\n"), "nothing was compiled");
}

#[test]
fn a_build_that_is_taken_back_while_the_coordinator_takes_no_file_holds_nobody_up() {
    let (coordinator, dir, fake) = (Coordinator::start(), tempfile::tempdir().unwrap(), Fake::new());
    coordinator.tell().refuse.insert("/blobs", 507);
    coordinator.push(1, 1, request(&fake, &[]));
    let builder = Builder::start(&coordinator, dir.path());
    coordinator.wait_until("it was turned away", |inner| inner.refused > 0);
    coordinator.tell().drop_builds = true;
    let claims = coordinator.tell().claims;
    coordinator.wait_until("it claims again", |inner| inner.claims > claims);
    builder.end().unwrap();
}

#[test]
fn a_file_that_is_refused_for_good_is_an_answer() {
    let (coordinator, dir, fake) = (Coordinator::start(), tempfile::tempdir().unwrap(), Fake::new());
    coordinator.tell().refuse.insert("/blobs", 413);
    coordinator.push(1, 1, request(&fake, &[]));
    let builder = Builder::start(&coordinator, dir.path());
    coordinator.wait_until("it is reported", |inner| inner.reports.len() == 1);
    builder.end().unwrap();
    let inner = coordinator.tell();
    let BuildOutcome::Failed(failure) = &inner.reports[0].outcome else { panic!("{:?}", inner.reports[0]) };
    assert_eq!((failure.fault, inner.reports[0].log.as_ref()), (BuildFault::Infrastructure, None));
    assert!(failure.message.starts_with("failed to hand in ") && failure.message.contains("refused (413)"), "{failure:?}");
}

#[test]
fn a_coordinator_that_forgot_the_builder_gets_its_kernel_after_a_hello() {
    let (coordinator, dir, fake) = (Coordinator::start(), tempfile::tempdir().unwrap(), Fake::new());
    coordinator.tell().refuse.insert("/blobs", 401);
    coordinator.push(1, 1, request(&fake, &[]));
    let builder = Builder::start(&coordinator, dir.path());
    coordinator.wait_until("it was refused and says hello", |inner| inner.refused > 0 && inner.hellos.len() > 1);
    coordinator.tell().refuse.clear();
    coordinator.wait_until("it is handed in", |inner| inner.reports.len() == 1);
    builder.end().unwrap();
    built(&coordinator.tell().reports[0]);
}

#[test]
fn a_folder_has_one_builder() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    let builder = Builder::start(&coordinator, dir.path());
    coordinator.wait_until("it claims", |inner| inner.claims > 0);
    let error = Builder::start(&coordinator, dir.path()).thread.join().unwrap().unwrap_err();
    assert!(matches!(error, BuilderError::State(StateError::InUse { .. })), "{error}");
    builder.end().unwrap();
}
