//! The recording of a real disk, the same counters through iostat, and recordings that went wrong.

use super::*;

const RANDRW: &str = include_str!("../../fixtures/monitor/randrw.txt");
const PAIR: &str = include_str!("../../fixtures/monitor/iostat-pair.txt");
const IOSTAT: &str = include_str!("../../fixtures/monitor/iostat-pair.expected.txt");
const WINDOW_MS: std::ops::RangeInclusive<u64> = 1738016..=1741407;

/// One record: milliseconds, busy and idle ticks, and fields 1 and 11 of `sda`.
fn record(ms: u64, user: u64, idle: u64, reads: u64, weighted_ms: u64) -> String {
    format!("@ {ms}\ncpu {user} 0 0 {idle} 0 0 0 0 0 0\n 8 0 sda {reads} 0 0 0 0 0 0 0 3 0 {weighted_ms}\n")
}

fn summary_of(text: &str) -> MonitorSummary {
    let (records, warnings) = parse_monitor(text.as_bytes());
    assert_eq!(warnings, []);
    summarise(&records, records[0].ms..=records[records.len() - 1].ms).unwrap()
}

#[test]
fn the_rates_are_those_of_iostat() {
    let mut rows = IOSTAT.lines().map(|line| line.split_whitespace().skip(1));
    let (names, values) = (rows.next().unwrap(), rows.next().unwrap());
    let iostat: BTreeMap<&str, f64> = names.zip(values.map(|value| value.parse().unwrap())).collect();
    let disk = summary_of(PAIR).disks["vda"];
    let ms = |seconds: Option<f64>| seconds.unwrap_or(0.0) * 1e3;
    let kib = |bytes: Option<f64>| bytes.unwrap_or(0.0) / 1024.0;
    for (column, value) in [
        ("r/s", disk.read.iops),
        ("rkB/s", disk.read.bytes_per_second / 1024.0),
        ("rrqm/s", disk.read.merges_per_second),
        ("r_await", ms(disk.read.wait_mean_s)),
        ("rareq-sz", kib(disk.read.request_mean_bytes)),
        ("w/s", disk.write.iops),
        ("wkB/s", disk.write.bytes_per_second / 1024.0),
        ("wrqm/s", disk.write.merges_per_second),
        ("w_await", ms(disk.write.wait_mean_s)),
        ("wareq-sz", kib(disk.write.request_mean_bytes)),
        ("d/s", disk.discard.iops),
        ("d_await", ms(disk.discard.wait_mean_s)),
        ("f/s", disk.flushes_per_second),
        ("f_await", ms(disk.flush_mean_s)),
        ("aqu-sz", disk.queue_mean),
        ("%util", disk.util_pct),
    ] {
        assert!((value - iostat[column]).abs() < 0.0051, "{column}: {value} against {}", iostat[column]);
    }
}

#[test]
fn a_window_is_cut_from_a_recording() {
    let (records, warnings) = parse_monitor(RANDRW.as_bytes());
    assert_eq!((records.len(), warnings.len()), (8, 0));
    let summary = summarise(&records, WINDOW_MS).unwrap();
    assert_eq!((summary.from_ms, summary.until_ms), (1738016, 1741407));
    assert_eq!(summary.warnings, []);
    insta::assert_debug_snapshot!((summary.cpu, &summary.disks));
    // The intervals fill the window, and their weighted mean is the summary.
    assert_eq!(summary.series.len(), 4);
    let seconds: f64 = summary.series.iter().map(|part| (part.until_ms - part.from_ms) as f64 / 1e3).sum();
    assert!((seconds - 3.391).abs() < 1e-9);
    let reads = |part: &MonitorInterval| part.disks["vda"].read.iops * (part.until_ms - part.from_ms) as f64 / 1e3;
    let total: f64 = summary.series.iter().map(reads).sum();
    assert!((total - (187027.0 - 168352.0)).abs() < 1e-6);
}

#[test]
fn records_outside_the_window_do_not_dilute_it() {
    let text = [record(0, 0, 0, 0, 0), record(1000, 90, 10, 500, 0), record(9000, 90, 810, 500, 0)].concat();
    let (records, _) = parse_monitor(text.as_bytes());
    let summary = summarise(&records, 0..=1000).unwrap();
    assert_eq!(summary.cpu.unwrap().user_pct, 90.0);
    assert_eq!(summary.disks["sda"].read.iops, 500.0);
    assert!(summarise(&records, 1..=999).is_none());
    assert!(summarise(&records, 0..=10).is_none());
    let summary = summarise(&records, 0..=2000).unwrap();
    assert_eq!(summary.warnings[0].message, "the last record comes 1000 ms before the end of the window");
}

#[test]
fn a_counter_that_wraps_is_followed() {
    let before = u64::from(u32::MAX) - 999;
    let summary = summary_of(&[record(0, 0, 0, 0, before), record(1000, 0, 100, 10, 1000)].concat());
    assert_eq!(summary.disks["sda"].queue_mean, 2.0);
    assert_eq!(summary.warnings[0].line, 4);
    assert_eq!(summary.warnings[0].message, "sda: field 11 wrapped from 4294966296 to 1000");
}

#[test]
fn a_disk_that_came_again_loses_the_interval_only() {
    let summary = summary_of(
        &[record(0, 0, 0, 5000, 0), record(1000, 0, 100, 5100, 0), record(2000, 0, 200, 3, 0), record(3000, 0, 300, 203, 0)].concat(),
    );
    assert_eq!(summary.disks["sda"].read.iops, 150.0, "100 and 200 in two seconds");
    assert!(summary.series[1].disks.is_empty());
    assert!(summary.warnings[0].message.contains("fell from 5100 to 3"), "{:?}", summary.warnings);
}

#[test]
fn cpu_time_that_falls_counts_as_none() {
    let summary = summary_of(&[record(0, 0, 50, 0, 0), record(1000, 10, 49, 0, 0)].concat());
    assert_eq!(summary.cpu.unwrap().user_pct, 100.0);
    assert_eq!(summary.warnings[0].message, "CPU time `idle` fell from 50 to 49: counted as none");
}

#[test]
fn a_moment_written_twice_counts_once() {
    let summary = summary_of(&[record(0, 0, 0, 0, 0), record(0, 0, 0, 0, 0), record(500, 1, 1, 50, 0)].concat());
    assert_eq!(summary.series.len(), 1);
    assert_eq!(summary.disks["sda"].read.iops, 100.0);
}

#[test]
fn a_disk_missing_from_one_record_is_noticed() {
    let without = "@ 1000\ncpu 1 0 0 99\n";
    let summary = summary_of(&[&record(0, 0, 0, 0, 0), without, &record(2000, 2, 198, 9, 0)].concat());
    assert!(summary.disks.is_empty());
    let messages: Vec<_> = summary.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "sda is not in this record: the interval tells nothing of it",
            "sda is not in the record before: the interval tells nothing of it",
        ]
    );
}

#[test]
fn a_torn_recording_keeps_its_whole_lines() {
    for end in 0..RANDRW.len() {
        let (records, warnings) = parse_monitor(&RANDRW.as_bytes()[..end]);
        let is_line_end = end == 0 || RANDRW.as_bytes()[end - 1] == b'\n';
        assert_eq!(warnings.is_empty(), is_line_end, "{end}");
        let (whole, _) = parse_monitor(RANDRW.as_bytes());
        for (record, whole) in records.iter().zip(&whole) {
            assert!(record.cpu.is_none() || record.cpu == whole.cpu, "{end}");
            assert!(record.disks.is_empty() || record.disks == whole.disks, "{end}");
        }
    }
}

#[test]
fn odd_lines_are_named() {
    let text = "cpu 1 2 3 4\n\
                @ 10\n\
                cpu 1 2 3\n\
                3 1 hda1 35486 38030 38030 38030\n\
                @ 5\n\
                cpu 1 2 3 4\n\
                @ soon\n";
    let (records, warnings) = parse_monitor(text.as_bytes());
    assert_eq!(records.len(), 1);
    let warnings: Vec<_> = warnings.iter().map(|warning| format!("{}: {}", warning.line, warning.message)).collect();
    insta::assert_snapshot!(warnings.join("\n"));
}
