//! The life of a job: what one host does under one lease.

use serde::{Deserialize, Serialize};

use crate::id::HostName;
use crate::time::{SpanMs, TimestampMs};
use crate::transition::Refused;

/// A lease lives this long after the last sign of life of its agent; longer than [`crate::host::OFFLINE_AFTER`] so that a short
/// break of the network does not run a trial twice.
pub const LEASE: SpanMs = SpanMs::seconds(45);

/// Where a job is in its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum JobState {
    /// Waits for its host.
    Queued,
    /// A host works on it.
    Leased {
        /// Who.
        host: HostName,
        /// Until when, unless renewed.
        until: TimestampMs,
    },
    /// Every trial of it is over.
    Done,
    /// Its experiment was cancelled.
    Cancelled,
}

/// What may happen to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEvent {
    /// A host takes it.
    Claimed(HostName),
    /// Its agent lives.
    Renewed,
    /// Time passes: a lease may have run out.
    Tick,
    /// The agent says that it works on something else (it was restarted): the rest is queued again.
    Abandoned,
    /// Its last open trial is over.
    AllOver,
    /// Its experiment was cancelled.
    Cancelled,
}

/// The next state of a job at `now`.
pub fn step(state: &JobState, event: JobEvent, now: TimestampMs) -> Result<JobState, Refused> {
    use JobEvent as E;
    use JobState as S;
    match (state, event) {
        (S::Queued, E::Claimed(host)) => Ok(S::Leased { host, until: now + LEASE }),
        (S::Leased { host, .. }, E::Renewed) => Ok(S::Leased { host: host.clone(), until: now + LEASE }),
        (S::Leased { until, .. }, E::Tick) if *until <= now => Ok(S::Queued),
        (S::Leased { .. }, E::Abandoned) => Ok(S::Queued),
        (S::Queued | S::Leased { .. }, E::AllOver) => Ok(S::Done),
        (S::Queued | S::Leased { .. }, E::Cancelled) => Ok(S::Cancelled),
        (S::Queued | S::Leased { .. } | S::Done | S::Cancelled, E::Tick) => Ok(state.clone()),
        (S::Done | S::Cancelled, E::AllOver | E::Cancelled | E::Abandoned) => Ok(state.clone()),
        (S::Queued, E::Abandoned) => Ok(S::Queued),
        (S::Queued | S::Done | S::Cancelled, E::Renewed) => Err(Refused::new("job", state, "Renewed")),
        (S::Leased { .. } | S::Done | S::Cancelled, E::Claimed(host)) => Err(Refused::new("job", state, host)),
    }
}

impl JobState {
    /// The word on pages and in the store.
    pub fn word(&self) -> &'static str {
        match self {
            JobState::Queued => "queued",
            JobState::Leased { .. } => "leased",
            JobState::Done => "done",
            JobState::Cancelled => "cancelled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_runs_out_unless_renewed() {
        let host: HostName = "lab-1".parse().unwrap();
        let t = TimestampMs;
        let leased = step(&JobState::Queued, JobEvent::Claimed(host.clone()), t(0)).unwrap();
        assert_eq!(step(&leased, JobEvent::Tick, t(LEASE.0 - 1)).as_ref(), Ok(&leased));
        let renewed = step(&leased, JobEvent::Renewed, t(10_000)).unwrap();
        assert_eq!(step(&renewed, JobEvent::Tick, t(LEASE.0)).as_ref(), Ok(&renewed));
        assert_eq!(step(&renewed, JobEvent::Tick, t(10_000 + LEASE.0)), Ok(JobState::Queued));
        assert!(step(&leased, JobEvent::Claimed(host), t(1)).is_err());
    }

    #[test]
    fn a_renewal_of_what_was_lost_is_refused_so_that_the_agent_stops() {
        assert!(step(&JobState::Queued, JobEvent::Renewed, TimestampMs(0)).is_err());
        assert!(step(&JobState::Cancelled, JobEvent::Renewed, TimestampMs(0)).is_err());
    }
}
