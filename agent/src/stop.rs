//! A request to stop, shared between whoever asks and whoever works. It can be made once and never taken back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// A request to stop; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_asked: AtomicBool,
    bell: Notify,
}

impl Stop {
    /// Asks.
    pub fn ask(&self) {
        self.0.is_asked.store(true, Ordering::Release);
        self.0.bell.notify_waiters();
    }

    /// Was it asked? For blocking code, which looks now and then.
    pub fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::Acquire)
    }

    /// Waits until it is asked.
    pub async fn asked(&self) {
        let bell = self.0.bell.notified();
        tokio::pin!(bell);
        // From here on a ring is not missed, so looking at the flag afterwards leaves no gap.
        bell.as_mut().enable();
        if !self.is_asked() {
            bell.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everybody_hears_it() {
        let stop = Stop::default();
        let waiting = tokio::spawn({
            let stop = stop.clone();
            async move { stop.asked().await }
        });
        stop.ask();
        waiting.await.unwrap();
        stop.asked().await;
        assert!(stop.is_asked());
    }
}
