//! Time passes: leases run out, experiments without open trials are finished, files that nothing names go.

use std::time::Duration;

use blklab_model::job::JobEvent;

use super::{build, finish, release};
use crate::kernels;
use crate::lab::Lab;
use crate::store::{self, StoreError};

/// How often [`run`] looks; a tenth of a lease, so that lost work waits little longer than its lease.
pub const EVERY: Duration = Duration::from_secs(4);

/// How often [`run`] removes files that nothing names: they are a day old by then, so an hour more is nothing.
const SWEEP_EVERY: Duration = Duration::from_secs(3600);

/// One look. Idempotent.
pub async fn tick(lab: &Lab) -> Result<(), StoreError> {
    let mut tx = lab.store.write().await?;
    let mut released = false;
    for job in store::job_list_leased(&mut tx).await? {
        released |= release::job(lab, &mut tx, &job, JobEvent::Tick).await?;
    }
    released |= build::tick(lab, &mut tx).await?;
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
    let mut next_sweep = tokio::time::Instant::now();
    loop {
        interval.tick().await;
        if let Err(error) = tick(&lab).await {
            tracing::error!(%error, "the tick failed; the next one tries again");
        }
        if next_sweep.elapsed() > Duration::ZERO {
            next_sweep += SWEEP_EVERY;
            if let Err(error) = kernels::sweep(&lab).await {
                tracing::error!("failed to remove files of kernels that nothing names: {error:#}; tried again in an hour");
            }
        }
    }
}
