//! The coordinator's clock: the only place that reads the time, so that tests can set it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use blklab_model::time::{SpanMs, TimestampMs};

/// Where `now` comes from.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The machine's clock.
    System,
    /// A clock that stands until it is moved.
    Fixed(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands at `now`.
    pub fn fixed(now: TimestampMs) -> Self {
        Clock::Fixed(Arc::new(AtomicI64::new(now.0)))
    }

    /// The time.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    pub fn now(&self) -> TimestampMs {
        match self {
            Clock::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                TimestampMs(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
            }
            Clock::Fixed(at) => TimestampMs(at.load(Ordering::SeqCst)),
        }
    }

    /// Moves a standing clock; the machine's moves by itself.
    pub fn advance(&self, span: SpanMs) {
        match self {
            Clock::System => {}
            Clock::Fixed(at) => {
                at.fetch_add(span.0, Ordering::SeqCst);
            }
        }
    }
}
