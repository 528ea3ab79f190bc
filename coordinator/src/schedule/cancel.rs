//! A person stops an experiment. What was measured stays.

use blklab_model::experiment::state::{self, ExperimentEvent};
use blklab_model::id::ExperimentId;
use blklab_model::job::{self, JobEvent};
use blklab_model::transition::Refused;
use blklab_model::trial::{self, TrialEvent};

use crate::lab::Lab;
use crate::store::{self, StoreError};

/// Why an experiment is not cancelled.
#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    /// No such experiment.
    #[error("there is no experiment `{0}`")]
    Unknown(ExperimentId),
    /// It is finished.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Not the person's fault.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Cancels an experiment with its jobs and trials; agents learn of it with their next heartbeat.
pub async fn cancel(lab: &Lab, id: ExperimentId) -> Result<(), CancelError> {
    let mut tx = lab.store.write().await?;
    let record = store::experiment_get(&mut tx, id).await?.ok_or(CancelError::Unknown(id))?;
    let next = state::step(record.state, ExperimentEvent::Cancelled)?;
    if next == record.state {
        return Ok(());
    }
    store::experiment_state_set(&mut tx, id, record.state, next, lab.now()).await?;
    for job in store::job_list(&mut tx, id).await? {
        let next = job::step(&job.state, JobEvent::Cancelled, lab.now())?;
        if next != job.state {
            store::job_state_set(&mut tx, job.id, &job.state, &next).await?;
        }
    }
    for trial in store::trial_list(&mut tx, id).await? {
        let next = trial::step(&trial.state, TrialEvent::Cancelled, trial.attempt)?;
        if next != trial.state {
            store::trial_state_set(&mut tx, trial.id, &trial.state, &next, trial.attempt).await?;
        }
    }
    tx.commit().await?;
    lab.changed();
    tracing::info!(experiment = %id, "experiment cancelled");
    Ok(())
}
