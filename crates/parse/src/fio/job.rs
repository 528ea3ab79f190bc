//! One job of a fio report, in base units, whatever the version printed.
//! Owns the differences between versions; knows no other job.
//!
//! From `stat.c` of the fio releases: before 2.21 `io_bytes` counts KiB (no `io_kbytes` beside it);
//! before 2.1.14 there are whole IOPS and no `total_ios`; before 2.99 latencies are microseconds in
//! `clat`, since then nanoseconds in `clat_ns`. `runtime` is milliseconds in all.

use serde_json::Value;

use super::latency::{KINDS, Latency};

/// Kinds of I/O that a job counts apart; `Mixed` is all of them under `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
    Trim,
    Mixed,
}

impl Direction {
    pub(super) const ALL: [Direction; 4] = [Direction::Read, Direction::Write, Direction::Trim, Direction::Mixed];

    pub(super) fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
            Direction::Mixed => "mixed",
        }
    }
}

pub(super) struct Job {
    /// Line of the name in the output.
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) group: u64,
    /// An error number, 0 for none.
    pub(super) error: f64,
    /// Seconds that fio still expected, in a report before the end.
    pub(super) unfinished_s: Option<u64>,
    transfers: [Option<Transfer>; 4],
    pub(super) sync: Option<Latency>,
    pub(super) cpu: Option<Cpu>,
}

/// What moved in one direction.
pub(super) struct Transfer {
    pub(super) bytes: f64,
    pub(super) operations: f64,
    /// Whether `operations` was printed; otherwise it is rate times time.
    pub(super) is_counted: bool,
    pub(super) runtime_s: f64,
    /// In the order of [`KINDS`].
    pub(super) latencies: [Option<Latency>; 3],
}

pub(super) struct Cpu {
    pub(super) user_pct: f64,
    pub(super) system_pct: f64,
    pub(super) context_switches: f64,
    /// Run time that the shares refer to; 1 where the version does not print it.
    pub(super) weight: f64,
}

/// fio's estimate when it has none (`INT_MAX`).
const NO_ETA: u64 = i32::MAX as u64;

impl Job {
    /// Reads what is there; in a torn report only the directions that are whole.
    pub(super) fn read(job: &Value, line: usize, is_torn: bool) -> Job {
        let transfer = |direction: Direction| {
            let section = job.get(direction.name())?;
            // The last member of a direction in every version: without it the others may be cut.
            let is_whole = !is_torn || section.get("bw_dev").is_some();
            is_whole.then(|| Transfer::read(section))?
        };
        let eta_s = job["eta"].as_u64().filter(|&eta_s| eta_s > 0 && eta_s < NO_ETA);
        Job {
            line,
            name: job["jobname"].as_str().unwrap_or("unnamed").into(),
            group: job["groupid"].as_u64().unwrap_or(0),
            error: number(job, "error").unwrap_or(0.0),
            unfinished_s: eta_s,
            transfers: Direction::ALL.map(transfer),
            sync: job.get("sync").and_then(read_sync),
            cpu: Cpu::read(job),
        }
    }

    pub(super) fn transfer(&self, direction: Direction) -> Option<&Transfer> {
        self.transfers().find(|(of, _)| *of == direction).map(|(_, transfer)| transfer)
    }

    pub(super) fn transfers(&self) -> impl Iterator<Item = (Direction, &Transfer)> {
        let pairs = Direction::ALL.into_iter().zip(&self.transfers);
        pairs.filter_map(|(direction, transfer)| Some((direction, transfer.as_ref()?)))
    }

    pub(super) fn moved(&self, direction: Direction) -> bool {
        self.transfer(direction).is_some_and(|transfer| transfer.operations > 0.0)
    }
}

impl Transfer {
    fn read(section: &Value) -> Option<Transfer> {
        let runtime_s = number(section, "runtime")? / 1e3;
        let unit = if section.get("io_kbytes").is_some() { 1.0 } else { 1024.0 };
        let counted = number(section, "total_ios");
        let operations = counted.or_else(|| Some(number(section, "iops")? * runtime_s))?;
        Some(Transfer {
            bytes: number(section, "io_bytes")? * unit,
            operations,
            is_counted: counted.is_some(),
            runtime_s,
            latencies: KINDS.map(|kind| Latency::read(section, kind, operations)),
        })
    }
}

impl Cpu {
    fn read(job: &Value) -> Option<Cpu> {
        Some(Cpu {
            user_pct: number(job, "usr_cpu")?,
            system_pct: number(job, "sys_cpu")?,
            context_switches: number(job, "ctx")?,
            weight: number(job, "job_runtime").unwrap_or(1.0),
        })
    }
}

fn read_sync(section: &Value) -> Option<Latency> {
    Latency::read(section, "lat", number(section, "total_ios")?)
}

/// A member that can be a measurement.
pub(super) fn number(parent: &Value, key: &str) -> Option<f64> {
    parent.get(key)?.as_f64().filter(|number| *number >= 0.0)
}
