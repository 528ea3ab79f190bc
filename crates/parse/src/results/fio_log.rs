//! fio's logs (`write_bw_log`, `write_iops_log`, `write_lat_log`; fio(1), "Log File Formats"): samples of one job, folded into one run.
//! Holds a histogram, never the samples: a log may have gigabytes.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::{Data, ReadError, Repetition, ResultSet, Series};
use crate::Better;
use crate::parsed::warn;

/// What a log holds, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// KiB/s.
    Bandwidth,
    Iops,
    /// Nanoseconds, since fio 3.0.
    Latency(&'static str),
}

/// Longer lines are no samples.
const MAX_LINE_BYTES: u64 = 4096;

/// Percentiles of a latency log, with the names that fio's JSON has for them.
const PERCENTILES: [(f64, &str); 5] = [(0.50, "50"), (0.95, "95"), (0.99, "99"), (0.999, "99_9"), (0.9999, "99_99")];

/// Directions, by their number in a log.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// Is this a log, by its name and its first line?
pub(super) fn is_log(file_name: &str, head: &str) -> bool {
    kind(file_name).is_some() && head.lines().next().is_some_and(|line| sample(line.as_bytes()).is_some())
}

/// `NAME_bw.1.log` of job 1, `NAME_bw.log` of all jobs.
fn kind(file_name: &str) -> Option<(Kind, Option<&str>)> {
    let stem = file_name.strip_suffix(".log")?;
    let (stem, job) = match stem.rsplit_once('.') {
        Some((stem, job)) if !job.is_empty() && job.bytes().all(|b| b.is_ascii_digit()) => (stem, Some(job)),
        Some(_) | None => (stem, None),
    };
    let kind = match stem.rsplit_once('_').map_or(stem, |(_, kind)| kind) {
        "bw" => Kind::Bandwidth,
        "iops" => Kind::Iops,
        "lat" => Kind::Latency("lat"),
        "clat" => Kind::Latency("clat"),
        "slat" => Kind::Latency("slat"),
        _ => return None,
    };
    Some((kind, job))
}

/// Value and direction of `time, value, direction, block size, offset`.
fn sample(line: &[u8]) -> Option<(u64, usize)> {
    let mut fields = line.split(|b| *b == b',').map(number);
    let (_time, value, direction) = (fields.next()??, fields.next()??, fields.next()??);
    let direction = usize::try_from(direction).ok().filter(|direction| *direction < DIRECTIONS.len())?;
    fields.next()??;
    Some((value, direction))
}

fn number(field: &[u8]) -> Option<u64> {
    let digits = field.trim_ascii();
    let whole = !digits.is_empty() && digits.len() < 20 && digits.iter().all(u8::is_ascii_digit);
    whole.then(|| digits.iter().fold(0u64, |number, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0'))))
}

pub(super) fn read(file_name: &str, mut input: impl BufRead) -> Result<ResultSet, ReadError> {
    let Some((kind, job)) = kind(file_name) else {
        return Err(ReadError::at(
            1,
            &format!("a log called `{file_name}`"),
            "fio calls its logs NAME_bw.1.log, _iops, _lat, _clat or _slat",
        ));
    };
    let mut set = ResultSet::default();
    let mut folded: [Option<Fold>; 3] = [None, None, None];
    let (mut line, mut text) = (0, Vec::new());
    loop {
        text.clear();
        if std::io::Read::take(&mut input, MAX_LINE_BYTES).read_until(b'\n', &mut text)? == 0 {
            break;
        }
        line += 1;
        match sample(&text) {
            Some((value, direction)) => folded[direction].get_or_insert_default().add(value),
            None if text.trim_ascii().is_empty() => {}
            None => warn(&mut set.warnings, line, "no sample (time, value, direction, block size)"),
        }
    }
    if folded.iter().all(Option::is_none) {
        return Err(ReadError::at(line.max(1), "no sample", "a log has lines of time, value, direction, block size"));
    }
    let cell: BTreeMap<String, String> = job.map(|job| ("job".to_owned(), job.to_owned())).into_iter().collect();
    for (direction, fold) in DIRECTIONS.into_iter().zip(&folded) {
        let Some(fold) = fold else { continue };
        for (name, unit, better, value) in fold.metrics(kind) {
            set.series.push(Series {
                label: None,
                cell: cell.clone(),
                metric: format!("{direction}.{name}"),
                unit: unit.to_owned(),
                better: Some(better),
                data: Data::Values(vec![Repetition { value, round: None }]),
            });
        }
    }
    Ok(set)
}

/// Sub-buckets of each power of two: a percentile is off by less than 0.8 %.
const SUB_BITS: u32 = 6;

/// Samples, folded: their number, sum and a histogram with buckets of equal ratio.
struct Fold {
    count: u64,
    sum: f64,
    buckets: Vec<u64>,
}

impl Default for Fold {
    fn default() -> Fold {
        let buckets = ((u64::BITS - SUB_BITS + 1) as usize) << SUB_BITS;
        Fold { count: 0, sum: 0.0, buckets: vec![0; buckets] }
    }
}

impl Fold {
    fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += value as f64;
        self.buckets[bucket(value)] += 1;
    }

    fn metrics(&self, kind: Kind) -> Vec<(String, &'static str, Better, f64)> {
        let mean = self.sum / self.count as f64;
        match kind {
            Kind::Bandwidth => vec![("bytes_per_second".to_owned(), "B/s", Better::Higher, mean * 1024.0)],
            Kind::Iops => vec![("iops".to_owned(), "op/s", Better::Higher, mean)],
            Kind::Latency(name) => {
                let percentile =
                    |(share, digits): (f64, &str)| (format!("{name}_p{digits}_s"), "s", Better::Lower, self.quantile(share) * 1e-9);
                let mean = (format!("{name}_mean_s"), "s", Better::Lower, mean * 1e-9);
                std::iter::once(mean).chain(PERCENTILES.map(percentile)).collect()
            }
        }
    }

    /// The smallest value that at least this share of the samples does not exceed, to the width of a bucket.
    fn quantile(&self, share: f64) -> f64 {
        let wanted = (share * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (at, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted.max(1) {
                return middle(at);
            }
        }
        0.0
    }
}

/// Values below 64 have buckets of their own; above, each power of two has 64.
fn bucket(value: u64) -> usize {
    let bits = u64::BITS - value.leading_zeros();
    let shift = bits.saturating_sub(SUB_BITS + 1);
    ((shift as usize) << SUB_BITS) + (value >> shift) as usize
}

/// The middle of a bucket.
fn middle(bucket: usize) -> f64 {
    let shift = (bucket >> SUB_BITS).saturating_sub(1);
    let low = (bucket - (shift << SUB_BITS)) as f64;
    let width = 2f64.powi(i32::try_from(shift).unwrap_or(i32::MAX));
    low * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(name: &str, text: &str) -> Vec<(String, f64)> {
        let set = read(name, text.as_bytes()).unwrap();
        let value = |series: &Series| match &series.data {
            Data::Values(values) => values[0].value,
            Data::Summary(_) => panic!(),
        };
        set.series.iter().map(|series| (series.metric.clone(), value(series))).collect()
    }

    #[test]
    fn a_bandwidth_log_is_the_mean_of_its_samples_by_direction() {
        let text = "500, 1000, 0, 4096, 0\n1000, 3000, 0, 4096, 0\n1000, 512, 1, 4096, 0\n";
        let expected = [("read.bytes_per_second".to_owned(), 2000.0 * 1024.0), ("write.bytes_per_second".to_owned(), 512.0 * 1024.0)];
        assert_eq!(values("x_bw.1.log", text), expected);
    }

    #[test]
    fn a_latency_log_has_percentiles_that_are_off_by_less_than_a_bucket() {
        let text: String = (1..=10_000).map(|at| format!("{at}, {}, 0, 4096\n", at * 1000)).collect();
        for (metric, value) in values("run_clat.2.log", &text) {
            let exact = match metric.as_str() {
                "read.clat_mean_s" => 5.0005e-3,
                "read.clat_p50_s" => 5e-3,
                "read.clat_p95_s" => 9.5e-3,
                "read.clat_p99_s" => 9.9e-3,
                "read.clat_p99_9_s" => 9.99e-3,
                "read.clat_p99_99_s" => 9.999e-3,
                other => panic!("{other}"),
            };
            assert!((value / exact - 1.0).abs() < 0.008, "{metric}: {value} for {exact}");
        }
    }

    #[test]
    fn buckets_hold_what_they_should() {
        for value in [0, 1, 63, 64, 65, 127, 128, 1000, 123_456_789, u64::MAX / 2, u64::MAX] {
            let (at, low) = (bucket(value), middle(bucket(value)));
            assert!((low - value as f64).abs() <= value as f64 / 128.0 + 0.5, "{value}: bucket {at}, {low}");
        }
        assert!(bucket(u64::MAX) < Fold::default().buckets.len());
    }

    #[test]
    fn the_job_is_a_cell_and_torn_lines_are_warnings() {
        let set = read("x_iops.3.log", "1, 100, 0, 4096\n2, 1".as_bytes()).unwrap();
        assert_eq!(set.series[0].cell["job"], "3");
        assert_eq!(set.warnings[0].line, 2);
        assert!(read("x_lat.log", "torn".as_bytes()).is_err());
        assert!(is_log("x_lat.log", "1, 2, 0, 4096, 0\n") && !is_log("x_lat.log", "time,value") && !is_log("x.log", "1, 2, 0, 4096\n"));
    }
}
