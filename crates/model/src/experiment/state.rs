//! The life of an experiment. Its result is not a state: the verdict stands in the report.

use serde::{Deserialize, Serialize};

use crate::transition::Refused;

/// Where an experiment is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExperimentState {
    /// No job of it was claimed yet.
    Queued,
    /// A job was claimed.
    Running,
    /// Each trial is over.
    Finished,
    /// A person stopped it; what was measured stays.
    Cancelled,
}

/// What may happen to an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExperimentEvent {
    /// A host claimed a job of it.
    JobClaimed,
    /// No trial is open any more.
    AllOver,
    /// A person stops it.
    Cancelled,
}

/// The next state.
pub fn step(state: ExperimentState, event: ExperimentEvent) -> Result<ExperimentState, Refused> {
    use ExperimentEvent as E;
    use ExperimentState as S;
    match (state, event) {
        (S::Queued | S::Running, E::JobClaimed) => Ok(S::Running),
        (S::Queued | S::Running, E::AllOver) => Ok(S::Finished),
        (S::Queued | S::Running | S::Cancelled, E::Cancelled) => Ok(S::Cancelled),
        (S::Finished | S::Cancelled, E::AllOver) => Ok(state),
        (S::Finished | S::Cancelled, E::JobClaimed) | (S::Finished, E::Cancelled) => Err(Refused::new("experiment", state, event)),
    }
}

impl ExperimentState {
    /// All states.
    pub const ALL: [ExperimentState; 4] =
        [ExperimentState::Queued, ExperimentState::Running, ExperimentState::Finished, ExperimentState::Cancelled];

    /// The word on pages and in the store.
    pub fn word(self) -> &'static str {
        match self {
            ExperimentState::Queued => "queued",
            ExperimentState::Running => "running",
            ExperimentState::Finished => "finished",
            ExperimentState::Cancelled => "cancelled",
        }
    }

    /// Reads [`ExperimentState::word`].
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// Will nothing happen to it any more?
    pub fn is_over(self) -> bool {
        match self {
            ExperimentState::Queued | ExperimentState::Running => false,
            ExperimentState::Finished | ExperimentState::Cancelled => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_takes_no_job() {
        assert_eq!(step(ExperimentState::Queued, ExperimentEvent::JobClaimed), Ok(ExperimentState::Running));
        assert_eq!(step(ExperimentState::Running, ExperimentEvent::AllOver), Ok(ExperimentState::Finished));
        for over in [ExperimentState::Finished, ExperimentState::Cancelled] {
            assert!(step(over, ExperimentEvent::JobClaimed).is_err());
        }
        assert!(step(ExperimentState::Finished, ExperimentEvent::Cancelled).is_err());
    }
}
