//! The life of a trial.

use serde::{Deserialize, Serialize};

use crate::outcome::{Failure, Fault, Outcome};
use crate::transition::Refused;

/// A trial that failed by the lab's fault is tried this often in all; then the lab must be looked at by a person.
pub const MAX_ATTEMPTS: u32 = 3;

/// Where a trial is in its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum TrialState {
    /// Waits for its job, or in it.
    Queued,
    /// Its agent says that it works on it.
    Running,
    /// Ended with a result that counts.
    Completed,
    /// Ended without a value: a result of its own, or a lab that gave up.
    Failed(Failure),
    /// Its experiment was cancelled.
    Cancelled,
}

/// What may happen to a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialEvent {
    /// Its agent says that it works on it.
    Begun,
    /// The agent uploaded how it ended.
    Reported(Outcome),
    /// Its job's lease ran out, or its agent gave the job back.
    Released,
    /// Its experiment was cancelled.
    Cancelled,
}

/// The next state; `attempt` counts from 1: that of the report, or of the attempt that is under way.
///
/// A report is taken in any open state: an agent that was away uploads after its lease ran out, and a finished trial is never lost.
pub fn step(state: &TrialState, event: TrialEvent, attempt: u32) -> Result<TrialState, Refused> {
    use TrialEvent as E;
    use TrialState as S;
    match (state, event) {
        (S::Queued, E::Begun) => Ok(S::Running),
        (S::Queued | S::Running, E::Reported(Outcome::Completed)) => Ok(S::Completed),
        (S::Queued | S::Running, E::Reported(Outcome::Failed(failure))) => {
            let again = failure.fault.is_retried() && attempt < MAX_ATTEMPTS;
            Ok(if again { S::Queued } else { S::Failed(failure) })
        }
        (S::Running, E::Released) if attempt >= MAX_ATTEMPTS => Ok(S::Failed(lost())),
        (S::Queued | S::Running, E::Released) => Ok(S::Queued),
        (S::Queued | S::Running, E::Cancelled) => Ok(S::Cancelled),
        (S::Completed | S::Failed(_) | S::Cancelled, E::Cancelled | E::Released) => Ok(state.clone()),
        (S::Running | S::Completed | S::Failed(_) | S::Cancelled, E::Begun) => Err(Refused::new("trial", state, "Begun")),
        (S::Completed | S::Failed(_) | S::Cancelled, E::Reported(outcome)) => Err(Refused::new("trial", state, outcome)),
    }
}

/// A trial whose agent is lost each time may be what kills it.
fn lost() -> Failure {
    Failure { fault: Fault::Lab, step: "agent".to_owned(), message: format!("the agent was lost in this trial {MAX_ATTEMPTS} times") }
}

impl TrialState {
    /// Has it ended?
    pub fn is_over(&self) -> bool {
        match self {
            TrialState::Queued | TrialState::Running => false,
            TrialState::Completed | TrialState::Failed(_) | TrialState::Cancelled => true,
        }
    }

    /// The word on pages and in the store.
    pub fn word(&self) -> &'static str {
        match self {
            TrialState::Queued => "queued",
            TrialState::Running => "running",
            TrialState::Completed => "completed",
            TrialState::Failed(_) => "failed",
            TrialState::Cancelled => "cancelled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(fault: Fault) -> TrialEvent {
        TrialEvent::Reported(Outcome::Failed(Failure { fault, step: "mkfs".into(), message: "no".into() }))
    }

    #[test]
    fn only_lab_faults_are_tried_again_and_not_for_ever() {
        let run = TrialState::Running;
        assert_eq!(step(&run, failure(Fault::Lab), 1), Ok(TrialState::Queued));
        assert!(matches!(step(&run, failure(Fault::Lab), MAX_ATTEMPTS), Ok(TrialState::Failed(_))));
        assert!(matches!(step(&run, failure(Fault::Kernel), 1), Ok(TrialState::Failed(_))));
        assert!(matches!(step(&run, failure(Fault::Workload), 1), Ok(TrialState::Failed(_))));
    }

    #[test]
    fn a_late_report_of_a_released_trial_counts() {
        let state = step(&TrialState::Running, TrialEvent::Released, 1).unwrap();
        assert_eq!(step(&state, TrialEvent::Reported(Outcome::Completed), 1), Ok(TrialState::Completed));
    }

    #[test]
    fn what_is_over_stays_over() {
        assert_eq!(step(&TrialState::Completed, TrialEvent::Cancelled, 1), Ok(TrialState::Completed));
        assert!(step(&TrialState::Completed, TrialEvent::Reported(Outcome::Completed), 2).is_err());
        assert!(step(&TrialState::Cancelled, TrialEvent::Begun, 1).is_err());
    }

    #[test]
    fn a_trial_that_loses_its_agent_again_and_again_is_given_up() {
        assert_eq!(step(&TrialState::Running, TrialEvent::Released, 1), Ok(TrialState::Queued));
        assert!(matches!(step(&TrialState::Running, TrialEvent::Released, MAX_ATTEMPTS), Ok(TrialState::Failed(_))));
        assert_eq!(step(&TrialState::Queued, TrialEvent::Released, MAX_ATTEMPTS), Ok(TrialState::Queued));
    }
}
