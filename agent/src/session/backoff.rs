//! How long to wait before trying again: twice as long each time, up to a limit.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);

/// A coordinator that was restarted is found again within this time.
const LONGEST: Duration = Duration::from_secs(15);

/// Doubling waits.
#[derive(Debug)]
pub(super) struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Backoff(FIRST)
    }
}

impl Backoff {
    pub(super) fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = (wait * 2).min(LONGEST);
        wait
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
    }
}
