//! What all connections of a server share: the simulated disk, the replies that it holds back, and the thread that lets them go.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::alarm::Alarm;
use super::backing::Backing;
use super::buffers::{Buffers, Message};
use super::connection::Connection;
use super::handshake::Export;
use super::protocol::Header;
use super::stats::Stats;
use crate::disk::{Disk, Ns, Operation, Request};

/// Times end in the middle of a guest's busy loops; this much niceness gets the threads a CPU before it. Ordinary users may not ask
/// for it, and go without.
const NICENESS: i32 = -15;

#[derive(Debug)]
pub(super) struct Core {
    backing: Backing,
    export: Export,
    buffers: Buffers,
    /// Wakes the pacer when something is due, or over.
    alarm: Alarm,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    disk: Disk,
    replies: HashMap<u64, Reply>,
    next_id: u64,
    /// What the alarm is set to; none when it is not set. While the pacer is awake it is the beginning of time, for it will look by
    /// itself.
    deadline: Option<Ns>,
    stats: Stats,
    stats_since: Ns,
    /// Since when requests are outstanding without a pause.
    busy_since: Option<Ns>,
    /// Where the last read or write ended.
    last_end: u64,
    over: bool,
}

#[derive(Debug)]
struct Reply {
    connection: Arc<Connection>,
    arrived: Ns,
    distance: Option<u64>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The file is being read or written.
    Working,
    /// The disk would be done since this time; the file is not.
    Due(Ns),
    /// The message waits for the disk.
    Ready(Message),
}

impl Core {
    pub(super) fn new(backing: Backing, export: Export, disk: Disk) -> io::Result<Core> {
        let held = Held {
            disk,
            replies: HashMap::new(),
            next_id: 0,
            deadline: None,
            stats: Stats::empty(),
            stats_since: 0,
            busy_since: None,
            last_end: 0,
            over: false,
        };
        Ok(Core { backing, export, buffers: Buffers::default(), alarm: Alarm::new()?, held: Mutex::new(held) })
    }

    pub(super) fn export(&self) -> Export {
        self.export
    }

    pub(super) fn backing(&self) -> &Backing {
        &self.backing
    }

    pub(super) fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    pub(super) fn reseed(&self, seed: u64) {
        let mut held = self.held();
        let now = self.now();
        held.disk.reseed(now, seed);
        held.stats = Stats::empty();
        held.stats_since = now;
        held.busy_since = held.busy_since.map(|_| now);
    }

    pub(super) fn stats(&self) -> Stats {
        let held = self.held();
        let now = self.now();
        let mut stats = held.stats.clone();
        stats.elapsed = Duration::from_nanos(now - held.stats_since);
        stats.busy += Duration::from_nanos(held.busy_since.map_or(0, |since| now - since));
        stats.trimmed()
    }

    pub(super) fn refuse(&self) {
        self.held().stats.refused += 1;
    }

    /// Hands a request to the disk as it comes in.
    pub(super) fn submit(&self, connection: &Arc<Connection>, operation: Operation, header: &Header) -> u64 {
        let bytes = if operation == Operation::Flush { 0 } else { u64::from(header.bytes) };
        let mut held = self.held();
        let now = self.now();
        let id = held.next_id;
        held.next_id += 1;
        let distance = match operation {
            Operation::Read | Operation::Write | Operation::Zero => {
                let distance = header.offset.abs_diff(held.last_end);
                held.last_end = header.offset + bytes;
                Some(distance)
            }
            Operation::Flush | Operation::Trim => None,
        };
        held.busy_since.get_or_insert(now);
        held.replies.insert(id, Reply { connection: Arc::clone(connection), arrived: now, distance, state: State::Working });
        let outstanding = held.replies.len() as u64;
        held.stats.arrived(operation, bytes, outstanding);
        held.disk.submit(now, Request { id, operation, offset: header.offset, bytes, fua: header.fua });
        if let Some(next) = held.disk.next_event_ns().filter(|next| held.deadline.is_none_or(|deadline| *next < deadline)) {
            held.deadline = Some(next);
            self.alarm.set(next);
        }
        id
    }

    /// The file has been read or written; the reply leaves when the disk is done, which may be now.
    pub(super) fn ready(&self, id: u64, message: Message, failed: bool) {
        let mut held = self.held();
        held.stats.errors += u64::from(failed);
        let Some(reply) = held.replies.get_mut(&id) else { return };
        match reply.state {
            State::Working | State::Ready(_) => reply.state = State::Ready(message),
            State::Due(at) => {
                let Some(reply) = held.replies.remove(&id) else { return };
                let now = self.now();
                held.leave(at, now);
                drop(held);
                reply.connection.reply(message, &self.buffers);
            }
        }
    }

    /// Lets replies go when the disk is done with them, until [`Core::end`].
    pub(super) fn pace(&self) {
        hurry();
        let mut held = self.held();
        let mut leaving = Vec::new();
        while !held.over {
            let now = self.now();
            while let Some(completion) = held.disk.take_completed(now) {
                leaving.extend(held.complete(completion.id, completion.at_ns, now));
            }
            if !leaving.is_empty() {
                // The lock is not held while sending: requests may come in. They need not set the alarm.
                held.deadline = Some(0);
                drop(held);
                for (connection, message) in leaving.drain(..) {
                    connection.reply(message, &self.buffers);
                }
                held = self.held();
                continue;
            }
            held.deadline = held.disk.next_event_ns();
            if let Some(deadline) = held.deadline {
                self.alarm.set(deadline);
            }
            drop(held);
            self.alarm.wait();
            held = self.held();
        }
    }

    /// Ends the pacer. Replies that are held back are dropped.
    pub(super) fn end(&self) {
        let mut held = self.held();
        held.over = true;
        held.replies.clear();
        self.alarm.set(0);
    }

    fn now(&self) -> Ns {
        self.alarm.now()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// The disk is done with a request: its reply, unless the file is not.
    fn complete(&mut self, id: u64, at: Ns, now: Ns) -> Option<(Arc<Connection>, Message)> {
        let reply = self.replies.get_mut(&id)?;
        let (distance, service) = (reply.distance, at - reply.arrived);
        let state = std::mem::replace(&mut reply.state, State::Due(at));
        self.stats.served(distance, service);
        match state {
            State::Working | State::Due(_) => None,
            State::Ready(message) => {
                let reply = self.replies.remove(&id)?;
                self.leave(at, now);
                Some((reply.connection, message))
            }
        }
    }

    fn leave(&mut self, at: Ns, now: Ns) {
        self.stats.left(Duration::from_nanos(now.saturating_sub(at)));
        if self.replies.is_empty() {
            let since = self.busy_since.take().unwrap_or(now);
            self.stats.busy += Duration::from_nanos(now.saturating_sub(since));
        }
    }
}

/// Asks the kernel to wake this thread on time, as far as it may.
pub(super) fn hurry() {
    // On Linux a nice value belongs to a thread. A refusal costs precision, not function; `Stats::late` shows how much.
    let _ordinary = rustix::process::setpriority_process(None, NICENESS);
}
