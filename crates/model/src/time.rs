//! Points in time and spans as integers. Reading a clock is the caller's business.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TimestampMs(pub i64);

/// A span of milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct SpanMs(pub i64);

impl SpanMs {
    /// A span of whole seconds.
    pub const fn seconds(seconds: i64) -> Self {
        SpanMs(seconds * 1000)
    }
}

impl Add<SpanMs> for TimestampMs {
    type Output = TimestampMs;
    fn add(self, span: SpanMs) -> TimestampMs {
        TimestampMs(self.0.saturating_add(span.0))
    }
}

impl Sub for TimestampMs {
    type Output = SpanMs;
    fn sub(self, other: TimestampMs) -> SpanMs {
        SpanMs(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for SpanMs {
    /// `40 s`, `3 min 20 s`, `2 h 5 min`: two units are enough for a reader.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = (self.0.max(0) + 500) / 1000;
        match s {
            0..60 => write!(f, "{s} s"),
            60..3600 => write!(f, "{} min {} s", s / 60, s % 60),
            _ => write!(f, "{} h {} min", s / 3600, s / 60 % 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_well() {
        let texts = [400, 59_400, 59_600, 200_000, 7_500_000].map(|ms| SpanMs(ms).to_string());
        assert_eq!(texts, ["0 s", "59 s", "1 min 0 s", "3 min 20 s", "2 h 5 min"]);
    }
}
