//! A disk as an event simulation. Pure: whoever drives it says what time it is.
//!
//! Owns the queue outside the disk and the scale of time; what happens inside is `rotational` and `parallel`. Events are processed in
//! the order of their own times, so a driver that comes late is told of completions late, but what the disk decided in between does
//! not change.

mod dirty;
mod geometry;
mod parallel;
mod rotational;
mod seek;
mod segments;
mod streams;
mod timeline;

use std::collections::VecDeque;

use crate::model::{DiskModel, Mechanics};

pub use geometry::Geometry;
pub use seek::SeekCurve;

/// Nanoseconds since any moment of the driver's choice.
pub type Ns = u64;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Data from the disk.
    Read,
    /// Data to the disk.
    Write,
    /// What was written before may not be lost any more.
    Flush,
    /// The range is not needed any more.
    Trim,
    /// The range becomes zeroes, without data on the interface.
    Zero,
}

/// A request to a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The driver's; comes back with the completion.
    pub id: u64,
    /// What to do.
    pub operation: Operation,
    /// First byte. Of a flush: 0.
    pub offset: u64,
    /// Length of the range. Of a flush: 0.
    pub bytes: u64,
    /// Force unit access: not done before it is where no loss of power reaches it.
    pub fua: bool,
}

impl Request {
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

/// A request that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// That of the request.
    pub id: u64,
    /// When the disk was done with it.
    pub at_ns: Ns,
}

/// A simulated disk.
#[derive(Debug)]
pub struct Disk {
    inside: Inside,
    slowdown: f64,
    queue_depth: usize,
    /// Requests that do not fit into the queue depth, oldest first.
    waiting: VecDeque<Request>,
    /// Requests inside.
    active: usize,
    completed: VecDeque<Completion>,
    /// The latest time heard of; time does not run backwards.
    now: Ns,
    /// The disk's own time, which runs slower than the driver's by the slowdown.
    disk_now: Ns,
}

#[derive(Debug)]
enum Inside {
    Rotational(Box<rotational::Mechanism>),
    Parallel(Box<parallel::Servers>),
}

impl Disk {
    /// A disk of `bytes` bytes with nothing in its caches and its arm at the first track, at time 0.
    pub fn new(model: &DiskModel, bytes: u64, seed: u64) -> Disk {
        let inside = match &model.mechanics {
            Mechanics::Rotational(model) => Inside::Rotational(Box::new(rotational::Mechanism::new(model, bytes, seed))),
            Mechanics::Parallel(model) => Inside::Parallel(Box::new(parallel::Servers::new(model, seed))),
        };
        Disk {
            inside,
            slowdown: model.slowdown,
            queue_depth: model.queue_depth.max(1) as usize,
            waiting: VecDeque::new(),
            active: 0,
            completed: VecDeque::new(),
            now: 0,
            disk_now: 0,
        }
    }

    /// Hands a request to the disk. Times before the latest one count as the latest one.
    pub fn submit(&mut self, now_ns: Ns, request: Request) {
        self.advance(now_ns);
        if self.active < self.queue_depth {
            self.accept(request);
        } else {
            self.waiting.push_back(request);
        }
        self.look_ahead();
    }

    /// The next request that is done by `now_ns`, in the order in which they were done.
    pub fn take_completed(&mut self, now_ns: Ns) -> Option<Completion> {
        self.advance(now_ns);
        self.completed.pop_front()
    }

    /// When to ask for completions next; none while no request is outstanding.
    ///
    /// At that time something happens inside, not always a completion.
    pub fn next_event_ns(&self) -> Option<Ns> {
        if let Some(completion) = self.completed.front() {
            return Some(completion.at_ns);
        }
        let next = self.inside.next_event().filter(|_| self.active > 0)?;
        Some(self.driver_time(next))
    }

    /// Requests that are not yet taken as completed.
    pub fn outstanding(&self) -> usize {
        self.active + self.waiting.len() + self.completed.len()
    }

    /// Begins a new stream of chance: from here on, times are those of a new disk with this seed, but for requests and cached writes
    /// that are still under way. Caches of reads are emptied.
    pub fn reseed(&mut self, now_ns: Ns, seed: u64) {
        self.advance(now_ns);
        match &mut self.inside {
            Inside::Rotational(mechanism) => mechanism.reseed(self.disk_now, seed),
            Inside::Parallel(servers) => servers.reseed(seed),
        }
    }

    fn advance(&mut self, now_ns: Ns) {
        self.now = self.now.max(now_ns);
        let until = self.disk_time(self.now);
        while let Some(at) = self.inside.next_event().filter(|at| *at <= until) {
            self.disk_now = self.disk_now.max(at);
            if let Some(id) = self.inside.step() {
                self.completed.push_back(Completion { id, at_ns: self.driver_time(at) });
                self.active -= 1;
                if let Some(request) = self.waiting.pop_front() {
                    self.accept(request);
                }
            }
        }
        self.disk_now = self.disk_now.max(until);
    }

    /// Lets the disk understand commands before it is time. Whatever the driver does later reaches the disk after the same overhead,
    /// hence after these, so that they turn out the same; and the driver is spared a wake-up for each.
    fn look_ahead(&mut self) {
        while self.inside.understands_next() {
            let done = self.inside.step();
            debug_assert_eq!(done, None, "to understand a command is not to be done with it");
        }
    }

    fn accept(&mut self, request: Request) {
        self.active += 1;
        match &mut self.inside {
            Inside::Rotational(mechanism) => mechanism.accept(self.disk_now, request),
            Inside::Parallel(servers) => servers.accept(self.disk_now, request),
        }
    }

    fn disk_time(&self, now: Ns) -> Ns {
        if self.slowdown == 1.0 { now } else { (now as f64 / self.slowdown) as Ns }
    }

    /// Never earlier than `disk_time` would turn back into `at`, whatever the rounding.
    fn driver_time(&self, at: Ns) -> Ns {
        if self.slowdown == 1.0 { at } else { (at as f64 * self.slowdown).ceil() as Ns + self.slowdown.ceil() as Ns }
    }
}

impl Inside {
    /// Whether the next event is that a command is understood.
    fn understands_next(&self) -> bool {
        match self {
            Inside::Rotational(mechanism) => mechanism.understands_next(),
            Inside::Parallel(servers) => servers.understands_next(),
        }
    }

    fn next_event(&self) -> Option<Ns> {
        match self {
            Inside::Rotational(mechanism) => mechanism.next_event(),
            Inside::Parallel(servers) => servers.next_event(),
        }
    }

    fn step(&mut self) -> Option<u64> {
        match self {
            Inside::Rotational(mechanism) => mechanism.step(),
            Inside::Parallel(servers) => servers.step(),
        }
    }
}

/// Time that `bytes` take at `mb_s` (10^6 bytes a second).
fn transfer_ns(bytes: u64, mb_s: f64) -> Ns {
    (bytes as f64 * 1e3 / mb_s).round() as Ns
}

fn us(value: f64) -> Ns {
    (value * 1e3).round() as Ns
}

fn ms(value: f64) -> Ns {
    (value * 1e6).round() as Ns
}

#[cfg(test)]
mod tests;
