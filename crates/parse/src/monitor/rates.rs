//! From counters to rates: the definitions of iostat(1) over the fields of iostats.rst.
//! Owns the arithmetic of one stretch of time, wrapped counters included; knows no records.

use serde::{Deserialize, Serialize};

/// Sectors of /proc/diskstats: "standard UNIX 512-byte sectors", Documentation/block/stat.rst.
const SECTOR_BYTES: f64 = 512.0;

/// Where the CPUs spent a stretch of time, in per cent of the time of all CPUs; they add up to 100.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuShares {
    /// User mode, niced processes included.
    pub user_pct: f64,
    /// Kernel mode, interrupts and soft interrupts included (iostat's `%system`).
    pub system_pct: f64,
    /// Idle with I/O outstanding.
    pub iowait_pct: f64,
    /// Idle without.
    pub idle_pct: f64,
    /// Taken by the hypervisor.
    pub steal_pct: f64,
}

/// What a disk did in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiskRates {
    /// Reads.
    pub read: OperationRates,
    /// Writes.
    pub write: OperationRates,
    /// Discards.
    pub discard: OperationRates,
    /// Flush requests completed per second (`f/s`); not part of the writes.
    pub flushes_per_second: f64,
    /// Mean seconds of a flush request (`f_await`).
    pub flush_mean_s: Option<f64>,
    /// Mean seconds from queue to completion over reads, writes and discards (`await`).
    pub wait_mean_s: Option<f64>,
    /// Mean number of requests in the queue or in service (`aqu-sz`).
    pub queue_mean: f64,
    /// Share of the time with at least one request in progress (`%util`), in per cent. It says little
    /// about disks that serve requests in parallel, and may pass 100 by the grain of the clock.
    pub util_pct: f64,
}

/// What a disk did of one kind of request. Means are absent when no request completed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationRates {
    /// Requests completed per second, after merging (`r/s`, `w/s`).
    pub iops: f64,
    /// Bytes per second (`rkB/s`, `wkB/s`).
    pub bytes_per_second: f64,
    /// Requests per second that were merged into others (`rrqm/s`, `wrqm/s`).
    pub merges_per_second: f64,
    /// Mean seconds from queue to completion (`r_await`, `w_await`).
    pub wait_mean_s: Option<f64>,
    /// Mean size of a request in bytes (`rareq-sz`, `wareq-sz`).
    pub request_mean_bytes: Option<f64>,
}

impl CpuShares {
    /// The shares of counters that grew by `grown`; `None` when no time passed.
    pub(super) fn of(grown: &[f64; 8]) -> Option<CpuShares> {
        let [user, nice, system, idle, iowait, irq, softirq, steal] = grown;
        let all: f64 = grown.iter().sum();
        let pct = |part: f64| 100.0 * part / all;
        (all > 0.0).then(|| CpuShares {
            user_pct: pct(user + nice),
            system_pct: pct(system + irq + softirq),
            iowait_pct: pct(*iowait),
            idle_pct: pct(*idle),
            steal_pct: pct(*steal),
        })
    }
}

impl DiskRates {
    /// The rates of counters that grew by `grown` within `ms` milliseconds, which are more than none.
    pub(super) fn of(grown: &[f64; 17], ms: f64) -> DiskRates {
        // Numbered from 1, as in iostats.rst.
        let field = |number: usize| grown[number - 1];
        let kind = |first: usize| OperationRates::of([0, 1, 2, 3].map(|next| field(first + next)), ms);
        let [read, write, discard] = [1, 5, 12];
        let served = [read, write, discard];
        let completed: f64 = served.iter().map(|first| field(*first)).sum();
        let waited_ms: f64 = served.iter().map(|first| field(first + 3)).sum();
        DiskRates {
            read: kind(read),
            write: kind(write),
            discard: kind(discard),
            flushes_per_second: 1e3 * field(16) / ms,
            flush_mean_s: mean(field(17) / 1e3, field(16)),
            wait_mean_s: mean(waited_ms / 1e3, completed),
            queue_mean: field(11) / ms,
            util_pct: 100.0 * field(10) / ms,
        }
    }
}

impl OperationRates {
    fn of([completed, merged, sectors, waited_ms]: [f64; 4], ms: f64) -> OperationRates {
        let seconds = ms / 1e3;
        OperationRates {
            iops: completed / seconds,
            bytes_per_second: sectors * SECTOR_BYTES / seconds,
            merges_per_second: merged / seconds,
            wait_mean_s: mean(waited_ms / 1e3, completed),
            request_mean_bytes: mean(sectors * SECTOR_BYTES, completed),
        }
    }
}

fn mean(sum: f64, count: f64) -> Option<f64> {
    (count > 0.0).then(|| sum / count)
}

/// How a counter came from one value to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    By(u64),
    /// Past the end of its type and on from zero.
    Wrapped(u64),
    Backwards,
}

/// Counters are 32 or 64 bits wide and may wrap (iostats.rst); the milliseconds are 32 bits on every
/// machine, so a busy disk wraps `weighted_ms` within days. More than half of the range in one step is
/// no wrap but a counter that fell: the disk was detached and came again.
pub(super) fn growth(before: u64, after: u64) -> Growth {
    if let Some(grown) = after.checked_sub(before) {
        return Growth::By(grown);
    }
    let (grown, half) = if before <= u64::from(u32::MAX) {
        (after.wrapping_sub(before) & u64::from(u32::MAX), 1 << 31)
    } else {
        (after.wrapping_sub(before), 1 << 63)
    };
    if grown < half { Growth::Wrapped(grown) } else { Growth::Backwards }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_grow_wrap_and_fall() {
        const U32: u64 = u32::MAX as u64;
        assert_eq!(growth(5, 5), Growth::By(0));
        assert_eq!(growth(5, 1 << 40), Growth::By((1 << 40) - 5));
        assert_eq!(growth(U32 - 9, 20), Growth::Wrapped(30));
        assert_eq!(growth(u64::MAX - 9, 20), Growth::Wrapped(30));
        assert_eq!(growth(5000, 10), Growth::Backwards);
        assert_eq!(growth(U32 + 5000, 10), Growth::Backwards);
    }

    #[test]
    fn shares_of_the_cpus_add_up() {
        let shares = CpuShares::of(&[10.0, 5.0, 20.0, 40.0, 15.0, 1.0, 4.0, 5.0]).unwrap();
        assert_eq!((shares.user_pct, shares.system_pct), (15.0, 25.0));
        assert_eq!((shares.iowait_pct, shares.idle_pct, shares.steal_pct), (15.0, 40.0, 5.0));
        assert_eq!(CpuShares::of(&[0.0; 8]), None);
    }

    #[test]
    fn a_disk_without_requests_has_no_means() {
        let rates = DiskRates::of(&[0.0; 17], 1000.0);
        assert_eq!(rates.read.iops, 0.0);
        assert_eq!((rates.read.wait_mean_s, rates.wait_mean_s), (None, None));
    }
}
