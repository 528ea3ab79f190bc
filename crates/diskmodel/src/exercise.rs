//! A disk put to the test in no time at all: a closed loop of requests against the simulation, as fio(1) would run it.
//!
//! What `blklab disk show`, the page of disk models and the fit tell about a model comes from here.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::disk::{Disk, Ns, Operation, Request};
use crate::model::DiskModel;

/// Where requests go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Anywhere in the span, evenly.
    Random,
    /// One after the other, in so many streams that begin evenly spaced; the queue depth is that of each.
    Streams(u32),
}

/// A closed loop: as many requests as the queue depth are always under way.
#[derive(Debug, Clone, PartialEq)]
pub struct Exercise {
    /// Read or write.
    pub operation: Operation,
    /// Where.
    pub order: Order,
    /// Length of each request, in bytes.
    pub block_bytes: u64,
    /// Requests under way.
    pub depth: u32,
    /// Where the part of the disk begins that is used, as a share (0 to 1) of the disk.
    pub from_share: f64,
    /// How long that part is, as a share of the disk.
    pub span_share: f64,
    /// Each request is followed by a flush, and counts when that is done.
    pub flush: bool,
    /// From a completion to the next request, in nanoseconds: the host's share.
    pub think_ns: Ns,
    /// Requests that are measured.
    pub requests: u32,
    /// Requests before, which are not: they fill queues and caches.
    pub warm_up: u32,
}

impl Exercise {
    /// Random reads of 4 KiB, one at a time, all over the disk, by a host that takes no time.
    pub fn random_reads() -> Exercise {
        Exercise {
            operation: Operation::Read,
            order: Order::Random,
            block_bytes: 4096,
            depth: 1,
            from_share: 0.0,
            span_share: 1.0,
            flush: false,
            think_ns: 0,
            requests: 1000,
            warm_up: 50,
        }
    }
}

/// What came out of an exercise.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// From the end of the warm-up to the last completion.
    pub elapsed_ns: Ns,
    /// Length of each request.
    pub block_bytes: u64,
    /// Time of each, shortest first.
    pub latencies_ns: Vec<Ns>,
}

impl Measured {
    /// Requests a second.
    pub fn iops(&self) -> f64 {
        self.latencies_ns.len() as f64 * 1e9 / self.elapsed_ns.max(1) as f64
    }

    /// Rate, in MB/s (10^6).
    pub fn mb_s(&self) -> f64 {
        self.iops() * self.block_bytes as f64 / 1e6
    }

    /// Mean time of a request, in milliseconds.
    pub fn mean_ms(&self) -> f64 {
        let sum: f64 = self.latencies_ns.iter().map(|ns| *ns as f64).sum();
        sum / self.latencies_ns.len().max(1) as f64 / 1e6
    }

    /// The time that a share (0 to 1) of the requests did not exceed, in milliseconds.
    pub fn quantile_ms(&self, share: f64) -> f64 {
        let last = self.latencies_ns.len().saturating_sub(1);
        let index = (share * last as f64).round() as usize;
        self.latencies_ns.get(index.min(last)).map_or(0.0, |ns| *ns as f64 / 1e6)
    }
}

/// Runs an exercise on a new disk.
///
/// The same arguments give the same result.
pub fn run(model: &DiskModel, disk_bytes: u64, exercise: &Exercise, seed: u64) -> Measured {
    Run::new(model, disk_bytes, exercise, seed).run()
}

struct Run<'a> {
    exercise: &'a Exercise,
    disk: Disk,
    rng: ChaCha8Rng,
    from: u64,
    span: u64,
    /// Where each stream goes on.
    streams: Vec<u64>,
    /// When each idle slot submits.
    slots: BinaryHeap<Reverse<(Ns, u32)>>,
    /// Slot and begin of what is under way, by request.
    under_way: HashMap<u64, (u32, Ns, bool)>,
    next_id: u64,
}

impl<'a> Run<'a> {
    fn new(model: &DiskModel, disk_bytes: u64, exercise: &'a Exercise, seed: u64) -> Run<'a> {
        let block = exercise.block_bytes.max(1);
        let from = (disk_bytes as f64 * exercise.from_share.clamp(0.0, 1.0)) as u64 / block * block;
        let most = disk_bytes.saturating_sub(from).max(block);
        let span = ((disk_bytes as f64 * exercise.span_share.clamp(0.0, 1.0)) as u64).clamp(block, most);
        let streams = match exercise.order {
            Order::Random => 1,
            Order::Streams(streams) => streams.max(1),
        };
        let begin = |stream: u32| span / u64::from(streams) * u64::from(stream) / block * block;
        Run {
            exercise,
            disk: Disk::new(model, disk_bytes, seed),
            rng: ChaCha8Rng::seed_from_u64(seed ^ 0x5eed),
            from,
            span,
            streams: (0..streams).map(begin).collect(),
            slots: (0..streams * exercise.depth.max(1)).map(|slot| Reverse((0, slot))).collect(),
            under_way: HashMap::new(),
            next_id: 0,
        }
    }

    fn run(mut self) -> Measured {
        let wanted = self.exercise.requests.max(1) as usize;
        let (mut latencies_ns, mut skip, mut begin, mut now) = (Vec::with_capacity(wanted), self.exercise.warm_up, 0, 0);
        while latencies_ns.len() < wanted {
            let submits = self.slots.peek().map(|Reverse((at, _))| *at);
            let completes = self.disk.next_event_ns();
            now = match (submits, completes) {
                (Some(submits), Some(completes)) => submits.min(completes),
                (Some(at), None) | (None, Some(at)) => at,
                (None, None) => break,
            };
            while let Some(completion) = self.disk.take_completed(now) {
                let Some((slot, since, flushes)) = self.under_way.remove(&completion.id) else { continue };
                if flushes {
                    self.submit(now, slot, since, Operation::Flush);
                    continue;
                }
                self.slots.push(Reverse((now + self.exercise.think_ns, slot)));
                if skip > 0 {
                    skip -= 1;
                    begin = now;
                } else if latencies_ns.len() < wanted {
                    latencies_ns.push(completion.at_ns - since);
                }
            }
            while let Some(Reverse((_, slot))) = self.slots.peek().copied().filter(|Reverse((at, _))| *at <= now) {
                self.slots.pop();
                self.submit(now, slot, now, self.exercise.operation);
            }
        }
        latencies_ns.sort_unstable();
        Measured { elapsed_ns: now - begin, block_bytes: self.exercise.block_bytes, latencies_ns }
    }

    fn submit(&mut self, now: Ns, slot: u32, since: Ns, operation: Operation) {
        let (offset, bytes) = match operation {
            Operation::Flush => (0, 0),
            Operation::Read | Operation::Write | Operation::Trim | Operation::Zero => (self.offset(slot), self.exercise.block_bytes),
        };
        let id = self.next_id;
        self.next_id += 1;
        let flushes = self.exercise.flush && operation != Operation::Flush;
        self.under_way.insert(id, (slot, since, flushes));
        self.disk.submit(now, Request { id, operation, offset, bytes, fua: false });
    }

    fn offset(&mut self, slot: u32) -> u64 {
        let block = self.exercise.block_bytes.max(1);
        let blocks = (self.span / block).max(1);
        let inside = match self.exercise.order {
            // A modulus of 64 bits favours nobody by more than the disk's share of 2^64.
            Order::Random => self.rng.next_u64() % blocks * block,
            Order::Streams(streams) => {
                let stream = &mut self.streams[(slot % streams.max(1)) as usize];
                let offset = *stream;
                *stream = if offset + 2 * block > self.span { 0 } else { offset + block };
                offset
            }
        };
        self.from + inside
    }
}
