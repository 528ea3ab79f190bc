//! The fixtures against fio's own sums: what must hold between them, beyond the snapshots.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{Parsed, Tool, parse};

const MIXED: &[(&str, &str)] = &[
    ("2.1.10", include_str!("../../fixtures/fio/fio-2.1.10-mixed.json")),
    ("2.2.10", include_str!("../../fixtures/fio/fio-2.2.10-mixed.json")),
    ("2.21", include_str!("../../fixtures/fio/fio-2.21-mixed.json")),
    ("3.1", include_str!("../../fixtures/fio/fio-3.1-mixed.json")),
    ("3.33", include_str!("../../fixtures/fio/fio-3.33-mixed.json")),
    ("3.42", include_str!("../../fixtures/fio/fio-3.42-mixed.json")),
];
const BINS: &[&str] = &[
    include_str!("../../fixtures/fio/fio-2.21-mixed.json+"),
    include_str!("../../fixtures/fio/fio-3.1-mixed.json+"),
    include_str!("../../fixtures/fio/fio-3.42-mixed.json+"),
];
const GROUP_BINS: &str = include_str!("../../fixtures/fio/fio-3.33-group.json+");

fn read(output: &str) -> Parsed {
    parse(Tool::Fio, output.as_bytes()).unwrap()
}

/// A report of several jobs out of the jobs of a real one.
fn report_of(jobs: &[Value]) -> String {
    serde_json::json!({"fio version": "fio-3.33", "jobs": jobs}).to_string()
}

fn job_of(output: &str, index: usize) -> Value {
    let report: Value = serde_json::from_str(output).unwrap();
    report["jobs"][index].clone()
}

#[test]
fn all_versions_mean_the_same() {
    for (version, output) in MIXED {
        let values = read(output).values;
        assert_eq!(values["read.bytes"], 4.0 * 1024.0 * 1024.0, "{version}");
        assert_eq!(values["read.bytes"], values["job.reader.read.bytes"], "{version}");
        assert_eq!(values["write.bytes"], values["job.writer.write.bytes"], "{version}");
        // One 4 KiB read at a time on one disk: its mean is some tens of microseconds, in any version.
        let mean_s = values["read.clat_mean_s"];
        assert!((20e-6..2e-3).contains(&mean_s), "{version}: {mean_s}");
        assert!(values["read.clat_p50_s"] <= values["read.clat_p99_s"], "{version}");
        let rates = values["read.bytes_per_second"] / values["read.iops"];
        assert!((rates / 4096.0 - 1.0).abs() < 1e-3, "{version}: {rates} bytes a read");
    }
}

#[test]
fn rates_agree_with_those_that_fio_prints() {
    for (version, output) in MIXED {
        let job = job_of(output, 0);
        let values = read(output).values;
        let printed = job["read"]["iops"].as_f64().unwrap();
        assert!((values["read.iops"] - printed).abs() < 0.01, "{version}");
        let printed_kib = job["read"]["bw"].as_f64().unwrap();
        assert!((values["read.bytes_per_second"] / 1024.0 - printed_kib).abs() <= 1.0, "{version}");
    }
}

#[test]
fn percentiles_of_a_histogram_are_those_that_fio_prints() {
    // The same job twice: its own percentiles, now out of the joint histogram.
    for output in BINS {
        let job = job_of(output, 0);
        let once = read(&report_of(std::slice::from_ref(&job)));
        let twice = read(&report_of(&[job.clone(), job]));
        let percentiles = |parsed: Parsed| -> BTreeMap<String, f64> {
            let values = parsed.values.into_iter();
            values.filter(|(field, _)| field.starts_with("read.clat_p")).collect()
        };
        assert_eq!(twice.warnings, []);
        assert_eq!(twice.values["read.operations"], 2.0 * once.values["read.operations"]);
        let (once, twice) = (percentiles(once), percentiles(twice));
        assert_eq!(once.len(), 17);
        assert_eq!(once, twice);
    }
}

#[test]
fn jobs_fold_as_fio_folds_them() {
    // group_reporting already folded three processes; their sum once more with itself doubles the
    // amounts and changes no mean.
    let job = job_of(GROUP_BINS, 0);
    let once = read(&report_of(std::slice::from_ref(&job))).values;
    let twice = read(&report_of(&[job.clone(), job])).values;
    for field in ["read.clat_mean_s", "read.clat_min_s", "write.lat_max_s", "cpu.user_pct", "read.runtime_s"] {
        assert!((twice[field] / once[field] - 1.0).abs() < 1e-12, "{field}");
    }
    for field in ["read.iops", "write.bytes_per_second", "cpu.context_switches"] {
        assert!((twice[field] / once[field] - 2.0).abs() < 1e-12, "{field}");
    }
    // The sample deviation of doubled data is a little smaller: sqrt((2n - 2) / (2n - 1)).
    let n = once["read.operations"];
    let expected = once["read.clat_stddev_s"] * ((2.0 * n - 2.0) / (2.0 * n - 1.0)).sqrt();
    assert!((twice["read.clat_stddev_s"] / expected - 1.0).abs() < 1e-12);
    assert_eq!(twice["job.pool.read.iops"], twice["read.iops"], "processes of one name are one job");
}

#[test]
fn percentiles_of_jobs_without_histogram_are_missed_aloud() {
    let job = job_of(MIXED[4].1, 0);
    let parsed = read(&report_of(&[job.clone(), job]));
    assert!(parsed.values.contains_key("read.clat_mean_s"));
    assert!(!parsed.values.contains_key("read.clat_p99_s"));
    let message = &parsed.warnings[0].message;
    assert!(message.starts_with("read.clat_p...: percentiles of 2 jobs"), "{message}");
}

#[test]
fn stages_that_move_the_same_way_are_noticed() {
    let job = job_of(MIXED[4].1, 0);
    let mut later = job.clone();
    later["groupid"] = 1.into();
    later["jobname"] = "later".into();
    let parsed = read(&report_of(&[job, later]));
    assert!(parsed.warnings[0].message.contains("several groups"), "{:?}", parsed.warnings);
    assert!(parsed.values.contains_key("job.later.read.clat_p99_s"));
}

#[test]
fn every_cut_gives_only_whole_values() {
    let (_, output) = MIXED[4];
    let whole = read(output).values;
    for end in (0..output.len()).step_by(97) {
        let Ok(parsed) = parse(Tool::Fio, &output.as_bytes()[..end]) else {
            continue;
        };
        assert!(!parsed.warnings.is_empty(), "{end}");
        // Sums over jobs may lack a job; the fields of one job may not differ.
        for (field, value) in parsed.values.iter().filter(|(field, _)| field.starts_with("job.reader.")) {
            let is_total = field.ends_with("reader.runtime_s");
            assert!(is_total || whole.get(field) == Some(value), "{end}: {field} = {value}");
        }
    }
}

#[test]
fn the_last_status_report_counts() {
    let parsed = read(include_str!("../../fixtures/fio/fio-3.33-status-interval.json"));
    assert!((3.0..3.1).contains(&parsed.values["read.runtime_s"]));
    assert_eq!(parsed.warnings, []);
}
