//! `blklab workload` as people run it: what there is, whether a file is right, and one trial on a loop disk of this machine.

use std::process::{Command, Output};

use blklab_lab_tests::program;

fn blklab(words: &[&str]) -> Output {
    #[expect(clippy::disallowed_methods, reason = "the test runs the program that it tests")]
    let mut command = Command::new(program("blklab"));
    command.arg("workload").args(words).output().expect("the command line")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_shipped_workload_is_listed_and_described() {
    let output = blklab(&["list"]);
    assert!(output.status.success());
    let list = text(&output.stdout);
    let names: Vec<&str> = list.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"rt-be-readers") && names.contains(&"scaling-readers"), "{list}");
    for name in names {
        let output = blklab(&["show", name]);
        assert!(output.status.success() && text(&output.stdout).contains("metric "), "{name}");
    }
    let output = blklab(&["show", "rt-be-reader"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("did you mean `rt-be-readers`?"), "{}", text(&output.stderr));
}

#[test]
fn every_wrong_file_is_told_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = concat!(env!("CARGO_MANIFEST_DIR"), "/../workloads/tree-read.toml");
    let right = std::fs::read_to_string(good).expect("a shipped workload");
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let line = file("line.toml", right.replace("better = \"lower\"", "better = \"up\""));
    let field = file("field.toml", right.replace("elapsed = \"read\"", "load = \"read\"\nparser = \"builtin\"\nfield = \"nonesuch\""));
    let output = blklab(&["check", good, &line, &field]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("tree-read is right"));
    let errors = text(&output.stderr);
    assert!(errors.contains("line.toml:") && errors.contains("unknown variant `up`"), "{errors}");
    assert!(errors.contains("field.toml: ") && errors.contains("no field `nonesuch`"), "{errors}");
    assert!(errors.contains("2 of 3 files are wrong"), "{errors}");
}

#[test]
fn a_trial_runs_here_and_leaves_nothing() {
    if !rustix::process::geteuid().is_root() {
        assert!(std::env::var("BLKLAB_REQUIRE_ROOT").as_deref() != Ok("1"), "BLKLAB_REQUIRE_ROOT=1, but this is not root");
        eprintln!("skipped: needs root");
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let place = folder.path().display().to_string();
    let output = blklab(&["try", "rt-be-readers", "--scheduler", "mq-deadline", "--set", "size=8 MiB", "--folder", &place]);
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{errors}");
    for metric in ["rt_rate", "be_rate", "rt_over_be"] {
        assert!(out.lines().any(|line| line.starts_with(metric)), "{out}");
    }
    assert!(errors.contains("workload"), "phases are told: {errors}");

    let output = blklab(&["try", "scaling-readers", "--set", "disks=2", "--set", "size=4 MiB", "--folder", &place]);
    assert!(output.status.success(), "{}", text(&output.stderr));

    // A task that fails is told with its words; what the trial made is removed all the same.
    let broken = folder.path().join("broken.toml");
    let workload = "name = \"broken\"\nversion = 1\ntitle = \"Fails\"\n[[task]]\nname = \"t\"\nshell = \"echo woe >&2; exit 3\"\n\
                    [[metric]]\nname = \"time\"\nelapsed = \"t\"\nunit = \"s\"\nbetter = \"lower\"\n";
    std::fs::write(&broken, workload).expect("a file");
    let output = blklab(&["try", &broken.display().to_string(), "--folder", &place]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("failed by the workload") && text(&output.stderr).contains("woe"), "{}", text(&output.stderr));
    std::fs::remove_file(&broken).expect("the file");

    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").collect();
    assert!(left.is_empty(), "{left:?}");
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("mounts");
    assert!(!mounts.contains(&place), "{mounts}");

    let output = blklab(&["try", "rt-be-readers", "--scheduler", "bqf"]);
    assert!(text(&output.stderr).contains("did you mean `bfq`?"), "{}", text(&output.stderr));
    let output = blklab(&["try", "rt-be-readers", "--set", "siez=1"]);
    assert!(text(&output.stderr).contains("did you mean `size`?"), "{}", text(&output.stderr));
}
