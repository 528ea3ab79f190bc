//! The records of a measured window, summarised and as a series.
//! Owns which records count and what is said of those that do not fit; knows no definitions of rates.

use std::{collections::BTreeMap, ops::RangeInclusive};

use serde::{Deserialize, Serialize};

use super::{
    CpuShares, CpuTicks, DiskCounters, DiskRates, MonitorRecord,
    rates::{Growth, growth},
};
use crate::{Warning, parsed::warn};

/// What the host did in a measured window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MonitorSummary {
    /// The first record in the window, in the recorder's milliseconds.
    pub from_ms: u64,
    /// The last record in the window.
    pub until_ms: u64,
    /// Absent when no two neighbouring records tell of the CPUs.
    pub cpu: Option<CpuShares>,
    /// By kernel name; a disk that two neighbouring records do not both name is absent.
    pub disks: BTreeMap<String, DiskRates>,
    /// The same from record to record, in order, for plots.
    pub series: Vec<MonitorInterval>,
    /// Lines are those of the recording.
    pub warnings: Vec<Warning>,
}

/// What the host did between two neighbouring records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MonitorInterval {
    /// Start, in the recorder's milliseconds.
    pub from_ms: u64,
    /// End, after the start.
    pub until_ms: u64,
    /// Absent when a record does not tell or no tick passed.
    pub cpu: Option<CpuShares>,
    /// By kernel name.
    pub disks: BTreeMap<String, DiskRates>,
}

/// Cuts records to a window and summarises them; `None` when fewer than two moments lie in it.
///
/// Records outside the window never count, so that a slow unmount after a test does not dilute it.
/// Counters that wrap are followed; an interval in which a disk's counter falls is left out for that
/// disk. Both are warnings.
pub fn summarise(records: &[MonitorRecord], window_ms: RangeInclusive<u64>) -> Option<MonitorSummary> {
    let mut inside: Vec<_> = records.iter().filter(|record| window_ms.contains(&record.ms)).collect();
    inside.dedup_by_key(|record| record.ms);
    let (first, last) = (*inside.first()?, *inside.last()?);
    if first.ms == last.ms {
        return None;
    }
    let mut warnings = Vec::new();
    warn_about_edges(first, last, &window_ms, &mut warnings);
    let mut total = Total::default();
    let mut series = Vec::new();
    for pair in inside.windows(2) {
        let step = Step::between(pair[0], pair[1], &mut warnings);
        total.add(&step);
        series.push(step.into_interval());
    }
    Some(MonitorSummary {
        from_ms: first.ms,
        until_ms: last.ms,
        cpu: CpuShares::of(&total.cpu),
        disks: total.disks.iter().map(|(name, (ms, grown))| (name.clone(), DiskRates::of(grown, *ms))).collect(),
        series,
        warnings,
    })
}

/// The recorder writes at both edges; reading its clock and starting the task may fall a few
/// milliseconds apart.
const EDGE_TOLERANCE_MS: u64 = 10;

fn warn_about_edges(first: &MonitorRecord, last: &MonitorRecord, window_ms: &RangeInclusive<u64>, warnings: &mut Vec<Warning>) {
    let late_ms = first.ms - window_ms.start();
    if late_ms > EDGE_TOLERANCE_MS {
        warn(warnings, first.line, format!("the first record comes {late_ms} ms after the start of the window"));
    }
    let early_ms = window_ms.end() - last.ms;
    if early_ms > EDGE_TOLERANCE_MS {
        warn(warnings, last.line, format!("the last record comes {early_ms} ms before the end of the window"));
    }
}

/// Growth of all counters from one record to the next.
struct Step<'a> {
    from_ms: u64,
    until_ms: u64,
    cpu: Option<[f64; 8]>,
    disks: BTreeMap<&'a str, [f64; 17]>,
}

impl<'a> Step<'a> {
    fn between(before: &'a MonitorRecord, after: &'a MonitorRecord, warnings: &mut Vec<Warning>) -> Step<'a> {
        let line = after.line;
        let cpu = before.cpu.zip(after.cpu).map(|(before, after)| cpu_growth(before, after, line, warnings));
        if cpu.is_none() {
            warn(warnings, line, "no CPU line here or in the record before: the interval tells nothing of the CPUs");
        }
        let mut disks = BTreeMap::new();
        for (name, counters) in &after.disks {
            let Some(previous) = before.disks.get(name) else {
                warn(warnings, line, format!("{name} is not in the record before: the interval tells nothing of it"));
                continue;
            };
            if let Some(grown) = disk_growth(name, previous, counters, line, warnings) {
                disks.insert(name.as_str(), grown);
            }
        }
        for name in before.disks.keys().filter(|name| !after.disks.contains_key(*name)) {
            warn(warnings, line, format!("{name} is not in this record: the interval tells nothing of it"));
        }
        Step { from_ms: before.ms, until_ms: after.ms, cpu, disks }
    }

    fn ms(&self) -> f64 {
        (self.until_ms - self.from_ms) as f64
    }

    fn into_interval(self) -> MonitorInterval {
        let ms = self.ms();
        let rates = |(name, grown): (&&str, &[f64; 17])| ((*name).into(), DiskRates::of(grown, ms));
        MonitorInterval {
            from_ms: self.from_ms,
            until_ms: self.until_ms,
            cpu: self.cpu.as_ref().and_then(CpuShares::of),
            disks: self.disks.iter().map(rates).collect(),
        }
    }
}

/// Names of the columns of [`CpuTicks`].
const CPU_COLUMNS: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// A CPU counter that falls counts as no time: iowait may, by proc(5), and sysstat does the same.
fn cpu_growth(before: CpuTicks, after: CpuTicks, line: usize, warnings: &mut Vec<Warning>) -> [f64; 8] {
    let mut grown = [0.0; 8];
    for (index, (before, after)) in before.0.into_iter().zip(after.0).enumerate() {
        let name = CPU_COLUMNS[index];
        grown[index] = match growth(before, after) {
            Growth::By(ticks) => ticks as f64,
            Growth::Wrapped(ticks) => {
                warn(warnings, line, format!("CPU time `{name}` wrapped from {before} to {after}"));
                ticks as f64
            }
            Growth::Backwards => {
                warn(warnings, line, format!("CPU time `{name}` fell from {before} to {after}: counted as none"));
                0.0
            }
        };
    }
    grown
}

/// Field 9 of iostats.rst, requests in progress: a state, which may fall.
const IN_PROGRESS: usize = 9;

/// `None` when a counter fell.
fn disk_growth(name: &str, before: &DiskCounters, after: &DiskCounters, line: usize, warnings: &mut Vec<Warning>) -> Option<[f64; 17]> {
    let mut grown = [0.0; 17];
    for (index, (before, after)) in before.0.into_iter().zip(after.0).enumerate() {
        let field = index + 1;
        if field == IN_PROGRESS {
            continue;
        }
        grown[index] = match growth(before, after) {
            Growth::By(amount) => amount as f64,
            Growth::Wrapped(amount) => {
                warn(warnings, line, format!("{name}: field {field} wrapped from {before} to {after}"));
                amount as f64
            }
            Growth::Backwards => {
                let message = format!("{name}: field {field} fell from {before} to {after}: interval left out; was the disk detached?");
                warn(warnings, line, message);
                return None;
            }
        };
    }
    Some(grown)
}

/// Growth over the window; per disk also the milliseconds of the intervals that count.
#[derive(Default)]
struct Total {
    cpu: [f64; 8],
    disks: BTreeMap<String, (f64, [f64; 17])>,
}

impl Total {
    fn add(&mut self, step: &Step) {
        add_all(&mut self.cpu, step.cpu.as_ref().unwrap_or(&[0.0; 8]));
        for (name, grown) in &step.disks {
            let (ms, total) = self.disks.entry((*name).into()).or_default();
            *ms += step.ms();
            add_all(total, grown);
        }
    }
}

fn add_all(sums: &mut [f64], amounts: &[f64]) {
    for (sum, amount) in sums.iter_mut().zip(amounts) {
        *sum += amount;
    }
}
