//! A disk with one arm: which request it serves next, and how long that takes.
//!
//! The choice is the shortest positioning time first (seek and rotation together) among the queue, with a limit of age so that nobody
//! starves: Jacobson and Wilkes, "Disk scheduling algorithms based on rotational position", HPL-CSP-91-7, 1991.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::dirty::{Dirty, Extent};
use super::geometry::Geometry;
use super::seek::SeekCurve;
use super::segments::Segments;
use super::timeline::Timeline;
use super::{Ns, Operation, Request, ms, transfer_ns, us};
use crate::model::Rotational;

/// Beyond this share of the cache, cached writes are no longer put off, so that few writers ever have to wait for room.
const FULL_SHARE: f64 = 0.75;

#[derive(Debug)]
pub(super) struct Mechanism {
    geometry: Geometry,
    curve: SeekCurve,
    link_mb_s: f64,
    overhead: Ns,
    settle: Ns,
    idle: Ns,
    age_limit: Ns,
    cache_bytes: u64,

    timeline: Timeline<Event>,
    /// Nanoseconds that the platter had turned at time 0.
    phase: Ns,
    /// Where the head is while it does not read ahead.
    head: u64,
    work: Option<Work>,
    /// Requests for the platter, oldest first.
    queue: Vec<Target>,
    segments: Segments,
    dirty: Dirty,
    /// Cached writes that are on their way to the platter.
    writing_bytes: u64,
    /// Writes that wait for room in the cache, since when.
    waiting: VecDeque<(Ns, Request)>,
    flushes: Vec<Flush>,
    /// Cached writes so far.
    stamps: u64,
    /// The arm last worked for the cache.
    drained_last: bool,
    /// When a request last came or was served from the platter.
    last_use: Ns,
    link_free: Ns,
    /// The latest wake-up that was asked for.
    wakes_at: Ns,
}

#[derive(Debug)]
enum Event {
    /// The electronics have understood a command.
    Ready(Request),
    /// The arm has done its work.
    Finished,
    /// A request that needs nothing more is done.
    Answered(u64),
    /// The disk may have been idle for long enough.
    Wake,
}

/// A range on the platter that the arm may go to.
#[derive(Debug, Clone, Copy)]
struct Target {
    start: u64,
    end: u64,
    track: u64,
    /// Of its first byte.
    media: Ns,
    since: Ns,
    purpose: Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Read {
        id: u64,
    },
    Write {
        id: u64,
    },
    /// A cached write; the number is its stamp.
    Drain {
        stamp: u64,
    },
}

#[derive(Debug)]
struct Work {
    target: Target,
    /// It goes on from reading ahead.
    streams: bool,
}

#[derive(Debug)]
struct Flush {
    id: u64,
    since: Ns,
    /// Cached writes with a smaller stamp are to be written first.
    before: u64,
}

impl Mechanism {
    pub(super) fn new(model: &Rotational, bytes: u64, seed: u64) -> Mechanism {
        let geometry = Geometry::new(model, bytes);
        let mut mechanism = Mechanism {
            curve: SeekCurve::new(model, geometry.tracks()),
            geometry,
            link_mb_s: model.link_mb_s,
            overhead: us(model.overhead_us),
            settle: ms(model.write_settle_ms),
            idle: ms(model.idle_ms),
            age_limit: ms(model.age_limit_ms),
            cache_bytes: u64::from(model.write_cache_kib) << 10,
            timeline: Timeline::new(),
            phase: 0,
            head: 0,
            work: None,
            queue: Vec::new(),
            segments: Segments::new(model.read_segments, model.read_segment_kib, bytes),
            dirty: Dirty::default(),
            writing_bytes: 0,
            waiting: VecDeque::new(),
            flushes: Vec::new(),
            stamps: 0,
            drained_last: false,
            last_use: 0,
            link_free: 0,
            wakes_at: 0,
        };
        mechanism.reseed(0, seed);
        mechanism
    }

    /// The platter's angle becomes one that the seed draws; the arm, unless it is at work, goes to the first track.
    pub(super) fn reseed(&mut self, now: Ns, seed: u64) {
        let turn = self.geometry.turn_ns();
        let angle = ChaCha8Rng::seed_from_u64(seed).next_u64() % turn;
        // A transfer under way ends when it was going to; only what comes later meets the new angle.
        self.phase = (angle + turn - now % turn) % turn;
        self.segments.clear();
        if self.work.is_none() {
            self.head = 0;
        }
    }

    pub(super) fn next_event(&self) -> Option<Ns> {
        self.timeline.next_at()
    }

    pub(super) fn understands_next(&self) -> bool {
        matches!(self.timeline.next(), Some(Event::Ready(_)))
    }

    pub(super) fn accept(&mut self, at: Ns, request: Request) {
        self.timeline.add(at + self.overhead, Event::Ready(request));
    }

    /// Lets the next event happen; the request that it finished, if it did.
    pub(super) fn step(&mut self) -> Option<u64> {
        let (at, event) = self.timeline.pop()?;
        match event {
            Event::Answered(id) => return Some(id),
            Event::Ready(request) => self.ready(at, request),
            Event::Wake => {}
            Event::Finished => {
                let done = self.finished(at);
                self.choose(at);
                return done;
            }
        }
        self.choose(at);
        None
    }

    fn ready(&mut self, at: Ns, request: Request) {
        match request.operation {
            Operation::Read => {
                self.last_use = at;
                if self.is_buffered(at, request.offset, request.end()) {
                    self.answer_over_link(at, request);
                } else {
                    self.enqueue(at, request, Purpose::Read { id: request.id });
                }
            }
            Operation::Write | Operation::Zero => {
                self.last_use = at;
                if request.fua || request.bytes > self.cache_bytes {
                    self.enqueue(at, request, Purpose::Write { id: request.id });
                } else if self.waiting.is_empty() && self.has_room(request.bytes) {
                    self.absorb(at, request);
                } else {
                    self.waiting.push_back((at, request));
                }
            }
            Operation::Flush => self.flushes.push(Flush { id: request.id, since: at, before: self.stamps }),
            // A hint to a disk that overwrites in place.
            Operation::Trim => self.timeline.add(at, Event::Answered(request.id)),
        }
        self.answer_flushes(at);
    }

    fn enqueue(&mut self, at: Ns, request: Request, purpose: Purpose) {
        let target = self.target(request.offset, request.end(), at, purpose);
        self.queue.push(target);
    }

    fn target(&self, start: u64, end: u64, since: Ns, purpose: Purpose) -> Target {
        Target { start, end, track: self.geometry.track(start), media: self.geometry.media_ns(start), since, purpose }
    }

    fn is_buffered(&mut self, at: Ns, start: u64, end: u64) -> bool {
        self.segments.hit(at, start, end, &self.geometry, self.phase) || (start < end && self.dirty.covers(start, end))
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.dirty.bytes() + self.writing_bytes + bytes <= self.cache_bytes
    }

    fn absorb(&mut self, at: Ns, request: Request) {
        if request.bytes > 0 {
            self.dirty.insert(Extent { start: request.offset, end: request.end(), stamp: self.stamps, since: at });
            self.stamps += 1;
        }
        self.answer_over_link(at, request);
    }

    fn answer_over_link(&mut self, at: Ns, request: Request) {
        let bytes = if request.operation == Operation::Zero { 0 } else { request.bytes };
        self.link_free = self.link_free.max(at) + transfer_ns(bytes, self.link_mb_s);
        self.timeline.add(self.link_free, Event::Answered(request.id));
    }

    /// Answers flushes behind which nothing older is left.
    fn answer_flushes(&mut self, at: Ns) {
        if self.flushes.is_empty() {
            return;
        }
        let writing = self.work.as_ref().and_then(|work| match work.target.purpose {
            Purpose::Drain { stamp } => Some(stamp),
            Purpose::Read { .. } | Purpose::Write { .. } => None,
        });
        let oldest = self.dirty.oldest().map(|extent| extent.stamp).into_iter().chain(writing).min().unwrap_or(u64::MAX);
        let timeline = &mut self.timeline;
        self.flushes.retain(|flush| {
            let waits = oldest < flush.before;
            if !waits {
                timeline.add(at, Event::Answered(flush.id));
            }
            waits
        });
    }

    /// Ends the work of the arm; the request that it was for.
    fn finished(&mut self, at: Ns) -> Option<u64> {
        let work = self.work.take()?;
        let target = work.target;
        self.head = target.end;
        match target.purpose {
            Purpose::Read { id } => {
                self.last_use = at;
                if !work.streams {
                    self.segments.begin(at, target.start, target.end);
                }
                Some(id)
            }
            Purpose::Write { id } => {
                self.last_use = at;
                Some(id)
            }
            Purpose::Drain { .. } => {
                self.writing_bytes -= target.end - target.start;
                while let Some((_, request)) = self.waiting.front().copied().filter(|(_, request)| self.has_room(request.bytes)) {
                    self.waiting.pop_front();
                    self.absorb(at, request);
                }
                self.answer_flushes(at);
                None
            }
        }
    }

    /// Gives the arm work, if it has none and there is some.
    fn choose(&mut self, at: Ns) {
        if self.work.is_some() {
            return;
        }
        self.answer_buffered(at);
        let Some(target) = self.next_target(at) else {
            self.wake_when_idle();
            return;
        };
        match target.purpose {
            Purpose::Read { id } | Purpose::Write { id } => self.queue.retain(|other| !other.is_for(id)),
            Purpose::Drain { .. } => {
                self.dirty.remove(target.start);
                self.writing_bytes += target.end - target.start;
            }
        }
        self.start(at, target);
    }

    /// Reads that a pass has meanwhile brought in need no arm.
    fn answer_buffered(&mut self, at: Ns) {
        let mut index = 0;
        while index < self.queue.len() {
            let target = self.queue[index];
            match target.purpose {
                Purpose::Read { id } if self.is_buffered(at, target.start, target.end) => {
                    self.queue.remove(index);
                    let bytes = target.end - target.start;
                    let request = Request { id, operation: Operation::Read, offset: target.start, bytes, fua: false };
                    self.answer_over_link(at, request);
                }
                Purpose::Read { .. } | Purpose::Write { .. } | Purpose::Drain { .. } => index += 1,
            }
        }
    }

    fn next_target(&self, at: Ns) -> Option<Target> {
        let is_old = |since: Ns| at.saturating_sub(since) > self.age_limit;
        let head = self.head_at(at);
        // Whoever waits for the cache gets every other turn when it has waited for long; who asks for the platter, the next one.
        if !self.drained_last {
            if self.flushes.iter().any(|flush| is_old(flush.since)) {
                return self.dirty.oldest().map(|extent| self.drain(extent));
            }
            if self.waiting.front().is_some_and(|(since, _)| is_old(*since)) {
                return self.nearest(at, head, self.dirty.near(head).map(|extent| self.drain(extent)));
            }
        }
        if let Some(aged) = self.queue.iter().filter(|target| is_old(target.since)).min_by_key(|target| target.since) {
            return Some(*aged);
        }
        let may_drain = self.is_pressed(at) || (self.queue.is_empty() && at >= self.last_use + self.idle);
        let extents = may_drain.then(|| self.dirty.near(head).map(|extent| self.drain(extent))).into_iter().flatten();
        self.nearest(at, head, self.queue.iter().copied().chain(extents))
    }

    fn nearest(&self, at: Ns, head: u64, targets: impl Iterator<Item = Target>) -> Option<Target> {
        targets.min_by_key(|target| (self.positioning(at, head, target), target.since))
    }

    /// Whether cached writes are no longer put off.
    fn is_pressed(&self, at: Ns) -> bool {
        let full = (self.dirty.bytes() + self.writing_bytes) as f64 > self.cache_bytes as f64 * FULL_SHARE;
        full || !self.flushes.is_empty()
            || !self.waiting.is_empty()
            || self.dirty.oldest().is_some_and(|extent| at > extent.since + self.age_limit)
    }

    fn drain(&self, extent: &Extent) -> Target {
        self.target(extent.start, extent.end, extent.since, Purpose::Drain { stamp: extent.stamp })
    }

    /// Where the head is at this moment.
    fn head_at(&self, at: Ns) -> u64 {
        self.segments.position(at, &self.geometry).unwrap_or(self.head)
    }

    /// Seek and rotation.
    fn positioning(&self, at: Ns, head: u64, target: &Target) -> Ns {
        let is_read = matches!(target.purpose, Purpose::Read { .. });
        if is_read && self.segments.streams_by(at, target.start, target.end, &self.geometry).is_some() {
            return 0;
        }
        let distance = target.track.abs_diff(self.geometry.track(head));
        let settle = if is_read || distance == 0 { 0 } else { self.settle };
        let seek = self.curve.seek_ns(distance) + settle;
        seek + self.geometry.rotation_ns(target.media, at + seek + self.phase)
    }

    fn start(&mut self, at: Ns, target: Target) {
        let is_read = matches!(target.purpose, Purpose::Read { .. });
        let streamed = self.segments.streams_by(at, target.start, target.end, &self.geometry).filter(|_| is_read);
        let end = match streamed {
            Some(end) => {
                self.segments.stream_to(target.end);
                end
            }
            None => {
                let head = self.segments.interrupt(at, &self.geometry).unwrap_or(self.head);
                let transfer = self.geometry.media_ns(target.end).saturating_sub(target.media);
                at + self.positioning(at, head, &target) + transfer
            }
        };
        self.drained_last = matches!(target.purpose, Purpose::Drain { .. });
        self.work = Some(Work { target, streams: streamed.is_some() });
        self.timeline.add(end, Event::Finished);
    }

    fn wake_when_idle(&mut self) {
        let at = self.last_use + self.idle;
        if !self.dirty.is_empty() && self.wakes_at < at {
            self.wakes_at = at;
            self.timeline.add(at, Event::Wake);
        }
    }
}

impl Target {
    fn is_for(&self, request: u64) -> bool {
        match self.purpose {
            Purpose::Read { id } | Purpose::Write { id } => id == request,
            Purpose::Drain { .. } => false,
        }
    }
}
