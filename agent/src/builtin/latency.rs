//! Latencies in constant memory: a log-linear histogram, as in HdrHistogram (Tene): each power of two of nanoseconds is cut into
//! [`STEPS`] equal steps, so a percentile is wrong by 1/64 = 1.6 % at most.

use std::time::Duration;

use blklab_parse::builtin::LatencySummary;

/// Steps in each power of two.
const STEPS: u64 = 64;

/// log2 of [`STEPS`].
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// Nanoseconds of a second.
const NANOS: f64 = 1e9;

/// Counts of latencies; sum and maximum are exact.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum: Duration,
    max: Duration,
}

impl Histogram {
    pub(super) fn record(&mut self, latency: Duration) {
        let slot = slot(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
        if slot >= self.counts.len() {
            self.counts.resize(slot + 1, 0);
        }
        self.counts[slot] += 1;
        self.total += 1;
        self.sum += latency;
        self.max = self.max.max(latency);
    }

    /// None when nothing was recorded.
    pub(super) fn summary(&self) -> Option<LatencySummary> {
        let seconds = |share| Some(self.quantile(share)? as f64 / NANOS);
        let mean = self.sum.as_secs_f64() / self.total as f64;
        Some(LatencySummary { mean, p50: seconds(0.5)?, p99: seconds(0.99)?, max: self.max.as_secs_f64() })
    }

    /// The smallest latency in nanoseconds that at least `share` (0 to 1) of all do not exceed, rounded up to its step.
    fn quantile(&self, share: f64) -> Option<u64> {
        let rank = ((share * self.total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        self.counts.iter().enumerate().find_map(|(slot, count)| {
            seen += count;
            (seen >= rank).then(|| last_of(slot))
        })
    }
}

/// Below [`STEPS`] each value has its own slot; above, the leading bits choose it.
fn slot(value: u64) -> usize {
    let magnitude = (u64::BITS - value.leading_zeros()).saturating_sub(STEP_BITS + 1);
    usize::try_from(u64::from(magnitude) * STEPS + (value >> magnitude)).expect("64 bits give fewer than 4096 slots")
}

/// The largest value of a slot.
fn last_of(slot: usize) -> u64 {
    let slot = slot as u64;
    if slot < 2 * STEPS {
        return slot;
    }
    let magnitude = slot / STEPS - 1;
    let first = (slot - magnitude * STEPS) << magnitude;
    first + ((1 << magnitude) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_cover_all_values_without_gaps() {
        let mut before = None;
        for value in (0..100_000).chain([u64::MAX - 1, u64::MAX]) {
            let slot = slot(value);
            assert!(value <= last_of(slot), "{value}");
            assert!(last_of(slot) - value <= value / STEPS, "{value} in a slot up to {}", last_of(slot));
            assert!(before.is_none_or(|before| before <= slot));
            before = Some(slot);
        }
    }

    #[test]
    fn quantiles_are_ranks() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.summary(), None);
        for value in 1..=100 {
            histogram.record(Duration::from_nanos(value));
        }
        assert_eq!(histogram.quantile(0.5), Some(50));
        assert_eq!(histogram.quantile(0.99), Some(99));
        assert_eq!(histogram.quantile(1.0), Some(100));
        assert_eq!(histogram.quantile(0.0), Some(1));
        let summary = histogram.summary().unwrap();
        assert!((summary.mean - 50.5e-9).abs() < 1e-9, "{summary:?}");
        assert!((summary.max - 100e-9).abs() < 1e-15, "{summary:?}");
    }
}
