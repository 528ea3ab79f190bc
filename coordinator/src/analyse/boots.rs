//! The last boots of a host, from the jobs that it has worked on.

use std::collections::BTreeSet;

use blklab_model::crash::BOOT_STEP;
use blklab_model::id::HostName;
use blklab_model::outcome::Fault;
use blklab_model::record::{JobRecord, TrialRecord};
use blklab_model::trial::TrialState;
use blklab_wire::people::HostBoot;

use crate::store::{self, StoreError, Tx};

/// Jobs that are looked at: a reader wants to see whether boots come up and how long they take now.
const LAST_JOBS: u32 = 20;

/// The boots of the last jobs of a host, the newest first; a job that lost its host has several.
pub(super) async fn of_host(tx: &mut Tx, host: &HostName) -> Result<Vec<HostBoot>, StoreError> {
    let mut boots = Vec::new();
    for job in store::job_list_last_of_host(tx, host, LAST_JOBS).await? {
        let trials = store::trial_list_of_job(tx, job.id).await?;
        boots.extend(of_job(&job, &trials).into_iter().rev());
    }
    Ok(boots)
}

fn of_job(job: &JobRecord, trials: &[TrialRecord]) -> Vec<HostBoot> {
    let mut trials: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.ended.is_some()).collect();
    trials.sort_by_key(|trial| (trial.ended, trial.position));
    let mut seen = BTreeSet::new();
    let mut boots = Vec::new();
    for trial in trials {
        let boot = trial.details.as_ref().and_then(|details| details.boot.as_ref());
        let outcome = match (&trial.state, boot) {
            (_, Some(boot)) if seen.insert(boot.id.clone()) => "booted".to_owned(),
            (_, Some(_)) => continue,
            // The kernel did not come up; trials that follow in the job say the same of the same boot.
            (TrialState::Failed(failure), None) if failure.step == BOOT_STEP && failure.fault == Fault::Kernel => {
                failure.title().to_owned()
            }
            (TrialState::Failed(_) | TrialState::Queued | TrialState::Running | TrialState::Completed | TrialState::Cancelled, None) => {
                continue;
            }
        };
        if boot.is_none() && !seen.insert(outcome.clone()) {
            continue;
        }
        boots.push(HostBoot {
            job: job.id,
            kernel: job.kernel.label().to_owned(),
            at: trial.ended,
            boot_ms: boot.map(|boot| boot.ms),
            outcome,
        });
    }
    boots
}
