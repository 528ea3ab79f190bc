//! The sign of life: what the host works on, sent at a steady pace whatever the trial does. The answer may take the job away.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blklab_model::id::{BuildId, JobId, TrialId};
use blklab_wire::agent::{LastBoot, TrialPhase};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::client::{Client, ClientError};

/// What the host works on, shared between the session, the cycle and the heartbeat.
#[derive(Debug, Default)]
pub(crate) struct Status {
    inner: Mutex<Inner>,
    send: Notify,
    taken: Notify,
}

/// What a heartbeat tells.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) job: Option<JobId>,
    pub(crate) at: Option<TrialPhase>,
    pub(crate) dirty: Option<String>,
    pub(crate) build: Option<BuildId>,
    pub(crate) last_boot: Option<LastBoot>,
}

#[derive(Debug, Default)]
struct Inner {
    job: Option<JobId>,
    at: Option<TrialPhase>,
    dirty: Option<String>,
    is_job_dropped: bool,
    build: Option<BuildId>,
    is_build_dropped: bool,
    is_lost: bool,
    superseded: Option<String>,
    last_boot: Option<LastBoot>,
}

impl Status {
    pub(crate) fn set_job(&self, job: Option<JobId>) {
        let mut inner = self.lock();
        inner.job = job;
        inner.is_job_dropped = false;
    }

    pub(crate) fn enter(&self, trial: TrialId, phase: &str) {
        self.lock().at = Some(TrialPhase { trial, phase: phase.to_owned() });
    }

    pub(crate) fn leave_trial(&self) {
        self.lock().at = None;
    }

    pub(crate) fn set_dirty(&self, dirty: Option<String>) {
        self.lock().dirty = dirty;
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.lock().dirty.is_some()
    }

    /// The job is no longer this host's.
    pub(crate) fn is_job_dropped(&self) -> bool {
        self.lock().is_job_dropped
    }

    pub(crate) fn set_build(&self, build: Option<BuildId>) {
        let mut inner = self.lock();
        inner.build = build;
        inner.is_build_dropped = false;
    }

    /// The build is no longer this host's.
    pub(crate) fn is_build_dropped(&self) -> bool {
        self.lock().is_build_dropped
    }

    /// Waits until the build is no longer this host's. For one waiter at a time.
    pub(crate) async fn until_build_dropped(&self) {
        while !self.is_build_dropped() {
            self.taken.notified().await;
        }
    }

    /// The coordinator no longer knows this agent.
    pub(crate) fn is_lost(&self) -> bool {
        self.lock().is_lost
    }

    pub(crate) fn found_again(&self) {
        self.lock().is_lost = false;
    }

    /// Another agent took the name, in the coordinator's words. There is no way back from that: the first to say hello again would only
    /// take the name from the other, and so on for ever.
    pub(crate) fn supersede(&self, reason: String) {
        let mut inner = self.lock();
        inner.superseded = Some(reason);
        inner.is_job_dropped = true;
        inner.is_build_dropped = true;
        drop(inner);
        self.taken.notify_one();
    }

    /// Why this agent must end, if so.
    pub(crate) fn superseded(&self) -> Option<String> {
        self.lock().superseded.clone()
    }

    /// Waits until another agent took the name. For one waiter at a time.
    pub(crate) async fn until_superseded(&self) {
        while self.superseded().is_none() {
            self.taken.notified().await;
        }
    }

    /// The answer may be about a build that was handed in meanwhile.
    fn drop_build(&self, asked: Option<BuildId>) {
        let mut inner = self.lock();
        inner.is_build_dropped |= inner.build.is_some() && inner.build == asked;
        drop(inner);
        self.taken.notify_one();
    }

    /// Sends a heartbeat without waiting for its turn, so that pages show the new trial.
    pub(crate) fn send_now(&self) {
        self.send.notify_one();
    }

    pub(crate) fn set_last_boot(&self, last_boot: Option<LastBoot>) {
        self.lock().last_boot = last_boot;
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let inner = self.lock();
        let Inner { job, build, .. } = *inner;
        Snapshot { job, at: inner.at.clone(), dirty: inner.dirty.clone(), build, last_boot: inner.last_boot.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends heartbeats until aborted, or until another agent has the name.
pub(crate) fn start(client: Arc<Client>, status: Arc<Status>, period: Duration) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut is_away = false;
        loop {
            tokio::select! {
                () = tokio::time::sleep(period) => {}
                () = status.send.notified() => {}
            }
            let build = status.lock().build;
            match client.heartbeat(&status).await {
                Ok(reply) => {
                    is_away = false;
                    if reply.drop_job {
                        status.lock().is_job_dropped = true;
                    }
                    if reply.drop_build {
                        status.drop_build(build);
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
