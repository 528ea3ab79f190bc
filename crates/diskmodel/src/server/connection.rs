//! One client: its requests in, its replies out.
//!
//! Replies are sent by whoever has them ready, without waiting. What the socket does not take at once goes to a thread of the
//! connection, so that a client that does not read holds nobody up but itself.

use std::collections::VecDeque;
use std::io::{self, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::net::{SendFlags, send, sockopt};

use super::buffers::{Buffers, Message};
use super::core::Core;
use super::handshake::{self, Negotiated};
use super::protocol::{Command, ErrorCode, Header, MAX_PAYLOAD, REPLY_BYTES, REQUEST_BYTES};
use crate::disk::Operation;

/// Negotiation is a matter of microseconds on one machine; who takes this long for a word is not a client.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// Requests of one client that may be outstanding: four times the deepest queue of a model.
const MAX_OUTSTANDING: usize = 4096;

/// Memory that replies of one client may take: two requests of the largest size, or 128 of 512 KiB.
const MAX_OUTSTANDING_BYTES: usize = 2 * MAX_PAYLOAD as usize + (1 << 20);

/// Requests are read from the socket in pieces of this size: many small ones with one system call.
const READ_BUFFER: usize = 64 << 10;

/// Replies that wait for the client in the socket, in bytes, as far as the kernel allows (`net.core.wmem_max`): what fits is sent
/// without another thread.
const SEND_BUFFER: usize = 4 << 20;

#[derive(Debug)]
pub(super) struct Connection {
    socket: UnixStream,
    outbox: Mutex<Outbox>,
    /// Room came, something is to be written, or it is over.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Outbox {
    /// What the socket did not take, oldest first; the first one may be begun.
    unsent: VecDeque<Unsent>,
    outstanding: usize,
    outstanding_bytes: usize,
    /// The reading thread waits for replies to leave.
    awaits_room: bool,
    closed: bool,
}

#[derive(Debug)]
struct Unsent {
    message: Message,
    sent: usize,
}

impl Connection {
    pub(super) fn new(socket: UnixStream) -> Connection {
        // A refusal costs a little time.
        let _default = sockopt::set_socket_send_buffer_size(&socket, SEND_BUFFER);
        Connection { socket, outbox: Mutex::default(), changed: Condvar::new() }
    }

    /// Ends both directions; threads that wait on this connection come back.
    pub(super) fn close(&self) {
        self.outbox().closed = true;
        // A socket that the client has closed cannot be shut down, and need not.
        let _closed = self.socket.shutdown(Shutdown::Both);
        self.changed.notify_all();
    }

    /// Sends a reply, or leaves it to the writing thread.
    pub(super) fn reply(&self, message: Message, buffers: &Buffers) {
        let mut outbox = self.outbox();
        if outbox.closed {
            return;
        }
        let mut sent = 0;
        while outbox.unsent.is_empty() && sent < message.bytes().len() {
            match send(&self.socket, &message.bytes()[sent..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(bytes) => sent += bytes,
                Err(error) if error == rustix::io::Errno::INTR => {}
                // Full: the writing thread waits for room. Gone: it will find that out.
                Err(_) => break,
            }
        }
        if sent == message.bytes().len() {
            let was_awaited = outbox.finish(message.bytes().len());
            drop(outbox);
            buffers.give_back(message);
            if was_awaited {
                self.changed.notify_all();
            }
        } else {
            outbox.unsent.push_back(Unsent { message, sent });
            drop(outbox);
            self.changed.notify_all();
        }
    }

    /// Writes what could not be sent at once, until the connection is closed.
    pub(super) fn write(&self, buffers: &Buffers) {
        let mut outbox = self.outbox();
        loop {
            if outbox.closed {
                return;
            }
            // It stays at the front, so that nobody sends past it.
            let Some(unsent) = outbox.unsent.front_mut() else {
                outbox = self.changed.wait(outbox).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let message = std::mem::take(&mut unsent.message);
            let sent = unsent.sent;
            drop(outbox);
            if (&self.socket).write_all(&message.bytes()[sent..]).is_err() {
                self.close();
                return;
            }
            outbox = self.outbox();
            outbox.unsent.pop_front();
            outbox.finish(message.bytes().len());
            buffers.give_back(message);
            self.changed.notify_all();
        }
    }

    /// Negotiates, and takes requests until the client leaves or breaks the protocol.
    pub(super) fn serve(self: &Arc<Connection>, core: &Core) -> io::Result<()> {
        self.socket.set_read_timeout(Some(HANDSHAKE_LIMIT))?;
        self.socket.set_write_timeout(Some(HANDSHAKE_LIMIT))?;
        if handshake::negotiate(&mut &self.socket, core.export())? == Negotiated::Over {
            return Ok(());
        }
        self.socket.set_read_timeout(None)?;
        self.socket.set_write_timeout(None)?;
        let mut input = BufReader::with_capacity(READ_BUFFER, &self.socket);
        let mut payload = Vec::new();
        loop {
            let mut raw = [0; REQUEST_BYTES];
            input.read_exact(&mut raw)?;
            let Some(header) = Header::decode(&raw) else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "no request where one was due"));
            };
            match header.command {
                Command::Disconnect => {
                    self.wait_for_replies();
                    return Ok(());
                }
                Command::Write if header.bytes > MAX_PAYLOAD => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "a write that is too long"));
                }
                Command::Write => {
                    payload.resize(header.bytes as usize, 0);
                    input.read_exact(&mut payload)?;
                }
                Command::Read | Command::Flush | Command::Trim | Command::WriteZeroes | Command::Other(_) => payload.clear(),
            }
            let answer_bytes = if header.command == Command::Read { header.bytes.min(MAX_PAYLOAD) as usize } else { 0 };
            if !self.begin(REPLY_BYTES + answer_bytes) {
                return Ok(());
            }
            self.take(core, &header, &payload);
        }
    }

    fn take(self: &Arc<Connection>, core: &Core, header: &Header, payload: &[u8]) {
        let Some(operation) = checked(core, header) else {
            core.refuse();
            let mut message = core.buffers().message(0);
            message.set_head(header.cookie, Some(refusal(header)));
            // Room was asked for the whole answer.
            self.give_back(header);
            self.reply(message, core.buffers());
            return;
        };
        let id = core.submit(self, operation, header);
        let (offset, bytes) = (header.offset, u64::from(header.bytes));
        let backing = core.backing();
        let mut message = core.buffers().message(if operation == Operation::Read { header.bytes as usize } else { 0 });
        let done = match operation {
            Operation::Read => backing.read(message.data(), offset),
            Operation::Write => backing.write(payload, offset),
            Operation::Flush => Ok(()),
            Operation::Trim => backing.trim(offset, bytes),
            Operation::Zero => backing.zero(offset, bytes, header.no_hole),
        };
        if done.is_err() {
            self.give_back(header);
            message.drop_data();
        }
        message.set_head(header.cookie, done.err());
        core.ready(id, message, done.is_err());
    }

    /// Waits for room for one more reply; false when the connection is over.
    fn begin(&self, bytes: usize) -> bool {
        let mut outbox = self.outbox();
        while !outbox.closed
            && outbox.outstanding > 0
            && (outbox.outstanding >= MAX_OUTSTANDING || outbox.outstanding_bytes + bytes > MAX_OUTSTANDING_BYTES)
        {
            outbox.awaits_room = true;
            outbox = self.changed.wait(outbox).unwrap_or_else(PoisonError::into_inner);
        }
        outbox.awaits_room = false;
        outbox.outstanding += 1;
        outbox.outstanding_bytes += bytes;
        !outbox.closed
    }

    /// An error has no data: the room that was taken for them is free again.
    fn give_back(&self, header: &Header) {
        if header.command == Command::Read {
            self.outbox().outstanding_bytes -= header.bytes.min(MAX_PAYLOAD) as usize;
        }
    }

    fn wait_for_replies(&self) {
        let mut outbox = self.outbox();
        while outbox.outstanding > 0 && !outbox.closed {
            outbox.awaits_room = true;
            outbox = self.changed.wait(outbox).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outbox {
    /// A reply has left; says whether somebody waits for that.
    fn finish(&mut self, bytes: usize) -> bool {
        self.outstanding -= 1;
        self.outstanding_bytes -= bytes;
        self.awaits_room
    }
}

/// What a request asks of the disk; none when it cannot be served.
fn checked(core: &Core, header: &Header) -> Option<Operation> {
    let bytes = u64::from(header.bytes);
    let operation = match header.command {
        Command::Read if header.bytes <= MAX_PAYLOAD => Operation::Read,
        Command::Write => Operation::Write,
        Command::Flush => return Some(Operation::Flush),
        Command::Trim => Operation::Trim,
        Command::WriteZeroes => Operation::Zero,
        Command::Read | Command::Disconnect | Command::Other(_) => return None,
    };
    core.backing().contains(header.offset, bytes).then_some(operation)
}

/// The protocol wants "no space" for a write beyond the end, "invalid" for all else.
fn refusal(header: &Header) -> ErrorCode {
    match header.command {
        Command::Write | Command::WriteZeroes => ErrorCode::NoSpace,
        Command::Read | Command::Flush | Command::Trim | Command::Disconnect | Command::Other(_) => ErrorCode::Invalid,
    }
}
