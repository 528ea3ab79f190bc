//! The agent's two clocks: the wall clock for reports, the monotonic clock for everything that is measured. Nobody else reads a clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use blklab_model::time::TimestampMs;
use rustix::time::{ClockId, clock_gettime};

/// The wall clock.
pub fn now() -> TimestampMs {
    #[expect(clippy::disallowed_methods, reason = "this module is the clock")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    TimestampMs(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Time since boot without suspends (CLOCK_MONOTONIC, clock_gettime(2)); the same for all processes of the host.
pub fn monotonic() -> Duration {
    let t = clock_gettime(ClockId::Monotonic);
    Duration::new(u64::try_from(t.tv_sec).unwrap_or(0), u32::try_from(t.tv_nsec).unwrap_or(0))
}

/// [`monotonic`] in milliseconds, as monitor records and windows carry it.
pub fn monotonic_ms() -> u64 {
    millis(monotonic())
}

/// Whole milliseconds of a duration.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
