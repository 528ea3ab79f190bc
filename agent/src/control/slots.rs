//! How many hosts of one machine work at once: virtual hosts that compete for processors measure each other.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::stop::Stop;

/// Between two looks whether it was asked to stop.
const LOOK_PERIOD: Duration = Duration::from_millis(200);

/// A number of places; clones share them.
#[derive(Debug, Clone)]
pub struct Slots(Arc<(Mutex<usize>, Condvar)>);

impl Slots {
    /// So many places.
    pub fn new(places: usize) -> Self {
        Slots(Arc::new((Mutex::new(places), Condvar::new())))
    }

    /// Waits for a place; none when asked to stop meanwhile.
    pub fn take(&self, stop: &Stop) -> Option<Slot> {
        let (free, changed) = &*self.0;
        let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            if stop.is_asked() {
                return None;
            }
            (free, _) = changed.wait_timeout(free, LOOK_PERIOD).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Some(Slot(self.clone()))
    }
}

/// A place, until it is dropped.
#[derive(Debug)]
pub struct Slot(Slots);

impl Drop for Slot {
    fn drop(&mut self) {
        let (free, changed) = &*self.0.0;
        *free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_there_are() {
        let slots = Slots::new(1);
        let stop = Stop::default();
        let first = slots.take(&stop).unwrap();
        let second = std::thread::spawn({
            let (slots, stop) = (slots.clone(), stop.clone());
            move || slots.take(&stop).is_some()
        });
        drop(first);
        assert!(second.join().unwrap());
        let _held = slots.take(&stop).unwrap();
        stop.ask();
        assert!(slots.take(&stop).is_none());
    }
}
