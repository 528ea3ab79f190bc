//! A host asks for work.

use std::time::Duration;

use blklab_model::experiment::state::{self, ExperimentEvent};
use blklab_model::host::HostHealth;
use blklab_model::job::{self, JobEvent};
use blklab_model::kernel::{Clock, Kernel, KernelRecord};
use blklab_model::outcome::{Failure, Fault};
use blklab_model::record::{ExperimentRecord, JobRecord, TrialRecord};
use blklab_model::trial::TrialState;
use blklab_wire::agent::{BootSpec, Claim, JobSpec, KernelSpec, MAX_CLAIM_WAIT_MS, TrialSpec};

use super::agent::{AgentError, authenticate};
use super::{finish, release};
use crate::lab::Lab;
use crate::store::{self, StoreError, Tx};

/// Waits for a job for the host, at most as long as it asks.
pub async fn claim(lab: &Lab, token: &str, claim: Claim) -> Result<Option<JobSpec>, AgentError> {
    let mut changes = lab.watch();
    let wait = Duration::from_millis(claim.wait_ms.min(MAX_CLAIM_WAIT_MS));
    let deadline = tokio::time::Instant::now() + wait;
    loop {
        changes.mark_unchanged();
        if let Some(spec) = try_claim(lab, token, &claim).await? {
            return Ok(Some(spec));
        }
        let change = tokio::time::timeout_at(deadline, changes.changed()).await;
        if !matches!(change, Ok(Ok(()))) {
            return Ok(None);
        }
    }
}

async fn try_claim(lab: &Lab, token: &str, claim: &Claim) -> Result<Option<JobSpec>, AgentError> {
    // Most looks find nothing: they should not wait for the one writer.
    let mut tx = lab.store.read().await?;
    let row = authenticate(&mut tx, &claim.host, token, &claim.incarnation).await?;
    match row.host.health {
        HostHealth::Healthy => {}
        HostHealth::Dirty { .. } | HostHealth::Quarantined { .. } => return Ok(None),
    }
    if store::job_queued_for(&mut tx, &claim.host).await?.is_none() {
        return Ok(None);
    }
    drop(tx);

    let mut tx = lab.store.write().await?;
    // An agent that asks for work holds none: what is still leased to it was lost on the way.
    release::jobs_of_host(lab, &mut tx, &claim.host).await?;
    let Some(job) = store::job_queued_for(&mut tx, &claim.host).await? else { return Ok(None) };
    let spec = lease(lab, &mut tx, claim, &job, row.host.facts.clock).await?;
    tx.commit().await?;
    lab.changed();
    tracing::info!(job = %job.id, host = %claim.host, "job claimed");
    Ok(spec)
}

async fn lease(lab: &Lab, tx: &mut Tx, claim: &Claim, job: &JobRecord, clock: Clock) -> Result<Option<JobSpec>, StoreError> {
    let Ok(leased) = job::step(&job.state, JobEvent::Claimed(claim.host.clone()), lab.now()) else { return Ok(None) };
    if !store::job_state_set(tx, job.id, &job.state, &leased).await? {
        return Ok(None);
    }
    let Some(experiment) = store::experiment_get(tx, job.id.experiment).await? else { return Ok(None) };
    if let Ok(next) = state::step(experiment.state, ExperimentEvent::JobClaimed)
        && next != experiment.state
    {
        store::experiment_state_set(tx, experiment.id, experiment.state, next, lab.now()).await?;
    }
    let trials = store::trial_list_of_job(tx, job.id).await?;
    let cells = store::cell_list(tx, experiment.id).await?;
    let mut specs = Vec::new();
    for trial in trials.iter().filter(|trial| trial.state == TrialState::Queued) {
        match trial_spec(&experiment, &cells, trial) {
            Some(spec) => specs.push(spec),
            None => store::trial_state_set(tx, trial.id, &trial.state, &unreadable(), trial.attempt).await.map(|_| ())?,
        }
    }
    if specs.is_empty() {
        // Leased again and again, it would keep its host from all other work.
        finish::job(lab, tx, job.id).await?;
        return Ok(None);
    }
    let kernel = kernel_spec(&experiment, &job.kernel).ok_or_else(unreadable);
    match kernel.and_then(|kernel| same_clock(experiment.definition.clock, clock).map(|()| kernel)) {
        Ok(kernel) => Ok(Some(JobSpec { job: job.id, kernel, trials: specs })),
        Err(state) => {
            for spec in &specs {
                store::trial_state_set(tx, spec.trial, &TrialState::Queued, &state, spec.attempt - 1).await?;
            }
            finish::job(lab, tx, job.id).await?;
            Ok(None)
        }
    }
}

/// Times of different clocks are never compared, so a host whose clock changed since the plan was made measures nothing for it.
fn same_clock(wanted: Clock, has: Clock) -> Result<(), TrialState> {
    if wanted == has {
        return Ok(());
    }
    let message = format!(
        "the experiment asks for {} time, and its host measures {} time since it was planned; submit the experiment again",
        wanted.word(),
        has.word()
    );
    Err(TrialState::Failed(Failure { fault: Fault::Lab, step: "claim".to_owned(), message }))
}

/// The kernel as it was when the experiment was accepted.
fn kernel_spec(experiment: &ExperimentRecord, kernel: &Kernel) -> Option<KernelSpec> {
    match kernel {
        Kernel::AsBooted => Some(KernelSpec::AsBooted),
        Kernel::Built(name) => {
            let KernelRecord { name, id, release, build_id, image, modules, arguments, .. } = experiment.kernels.get(name)?.clone();
            Some(KernelSpec::Boot(BootSpec { name, id, release, build_id, image, modules, arguments }))
        }
    }
}

/// What becomes of a trial that cannot be put into words for an agent: rows of another version, or damaged ones.
fn unreadable() -> TrialState {
    let message = "its plan cannot be read; submit the experiment again".to_owned();
    TrialState::Failed(Failure { fault: Fault::Lab, step: "claim".to_owned(), message })
}

/// Everything an agent needs to know of a trial. Parameters were checked when the experiment was accepted.
fn trial_spec(experiment: &ExperimentRecord, cells: &[blklab_model::matrix::Cell], trial: &TrialRecord) -> Option<TrialSpec> {
    let cell = cells.get(trial.id.cell.cell as usize)?;
    let setting = &cell.arms.get(trial.id.arm as usize)?.setting;
    let workload = experiment.workloads.get(&cell.workload)?.resolve(&setting.parameters, trial.seed).ok()?;
    let disks = cell.disks.iter().take(workload.disks as usize).cloned().collect();
    Some(TrialSpec {
        trial: trial.id,
        attempt: trial.attempt + 1,
        disks,
        scheduler: setting.scheduler.clone(),
        tunables: setting.tunables.clone(),
        format: setting.filesystem.format.clone(),
        workload,
        memory_cap_bytes: experiment.definition.memory_cap_bytes,
        seed: trial.seed,
    })
}
