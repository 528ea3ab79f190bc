//! The demo as a person runs it, on real loop disks: it must end in a verdict although its processes are killed, and leave nothing.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blklab_lab_tests::{can_make_disks, program};
use tempfile::TempDir;

/// A debug build on a busy machine; the quick demo itself takes less than two minutes.
const ENDS_WITHIN: Duration = Duration::from_secs(600);

/// What was made must be given back by then.
const CLEAN_WITHIN: Duration = Duration::from_secs(60);

/// The user `nobody`, by the number that it has everywhere on Linux.
const NOBODY: u32 = 65_534;

#[test]
fn the_demo_survives_kills_ends_in_a_verdict_and_leaves_nothing() {
    if !can_make_disks("the demo") {
        return;
    }
    let _alone = alone();
    let folder = disk_folder();
    let mut demo = start(folder.path());
    let lab = wait_for(ENDS_WITHIN, || lab_folder(folder.path()));
    wait_for(ENDS_WITHIN, || trials_over(&lab).filter(|over| *over >= 3));

    // The supervisor's children are told by their command lines, which name this demo's own folder.
    kill_9(&processes_with(&["blklab-agent", "run", &lab.display().to_string()]));
    let before = wait_for(ENDS_WITHIN, || trials_over(&lab).filter(|over| *over >= 8));
    kill_9(&processes_with(&["coordinator", "--data", &lab.display().to_string()]));
    let after = wait_for(ENDS_WITHIN, || trials_over(&lab));
    assert!(after >= before, "{after} trials are over after the kill, {before} were before");

    let status = wait_for(ENDS_WITHIN, || demo.try_wait().expect("a child"));
    let mut out = String::new();
    demo.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
    assert!(status.success(), "{status}\n{out}");
    let reports: Vec<&str> = out.lines().filter(|line| line.starts_with("Verdict:")).collect();
    assert_eq!(reports.len(), 2, "{out}");
    // How much better is for a quiet machine to tell (agent/tests/real_disk.rs adds up rounds for it); worse it cannot be.
    let about_bfq: Vec<&str> = out.lines().filter(|line| line.contains("sata-hdd") && line.contains("bfq")).collect();
    assert!(!about_bfq.is_empty() && !about_bfq.iter().any(|line| line.contains("worse")), "{out}");
    assert_nothing_left(folder.path());
}

#[test]
fn a_killed_demo_gives_everything_back() {
    if !can_make_disks("the demo") {
        return;
    }
    let _alone = alone();
    let folder = disk_folder();
    let mut demo = start(folder.path());
    let lab = wait_for(ENDS_WITHIN, || lab_folder(folder.path()));
    wait_for(ENDS_WITHIN, || trials_over(&lab).filter(|over| *over >= 2));
    demo.kill().expect("a running demo");
    demo.wait().expect("a child");
    wait_for(CLEAN_WITHIN, || (fs::read_dir(folder.path()).expect("a folder").count() == 0).then_some(()));
    assert_nothing_left(folder.path());
}

#[test]
fn without_root_the_demo_says_what_it_cannot_do_and_shows_the_rest() {
    if !can_make_disks("a demo without root, which is started by root") {
        return;
    }
    let folder = disk_folder();
    // The programs are copied to where nobody may read them: the checkout may lie below somebody's home.
    for name in ["blklab", "blklab-agent"] {
        fs::copy(program(name), folder.path().join(name)).expect("a copy");
    }
    let lab = folder.path().join("lab");
    fs::create_dir(&lab).expect("a folder");
    std::os::unix::fs::chown(&lab, Some(NOBODY), Some(NOBODY)).expect("root gives folders away");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("root may");
    let mut command = any_command("setpriv");
    command.args(["--clear-groups".to_owned(), format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")]);
    command.arg(folder.path().join("blklab")).args(["demo", "--exit", "--port", "0", "--folder"]).arg(&lab);
    let output = command.env("HOME", "/nonexistent").current_dir("/").output().expect("setpriv runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{err}");
    assert!(err.contains("not root: no loop disk"), "{err}");
    assert!(out.contains("loop-sata-hdd") && out.contains("Pages: http://127.0.0.1:"), "{out}");
    assert_eq!(fs::read_dir(&lab).expect("a folder").count(), 0, "a file is left");
}

/// One demo at a time: beside another one its rates would mean nothing.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Not below /tmp: that may be a tmpfs, on which a loop disk has no direct I/O.
fn disk_folder() -> TempDir {
    TempDir::new_in("/var/tmp").expect("a temporary folder")
}

fn start(folder: &Path) -> Child {
    let mut command = command("blklab");
    command.args(["demo", "--quick", "--exit", "--port", "0", "--folder"]).arg(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the demo starts")
}

fn command(name: &str) -> Command {
    any_command(&program(name).display().to_string())
}

#[expect(clippy::disallowed_methods, reason = "the test is about processes")]
fn any_command(program: &str) -> Command {
    Command::new(program)
}

fn lab_folder(folder: &Path) -> Option<PathBuf> {
    let lab = fs::read_dir(folder).ok()?.flatten().next()?.path();
    lab.join("data/address").exists().then_some(lab)
}

/// Trials of the first experiment that are over, as the command line tells it.
fn trials_over(lab: &Path) -> Option<u32> {
    let address = fs::read_to_string(lab.join("data/address")).ok()?;
    let server = format!("http://{}", address.trim());
    let output = command("blklab").args(["experiments", "--json", "--server", &server]).output().ok()?;
    let lines: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).ok()?;
    let first = lines.iter().find(|line| line["id"] == "x1")?;
    u32::try_from(first["over"].as_u64()?).ok()
}

fn processes_with(words: &[&str]) -> Vec<u32> {
    let of = |entry: fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read_to_string(entry.path().join("cmdline")).ok()?.replace('\0', " ");
        words.iter().all(|word| line.contains(word)).then_some(pid)
    };
    fs::read_dir("/proc").expect("a /proc").flatten().filter_map(of).collect()
}

fn kill_9(pids: &[u32]) {
    assert!(!pids.is_empty(), "there is a process to kill");
    for pid in pids {
        let pid = rustix::process::Pid::from_raw(i32::try_from(*pid).expect("a pid")).expect("a pid");
        // It may have ended by itself.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

fn assert_nothing_left(folder: &Path) {
    let name = folder.display().to_string();
    let loops = any_command("losetup").arg("--all").output().expect("losetup");
    assert!(!String::from_utf8_lossy(&loops.stdout).contains(&name), "a loop disk is left");
    assert!(!fs::read_to_string("/proc/self/mountinfo").expect("mounts").contains(&name), "a mount is left");
    assert_eq!(processes_with(&[&name]), [0; 0], "a process is left");
    assert_eq!(fs::read_dir(folder).expect("a folder").count(), 0, "a file is left");
}

fn wait_for<T>(within: Duration, mut ready: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + within;
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(Instant::now() < deadline, "nothing happened within {within:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}
