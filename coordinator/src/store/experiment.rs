//! Experiments: one row each, with what was asked as it was at submission.

use std::collections::BTreeMap;

use blklab_model::experiment::Experiment;
use blklab_model::experiment::state::ExperimentState;
use blklab_model::id::{ExperimentId, KernelName, WorkloadName};
use blklab_model::imported::Imported;
use blklab_model::kernel::KernelRecord;
use blklab_model::matrix::{Cell, Impossible};
use blklab_model::plan::PlannedJob;
use blklab_model::record::ExperimentRecord;
use blklab_model::time::TimestampMs;
use blklab_model::workload::Workload;

use super::column::{Place, json};
use super::error::StoreError;
use super::sql::{each, execute, row, rows, statements};
use super::tx::Tx;
use super::{cell, job, trial};

/// An experiment that was accepted and has no number yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewExperiment {
    /// What was asked, overrides included.
    pub definition: Experiment,
    /// The workloads as they are now.
    pub workloads: BTreeMap<WorkloadName, Workload>,
    /// The kernels of its matrix as they are now.
    pub kernels: BTreeMap<KernelName, KernelRecord>,
    /// Of all random choices.
    pub seed: u64,
    /// Who asks.
    pub submitter: String,
    /// Now.
    pub created: TimestampMs,
    /// What of its matrix cannot be run.
    pub impossible: Vec<Impossible>,
    /// Name of the file that was submitted.
    pub file_name: String,
    /// Its text.
    pub file_text: String,
    /// Values that somebody else measured.
    pub imported: Option<Imported>,
}

/// States in which an experiment is not over: its jobs may be claimed.
pub(super) const OPEN: [ExperimentState; 2] = [ExperimentState::Queued, ExperimentState::Running];

statements! {
    /// Writers take turns, so nobody else draws the same number.
    EXPERIMENT_NEXT_ID = "
        SELECT COALESCE(MAX(id), 0) + 1
        FROM experiment";
    EXPERIMENT_INSERT = "
        INSERT INTO experiment
            (id, definition, workloads, kernels, seed, state, submitter, created, impossible, file_name, file_text, imported)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    EXPERIMENT_GET = "
        SELECT id, definition, workloads, kernels, seed, state, submitter, created, started, finished, impossible, file_name, file_text, imported
        FROM experiment
        WHERE id = $1";
    EXPERIMENT_LIST = "
        SELECT id, definition, workloads, kernels, seed, state, submitter, created, started, finished, impossible, file_name, file_text, imported
        FROM experiment
        WHERE id < $1
        ORDER BY id DESC
        LIMIT $2";
    EXPERIMENT_LIST_OPEN = "
        SELECT id, definition, workloads, kernels, seed, state, submitter, created, started, finished, impossible, file_name, file_text, imported
        FROM experiment
        WHERE state IN ($1, $2)
        ORDER BY id";
    EXPERIMENT_KERNELS = "
        SELECT id, kernels
        FROM experiment
        WHERE kernels <> '{}'
        ORDER BY id DESC
        LIMIT $1";
    EXPERIMENT_STATE_SET = "
        UPDATE experiment
        SET state = $3, started = COALESCE(started, $4), finished = COALESCE(finished, $5)
        WHERE id = $1 AND state = $2";
}

/// Gives an experiment the next number and queues its plan.
pub async fn experiment_insert(tx: &mut Tx, new: &NewExperiment, cells: &[Cell], jobs: &[PlannedJob]) -> Result<ExperimentId, StoreError> {
    let next: Option<(i64,)> = row!(tx, EXPERIMENT_NEXT_ID)?;
    let (next,) = next.expect("an aggregate without GROUP BY gives one row");
    let id = ExperimentId(Place { table: "experiment", key: &next }.number("id", next)?);
    execute!(
        tx,
        EXPERIMENT_INSERT,
        next,
        json(&new.definition),
        json(&new.workloads),
        json(&new.kernels),
        new.seed.cast_signed(),
        ExperimentState::Queued.word(),
        &new.submitter,
        new.created.0,
        json(&new.impossible),
        &new.file_name,
        &new.file_text,
        new.imported.as_ref().map(json),
    )?;
    cell::insert(tx, id, cells).await?;
    job::insert(tx, id, jobs).await?;
    trial::insert(tx, id, jobs).await?;
    Ok(id)
}

/// The experiment of that number.
pub async fn experiment_get(tx: &mut Tx, id: ExperimentId) -> Result<Option<ExperimentRecord>, StoreError> {
    let found: Option<ExperimentColumns> = row!(tx, EXPERIMENT_GET, i64::from(id.0))?;
    found.map(ExperimentColumns::read).transpose()
}

/// Experiments from the newest on: the `limit` newest, or those below the number `before`.
pub async fn experiment_list(tx: &mut Tx, limit: u32, before: Option<ExperimentId>) -> Result<Vec<ExperimentRecord>, StoreError> {
    let before = before.map_or(i64::MAX, |id| i64::from(id.0));
    let found: Vec<ExperimentColumns> = rows!(tx, EXPERIMENT_LIST, before, i64::from(limit))?;
    found.into_iter().map(ExperimentColumns::read).collect()
}

/// Experiments that are not over, in the order of the queue.
pub async fn experiment_list_open(tx: &mut Tx) -> Result<Vec<ExperimentRecord>, StoreError> {
    let found: Vec<ExperimentColumns> = rows!(tx, EXPERIMENT_LIST_OPEN, OPEN[0].word(), OPEN[1].word())?;
    found.into_iter().map(ExperimentColumns::read).collect()
}

/// Names of the kernels of the lab in the `limit` newest experiments that have any, the newest first.
pub async fn experiment_kernels(tx: &mut Tx, limit: u32) -> Result<Vec<(ExperimentId, Vec<KernelName>)>, StoreError> {
    let found: Vec<(i64, String)> = rows!(tx, EXPERIMENT_KERNELS, i64::from(limit))?;
    let read = |(id, kernels): (i64, String)| {
        let place = Place { table: "experiment", key: &format_args!("x{id}") };
        let kernels: BTreeMap<KernelName, KernelRecord> = place.json("kernels", &kernels)?;
        Ok((ExperimentId(place.number("id", id)?), kernels.into_keys().collect()))
    };
    found.into_iter().map(read).collect()
}

/// Compare-and-set of an experiment's state. The first job that runs sets `started`, the end sets `finished`.
pub async fn experiment_state_set(
    tx: &mut Tx,
    id: ExperimentId,
    from: ExperimentState,
    to: ExperimentState,
    now: TimestampMs,
) -> Result<bool, StoreError> {
    let started = (to == ExperimentState::Running).then_some(now.0);
    let finished = to.is_over().then_some(now.0);
    Ok(execute!(tx, EXPERIMENT_STATE_SET, i64::from(id.0), from.word(), to.word(), started, finished)? == 1)
}

#[derive(sqlx::FromRow)]
struct ExperimentColumns {
    id: i64,
    definition: String,
    workloads: String,
    kernels: String,
    seed: i64,
    state: String,
    submitter: String,
    created: i64,
    started: Option<i64>,
    finished: Option<i64>,
    impossible: String,
    file_name: String,
    file_text: String,
    imported: Option<String>,
}

impl ExperimentColumns {
    fn read(self) -> Result<ExperimentRecord, StoreError> {
        let place = Place { table: "experiment", key: &format_args!("x{}", self.id) };
        let unknown = || place.broken("state", format!("`{}` is no state", self.state));
        Ok(ExperimentRecord {
            id: ExperimentId(place.number("id", self.id)?),
            definition: place.json("definition", &self.definition)?,
            workloads: place.json("workloads", &self.workloads)?,
            kernels: place.json("kernels", &self.kernels)?,
            seed: self.seed.cast_unsigned(),
            state: ExperimentState::from_word(&self.state).ok_or_else(unknown)?,
            submitter: self.submitter,
            created: TimestampMs(self.created),
            started: self.started.map(TimestampMs),
            finished: self.finished.map(TimestampMs),
            impossible: place.json("impossible", &self.impossible)?,
            file_name: self.file_name,
            file_text: self.file_text,
            imported: self.imported.as_deref().map(|imported| place.json("imported", imported)).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::{Sample, for_each_store};

    #[tokio::test]
    async fn an_experiment_comes_back_as_it_was_asked() {
        for_each_store(async |store| {
            let sample = Sample::small();
            let id = sample.insert(&store).await;
            assert_eq!(id, ExperimentId(1));
            let mut tx = store.read().await.unwrap();
            let record = experiment_get(&mut tx, id).await.unwrap().unwrap();
            let new = sample.new;
            let expected = ExperimentRecord {
                id,
                definition: new.definition,
                workloads: new.workloads,
                kernels: new.kernels,
                seed: new.seed,
                state: ExperimentState::Queued,
                submitter: new.submitter,
                created: new.created,
                started: None,
                finished: None,
                impossible: new.impossible,
                file_name: new.file_name,
                file_text: new.file_text,
                imported: new.imported,
            };
            assert_eq!(record, expected);
            assert_eq!(experiment_get(&mut tx, ExperimentId(2)).await.unwrap(), None);
        })
        .await;
    }

    #[tokio::test]
    async fn lists_go_from_the_newest_on_and_the_queue_from_the_oldest() {
        for_each_store(async |store| {
            let sample = Sample::small();
            for _ in 0..5 {
                sample.insert(&store).await;
            }
            let mut tx = store.write().await.unwrap();
            let (finished, cancelled) = (ExperimentState::Finished, ExperimentState::Cancelled);
            for (id, state) in [(2, finished), (4, cancelled), (5, ExperimentState::Running)] {
                assert!(experiment_state_set(&mut tx, ExperimentId(id), ExperimentState::Queued, state, TimestampMs(9)).await.unwrap());
            }
            let numbers = |list: Vec<ExperimentRecord>| list.into_iter().map(|record| record.id.0).collect::<Vec<_>>();
            assert_eq!(numbers(experiment_list(&mut tx, 2, None).await.unwrap()), [5, 4]);
            assert_eq!(numbers(experiment_list(&mut tx, 2, Some(ExperimentId(4))).await.unwrap()), [3, 2]);
            assert_eq!(numbers(experiment_list_open(&mut tx).await.unwrap()), [1, 3, 5]);
        })
        .await;
    }

    #[tokio::test]
    async fn kernels_are_found_by_experiment() {
        for_each_store(async |store| {
            let kernel = blklab_model::testing::kernel("patched", 'b');
            let mut sample = Sample::small();
            sample.insert(&store).await;
            sample.new.kernels.insert(kernel.name.clone(), kernel.clone());
            let (first, second) = (sample.insert(&store).await, sample.insert(&store).await);
            let mut tx = store.read().await.unwrap();
            let names = vec![kernel.name.clone()];
            assert_eq!(experiment_kernels(&mut tx, 5).await.unwrap(), [(second, names.clone()), (first, names.clone())]);
            assert_eq!(experiment_kernels(&mut tx, 1).await.unwrap(), [(second, names)]);
            assert_eq!(experiment_get(&mut tx, first).await.unwrap().unwrap().kernels[&kernel.name], kernel);
        })
        .await;
    }

    #[tokio::test]
    async fn a_state_is_set_only_over_the_one_that_was_read() {
        use ExperimentState::{Cancelled, Finished, Queued, Running};
        for_each_store(async |store| {
            let id = Sample::small().insert(&store).await;
            let mut tx = store.write().await.unwrap();
            assert!(experiment_state_set(&mut tx, id, Queued, Running, TimestampMs(10)).await.unwrap());
            assert!(!experiment_state_set(&mut tx, id, Queued, Cancelled, TimestampMs(11)).await.unwrap());
            assert!(experiment_state_set(&mut tx, id, Running, Running, TimestampMs(12)).await.unwrap());
            assert!(experiment_state_set(&mut tx, id, Running, Finished, TimestampMs(13)).await.unwrap());
            let record = experiment_get(&mut tx, id).await.unwrap().unwrap();
            assert_eq!((record.state, record.started, record.finished), (Finished, Some(TimestampMs(10)), Some(TimestampMs(13))));
        })
        .await;
    }

    #[test]
    fn open_is_what_is_not_over() {
        for state in ExperimentState::ALL {
            assert_eq!(OPEN.contains(&state), !state.is_over(), "{}", state.word());
        }
    }
}
