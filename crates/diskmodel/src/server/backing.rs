//! The file behind a disk. What is written to it is as lasting as the page cache of this machine: a disk of the lab may be lost with
//! the machine, and a real flush would add the times of a disk that nobody asked about.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::protocol::ErrorCode;

/// Zeroes are written in pieces of this many bytes where the file system cannot make them.
const ZERO_PIECE: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Backing {
    file: File,
    bytes: u64,
}

impl Backing {
    /// A file that is shorter becomes as long as the disk, without taking space.
    pub(super) fn new(file: File, bytes: u64) -> io::Result<Backing> {
        let metadata = file.metadata()?;
        if metadata.is_file() && metadata.len() < bytes {
            file.set_len(bytes)?;
        }
        Ok(Backing { file, bytes })
    }

    pub(super) fn contains(&self, offset: u64, bytes: u64) -> bool {
        offset.checked_add(bytes).is_some_and(|end| end <= self.bytes)
    }

    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> Result<(), ErrorCode> {
        self.file.read_exact_at(buffer, offset).map_err(code)
    }

    pub(super) fn write(&self, data: &[u8], offset: u64) -> Result<(), ErrorCode> {
        self.file.write_all_at(data, offset).map_err(code)
    }

    /// Gives space back; where that is impossible nothing happens, as the protocol allows.
    pub(super) fn trim(&self, offset: u64, bytes: u64) -> Result<(), ErrorCode> {
        match fallocate(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, bytes) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
            Err(error) => Err(code(error.into())),
        }
    }

    pub(super) fn zero(&self, offset: u64, bytes: u64, keeps_space: bool) -> Result<(), ErrorCode> {
        if bytes == 0 {
            return Ok(());
        }
        let mode = if keeps_space { FallocateFlags::ZERO_RANGE } else { FallocateFlags::PUNCH_HOLE };
        match fallocate(&self.file, mode | FallocateFlags::KEEP_SIZE, offset, bytes) {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => self.write_zeroes(offset, bytes),
            Err(error) => Err(code(error.into())),
        }
    }

    fn write_zeroes(&self, mut offset: u64, mut bytes: u64) -> Result<(), ErrorCode> {
        let zeroes = vec![0; ZERO_PIECE];
        while bytes > 0 {
            let piece = bytes.min(ZERO_PIECE as u64);
            self.write(&zeroes[..piece as usize], offset)?;
            offset += piece;
            bytes -= piece;
        }
        Ok(())
    }
}

fn code(error: io::Error) -> ErrorCode {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => ErrorCode::NoSpace,
        Some(_) | None => ErrorCode::Io,
    }
}
