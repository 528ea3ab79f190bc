//! `blklab import` as people type it, against a coordinator in this process.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::process::Stdio;

use blklab_lab_tests::{TestLab, program};
use blklab_model::id::ExperimentId;
use tokio::process::Command;

/// What a command printed, and how it ended.
struct Said {
    out: String,
    err: String,
    code: Option<i32>,
}

async fn import(lab: &TestLab, arguments: &[&str]) -> Said {
    #[expect(clippy::disallowed_methods, reason = "the test runs the program that it tests")]
    let mut command = std::process::Command::new(program("blklab"));
    command.arg("import").args(arguments).env("BLKLAB_SERVER", &lab.url).env("BLKLAB_TOKEN", lab.token("submit"));
    command.env("BLKLAB_SUBMITTER", "a tester");
    let mut command = Command::from(command);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let output = child.wait_with_output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

/// A published table among the fixtures.
fn published(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("crates/compare/fixtures").join(name).with_extension("csv").display().to_string()
}

#[tokio::test]
async fn the_published_journal_table_becomes_an_experiment_with_its_verdicts() {
    let lab = TestLab::new().await;
    let said = import(&lab, &["--title", "kjournald", "--source", "LKML 2007", "--table", &published("kjournald-ioprio")]).await;
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.out, format!("x1  {}/experiments/x1\n", lab.url));
    assert!(said.err.contains("imported: 6 cells, 0 runs"), "{}", said.err);

    let report = lab.client().report(ExperimentId(1)).await.unwrap();
    assert_eq!((report.title.as_str(), report.source.as_str(), report.submitter.as_str()), ("kjournald", "LKML 2007", "a tester"));
    assert!(report.imported.is_some());
    assert_eq!((report.counts.regressions, report.counts.inconclusive, report.counts.unstable, report.counts.no_test), (1, 1, 1, 3));
    assert_eq!(
        report.headline,
        "Regression suspected in 1 of 6 comparisons: 2.6.24-rc2+kjournald-rt against 2.6.24-rc2; 5 cannot be told."
    );
}

#[tokio::test]
async fn values_of_the_published_readers_become_runs() {
    let lab = TestLab::new().await;
    let said = import(&lab, &["--title", "readers", "--table", &published("rt-be-readers")]).await;
    assert_eq!(said.code, Some(0), "{}", said.err);
    let report = lab.client().report(ExperimentId(1)).await.unwrap();
    // 2 readers, 3 disks, 2 kernels, 4 runs; and the races of each disk, kernel and run.
    assert_eq!((report.counts.regressions, report.trials.completed, report.trials.failed), (2, 48 + 24, 0));
    let race = &report.finish_orders[0];
    assert_eq!((race.inversions, race.trials, race.base_inversions, race.base_trials), (5, 12, 0, 12));
}

#[tokio::test]
async fn what_cannot_be_imported_is_said_and_stores_nothing() {
    let lab = TestLab::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    std::fs::write(&file, "metric,unit,better,kernel,value\nfrobs,frob,,a,1\nfrobs,frob,,b,2\n").unwrap();
    let file = file.display().to_string();
    let said = import(&lab, &["--title", "frobs", "--table", &file]).await;
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
    assert!(said.err.contains("--better 'frobs=higher'") && said.err.contains("nothing to import"), "{}", said.err);
    assert!(lab.client().experiments().await.unwrap().is_empty());
    let said = import(&lab, &["--title", "frobs", "--table", &file, "--better", "frobs=lower"]).await;
    assert_eq!(said.code, Some(0), "{}", said.err);
}
