//! The sign of life: what the host works on, sent at a steady pace whatever the trial does. The answer may take the job away.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blklab_model::id::{JobId, TrialId};
use blklab_wire::agent::{LastBoot, TrialPhase};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::client::{Client, ClientError};

/// What the host works on, shared between the session, the cycle and the heartbeat.
#[derive(Debug, Default)]
pub(super) struct Status {
    inner: Mutex<Inner>,
    send: Notify,
    taken: Notify,
}

/// What a heartbeat tells.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) job: Option<JobId>,
    pub(super) at: Option<TrialPhase>,
    pub(super) dirty: Option<String>,
    pub(super) last_boot: Option<LastBoot>,
}

#[derive(Debug, Default)]
struct Inner {
    job: Option<JobId>,
    at: Option<TrialPhase>,
    dirty: Option<String>,
    is_job_dropped: bool,
    is_lost: bool,
    superseded: Option<String>,
    last_boot: Option<LastBoot>,
}

impl Status {
    pub(super) fn set_job(&self, job: Option<JobId>) {
        let mut inner = self.lock();
        inner.job = job;
        inner.is_job_dropped = false;
    }

    pub(super) fn enter(&self, trial: TrialId, phase: &str) {
        self.lock().at = Some(TrialPhase { trial, phase: phase.to_owned() });
    }

    pub(super) fn leave_trial(&self) {
        self.lock().at = None;
    }

    pub(super) fn set_dirty(&self, dirty: Option<String>) {
        self.lock().dirty = dirty;
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.lock().dirty.is_some()
    }

    /// The job is no longer this host's.
    pub(super) fn is_job_dropped(&self) -> bool {
        self.lock().is_job_dropped
    }

    /// The coordinator no longer knows this agent.
    pub(super) fn is_lost(&self) -> bool {
        self.lock().is_lost
    }

    pub(super) fn found_again(&self) {
        self.lock().is_lost = false;
    }

    /// Another agent took the name, in the coordinator's words. There is no way back from that: the first to say hello again would only
    /// take the name from the other, and so on for ever.
    pub(super) fn supersede(&self, reason: String) {
        let mut inner = self.lock();
        inner.superseded = Some(reason);
        inner.is_job_dropped = true;
        drop(inner);
        self.taken.notify_one();
    }

    /// Why this agent must end, if so.
    pub(super) fn superseded(&self) -> Option<String> {
        self.lock().superseded.clone()
    }

    /// Waits until another agent took the name. For one waiter at a time.
    pub(super) async fn until_superseded(&self) {
        while self.superseded().is_none() {
            self.taken.notified().await;
        }
    }

    /// Sends a heartbeat without waiting for its turn, so that pages show the new trial.
    pub(super) fn send_now(&self) {
        self.send.notify_one();
    }

    pub(super) fn set_last_boot(&self, last_boot: Option<LastBoot>) {
        self.lock().last_boot = last_boot;
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let inner = self.lock();
        Snapshot { job: inner.job, at: inner.at.clone(), dirty: inner.dirty.clone(), last_boot: inner.last_boot.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends heartbeats until aborted, or until another agent has the name.
pub(super) fn start(client: Arc<Client>, status: Arc<Status>, period: Duration) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut is_away = false;
        loop {
            tokio::select! {
                () = tokio::time::sleep(period) => {}
                () = status.send.notified() => {}
            }
            match client.heartbeat(&status).await {
                Ok(reply) => {
                    is_away = false;
                    if reply.drop_job {
                        status.lock().is_job_dropped = true;
                    }
                }
                Err(ClientError::Refused { status: 409, refusal }) => {
                    status.supersede(refusal.error);
                    return;
                }
                Err(
                    error @ (ClientError::Refused { .. } | ClientError::Rejected { .. } | ClientError::Garbled(_) | ClientError::Setup(_)),
                ) => {
                    tracing::warn!(%error, "the coordinator does not take this agent's heartbeat");
                    let mut inner = status.lock();
                    inner.is_lost = true;
                    inner.is_job_dropped = true;
                }
                // Logged once for each absence.
                Err(ClientError::Away(_)) if is_away => {}
                Err(ClientError::Away(error)) => {
                    tracing::warn!(error, "heartbeat not delivered");
                    is_away = true;
                }
            }
        }
    })
}
