//! One kind of latency of one direction: moments, percentiles and, in JSON+, the whole histogram.
//! Owns how the latencies of several jobs become one; knows no jobs.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::job::number;
use crate::Parsed;

/// Submission, completion, and both together.
pub(super) const KINDS: [&str; 3] = ["slat", "clat", "lat"];

#[derive(Clone)]
pub(super) struct Latency {
    pub(super) count: f64,
    mean_s: f64,
    stddev_s: f64,
    min_s: f64,
    max_s: f64,
    /// Per cent and seconds, rising.
    percentiles: Vec<(f64, f64)>,
    /// Printed unit to count; empty outside JSON+.
    bins: BTreeMap<u64, f64>,
    /// Seconds of the printed unit.
    unit_s: f64,
}

impl Latency {
    /// Reads `KIND_ns` or, of fio 2, `KIND`. `None` when nothing was measured.
    pub(super) fn read(section: &Value, kind: &str, operations: f64) -> Option<Latency> {
        let nanoseconds = section.get(format!("{kind}_ns")).map(|latency| (latency, 1e-9));
        let (latency, unit_s) = nanoseconds.or_else(|| Some((section.get(kind)?, 1e-6)))?;
        let seconds = |key| Some(number(latency, key)? * unit_s);
        let max_s = seconds("max").filter(|&max_s| max_s > 0.0)?;
        let count = number(latency, "N").unwrap_or(operations);
        let member = |key| latency.get(key).and_then(Value::as_object);
        (count > 0.0).then_some(Latency {
            count,
            mean_s: seconds("mean")?,
            stddev_s: seconds("stddev")?,
            min_s: seconds("min")?,
            max_s,
            percentiles: member("percentile").map(|map| read_percentiles(map, unit_s)).unwrap_or_default(),
            bins: member("bins").map(read_bins).unwrap_or_default(),
            unit_s,
        })
    }

    /// The latency of all parts together; `None` without parts. Moments fold as fio folds them under
    /// `group_reporting` (`stat.c`, `__sum_stat`); percentiles come from the joint histogram, and are
    /// absent where a part has none.
    pub(super) fn fold(parts: &[&Latency]) -> Option<Latency> {
        let (first, others) = parts.split_first()?;
        let mut sum = (*first).clone();
        for part in others {
            sum.add(part);
        }
        if !others.is_empty() {
            sum.percentiles = if parts.iter().all(|part| !part.bins.is_empty()) {
                sum.percentiles.iter().filter_map(|(percent, _)| sum.percentile(*percent)).collect()
            } else {
                Vec::new()
            };
        }
        Some(sum)
    }

    pub(super) fn has_percentiles(&self) -> bool {
        !self.percentiles.is_empty()
    }

    /// Sets `PREFIX_mean_s`, `PREFIX_p99_9_s` and their like.
    pub(super) fn report(&self, prefix: &str, parsed: &mut Parsed) {
        parsed.set(format!("{prefix}_mean_s"), self.mean_s);
        parsed.set(format!("{prefix}_stddev_s"), self.stddev_s);
        parsed.set(format!("{prefix}_min_s"), self.min_s);
        parsed.set(format!("{prefix}_max_s"), self.max_s);
        for (percent, seconds) in &self.percentiles {
            let percent = percent.to_string().replace('.', "_");
            parsed.set(format!("{prefix}_p{percent}_s"), *seconds);
        }
    }

    /// Parallel mean and variance: Chan, Golub and LeVeque 1979.
    fn add(&mut self, other: &Latency) {
        let count = self.count + other.count;
        let delta = other.mean_s - self.mean_s;
        let squares = self.squares() + other.squares() + delta * delta * self.count * other.count / count;
        self.mean_s = (self.mean_s * self.count + other.mean_s * other.count) / count;
        self.stddev_s = if count > 1.0 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        self.count = count;
        self.min_s = self.min_s.min(other.min_s);
        self.max_s = self.max_s.max(other.max_s);
        for (value, count) in &other.bins {
            *self.bins.entry(*value).or_default() += count;
        }
    }

    fn squares(&self) -> f64 {
        self.stddev_s * self.stddev_s * (self.count - 1.0).max(0.0)
    }

    /// The value of the first bin up to which the share lies, as in fio's `calc_clat_percentiles`.
    fn percentile(&self, percent: f64) -> Option<(f64, f64)> {
        let wanted = percent / 100.0 * self.bins.values().sum::<f64>();
        let mut sum = 0.0;
        let (value, _) = self.bins.iter().find(|(_, count)| {
            sum += **count;
            sum >= wanted
        })?;
        Some((percent, *value as f64 * self.unit_s))
    }
}

/// fio pads its list with zeros; a percentile of 0 is none.
fn read_percentiles(map: &Map<String, Value>, unit_s: f64) -> Vec<(f64, f64)> {
    let percents = map.iter().filter_map(|(key, value)| {
        let percent: f64 = key.parse().ok()?;
        let value = value.as_f64().filter(|value| *value >= 0.0)?;
        (percent > 0.0 && percent <= 100.0).then_some((percent, value * unit_s))
    });
    let mut percents: Vec<_> = percents.collect();
    percents.sort_by(|a, b| a.0.total_cmp(&b.0));
    percents
}

fn read_bins(map: &Map<String, Value>) -> BTreeMap<u64, f64> {
    let bins = map.iter().filter_map(|(value, count)| {
        let count = count.as_u64().filter(|&count| count > 0)?;
        Some((value.parse().ok()?, count as f64))
    });
    bins.collect()
}
