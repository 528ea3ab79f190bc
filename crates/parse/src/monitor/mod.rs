//! What the host did while a task ran: `/proc/stat` and `/proc/diskstats`, recorded by the agent.
//! Owns the record format and its reading; `window` cuts and summarises, `rates` holds the
//! definitions. Knows no tasks and no clock: times are the recorder's monotonic milliseconds.
//!
//! A record is a line `@ MS`, then the first line of `/proc/stat`, then the `/proc/diskstats` lines
//! of the disks involved, all as the kernel prints them:
//!
//! ```text
//! @ 1738016
//! cpu  39540 44197 73497 184775 3794 0 234 532 0 0
//!  254       0 vda 168352 46432 22849914 231235 38768 61409 27310374 184406 0 40840 421004 9719 56 22169656 5220 2252 141
//! ```
//!
//! The recorder writes one record a second and one exactly at each edge of the measured window.

mod rates;
mod window;

use std::collections::BTreeMap;

use crate::{Warning, parsed::warn, text};

pub use rates::{CpuShares, DiskRates, OperationRates};
pub use window::{MonitorInterval, MonitorSummary, summarise};

/// The counters of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorRecord {
    /// Line of the `@` in the text, counted from 1.
    pub line: usize,
    /// The recorder's monotonic clock, in milliseconds; rises from record to record.
    pub ms: u64,
    /// CPU time of the host; absent when the line is missing or torn.
    pub cpu: Option<CpuTicks>,
    /// By kernel name (`sda`, `nvme0n1`).
    pub disks: BTreeMap<String, DiskCounters>,
}

/// CPU time of all CPUs since boot in units of `USER_HZ`: user, nice, system, idle, iowait, irq,
/// softirq, steal, as in proc(5), `/proc/stat`, line `cpu`. The guest columns that follow are left
/// out: they are already part of user and nice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks(pub [u64; 8]);

/// The counters of one disk since boot: fields 1 to 17 of Documentation/admin-guide/iostats.rst, field
/// N at index N - 1. Zero where the kernel is too old: 12 to 15 before 4.18, 16 and 17 before 5.5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters(pub [u64; 17]);

/// Reads the records that an agent wrote. Total: what cannot be read is left out with a warning.
///
/// A last line without line end is left out too, since a number in it may be cut.
pub fn parse_monitor(text: &[u8]) -> (Vec<MonitorRecord>, Vec<Warning>) {
    let text = String::from_utf8_lossy(text);
    let mut reader = Reader::default();
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    for (line, content) in text::lines(whole) {
        reader.read(line, content);
    }
    if whole.len() < text.len() {
        let line = text::line_at(&text, text.len());
        warn(&mut reader.warnings, line, "the recording breaks off in this line");
    }
    (reader.records, reader.warnings)
}

#[derive(Default)]
struct Reader {
    records: Vec<MonitorRecord>,
    /// Lines below a record that was left out have nowhere to go.
    is_skipping: bool,
    warnings: Vec<Warning>,
}

impl Reader {
    fn read(&mut self, line: usize, content: &str) {
        let mut words = content.split_whitespace();
        match words.next() {
            None => {}
            Some("@") => self.begin(line, words.next()),
            Some(_) if self.is_skipping => {}
            Some(first) => {
                let Some(record) = self.records.last_mut() else {
                    warn(&mut self.warnings, line, "expected a line `@ MILLISECONDS` before any counters");
                    self.is_skipping = true;
                    return;
                };
                let outcome = if first == "cpu" {
                    read_cpu(words).map(|ticks| record.cpu = Some(ticks))
                } else {
                    read_disk(content).map(|(name, counters)| {
                        record.disks.insert(name.into(), counters);
                    })
                };
                if let Err(expected) = outcome {
                    let message = format!("expected {expected}, met `{}`", text::clip(content.trim()));
                    warn(&mut self.warnings, line, message);
                }
            }
        }
    }

    fn begin(&mut self, line: usize, ms: Option<&str>) {
        let previous = self.records.last().map(|record| record.ms);
        let ms = ms.and_then(|word| word.parse::<u64>().ok());
        self.is_skipping = true;
        match (ms, previous) {
            (None, _) => warn(&mut self.warnings, line, "expected a line `@ MILLISECONDS`: record left out"),
            (Some(ms), Some(previous)) if ms < previous => {
                let message = format!("the clock goes back from {previous} to {ms} ms: record left out");
                warn(&mut self.warnings, line, message);
            }
            (Some(ms), _) => {
                self.is_skipping = false;
                self.records.push(MonitorRecord { line, ms, cpu: None, disks: BTreeMap::new() });
            }
        }
    }
}

/// Linux before 2.6 prints the first four columns only.
fn read_cpu<'a>(words: impl Iterator<Item = &'a str>) -> Result<CpuTicks, &'static str> {
    numbers(words, 4).map(CpuTicks).ok_or("`cpu` and at least 4 numbers as in /proc/stat")
}

fn read_disk(content: &str) -> Result<(&str, DiskCounters), &'static str> {
    const EXPECTED: &str = "major, minor, name and at least 11 numbers as in /proc/diskstats";
    let mut words = content.split_whitespace();
    let is_device = words.by_ref().take(2).all(|word| word.parse::<u32>().is_ok());
    let name = words.next().filter(|_| is_device).ok_or(EXPECTED)?;
    let counters = numbers(words, 11).map(DiskCounters).ok_or(EXPECTED)?;
    Ok((name, counters))
}

/// The first `N` numbers; those that an old kernel does not print are 0. `None` when fewer than
/// `at_least` are there or a word is no number.
fn numbers<'a, const N: usize>(words: impl Iterator<Item = &'a str>, at_least: usize) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    let mut count = 0;
    for (slot, word) in numbers.iter_mut().zip(words) {
        *slot = word.parse().ok()?;
        count += 1;
    }
    (count >= at_least).then_some(numbers)
}

#[cfg(test)]
mod tests;
