//! Memory for replies, used again: fresh memory costs a page fault for every 4 KiB, which is more than reading them.

use std::sync::{Mutex, PoisonError};

use super::protocol::{REPLY_BYTES, reply_header};

/// Buffers kept, and the largest of them, in bytes: 64 MiB in all, of which only what was once used is there.
const MOST: usize = 64;
const LARGEST: usize = 1 << 20;

/// A reply: its head and, of a read, its data.
#[derive(Debug, Default)]
pub(super) struct Message {
    /// At least as long as the message.
    buffer: Vec<u8>,
    bytes: usize,
}

#[derive(Debug, Default)]
pub(super) struct Buffers(Mutex<Vec<Vec<u8>>>);

impl Buffers {
    /// A message with room for so many bytes of data, which are not set.
    pub(super) fn message(&self, data_bytes: usize) -> Message {
        let bytes = REPLY_BYTES + data_bytes;
        let mut buffer = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        if buffer.len() < bytes {
            buffer.resize(bytes, 0);
        }
        Message { buffer, bytes }
    }

    pub(super) fn give_back(&self, message: Message) {
        let mut buffers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buffers.len() < MOST && message.buffer.capacity() <= LARGEST + REPLY_BYTES {
            buffers.push(message.buffer);
        }
    }
}

impl Message {
    pub(super) fn set_head(&mut self, cookie: u64, error: Option<super::protocol::ErrorCode>) {
        self.buffer[..REPLY_BYTES].copy_from_slice(&reply_header(cookie, error));
    }

    pub(super) fn data(&mut self) -> &mut [u8] {
        &mut self.buffer[REPLY_BYTES..self.bytes]
    }

    /// An error has no data.
    pub(super) fn drop_data(&mut self) {
        self.bytes = REPLY_BYTES;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_and_bounded() {
        let buffers = Buffers::default();
        let mut message = buffers.message(4096);
        message.data().fill(7);
        let at = message.bytes().as_ptr();
        buffers.give_back(message);
        let mut message = buffers.message(512);
        assert_eq!((message.bytes().as_ptr(), message.bytes().len(), message.data().len()), (at, REPLY_BYTES + 512, 512));
        message.drop_data();
        assert_eq!(message.bytes().len(), REPLY_BYTES);
        buffers.give_back(message);
        assert_eq!(buffers.message(8192).data().len(), 8192);
        (0..2 * MOST).map(|_| buffers.message(1)).collect::<Vec<_>>().into_iter().for_each(|message| buffers.give_back(message));
        buffers.give_back(buffers.message(2 * LARGEST));
        let kept = buffers.0.lock().unwrap();
        assert!(kept.len() <= MOST && kept.iter().all(|buffer| buffer.len() <= LARGEST + REPLY_BYTES));
    }
}
