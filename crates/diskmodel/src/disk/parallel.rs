//! A disk without arms: servers that take pieces of requests, a shared interface, a write cache that drains behind.

use std::collections::{HashMap, VecDeque};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::streams::Streams;
use super::timeline::Timeline;
use super::{Ns, Operation, Request, transfer_ns, us};
use crate::model::{Parallel, WriteCache};

#[derive(Debug)]
pub(super) struct Servers {
    model: Parallel,
    stripe_bytes: u64,
    rng: ChaCha8Rng,
    timeline: Timeline<Event>,
    free: u32,
    /// Pieces that wait for a server, oldest first.
    queue: VecDeque<Piece>,
    /// Requests of which pieces are left.
    split: HashMap<u64, Split>,
    streams: Option<Streams>,
    cache: Option<Cache>,
    /// When the front end can take the next command.
    front_free: Ns,
    /// When the interface is free again, to the host and from it.
    to_host_free: Ns,
    from_host_free: Ns,
}

#[derive(Debug)]
enum Event {
    /// The disk has understood a command.
    Ready(Request),
    /// The data of a write have come over the interface.
    Arrived(Request),
    /// A server is done.
    Served(Piece),
    /// A request that needs nothing more is done.
    Answered(u64),
}

/// What one server does at a time.
#[derive(Debug, Clone, Copy)]
enum Piece {
    Read { id: u64, bytes: u64 },
    Write { id: u64, bytes: u64 },
    Drain { bytes: u64 },
}

#[derive(Debug)]
struct Split {
    pieces: u64,
    /// Data for the host when all pieces are there.
    read_bytes: u64,
}

#[derive(Debug)]
struct Cache {
    model: WriteCache,
    bytes: u64,
    /// Absorbed, not yet given to a server.
    backlog: u64,
    /// Absorbed, not yet written.
    held: u64,
    absorbed_total: u64,
    drained_total: u64,
    waiting: VecDeque<Request>,
    /// Flushes, with how much must have been drained in all.
    flushes: VecDeque<(u64, u64)>,
    drained_last: bool,
}

impl Servers {
    pub(super) fn new(model: &Parallel, seed: u64) -> Servers {
        Servers {
            stripe_bytes: u64::from(model.stripe_kib) << 10,
            rng: ChaCha8Rng::seed_from_u64(seed),
            timeline: Timeline::new(),
            free: model.servers,
            queue: VecDeque::new(),
            split: HashMap::new(),
            streams: model.read_ahead.as_ref().map(|ahead| Streams::new(model, ahead)),
            cache: model.write_cache.as_ref().map(Cache::new),
            front_free: 0,
            to_host_free: 0,
            from_host_free: 0,
            model: model.clone(),
        }
    }

    pub(super) fn reseed(&mut self, seed: u64) {
        self.rng = ChaCha8Rng::seed_from_u64(seed);
        if let Some(streams) = &mut self.streams {
            streams.clear();
        }
    }

    pub(super) fn next_event(&self) -> Option<Ns> {
        self.timeline.next_at()
    }

    pub(super) fn understands_next(&self) -> bool {
        matches!(self.timeline.next(), Some(Event::Ready(_)))
    }

    pub(super) fn accept(&mut self, at: Ns, request: Request) {
        self.front_free = self.front_free.max(at) + us(self.model.command_us);
        self.timeline.add(self.front_free + us(self.model.overhead_us), Event::Ready(request));
    }

    /// Lets the next event happen; the request that it finished, if it did.
    pub(super) fn step(&mut self) -> Option<u64> {
        let (at, event) = self.timeline.pop()?;
        match event {
            Event::Answered(id) => return Some(id),
            Event::Ready(request) => self.ready(at, request),
            Event::Arrived(request) => self.arrived(at, request),
            Event::Served(piece) => self.served(at, piece),
        }
        self.dispatch(at);
        None
    }

    fn ready(&mut self, at: Ns, request: Request) {
        match request.operation {
            Operation::Read => {
                let from_memory = self.streams.as_mut().and_then(|streams| streams.read(at, request.offset, request.end()));
                match from_memory {
                    Some(there) => self.send(there, request.id, request.bytes),
                    None => self.enqueue(request),
                }
            }
            Operation::Write => {
                self.from_host_free = self.from_host_free.max(at) + transfer_ns(request.bytes, self.model.link_mb_s);
                self.timeline.add(self.from_host_free, Event::Arrived(request));
            }
            Operation::Flush => match &mut self.cache {
                Some(cache) if cache.model.volatile => {
                    cache.flushes.push_back((request.id, cache.absorbed_total));
                    cache.answer_flushes(at, &mut self.timeline);
                }
                Some(cache) => self.timeline.add(at + us(cache.model.flush_us), Event::Answered(request.id)),
                None => self.timeline.add(at, Event::Answered(request.id)),
            },
            // No data move; maps are changed, which costs a write of one piece.
            Operation::Trim | Operation::Zero => {
                self.split.insert(request.id, Split { pieces: 1, read_bytes: 0 });
                self.queue.push_back(Piece::Write { id: request.id, bytes: 0 });
            }
        }
    }

    fn arrived(&mut self, at: Ns, request: Request) {
        match &mut self.cache {
            Some(cache) if cache.takes(&request) => {
                cache.waiting.push_back(request);
                cache.admit(at, &mut self.timeline);
            }
            Some(_) | None => self.enqueue(request),
        }
    }

    /// Cuts a request at the stripes.
    fn enqueue(&mut self, request: Request) {
        let is_read = request.operation == Operation::Read;
        let (mut from, mut pieces) = (request.offset, 0);
        loop {
            let border = (from / self.stripe_bytes + 1) * self.stripe_bytes;
            let bytes = border.min(request.end()) - from;
            self.queue.push_back(if is_read { Piece::Read { id: request.id, bytes } } else { Piece::Write { id: request.id, bytes } });
            pieces += 1;
            from = border;
            if from >= request.end() {
                break;
            }
        }
        self.split.insert(request.id, Split { pieces, read_bytes: if is_read { request.bytes } else { 0 } });
    }

    fn served(&mut self, at: Ns, piece: Piece) {
        self.free += 1;
        match piece {
            Piece::Read { id, .. } | Piece::Write { id, .. } => {
                let Some(split) = self.split.get_mut(&id) else { return };
                split.pieces -= 1;
                if split.pieces == 0 {
                    let bytes = split.read_bytes;
                    self.split.remove(&id);
                    self.send(at, id, bytes);
                }
            }
            Piece::Drain { bytes } => {
                if let Some(cache) = &mut self.cache {
                    cache.held -= bytes;
                    cache.drained_total += bytes;
                    cache.admit(at, &mut self.timeline);
                    cache.answer_flushes(at, &mut self.timeline);
                }
            }
        }
    }

    fn send(&mut self, at: Ns, id: u64, bytes: u64) {
        if bytes == 0 {
            self.timeline.add(at, Event::Answered(id));
            return;
        }
        self.to_host_free = self.to_host_free.max(at) + transfer_ns(bytes, self.model.link_mb_s);
        self.timeline.add(self.to_host_free, Event::Answered(id));
    }

    /// Gives free servers work: the host's first, unless somebody waits for the cache; then in turns.
    fn dispatch(&mut self, at: Ns) {
        while self.free > 0 {
            let drains = self.cache.as_mut().is_some_and(|cache| cache.should_drain(self.queue.is_empty()));
            let piece = match &mut self.cache {
                Some(cache) if drains => cache.take_piece(self.stripe_bytes),
                Some(_) | None => match self.queue.pop_front() {
                    Some(piece) => piece,
                    None => return,
                },
            };
            if let Some(cache) = &mut self.cache {
                cache.drained_last = drains;
            }
            self.free -= 1;
            let service = self.service(piece);
            self.timeline.add(at + service, Event::Served(piece));
        }
    }

    fn service(&mut self, piece: Piece) -> Ns {
        let (base_us, bytes, is_read) = match piece {
            Piece::Read { bytes, .. } => (self.model.read_us, bytes, true),
            Piece::Write { bytes, .. } | Piece::Drain { bytes } => (self.model.write_us, bytes, false),
        };
        let mut service_us = base_us * (1.0 + self.model.spread_pct / 100.0 * (2.0 * self.chance() - 1.0));
        if is_read && self.model.slow_one_in > 0 && self.chance() * f64::from(self.model.slow_one_in) < 1.0 {
            service_us += self.model.slow_us;
        }
        us(service_us) + transfer_ns(bytes, self.model.server_mb_s)
    }

    /// Even in 0 to 1, of 53 bits.
    fn chance(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl Cache {
    fn new(model: &WriteCache) -> Cache {
        Cache {
            bytes: u64::from(model.kib) << 10,
            model: model.clone(),
            backlog: 0,
            held: 0,
            absorbed_total: 0,
            drained_total: 0,
            waiting: VecDeque::new(),
            flushes: VecDeque::new(),
            drained_last: false,
        }
    }

    fn takes(&self, request: &Request) -> bool {
        request.bytes <= self.bytes && !(request.fua && self.model.volatile)
    }

    /// Absorbs as many waiting writes as there is room for.
    fn admit(&mut self, at: Ns, timeline: &mut Timeline<Event>) {
        while let Some(request) = self.waiting.front().copied().filter(|request| self.held + request.bytes <= self.bytes) {
            self.waiting.pop_front();
            self.backlog += request.bytes;
            self.held += request.bytes;
            self.absorbed_total += request.bytes;
            timeline.add(at + us(self.model.write_us), Event::Answered(request.id));
        }
    }

    fn answer_flushes(&mut self, at: Ns, timeline: &mut Timeline<Event>) {
        while let Some((id, target)) = self.flushes.front().copied().filter(|(_, target)| *target <= self.drained_total) {
            debug_assert!(target <= self.absorbed_total);
            self.flushes.pop_front();
            timeline.add(at + us(self.model.flush_us), Event::Answered(id));
        }
    }

    fn should_drain(&self, host_is_quiet: bool) -> bool {
        let somebody_waits = !self.flushes.is_empty() || !self.waiting.is_empty();
        self.backlog > 0 && (host_is_quiet || (somebody_waits && !self.drained_last))
    }

    /// Small writes are written together, a stripe at a time, wherever they belong: logs and mapping tables allow it.
    fn take_piece(&mut self, stripe_bytes: u64) -> Piece {
        let bytes = self.backlog.min(stripe_bytes);
        self.backlog -= bytes;
        Piece::Drain { bytes }
    }
}
