//! What was computed of an experiment, kept until another trial is over: lists and live pages show it often, and each costs the reading of
//! all its trials.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use blklab_model::experiment::state::ExperimentState;
use blklab_model::id::ExperimentId;
use blklab_model::time::TimestampMs;

/// Values kept at most; then all are forgotten, which only costs time.
const MAX_KEPT: usize = 10_000;

/// What a value was made of: it is right as long as neither changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Basis {
    /// State of the experiment.
    pub state: ExperimentState,
    /// Its trials that are over.
    pub over: u32,
}

/// Values by experiment.
#[derive(Debug)]
pub struct Kept<T>(Mutex<HashMap<ExperimentId, (Basis, TimestampMs, T)>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept(Mutex::default())
    }
}

impl<T: Clone> Kept<T> {
    /// The value of an experiment if it is still right and was made after `since`.
    pub fn get(&self, id: ExperimentId, basis: Basis, since: TimestampMs) -> Option<T> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&id).filter(|(of, made, _)| *of == basis && *made > since).map(|(.., value)| value.clone())
    }

    /// Keeps a value.
    pub fn put(&self, id: ExperimentId, basis: Basis, now: TimestampMs, value: T) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(id, (basis, now, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_kept_until_a_trial_is_over_or_it_is_old() {
        let kept = Kept::default();
        let basis = Basis { state: ExperimentState::Running, over: 3 };
        kept.put(ExperimentId(1), basis, TimestampMs(100), "so far");
        assert_eq!(kept.get(ExperimentId(1), basis, TimestampMs(99)), Some("so far"));
        assert_eq!(kept.get(ExperimentId(1), basis, TimestampMs(100)), None);
        assert_eq!(kept.get(ExperimentId(1), Basis { over: 4, ..basis }, TimestampMs(0)), None);
        assert_eq!(kept.get(ExperimentId(2), basis, TimestampMs(0)), None);
    }
}
