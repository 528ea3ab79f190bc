//! Ends: of a job whose trials are over, and of an experiment whose jobs are.

use blklab_model::experiment::state::{self, ExperimentEvent};
use blklab_model::id::{ExperimentId, JobId};
use blklab_model::job::{self, JobEvent};

use crate::lab::Lab;
use crate::store::{self, StoreError, Tx};

/// A job without open trials is done; an experiment without open jobs is finished. A trial that must be tried again leaves its job
/// open: the agent goes on with the others, and the lease that it does not renew brings the job back.
pub(super) async fn job(lab: &Lab, tx: &mut Tx, id: JobId) -> Result<(), StoreError> {
    let open = store::trial_list_of_job(tx, id).await?.iter().any(|trial| !trial.state.is_over());
    if open {
        return Ok(());
    }
    let Some(record) = store::job_get(tx, id).await? else { return Ok(()) };
    if let Ok(next) = job::step(&record.state, JobEvent::AllOver, lab.now()) {
        store::job_state_set(tx, id, &record.state, &next).await?;
    }
    experiment(lab, tx, id.experiment).await
}

/// Finishes an experiment when nothing of it is open.
pub(super) async fn experiment(lab: &Lab, tx: &mut Tx, id: ExperimentId) -> Result<(), StoreError> {
    let counts = store::trial_counts(tx, &[id]).await?.remove(&id).unwrap_or_default();
    if counts.queued + counts.running > 0 {
        return Ok(());
    }
    let Some(record) = store::experiment_get(tx, id).await? else { return Ok(()) };
    if let Ok(next) = state::step(record.state, ExperimentEvent::AllOver)
        && next != record.state
    {
        store::experiment_state_set(tx, id, record.state, next, lab.now()).await?;
        tracing::info!(experiment = %id, "experiment finished");
    }
    Ok(())
}
