//! Reads that follow one another, recognised by a disk without arms and read ahead into its memory.

use super::{Ns, transfer_ns, us};
use crate::model::{Parallel, ReadAhead};

#[derive(Debug)]
pub(super) struct Streams {
    most: usize,
    ahead_bytes: u64,
    hit: Ns,
    /// Rate of reading ahead: that of all servers.
    mb_s: f64,
    /// Time until the first byte comes.
    start: Ns,
    list: Vec<Stream>,
    uses: u64,
}

/// A stream, or a single read that may become one.
#[derive(Debug, Clone, Copy)]
struct Stream {
    /// Where its reader would go on.
    next: u64,
    used: u64,
    ahead: Option<Ahead>,
}

#[derive(Debug, Clone, Copy)]
struct Ahead {
    /// Where the pass is at `from_at`.
    from: u64,
    from_at: Ns,
    limit: u64,
}

impl Streams {
    pub(super) fn new(model: &Parallel, ahead: &ReadAhead) -> Streams {
        let stripe = u64::from(model.stripe_kib) << 10;
        let service_us = model.read_us + stripe as f64 / model.server_mb_s;
        Streams {
            most: ahead.streams as usize,
            ahead_bytes: u64::from(ahead.kib) << 10,
            hit: us(ahead.hit_us),
            mb_s: f64::from(model.servers) * stripe as f64 / service_us.max(1e-3),
            start: us(model.read_us),
            list: Vec::with_capacity(ahead.streams as usize),
            uses: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    /// A read comes: when it can be had from memory, if it can.
    pub(super) fn read(&mut self, at: Ns, start: u64, end: u64) -> Option<Ns> {
        self.uses += 1;
        let (used, mb_s) = (self.uses, self.mb_s);
        let Some(stream) = self.list.iter_mut().find(|stream| stream.next == start) else {
            self.remember(Stream { next: end, used, ahead: None });
            return None;
        };
        stream.next = end;
        stream.used = used;
        let limit = end.saturating_add(self.ahead_bytes);
        let Some(ahead) = stream.ahead.as_mut().filter(|ahead| end <= ahead.limit) else {
            // The second read of a row, from which on it is a stream; or one that is longer than what is read ahead.
            stream.ahead = Some(Ahead { from: end, from_at: at + self.start, limit });
            return None;
        };
        let is_there = ahead.reaches(end, mb_s);
        if at < ahead.reaches(ahead.limit, mb_s) {
            ahead.limit = limit;
        } else if ahead.limit - end <= self.ahead_bytes / 2 {
            // It had stopped, and half of what it brought is used up.
            *ahead = Ahead { from: ahead.limit, from_at: at + self.start, limit };
        }
        Some(is_there.max(at) + self.hit)
    }

    fn remember(&mut self, stream: Stream) {
        if self.list.len() < self.most {
            self.list.push(stream);
        } else if let Some(oldest) = self.list.iter_mut().min_by_key(|stream| stream.used) {
            *oldest = stream;
        }
    }
}

impl Ahead {
    /// When a byte is in memory; what lies before `from` always is.
    fn reaches(&self, byte: u64, mb_s: f64) -> Ns {
        if byte <= self.from { 0 } else { self.from_at + transfer_ns(byte - self.from, mb_s) }
    }
}
