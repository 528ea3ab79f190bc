//! `blklab kernel` and `blklab build` as people type them, against a coordinator in this process.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use blklab_bootimage::testing::{module, package, vmlinux};
use blklab_lab_tests::{TestLab, blob, program};
use blklab_model::build::{BuildFailure, BuildFault, ConfigBase};
use blklab_model::kernel::{KernelRecord, KernelSource};
use blklab_model::testing::{id, kernel};
use blklab_wire::build::{BuildOutcome, BuiltKernel};
use tempfile::TempDir;
use tokio::process::{Child, Command};

const RELEASE: &str = "6.1.0-lab";

/// What a command printed, and how it ended.
struct Said {
    out: String,
    err: String,
    code: Option<i32>,
}

/// Starts the command line; it is ended with the test.
fn start(lab: &TestLab, arguments: &[&str]) -> Child {
    #[expect(clippy::disallowed_methods, reason = "the test runs the program that it tests")]
    let mut command = std::process::Command::new(program("blklab"));
    command.args(arguments).env("BLKLAB_SERVER", &lab.url).env("BLKLAB_TOKEN", lab.token("submit")).env("BLKLAB_SUBMITTER", "a tester");
    let mut command = Command::from(command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap()
}

async fn end(child: Child) -> Said {
    let output = child.wait_with_output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

async fn run(lab: &TestLab, arguments: &[&str]) -> Said {
    end(start(lab, arguments)).await
}

/// A command that must do what was asked.
async fn well(lab: &TestLab, arguments: &[&str]) -> Said {
    let said = run(lab, arguments).await;
    assert_eq!(said.code, Some(0), "{arguments:?}: {}", said.err);
    said
}

/// A command that must refuse, with exit status 1.
async fn refused(lab: &TestLab, arguments: &[&str]) -> String {
    let said = run(lab, arguments).await;
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{arguments:?}: {}", said.err);
    said.err
}

struct Files(TempDir);

impl Files {
    fn new() -> Files {
        Files(TempDir::new().unwrap())
    }

    fn put(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A package of a kernel that comes with these modules.
    fn package(&self, name: &str, build_id: u8) -> String {
        let image = vmlinux(RELEASE, build_id);
        let (ext4, jbd2, amdgpu) = (module(RELEASE, "jbd2"), module(RELEASE, ""), module(RELEASE, ""));
        let files: [(&str, &[u8]); 6] = [
            ("./boot/vmlinuz-6.1.0-lab", &image),
            ("./boot/config-6.1.0-lab", b"# Linux/x86 6.1 Kernel Configuration\nCONFIG_EXT4_FS=m\n"),
            ("./lib/modules/6.1.0-lab/kernel/fs/ext4/ext4.ko", &ext4),
            ("./lib/modules/6.1.0-lab/kernel/fs/jbd2/jbd2.ko", &jbd2),
            ("./lib/modules/6.1.0-lab/kernel/drivers/gpu/amdgpu.ko", &amdgpu),
            ("./lib/modules/6.1.0-lab/modules.builtin", b"kernel/drivers/scsi/sd_mod.ko\n"),
        ];
        self.put(name, &package(&files))
    }
}

#[tokio::test]
async fn a_package_becomes_a_kernel_of_the_lab() {
    let (lab, files) = (TestLab::new().await, Files::new());
    assert!(well(&lab, &["kernel", "list"]).await.err.contains("no kernels yet"));
    let deb = files.package("one.deb", 0xab);
    let said = well(&lab, &["kernel", "add", "--deb", &deb]).await;
    assert!(said.out.starts_with("6.1.0-lab  6.1.0-lab  "), "{}", said.out);
    assert!(said.out.trim_end().ends_with("linux-image-6.1.0-lab 6.1.7-1"), "{}", said.out);
    assert!(
        said.err.contains("modules: 2 of those") && said.err.contains("image: ") && !said.err.contains("there already"),
        "{}",
        said.err
    );

    let record = lab.client().kernel(&id(RELEASE)).await.unwrap();
    assert_eq!((record.release.as_str(), record.build_id), (RELEASE, "ab".repeat(20)));
    assert_eq!(record.image, blob(&vmlinux(RELEASE, 0xab)), "as it is in the package");
    assert!(record.toolchain.starts_with("gcc-12") && record.config.is_some());
    let modules = lab.lab.blobs.open_file(&record.modules.unwrap().sha256).unwrap().0;
    let index = blklab_bootimage::modules::Index::of_tar(modules, "modules").unwrap();
    assert_eq!((index.release(), index.names().collect::<Vec<_>>()), (RELEASE, vec!["ext4", "jbd2"]));

    assert!(well(&lab, &["kernel", "add", "--deb", &deb]).await.err.contains("kernel `6.1.0-lab` is here already"));
    let again = well(&lab, &["kernel", "add", "--deb", &deb, "--name", "again", "--arguments", "quiet"]).await;
    assert_eq!(again.err.matches("there already").count(), 3, "nothing is sent twice: {}", again.err);
    assert_ne!(lab.client().kernel(&id("again")).await.unwrap().id, record.id, "other arguments, another kernel");

    let error = refused(&lab, &["kernel", "add", "--deb", &files.package("other.deb", 1)]).await;
    assert!(error.contains("the name `6.1.0-lab` is taken by another kernel (linux-image-6.1.0-lab 6.1.7-1)"), "{error}");
    assert!(error.contains("help: give this one another by --name"), "{error}");
    assert_eq!(lab.lab.blobs.size(&blob(&vmlinux(RELEASE, 1)).sha256).unwrap(), None, "nothing was sent in vain");

    let list = well(&lab, &["kernel", "list"]).await.out;
    assert_eq!(list.lines().next().unwrap().split_whitespace().collect::<Vec<_>>(), ["NAME", "RELEASE", "ID", "SIZE", "ADDED", "SOURCE"]);
    let json: Vec<KernelRecord> = serde_json::from_str(&well(&lab, &["kernel", "list", "--json"]).await.out).unwrap();
    assert_eq!(json, lab.client().kernels().await.unwrap());
    let shown = well(&lab, &["kernel", "show", "again"]).await.out;
    assert!(shown.contains("arguments   quiet\n") && shown.contains("package     linux-image-6.1.0-lab 6.1.7-1\n"), "{shown}");
    assert!(refused(&lab, &["kernel", "log", "again"]).await.contains("has no log: the lab did not build it"));
    assert_eq!(well(&lab, &["kernel", "rm", "again", RELEASE]).await.out, "removed again\nremoved 6.1.0-lab\n");
    assert!(refused(&lab, &["kernel", "show", "again"]).await.contains("there is no kernel `again`"));
}

#[tokio::test]
async fn an_image_is_added_with_modules_that_are_its_own() {
    let (lab, files) = (TestLab::new().await, Files::new());
    let image = files.put("vmlinux", &vmlinux(RELEASE, 7));
    let config = files.put("config", b"CONFIG_PVH=y\n");
    files.put("mods/lib/modules/6.1.0-lab/kernel/xfs.ko", &module(RELEASE, ""));
    let modules = files.path("mods").display().to_string();
    well(&lab, &["kernel", "add", "--image", &image, "--modules", &modules, "--kconfig", &config, "--name", "mine"]).await;
    let record = lab.client().kernel(&id("mine")).await.unwrap();
    assert_eq!(record.source, KernelSource::Upload { file: "vmlinux".into() });
    assert_eq!(record.config, Some(blob(b"CONFIG_PVH=y\n")));
    well(&lab, &["kernel", "add", "--image", &image, "--name", "bare"]).await;
    assert_eq!(lab.client().kernel(&id("bare")).await.unwrap().modules, None);

    files.put("old/lib/modules/6.1.0-lab/xfs.ko", &module("6.1.0-old", ""));
    let extra = files.put("lab_disk.ko", &module(RELEASE, "xfs"));
    well(&lab, &["kernel", "add", "--image", &image, "--modules", &modules, "--module", &extra, "--name", "more"]).await;
    assert_ne!(lab.client().kernel(&id("more")).await.unwrap().modules, record.modules);
    let old = files.put("old.ko", &module("6.1.0-old", ""));
    let cases: [(&[&str], &str); 6] = [
        (&["--image", &image, "--module", &old], "old.ko: module extra/old.ko is of kernel 6.1.0-old"),
        (&["--image", &image, "--module", &image], "its name must end with .ko"),
        (
            &["--image", &image, "--modules", &files.path("old").display().to_string()],
            "module xfs.ko is of kernel 6.1.0-old, not of 6.1.0-lab",
        ),
        (&["--image", &files.put("cut", &vmlinux(RELEASE, 7)[..90_000])], "it is cut short"),
        (&["--image", &files.put("text", b"hello")], "it is no kernel image for x86"),
        (&["--deb", &files.put("text.deb", b"hello")], "is no usable Debian package"),
    ];
    for (arguments, words) in cases {
        let error = refused(&lab, &[&["kernel", "add"], arguments].concat()).await;
        assert!(error.starts_with("blklab: failed to ") && error.contains(words), "{error}");
    }
    assert_eq!(run(&lab, &["kernel", "add", "--name", "x"]).await.code, Some(2), "neither package nor image nor repository");
    assert_eq!(run(&lab, &["kernel", "add", "--deb", "x", "--image", "y"]).await.code, Some(2));
    assert_eq!(lab.client().kernels().await.unwrap().len(), 3);
}

const PATCH: &str = "From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\n\
    Subject: [PATCH] block, bfq: idle for no one\n\n---\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";

#[tokio::test]
async fn a_patch_is_built_and_its_author_is_told() {
    let (lab, files) = (TestLab::new().await, Files::new());
    let builder = lab.builder("builder").await;
    let git = ["kernel", "add", "--git", "https://git.example.org/linux.git", "--commit", "v6.1"];
    let bad = files.put("page.html", b"<!DOCTYPE html>");
    let error = refused(&lab, &[&git[..], &["--patch", &bad]].concat()).await;
    assert!(error.contains("page.html is no patch that `git am` takes: it is a web page"), "{error}");
    assert_eq!(lab.client().builds().await.unwrap(), [], "nobody was asked");

    let patch = files.put("0001-idle.patch", PATCH.as_bytes());
    let waiting = start(&lab, &[&git[..], &["--patch", &patch, "--salt", "again"]].concat());
    let spec = claim(&builder).await;
    assert_eq!(spec.request.name.as_str(), "v6.1-block-bfq-idle-for-no-one");
    assert_eq!((&spec.request.base, spec.request.fragments[0].name.as_str()), (&ConfigBase::Target("tinyconfig".into()), "lab.config"));
    assert_eq!((spec.request.patches[0].text.as_str(), spec.request.salt.as_deref()), (PATCH, Some("again")));
    let log = lab.put_blob(b"error: patch failed: x:1\n").await;
    let failure = BuildFailure { fault: BuildFault::DoesNotApply, message: "0001-idle.patch: x:1 has `c` where `a` is expected".into() };
    builder.report_build(&spec, BuildOutcome::Failed(failure), Some(log)).await.unwrap();
    let said = end(waiting).await;
    assert_eq!(said.code, Some(1));
    assert!(said.out.starts_with("b1  http://") && said.out.ends_with("/builds/b1\n"), "{}", said.out);
    let told =
        "blklab: build b1 gives no kernel: does not apply\n0001-idle.patch: x:1 has `c` where `a` is expected\n  log: blklab build log b1";
    assert!(said.err.contains(told), "{}", said.err);
    assert_eq!(well(&lab, &["build", "log", "b1"]).await.out, "error: patch failed: x:1\n");
    assert!(well(&lab, &["build", "show", "b1"]).await.out.contains("state       failed: does not apply\n"));

    let waiting = start(&lab, &[&git[..], &["--name", "base"]].concat());
    let spec = claim(&builder).await;
    let model = kernel("base", 'd');
    let built = BuiltKernel {
        id: model.id,
        release: model.release,
        build_id: model.build_id,
        source: KernelSource::Git { repo: spec.request.repo.clone(), commit: "e".repeat(40), tree: "f".repeat(40), patches: vec![] },
        toolchain: model.toolchain,
        image: lab.put_blob(b"image").await,
        modules: None,
        config: lab.put_blob(b"CONFIG_PVH=y\n").await,
    };
    builder.report_build(&spec, BuildOutcome::Built(Box::new(built)), Some(lab.put_blob(b"CC x.o\n").await)).await.unwrap();
    let said = end(waiting).await;
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.out.lines().last().unwrap(), format!("base  6.1.0-base  dddddddddddd  commit {}", "e".repeat(12)));
    assert_eq!(well(&lab, &["kernel", "log", "base"]).await.out, "CC x.o\n");
    let states: Vec<String> = well(&lab, &["build", "list"]).await.out.lines().map(str::to_owned).collect();
    assert!(states.len() == 3 && states[1].contains("built") && states[2].contains("failed: does not apply"), "{states:?}");
}

#[tokio::test]
async fn a_build_may_be_left_alone_and_cancelled() {
    let (lab, files) = (TestLab::new().await, Files::new());
    let config = files.put("whole.config", b"CONFIG_SMP=y\n");
    let git = ["kernel", "add", "--git", "/srv/linux.git", "--commit", "v6.1", "--base", &config];
    let said = well(&lab, &[&git[..], &["--no-wait"]].concat()).await;
    assert!(said.out.starts_with("b1  "), "{}", said.out);
    let waiting = start(&lab, &["build", "watch", "b1"]);
    well(&lab, &["build", "cancel", "b1"]).await;
    let said = end(waiting).await;
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("blklab: build b1 was cancelled"), "{}", said.err);
    assert!(refused(&lab, &["build", "cancel", "b1"]).await.starts_with("blklab: "), "it is over");
}

async fn claim(builder: &blklab_lab_tests::ScriptedHost) -> blklab_wire::build::BuildSpec {
    for _ in 0..600 {
        if let Some(spec) = builder.claim_build().await.unwrap() {
            return spec;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("nobody asked for a build within a minute");
}
