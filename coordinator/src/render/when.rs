//! Points in time as people and machines read them. Always UTC, always with the zone.

use std::fmt;

use blklab_model::time::{SpanMs, TimestampMs};

/// `2026-05-01 12:03:09 UTC`.
pub(crate) fn utc(at: TimestampMs) -> String {
    formatted(at, "%Y-%m-%d %H:%M:%S UTC")
}

/// `2026-05-01T12:03:09Z`, for machines.
pub(crate) fn iso(at: TimestampMs) -> String {
    formatted(at, "%Y-%m-%dT%H:%M:%SZ")
}

/// How long ago something was, in one unit: `just now`, `5 min ago`, `3 d ago`.
pub(crate) fn ago(at: TimestampMs, now: TimestampMs) -> String {
    let seconds = (now - at).0.max(0) / 1000;
    match seconds {
        0..10 => "just now".to_owned(),
        10..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

/// A span of milliseconds: `1 min 40 s`; tenths below ten seconds, where whole ones say too little.
pub(crate) fn span(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{:.1} s", ms as f64 / 1000.0),
        _ => SpanMs(i64::try_from(ms).unwrap_or(i64::MAX)).to_string(),
    }
}

/// A point in time, ready for `<time>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct When {
    /// For machines.
    pub(crate) iso: String,
    /// For people.
    pub(crate) utc: String,
    /// How long ago.
    pub(crate) ago: String,
}

impl When {
    /// `at`, seen from `now`.
    pub(crate) fn new(at: TimestampMs, now: TimestampMs) -> When {
        When { iso: iso(at), utc: utc(at), ago: ago(at, now) }
    }
}

fn formatted(at: TimestampMs, format: &str) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(timestamp) => timestamp.strftime(format).to_string(),
        Err(_) => fmt::format(format_args!("{} ms", at.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_carry_their_zone() {
        let at = TimestampMs(1_777_636_989_000);
        assert_eq!(utc(at), "2026-05-01 12:03:09 UTC");
        assert_eq!(iso(at), "2026-05-01T12:03:09Z");
        assert_eq!(utc(TimestampMs(i64::MAX)), "9223372036854775807 ms");
    }

    #[test]
    fn ages_have_one_unit() {
        let now = TimestampMs(10_000_000_000);
        let ago = |s: i64| ago(TimestampMs(now.0 - s * 1000), now);
        assert_eq!([-5, 3, 40, 300, 7300, 300_000].map(ago), ["just now", "just now", "40 s ago", "5 min ago", "2 h ago", "3 d ago"]);
    }

    #[test]
    fn short_spans_show_tenths() {
        assert_eq!([0, 240, 9_960, 61_000].map(span), ["0.0 s", "0.2 s", "10.0 s", "1 min 1 s"]);
    }
}
