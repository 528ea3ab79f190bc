//! Headlines by experiment, kept until another trial is over: lists and live pages show them often, and each one costs a whole report.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use blklab_model::experiment::state::ExperimentState;
use blklab_model::id::ExperimentId;

/// Headlines kept at most; then all are forgotten, which only costs time.
const MAX_KEPT: usize = 10_000;

/// What a headline was made of: it is right as long as neither changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Basis {
    /// State of the experiment.
    pub state: ExperimentState,
    /// Its trials that are over.
    pub over: u32,
}

/// The headlines.
#[derive(Debug, Default)]
pub struct Headlines(Mutex<HashMap<ExperimentId, (Basis, String)>>);

impl Headlines {
    /// The headline of an experiment if it is still right.
    pub fn get(&self, id: ExperimentId, basis: Basis) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&id).filter(|(of, _)| *of == basis).map(|(_, headline)| headline.clone())
    }

    /// Keeps a headline.
    pub fn put(&self, id: ExperimentId, basis: Basis, headline: String) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(id, (basis, headline));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headline_is_kept_until_a_trial_is_over() {
        let headlines = Headlines::default();
        let basis = Basis { state: ExperimentState::Running, over: 3 };
        headlines.put(ExperimentId(1), basis, "so far".into());
        assert_eq!(headlines.get(ExperimentId(1), basis).as_deref(), Some("so far"));
        assert_eq!(headlines.get(ExperimentId(1), Basis { over: 4, ..basis }), None);
        assert_eq!(headlines.get(ExperimentId(2), basis), None);
    }
}
