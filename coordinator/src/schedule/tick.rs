//! Time passes: leases run out, experiments without open trials are finished.

use std::time::Duration;

use blklab_model::job::JobEvent;

use super::{finish, release};
use crate::lab::Lab;
use crate::store::{self, StoreError};

/// How often [`run`] looks; a tenth of a lease, so that lost work waits little longer than its lease.
pub const EVERY: Duration = Duration::from_secs(4);

/// One look. Idempotent.
pub async fn tick(lab: &Lab) -> Result<(), StoreError> {
    let mut tx = lab.store.write().await?;
    let mut released = false;
    for job in store::job_list_leased(&mut tx).await? {
        released |= release::job(lab, &mut tx, &job, JobEvent::Tick).await?;
    }
    for experiment in store::experiment_list_open(&mut tx).await? {
        finish::experiment(lab, &mut tx, experiment.id).await?;
    }
    tx.commit().await?;
    if released {
        lab.changed();
    }
    Ok(())
}

/// Looks for ever.
pub async fn run(lab: Lab) {
    let mut interval = tokio::time::interval(EVERY);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        if let Err(error) = tick(&lab).await {
            tracing::error!(%error, "the tick failed; the next one tries again");
        }
    }
}
