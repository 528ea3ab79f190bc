//! A host reports how a trial ended.

use anyhow::Context;
use blklab_model::outcome::Outcome;
use blklab_model::trial::{self, TrialEvent, TrialState};
use blklab_wire::agent::{TrialReceipt, TrialReport};

use super::agent::AgentError;
use super::{finish, proof};
use crate::analyse::ingest::{self, BadOutput};
use crate::lab::Lab;
use crate::store::{self, Attempt, StoreError};
use crate::token;

/// Why a report is refused.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The agent is.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// It is about a trial that this host never had.
    #[error("there is no trial `{0}` of this host")]
    UnknownTrial(blklab_model::id::TrialId),
    /// It cannot be read.
    #[error(transparent)]
    BadOutput(#[from] BadOutput),
    /// Not the agent's fault: it keeps the report and sends it again.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Likewise.
    #[error("{0:#}")]
    Artifact(anyhow::Error),
}

/// Takes a report in. Sent twice, or late, it is answered the same way and changes nothing more.
///
/// The agent may have been restarted since the trial: its token counts, its incarnation does not.
pub async fn report(lab: &Lab, token: &str, report: TrialReport) -> Result<TrialReceipt, ReportError> {
    let mut tx = lab.store.read().await?;
    let row = store::host_get(&mut tx, &report.host).await?;
    let row = row.filter(|row| token::has_digest(token, &row.token_sha256)).ok_or_else(|| AgentError::WrongToken(report.host.clone()))?;
    let unknown = || ReportError::UnknownTrial(report.trial);
    let record = store::trial_get(&mut tx, report.trial).await?.ok_or_else(unknown)?;
    let job = store::job_get(&mut tx, record.job).await?.filter(|job| job.host == row.host.name).ok_or_else(unknown)?;
    let cell = store::cell_get(&mut tx, report.trial.cell).await?.ok_or_else(unknown)?;
    let experiment = store::experiment_get(&mut tx, report.trial.cell.experiment).await?.ok_or_else(unknown)?;
    drop(tx);

    let workload = experiment.workloads.get(&cell.workload).ok_or_else(unknown)?.clone();
    let arm = cell.arms.get(report.trial.arm as usize).ok_or_else(unknown)?;
    let disks = workload.disks_with(&arm.setting.parameters);
    let outputs = ingest::decode(&report.outputs)?;
    let unproven = proof::missing(&experiment, &job.kernel, report.boot.as_ref(), &report.outcome);
    let (trial, attempt, started) = (report.trial, report.attempt, report.started);
    let artifacts = lab.artifacts.clone();
    // Files are written and outputs parsed before the transaction: nobody waits for them.
    let ingested = tokio::task::spawn_blocking(move || ingest::ingest(&artifacts, &workload, disks, report, outputs));
    let mut ingested = ingested.await.context("the task was lost").and_then(|result| result).map_err(ReportError::Artifact)?;
    if let Some(failure) = unproven {
        tracing::warn!(%trial, host = %row.host.name, "{}", failure.message);
        ingested.outcome = Outcome::Failed(failure);
        ingested.measurements.clear();
    }

    let mut tx = lab.store.write().await?;
    let record = store::trial_get(&mut tx, trial).await?.ok_or(ReportError::UnknownTrial(trial))?;
    let attempt = Attempt { trial, attempt, outcome: ingested.outcome, started, ended: lab.now(), details: ingested.details };
    let counted = match trial::step(&record.state, TrialEvent::Reported(attempt.outcome.clone()), attempt.attempt) {
        Ok(next) => {
            let counted = store::trial_report_put(&mut tx, &attempt, &next).await?;
            if counted && next == TrialState::Completed {
                store::measurement_put(&mut tx, &ingested.measurements).await?;
            }
            counted
        }
        // Too late to count, but kept: raw output is the truth.
        Err(_) => {
            store::attempt_put(&mut tx, &attempt).await?;
            false
        }
    };
    if counted {
        finish::job(lab, &mut tx, job.id).await?;
    }
    tx.commit().await?;
    lab.changed();
    Ok(TrialReceipt { counted })
}
