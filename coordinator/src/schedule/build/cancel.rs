//! Somebody stops a build.

use blklab_model::build::{self, BuildEvent};
use blklab_model::id::BuildId;

use super::BuildError;
use crate::lab::Lab;
use crate::store;

/// Cancels a build; its builder learns of it with its next heartbeat.
pub async fn cancel(lab: &Lab, id: BuildId) -> Result<(), BuildError> {
    let mut tx = lab.store.write().await?;
    let record = store::build_get(&mut tx, id).await?.ok_or(BuildError::Unknown(id))?;
    let next = build::step(&record.state, BuildEvent::Cancel, record.attempt, lab.now())?;
    store::build_state_set(&mut tx, id, &record.state, &next, record.attempt, lab.now()).await?;
    tx.commit().await?;
    lab.changed();
    tracing::info!(build = %id, "build cancelled");
    Ok(())
}
