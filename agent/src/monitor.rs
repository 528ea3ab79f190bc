//! What the processors and the disks did while the tasks ran: one record a second of /proc/stat and /proc/diskstats
//! (Documentation/filesystems/proc.rst, Documentation/admin-guide/iostats.rst), the first at the start of the window and the last at its end.
//!
//! Raw lines under a line `@ MILLISECONDS` of the monotonic clock; `blklab-parse` reads them.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use blklab_wire::agent::MAX_OUTPUT_BYTES;

use crate::clock;

/// Between two records.
const PERIOD: Duration = Duration::from_secs(1);

/// A running sampler.
#[derive(Debug)]
pub struct Monitor {
    stop: Sender<()>,
    thread: JoinHandle<Recording>,
}

/// What a sampler wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// Time of the first record, milliseconds of the monotonic clock.
    pub start_ms: u64,
    /// Time of the last.
    pub end_ms: u64,
    /// All records.
    pub text: String,
    /// Bytes that did not fit; the last record is always there.
    pub truncated_bytes: u64,
}

impl Monitor {
    /// Writes the first record and starts the sampler.
    pub fn start(proc: &Path, disks: &[String]) -> Self {
        let sampler = Sampler { proc: proc.to_owned(), disks: disks.to_vec() };
        let first = sampler.record();
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut text = first.text;
            let mut truncated_bytes = 0;
            let mut ticks = 1;
            loop {
                // Ticks are counted from the start, so that a late record does not shift all that follow.
                let next = Duration::from_millis(first.at_ms) + PERIOD * ticks;
                let wait = next.saturating_sub(clock::monotonic());
                let is_over = stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
                let record = sampler.record();
                if is_over || text.len() + 2 * record.text.len() <= MAX_OUTPUT_BYTES {
                    text.push_str(&record.text);
                } else {
                    truncated_bytes += record.text.len() as u64;
                }
                if is_over {
                    return Recording { start_ms: first.at_ms, end_ms: record.at_ms, text, truncated_bytes };
                }
                ticks += 1;
            }
        });
        Monitor { stop, thread }
    }

    /// Writes the last record and gives everything.
    pub fn finish(self) -> Recording {
        let _ = self.stop.send(());
        self.thread.join().expect("the sampler does nothing that panics")
    }
}

struct Sampler {
    proc: PathBuf,
    disks: Vec<String>,
}

struct Record {
    at_ms: u64,
    text: String,
}

impl Sampler {
    fn record(&self) -> Record {
        let at_ms = clock::monotonic_ms();
        let mut text = format!("@ {at_ms}\n");
        let stat = std::fs::read_to_string(self.proc.join("stat")).unwrap_or_default();
        let diskstats = std::fs::read_to_string(self.proc.join("diskstats")).unwrap_or_default();
        let is_ours = |line: &&str| line.split_whitespace().nth(2).is_some_and(|name| self.disks.iter().any(|disk| disk == name));
        for line in stat.lines().take(1).chain(diskstats.lines().filter(is_ours)) {
            let _ = writeln!(text, "{line}");
        }
        Record { at_ms, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_last_record_bound_the_window() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("stat"), "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n").unwrap();
        std::fs::write(root.path().join("diskstats"), "   7       0 loop0 1 2\n   7       1 loop1 3 4\n 254       0 vda 5 6\n").unwrap();
        let recording = Monitor::start(root.path(), &["loop1".into(), "vda".into()]).finish();
        let body = "cpu  1 2 3 4 5 6 7 8 0 0\n   7       1 loop1 3 4\n 254       0 vda 5 6\n";
        assert_eq!(recording.text, format!("@ {}\n{body}@ {}\n{body}", recording.start_ms, recording.end_ms));
    }
}
