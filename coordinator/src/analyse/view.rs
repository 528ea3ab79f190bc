//! What pages, the API and the command line ask of the lab: one consistent moment each, read and put into words.

use std::collections::BTreeMap;

use blklab_model::host::Host;
use blklab_model::id::{ExperimentId, HostName, TrialId};
use blklab_model::record::{ExperimentRecord, TrialRecord};
use blklab_model::report::Report;
use blklab_model::report::build::{Inputs, build};
use blklab_model::time::TimestampMs;
use blklab_wire::people::{ExperimentLine, HostDetails, HostLine, NamedText, Progress};

use super::boots;
use super::kept::Basis;
use crate::lab::Lab;
use crate::store::{self, HostRow, TrialCounts, Tx};

impl Lab {
    /// The report of an experiment.
    pub async fn report(&self, id: ExperimentId) -> anyhow::Result<Option<Report>> {
        let mut tx = self.store.read().await?;
        let Some(experiment) = store::experiment_get(&mut tx, id).await? else { return Ok(None) };
        Ok(Some(report(&mut tx, &experiment).await?))
    }

    /// Experiments from the newest on.
    pub async fn experiments(&self, limit: u32, before: Option<ExperimentId>) -> anyhow::Result<Vec<ExperimentLine>> {
        let mut tx = self.store.read().await?;
        let records = store::experiment_list(&mut tx, limit, before).await?;
        self.lines(&mut tx, records).await
    }

    /// Experiments that are not over, in the order of the queue.
    pub async fn queue(&self) -> anyhow::Result<Vec<ExperimentLine>> {
        let mut tx = self.store.read().await?;
        let records = store::experiment_list_open(&mut tx).await?;
        self.lines(&mut tx, records).await
    }

    /// How far an experiment is.
    pub async fn progress(&self, id: ExperimentId) -> anyhow::Result<Option<Progress>> {
        let mut tx = self.store.read().await?;
        let Some(experiment) = store::experiment_get(&mut tx, id).await? else { return Ok(None) };
        let trials = store::trial_list(&mut tx, id).await?;
        let open = store::experiment_list_open(&mut tx).await?;
        let hosts = store::host_list(&mut tx).await?;
        let ahead = open.iter().filter(|other| other.id < id).count();
        let over = trials.iter().filter(|trial| trial.state.is_over()).count();
        let failed = trials.iter().filter(|trial| trial.state.word() == "failed").count();
        let runs_per_boot = experiment.definition.runs_per_boot();
        let round = trials.iter().filter(|trial| !trial.state.is_over()).map(|trial| trial.id.run / runs_per_boot + 1).min();
        Ok(Some(Progress {
            id,
            state: experiment.state.word().to_owned(),
            trials: count(trials.len()),
            over: count(over),
            failed: count(failed),
            rounds: experiment.definition.rounds,
            round: round.unwrap_or(experiment.definition.rounds),
            eta_ms: self.eta_ms(&mut tx, &experiment, count(over), Some(&trials)).await?,
            ahead: if experiment.state.is_over() { 0 } else { count(ahead) },
            now: hosts.iter().filter(|row| row.job.is_some_and(|job| job.experiment == id)).filter_map(at).collect(),
            headline: self.headline(&mut tx, &experiment, count(over)).await?,
        }))
    }

    /// Hosts by name.
    pub async fn hosts(&self) -> anyhow::Result<Vec<HostLine>> {
        let mut tx = self.store.read().await?;
        let now = self.now();
        Ok(store::host_list(&mut tx).await?.into_iter().map(|row| host_line(row, now)).collect())
    }

    /// One host with its last boots.
    pub async fn host(&self, name: &HostName) -> anyhow::Result<Option<HostDetails>> {
        let mut tx = self.store.read().await?;
        let Some(row) = store::host_get(&mut tx, name).await? else { return Ok(None) };
        let boots = boots::of_host(&mut tx, name).await?;
        Ok(Some(HostDetails { line: host_line(row, self.now()), boots }))
    }

    /// A raw output of a trial.
    pub async fn output(&self, trial: TrialId, name: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let mut tx = self.store.read().await?;
        let Some(record) = store::trial_get(&mut tx, trial).await? else { return Ok(None) };
        let outputs = record.details.map(|details| details.outputs).unwrap_or_default();
        let Some(output) = outputs.into_iter().find(|output| output.name == name) else { return Ok(None) };
        drop(tx);
        let artifacts = self.artifacts.clone();
        let bytes = tokio::task::spawn_blocking(move || artifacts.get(&output.sha256)).await??;
        Ok(Some(bytes))
    }

    /// The file that asked for an experiment.
    pub async fn experiment_file(&self, id: ExperimentId) -> anyhow::Result<Option<NamedText>> {
        let mut tx = self.store.read().await?;
        let record = store::experiment_get(&mut tx, id).await?;
        Ok(record.map(|record| NamedText { name: record.file_name, text: record.file_text }))
    }

    async fn headline(&self, tx: &mut Tx, experiment: &ExperimentRecord, over: u32) -> anyhow::Result<String> {
        let basis = Basis { state: experiment.state, over };
        // It depends on nothing but its basis, so it is never too old.
        if let Some(headline) = self.headlines.get(experiment.id, basis, TimestampMs(i64::MIN)) {
            return Ok(headline);
        }
        let headline = report(tx, experiment).await?.headline;
        self.headlines.put(experiment.id, basis, self.now(), headline.clone());
        Ok(headline)
    }

    async fn lines(&self, tx: &mut Tx, records: Vec<ExperimentRecord>) -> anyhow::Result<Vec<ExperimentLine>> {
        let ids: Vec<ExperimentId> = records.iter().map(|record| record.id).collect();
        let counts: BTreeMap<ExperimentId, TrialCounts> = store::trial_counts(tx, &ids).await?;
        let mut lines = Vec::new();
        for record in records {
            let counts = counts.get(&record.id).copied().unwrap_or_default();
            let headline = self.headline(tx, &record, counts.over()).await?;
            let eta_ms = self.eta_ms(tx, &record, counts.over(), None).await?;
            let end = record.finished.unwrap_or_else(|| self.now());
            lines.push(ExperimentLine {
                id: record.id,
                name: record.definition.name.clone(),
                title: record.definition.title.clone(),
                state: record.state.word().to_owned(),
                submitter: record.submitter.clone(),
                created: record.created,
                headline,
                trials: counts.total(),
                over: counts.over(),
                failed: counts.failed,
                eta_ms,
                imported: record.imported.is_some(),
                cost_ms: record.started.map_or(0, |started| (end - started).0.unsigned_abs()),
            });
        }
        Ok(lines)
    }
}

async fn report(tx: &mut Tx, experiment: &ExperimentRecord) -> anyhow::Result<Report> {
    let cells = store::cell_list(tx, experiment.id).await?;
    let trials: Vec<TrialRecord> = store::trial_list(tx, experiment.id).await?;
    let measurements = store::measurement_list(tx, experiment.id).await?;
    let hosts: Vec<Host> = store::host_list(tx).await?.into_iter().map(|row| row.host).collect();
    Ok(build(Inputs { experiment, cells: &cells, trials: &trials, measurements: &measurements, hosts: &hosts }))
}

fn host_line(row: HostRow, now: TimestampMs) -> HostLine {
    let online = row.host.is_online(now);
    HostLine {
        online,
        job: row.job.filter(|_| online),
        at: row.phase.filter(|_| online),
        build: row.build.filter(|_| online),
        last_boot: row.last_boot,
        host: row.host,
    }
}

fn at(row: &HostRow) -> Option<String> {
    row.phase.as_ref().map(|phase| format!("{}: {phase}", row.host.name))
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
