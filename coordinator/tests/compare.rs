//! `blklab compare` as people and scripts use it: what it prints, and how it ends.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

/// What a command printed, and how it ended.
struct Said {
    out: String,
    err: String,
    code: Option<i32>,
}

fn compare(arguments: &[&str]) -> Said {
    #[expect(clippy::disallowed_methods, reason = "the test runs the program that it tests")]
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_blklab"));
    // From the root of the repository, so that paths in what it prints are the same everywhere.
    let output = command.arg("compare").args(arguments).current_dir(root()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

/// A command that must end with `code` and have nothing to complain of.
fn ends(code: i32, arguments: &[&str]) -> String {
    let said = compare(arguments);
    assert_eq!((said.code, said.err.as_str()), (Some(code), ""), "{arguments:?}: {}", said.out);
    said.out
}

/// A command that must refuse.
fn refused(arguments: &[&str]) -> String {
    let said = compare(arguments);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{arguments:?}: {}", said.err);
    said.err
}

fn json(code: i32, arguments: &[&str]) -> Value {
    serde_json::from_str(&ends(code, &[&["--format", "json"], arguments].concat())).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn published(name: &str) -> String {
    format!("crates/compare/fixtures/{name}.csv")
}

struct Files(TempDir);

impl Files {
    fn new() -> Files {
        Files(TempDir::new().unwrap())
    }

    fn put(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }
}

/// A table of one metric with `factor` between the kernels.
fn table(factor: f64) -> String {
    let mut text = "disk,metric,unit,better,kernel,value\n".to_owned();
    for (kernel, factor) in [("old", 1.0), ("new", factor)] {
        for noise in [100.0, 101.0, 100.5, 101.5, 100.2, 101.2, 100.7, 101.7, 100.4, 101.4] {
            writeln!(text, "ssd,elapsed,s,lower,{kernel},{}", noise * factor).unwrap();
        }
    }
    text
}

#[test]
fn the_published_tables_as_text() {
    insta::assert_snapshot!("kjournald", ends(1, &["--table", &published("kjournald-ioprio")]));
    insta::assert_snapshot!("iozone", ends(3, &["--table", &published("iozone-disk-scaling")]));
    insta::assert_snapshot!("readers", ends(1, &["--table", &published("rt-be-readers")]));
}

#[test]
fn the_published_tables_for_programs() {
    insta::assert_snapshot!("kjournald_json", ends(1, &["--format", "json", "--table", &published("kjournald-ioprio")]));
    insta::assert_snapshot!("readers_csv", ends(1, &["--format", "csv", "--table", &published("rt-be-readers")]).replace('\r', ""));
    let document = json(3, &["--table", &published("iozone-disk-scaling")]);
    let rows = document["rows"].as_array().unwrap();
    let at_16 = |kernel: &str| {
        let row = rows.iter().find(|row| row["cell"]["disks"] == "16" && row["candidate"]["label"] == kernel).unwrap();
        assert_eq!((row["verdict"].as_str(), &row["stage"]), (Some("no_test"), &Value::Null));
        (row["change_pct"].as_f64().unwrap() * 10.0).round() / 10.0
    };
    let kernels = ["2.6.32", "2.6.35", "2.6.35.6", "2.6.36-rc4-trace", "2.6.36-rc4-fix", "2.6.37-rc1"];
    assert_eq!(kernels.map(at_16), [-50.7, -96.6, -88.8, -90.1, -22.3, -13.2]);
}

#[test]
fn a_row_has_the_fields_that_scripts_rely_on() {
    let document = json(1, &["--table", &published("rt-be-readers")]);
    let row = document["rows"][0].as_object().unwrap();
    let fields = [
        "cell",
        "metric",
        "unit",
        "better",
        "base",
        "candidate",
        "change_pct",
        "ci_low_pct",
        "ci_high_pct",
        "p",
        "p_adjusted",
        "smallest_detectable_pct",
        "flags",
        "verdict",
        "stage",
        "reason",
        "more_rounds",
    ];
    assert!(fields.iter().all(|field| row.contains_key(*field)), "{row:?}");
    let side = row["base"].as_object().unwrap();
    assert!(["label", "n", "min", "mean", "median", "max", "sd", "cv"].iter().all(|field| side.contains_key(*field)), "{side:?}");
    assert_eq!(document["form"], 1);
}

#[test]
fn the_exit_status_is_the_answer() {
    let files = Files::new();
    for (code, factor) in [(0, 1.0), (0, 0.7), (1, 1.3)] {
        let file = files.put("t.csv", &table(factor));
        let out = ends(code, &["--table", &file]);
        assert!(out.starts_with("Verdict: "), "{out}");
    }
    let single = "metric,unit,better,kernel,value\nelapsed,s,lower,old,1\nelapsed,s,lower,new,2\n";
    let out = ends(3, &["--table", &files.put("single.csv", single)]);
    assert!(out.starts_with("Verdict: No verdict"), "{out}");
}

#[test]
fn a_larger_effect_that_matters_makes_a_small_change_none() {
    let files = Files::new();
    let file = files.put("t.csv", &table(1.03));
    assert_eq!(json(0, &["--table", &file])["rows"][0]["verdict"], "no_change");
    assert_eq!(json(1, &["--smallest-effect", "2", "--table", &file])["rows"][0]["verdict"], "regression");
    let error = refused(&["--smallest-effect=-2", "--table", &file]);
    assert!(error.contains("delta_pct"), "{error}");
}

#[test]
fn the_baseline_can_be_named_and_a_wrong_one_is_answered_with_those_that_there_are() {
    let files = Files::new();
    let file = files.put("t.csv", &table(1.3));
    assert_eq!(json(0, &["--baseline", "new", "--table", &file])["rows"][0]["verdict"], "improvement");
    let error = refused(&["--baseline", "nwe", "--table", &file]);
    assert!(error.contains("there are: old, new"), "{error}");
}

#[test]
fn a_metric_of_unknown_direction_is_listed_once_and_judged_when_it_is_said() {
    let files = Files::new();
    let file = files.put("t.csv", &table(1.3).replace("elapsed,s,lower", "frobs,frob,"));
    let out = ends(3, &["--table", &file]);
    assert_eq!(out.matches("is not known of frobs").count(), 1, "{out}");
    assert_eq!(json(1, &["--better", "frobs=lower", "--table", &file])["rows"][0]["verdict"], "regression");
    assert_eq!(json(0, &["--better", "fr*=higher", "--table", &file])["rows"][0]["verdict"], "improvement");
    let error = refused(&["--better", "forbs=lower", "--table", &file]);
    assert!(error.contains("`forbs`") && error.contains("frobs"), "{error}");
}

#[test]
fn wrong_usage_and_wrong_input_say_what_and_end_with_two() {
    let files = Files::new();
    let said = compare(&[]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    let error = refused(&["--table", &files.at("nothing.csv")]);
    assert!(error.contains("nothing.csv"), "{error}");
    let error = refused(&["--table", &files.put("image.bin", "\u{0}\u{1}\u{2}")]);
    assert!(error.contains("image.bin") && error.contains("formats"), "{error}");
    let file = files.put("t.csv", &table(1.0));
    assert_eq!(compare(&["--table", &file, "--better", "elapsed=up"]).code, Some(2));
    assert_eq!(compare(&["--table", &file, "base", "--", "candidate"]).code, Some(2));
    let one = files.put("one.csv", "metric,unit,better,kernel,value\nelapsed,s,lower,old,1\n");
    let error = refused(&["--table", &one]);
    assert!(error.contains("`old` alone") && error.contains("one.csv"), "{error}");
}

#[test]
fn a_page_is_written_to_a_file_and_the_verdict_alone_is_printed() {
    let files = Files::new();
    let (file, page) = (files.put("t.csv", &table(1.3)), files.at("page.html"));
    let out = ends(1, &["--format", "html", "--output", &page, "--table", &file]);
    assert_eq!(out, "Regression suspected in 1 of 1 comparison: new against old.\n");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("<svg class=\"plot strip\"") && !page.contains("<script"));
    let error = refused(&["--output", &files.at("no/such/folder"), "--table", &file]);
    assert!(error.contains("failed to write"), "{error}");
}

/// What fio 3.1 printed of a reader and a writer, as if all had been faster by a factor.
fn fio(factor: f64) -> String {
    let fixture = fs::read_to_string(root().join("crates/parse/fixtures/fio/fio-3.1-mixed.json")).unwrap();
    let mut document: Value = serde_json::from_str(&fixture).unwrap();
    for job in document["jobs"].as_array_mut().unwrap() {
        for direction in ["read", "write"] {
            let side = &mut job[direction];
            for rate in ["iops", "bw", "total_ios", "io_bytes"] {
                side[rate] = (side[rate].as_f64().unwrap() * factor).into();
            }
            for percentile in side["clat_ns"]["percentile"].as_object_mut().unwrap().values_mut() {
                *percentile = (percentile.as_f64().unwrap() / factor).round().into();
            }
        }
    }
    document.to_string()
}

fn row<'a>(document: &'a Value, metric: &str) -> &'a Value {
    let rows = document["rows"].as_array().unwrap();
    rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("no {metric} in {rows:?}"))
}

#[test]
fn one_run_of_fio_on_each_side_is_no_test() {
    let files = Files::new();
    let (old, new) = (files.put("old.json", &fio(1.0)), files.put("new.json", &fio(0.5)));
    let document = json(3, &[&old, "--", &new]);
    assert!(document["rows"].as_array().unwrap().iter().all(|row| row["verdict"] == "no_test"));
    let iops = row(&document, "read.iops");
    assert!((iops["change_pct"].as_f64().unwrap() + 50.0).abs() < 0.01, "{iops}");
    assert!(iops["reason"].as_str().unwrap().starts_with("one run on each side says nothing about noise"), "{iops}");
    assert_eq!((document["baseline"].as_str(), document["candidates"][0].as_str()), (Some("old.json"), Some("new.json")));
}

#[test]
fn rates_are_better_higher_and_latency_percentiles_lower() {
    let files = Files::new();
    for run in 1..=6 {
        let noise = 1.0 + f64::from(run) * 0.002;
        files.put(&format!("old/run-{run}.json"), &fio(noise));
        files.put(&format!("new/run-{run}.json"), &fio(0.7 * noise));
    }
    let document = json(1, &[&files.at("old"), "--", &files.at("new")]);
    let (iops, p99) = (row(&document, "read.iops"), row(&document, "read.clat_p99_s"));
    assert_eq!(
        (iops["better"].as_str(), iops["verdict"].as_str(), iops["stage"].as_str()),
        (Some("higher"), Some("regression"), Some("suspected"))
    );
    assert_eq!((p99["better"].as_str(), p99["verdict"].as_str()), (Some("lower"), Some("regression")));
    assert_eq!((iops["base"]["n"].as_u64(), iops["base"]["label"].as_str()), (Some(6), Some("old")));
    assert!(iops["flags"].as_array().unwrap().contains(&"order_unknown".into()), "{iops}");
    let back = json(0, &[&files.at("new"), "--", &files.at("old")]);
    assert_eq!(row(&back, "read.iops")["verdict"], "improvement");
}

#[test]
fn a_broken_file_in_a_folder_is_a_warning_and_a_named_one_an_error() {
    let files = Files::new();
    for run in 1..=3 {
        files.put(&format!("old/run-{run}.json"), &fio(1.0 + f64::from(run) * 0.01));
        files.put(&format!("new/run-{run}.json"), &fio(1.0 + f64::from(run) * 0.01));
    }
    files.put("old/notes.md", "nothing to see");
    let broken = files.put("old/run-4.csv", "metric,value\nrate,x\n");
    let document = json(0, &[&files.at("old"), "--", &files.at("new")]);
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("notes.md") && warnings.contains("run-4.csv: line 2"), "{warnings}");
    let error = refused(&[&broken, "--", &files.at("new")]);
    assert!(error.contains("run-4.csv: line 2"), "{error}");
    let only = files.put("empty/notes.md", "nothing to see");
    let error = refused(&[Path::new(&only).parent().unwrap().to_str().unwrap(), "--", &files.at("new")]);
    assert!(error.contains("notes.md"), "{error}");
}

#[test]
fn names_of_files_tell_cells_apart() {
    let files = Files::new();
    for side in ["old", "new"] {
        for depth in [1, 32] {
            files.put(&format!("{side}/depth-{depth}.json"), &fio(1.0));
        }
    }
    let cells = |arguments: &[&str]| {
        let document = json(3, &[arguments, &[&files.at("old"), "--", &files.at("new")]].concat());
        row(&document, "read.iops")["cell"]["file"].clone()
    };
    assert_eq!(cells(&[]), "depth-1");
    assert_eq!(cells(&["--names", "cells"]), "depth-1");
    let both = json(0, &["--names", "runs", &files.at("old"), "--", &files.at("new")]);
    assert_eq!((row(&both, "read.iops")["cell"]["file"].clone(), row(&both, "read.iops")["base"]["n"].clone()), (Value::Null, 2.into()));
}

#[test]
fn a_folder_of_a_thousand_files_is_read() {
    let files = Files::new();
    let text = fio(1.0);
    for run in 1..=500 {
        files.put(&format!("old/run-{run}.json"), &text);
        files.put(&format!("new/run-{run}.json"), &text);
    }
    let document = json(0, &[&files.at("old"), "--", &files.at("new")]);
    assert_eq!(row(&document, "read.iops")["base"]["n"], 500);
    assert!(document["sources"][0]["from"].as_str().unwrap().contains("500 files"), "{}", document["sources"]);
}

#[test]
fn the_example_in_the_documentation_is_what_the_command_prints() {
    let page = fs::read_to_string(root().join("docs/compare.md")).unwrap();
    let out = ends(1, &["--table", &published("kjournald-ioprio")]);
    assert!(page.contains(out.trim_end()), "put this into docs/compare.md:\n{out}");
}
