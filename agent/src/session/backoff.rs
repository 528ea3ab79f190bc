//! How long to wait before trying again: twice as long each time, up to a limit.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);

/// A coordinator that was restarted is found again within this time.
const LONGEST: Duration = Duration::from_secs(15);

/// Doubling waits.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

/// For a coordinator that does not answer.
impl Default for Backoff {
    fn default() -> Self {
        Backoff::between(FIRST, LONGEST)
    }
}

impl Backoff {
    pub(crate) fn between(first: Duration, longest: Duration) -> Self {
        Backoff { first, longest, next: first }
    }

    pub(crate) fn next(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(self.longest);
        wait
    }

    /// What was waited for has come.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_the_limit() {
        let mut backoff = Backoff::default();
        let waits: Vec<u64> = (0..6).map(|_| backoff.next().as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 15, 15]);
        backoff.reset();
        assert_eq!(backoff.next(), FIRST);
    }
}
