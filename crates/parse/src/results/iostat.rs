//! `iostat`, text and JSON of sysstat 10 to 12: what each device did, as the mean over the reports of a run. The first of several reports is
//! about the time since boot and is left out, as `iostat -y` does.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Data, ReadError, Repetition, ResultSet, Series};
use crate::parsed::warn;
use crate::{Better, text};

/// A column in its versions: names, metric, unit, factor to the base unit, direction, and the column that weights a mean of it.
struct Column {
    names: &'static [&'static str],
    metric: &'static str,
    unit: &'static str,
    factor: f64,
    better: Better,
    weight: Option<&'static str>,
}

const KIB: f64 = 1024.0;
const MIB: f64 = 1_048_576.0;

const fn column(names: &'static [&'static str], metric: &'static str, unit: &'static str, factor: f64, better: Better) -> Column {
    Column { names, metric, unit, factor, better, weight: None }
}

const fn wait(names: &'static [&'static str], metric: &'static str, weight: &'static str) -> Column {
    Column { names, metric, unit: "s", factor: 1e-3, better: Better::Lower, weight: Some(weight) }
}

/// Rates tell how much was done, and more is better for the same load; a queue and a share of time describe it.
const COLUMNS: [Column; 14] = [
    column(&["r/s"], "reads", "op/s", 1.0, Better::Higher),
    column(&["w/s"], "writes", "op/s", 1.0, Better::Higher),
    column(&["tps"], "transfers", "op/s", 1.0, Better::Higher),
    column(&["rkB/s", "kB_read/s"], "read rate", "B/s", KIB, Better::Higher),
    column(&["wkB/s", "kB_wrtn/s"], "write rate", "B/s", KIB, Better::Higher),
    column(&["rMB/s", "MB_read/s"], "read rate", "B/s", MIB, Better::Higher),
    column(&["wMB/s", "MB_wrtn/s"], "write rate", "B/s", MIB, Better::Higher),
    wait(&["r_await"], "read wait", "reads"),
    wait(&["w_await"], "write wait", "writes"),
    wait(&["f_await"], "flush wait", "flushes"),
    wait(&["await"], "wait", "transfers"),
    column(&["f/s"], "flushes", "op/s", 1.0, Better::Higher),
    column(&["aqu-sz", "avgqu-sz"], "queue", "", 1.0, Better::Neither),
    column(&["%util", "util"], "utilisation", "%", 1.0, Better::Neither),
];

/// One report: values by device and metric.
type Report = BTreeMap<String, BTreeMap<&'static str, f64>>;

pub(super) fn is_text(head: &str) -> bool {
    head.lines().any(|line| heading(line).is_some_and(|columns| columns.iter().flatten().count() >= 2))
}

pub(super) fn is_json(head: &str) -> bool {
    let compact: String = head.chars().filter(|c| !c.is_whitespace()).take(200).collect();
    compact.starts_with("{\"sysstat\":{\"hosts\":") && head.contains("\"disk_device\"")
}

/// The known columns of a line of names; none for another line.
fn heading(line: &str) -> Option<Vec<Option<&'static Column>>> {
    let mut words = line.split_whitespace();
    let first = words.next()?.trim_end_matches(':');
    (first == "Device").then(|| words.map(known).collect())
}

fn known(name: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.names.contains(&name))
}

pub(super) fn read_text(output: &str) -> Result<ResultSet, ReadError> {
    let mut reports: Vec<Report> = Vec::new();
    let mut columns: Option<Vec<Option<&'static Column>>> = None;
    let mut set = ResultSet::default();
    for (line, content) in text::lines(output) {
        if let Some(found) = heading(content) {
            columns = Some(found);
            reports.push(Report::new());
            continue;
        }
        let words: Vec<&str> = content.split_whitespace().collect();
        let (Some(found), Some(report), [device, values @ ..]) = (&columns, reports.last_mut(), words.as_slice()) else {
            // An empty line ends a report.
            columns = columns.filter(|_| !words.is_empty());
            continue;
        };
        if values.len() != found.len() {
            if values.iter().all(|value| text::decimal(value).is_some()) {
                warn(&mut set.warnings, line, format!("torn: {}", text::clip(content)));
            }
            continue;
        }
        let numbers = found.iter().zip(values).filter_map(|(column, value)| Some(((*column)?, text::decimal(value)?)));
        report.insert((*device).to_owned(), numbers.map(|(column, value)| (column.metric, value * column.factor)).collect());
    }
    finish(reports, set)
}

pub(super) fn read_json(input: &str) -> Result<ResultSet, ReadError> {
    let root: Value = serde_json::from_str(input).map_err(|error| {
        ReadError::at(error.line(), &error.to_string(), "let iostat end by itself, or stop it with SIGINT: it closes its JSON then")
    })?;
    let hosts = root["sysstat"]["hosts"].as_array().into_iter().flatten();
    let statistics = hosts.flat_map(|host| host["statistics"].as_array().into_iter().flatten());
    let report = |entry: &Value| -> Report {
        let disks = entry["disk"].as_array().into_iter().flatten().filter_map(Value::as_object);
        disks
            .filter_map(|disk| {
                let values = disk.iter().filter_map(|(name, value)| Some((known(name)?, value.as_f64()?)));
                let device = disk.get("disk_device")?.as_str()?.to_owned();
                Some((device, values.map(|(column, value)| (column.metric, value * column.factor)).collect()))
            })
            .collect()
    };
    finish(statistics.map(report).collect(), ResultSet::default())
}

fn finish(mut reports: Vec<Report>, mut set: ResultSet) -> Result<ResultSet, ReadError> {
    reports.retain(|report| !report.is_empty());
    match reports.len() {
        0 => return Err(ReadError::at(1, "no report with a device", "run iostat -x with an interval")),
        1 => warn(&mut set.warnings, 1, "one report only: without -y it is about the time since boot"),
        _ => {
            reports.remove(0);
        }
    }
    let devices: std::collections::BTreeSet<&String> = reports.iter().flat_map(BTreeMap::keys).collect();
    for device in devices {
        let of_device: Vec<&BTreeMap<&str, f64>> = reports.iter().filter_map(|report| report.get(device)).collect();
        if of_device.iter().all(|report| report.values().all(|value| *value == 0.0)) {
            continue;
        }
        let mut seen = Vec::new();
        for column in COLUMNS.iter().filter(|column| of_device.iter().any(|report| report.contains_key(column.metric))) {
            if seen.contains(&column.metric) {
                continue;
            }
            seen.push(column.metric);
            let Some(value) = mean(&of_device, column) else { continue };
            set.series.push(Series {
                label: None,
                cell: BTreeMap::from([("device".to_owned(), device.clone())]),
                metric: column.metric.to_owned(),
                unit: column.unit.to_owned(),
                better: Some(column.better),
                data: Data::Values(vec![Repetition { value, round: None }]),
            });
        }
    }
    if set.series.is_empty() {
        return Err(ReadError::at(1, "every device was idle", "run iostat beside the load"));
    }
    Ok(set)
}

/// A wait counts as often as there were requests that waited; without their number each report counts once.
fn mean(reports: &[&BTreeMap<&str, f64>], column: &Column) -> Option<f64> {
    let weight = |report: &BTreeMap<&str, f64>| column.weight.map_or(1.0, |weight| report.get(weight).copied().unwrap_or(1.0));
    let (mut sum, mut weights) = (0.0, 0.0);
    for report in reports {
        if let Some(value) = report.get(column.metric) {
            sum += value * weight(report);
            weights += weight(report);
        }
    }
    (weights > 0.0).then(|| sum / weights).filter(|mean| mean.is_finite())
}
