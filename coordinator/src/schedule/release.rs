//! Gives the open trials of a job back to the queue.

use blklab_model::id::HostName;
use blklab_model::job::{self, JobEvent, JobState};
use blklab_model::record::JobRecord;
use blklab_model::trial::{self, TrialEvent};

use super::finish;
use crate::lab::Lab;
use crate::store::{self, StoreError, Tx};

/// The jobs that a host holds: it starts anew and does not know them any more.
pub(super) async fn jobs_of_host(lab: &Lab, tx: &mut Tx, host: &HostName) -> Result<(), StoreError> {
    for record in store::job_list_leased(tx).await? {
        if matches!(&record.state, JobState::Leased { host: holder, .. } if holder == host) {
            job(lab, tx, &record, JobEvent::Abandoned).await?;
        }
    }
    Ok(())
}

/// Applies an event that may queue a job again; true when it did. A trial that lost its agent too often is given up on the way: when
/// it was the last open one, the job is done and not queued again.
pub(super) async fn job(lab: &Lab, tx: &mut Tx, record: &JobRecord, event: JobEvent) -> Result<bool, StoreError> {
    let Ok(next) = job::step(&record.state, event, lab.now()) else { return Ok(false) };
    if next == record.state || !store::job_state_set(tx, record.id, &record.state, &next).await? {
        return Ok(false);
    }
    tracing::warn!(job = %record.id, host = %record.host, "job released");
    for trial in store::trial_list_of_job(tx, record.id).await? {
        let Ok(state) = trial::step(&trial.state, TrialEvent::Released, trial.attempt) else { continue };
        if state != trial.state {
            store::trial_state_set(tx, trial.id, &trial.state, &state, trial.attempt).await?;
        }
    }
    finish::job(lab, tx, record.id).await?;
    Ok(true)
}
