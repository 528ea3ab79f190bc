//! The kernel log since a mark: /dev/kmsg (Documentation/ABI/testing/dev-kmsg), which gives one record a read(2).

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::{Result, SysError};

/// Longest record: 8 KiB in the kernel (`PRINTKRB_RECORD_MAX` and `CONSOLE_EXT_LOG_MAX`), with room.
const RECORD_BYTES: usize = 16 << 10;

/// Records read at most at one collection; a kernel that logs more than this in one trial has said enough.
const MAX_RECORDS: usize = 10_000;

/// A place in the kernel log.
#[derive(Debug)]
pub struct KernelLog {
    file: File,
}

impl KernelLog {
    /// Marks the present end of the log.
    pub fn mark(dev: &Path) -> Result<Self> {
        let path = dev.join("kmsg");
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
        let mut file = opened.map_err(SysError::io(format!("open {}", path.display())))?;
        file.seek(SeekFrom::End(0)).map_err(SysError::io("go to the end of the kernel log"))?;
        Ok(KernelLog { file })
    }

    /// What was logged since the mark, a line a record: `[  123.456789] text`.
    pub fn since(&mut self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        let mut record = vec![0; RECORD_BYTES];
        while lines.len() < MAX_RECORDS {
            match self.file.read(&mut record) {
                Ok(0) => break,
                Ok(length) => lines.extend(line(&String::from_utf8_lossy(&record[..length]))),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // EPIPE: records were overwritten before they could be read; the next read goes on behind the gap.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => lines.push("[... records lost ...]".to_owned()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(SysError::io("read the kernel log")(error)),
            }
        }
        Ok(lines)
    }
}

/// `6,1234,5140900,-;text\n KEY=value\n` with the time in microseconds.
fn line(record: &str) -> Option<String> {
    let (prefix, text) = record.split_once(';')?;
    let micros: u64 = prefix.split(',').nth(2)?.parse().ok()?;
    let text = text.lines().next()?;
    Some(format!("[{:5}.{:06}] {text}", micros / 1_000_000, micros % 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_as_dmesg_prints_them() {
        let got = line("3,1234,5140900,-;EXT4-fs error (device loop3): bad\n SUBSYSTEM=block\n").unwrap();
        assert_eq!(got, "[    5.140900] EXT4-fs error (device loop3): bad");
        assert_eq!(line("garbage"), None);
    }
}
