//! What a served disk was asked, and how long it took.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::disk::Operation;

/// Counts since the server started, or since its last `reseed`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Time that is covered.
    pub elapsed: Duration,
    /// Time with at least one request outstanding.
    pub busy: Duration,
    /// Reads.
    pub reads: u64,
    /// Writes, and ranges that became zeroes.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Ranges that were trimmed.
    pub trims: u64,
    /// Of reads.
    pub read_bytes: u64,
    /// Of writes.
    pub written_bytes: u64,
    /// Requests that ended with an error of the backing file.
    pub errors: u64,
    /// Requests that were refused: beyond the end, unknown or too long.
    pub refused: u64,
    /// Requests by how many were outstanding when they came, themselves among them: bucket `i` holds up to `2^i`.
    pub depth: Vec<u64>,
    /// Reads and writes by their distance in bytes from the end of the one before: bucket 0 holds those that follow directly, bucket
    /// `i` distances up to `2^i` bytes.
    pub distance: Vec<Service>,
    /// How late replies left, by powers of two of a microsecond: bucket `i` holds up to `2^i` us. A lab whose machine is too busy to
    /// keep a disk's times shows here.
    pub late: Vec<u64>,
    /// The latest reply.
    pub latest: Duration,
}

/// Requests of one kind and the time they took.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Service {
    /// How many.
    pub requests: u64,
    /// Sum of their times from arrival to completion, in nanoseconds.
    pub total_ns: u64,
}

/// Buckets of every histogram: powers of two of a 64-bit number.
const BUCKETS: usize = 64;

impl Stats {
    /// All requests.
    pub fn requests(&self) -> u64 {
        self.reads + self.writes + self.flushes + self.trims
    }

    pub(super) fn empty() -> Stats {
        Stats { depth: vec![0; BUCKETS], distance: vec![Service::default(); BUCKETS], late: vec![0; BUCKETS], ..Stats::default() }
    }

    pub(super) fn arrived(&mut self, operation: Operation, bytes: u64, outstanding: u64) {
        match operation {
            Operation::Read => {
                self.reads += 1;
                self.read_bytes += bytes;
            }
            Operation::Write | Operation::Zero => {
                self.writes += 1;
                self.written_bytes += bytes;
            }
            Operation::Flush => self.flushes += 1,
            Operation::Trim => self.trims += 1,
        }
        self.depth[bucket(outstanding)] += 1;
    }

    pub(super) fn served(&mut self, distance: Option<u64>, service_ns: u64) {
        if let Some(distance) = distance {
            let service = &mut self.distance[bucket(distance)];
            service.requests += 1;
            service.total_ns += service_ns;
        }
    }

    pub(super) fn left(&mut self, late: Duration) {
        self.late[bucket(late.as_micros() as u64)] += 1;
        self.latest = self.latest.max(late);
    }

    /// Without the empty buckets at the ends.
    pub(super) fn trimmed(mut self) -> Stats {
        let used = |counts: &[u64]| counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        self.depth.truncate(used(&self.depth));
        self.late.truncate(used(&self.late));
        let used = self.distance.iter().rposition(|service| service.requests > 0).map_or(0, |last| last + 1);
        self.distance.truncate(used);
        self
    }
}

impl Service {
    /// Mean time, in milliseconds; 0 for none.
    pub fn mean_ms(&self) -> f64 {
        if self.requests == 0 { 0.0 } else { self.total_ns as f64 / self.requests as f64 / 1e6 }
    }
}

/// The smallest power of two that is not below `value`; 0 and 1 share the first.
fn bucket(value: u64) -> usize {
    let bits = u64::BITS - value.saturating_sub(1).leading_zeros();
    if value <= 1 { 0 } else { (bits as usize).min(BUCKETS - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_powers_of_two() {
        assert_eq!([0, 1, 2, 3, 4, 5, 8, 9, u64::MAX].map(bucket), [0, 0, 1, 2, 2, 3, 3, 4, 63]);
    }
}
