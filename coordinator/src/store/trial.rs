//! Trials, and every report that an agent sent of them.

use std::collections::BTreeMap;

use blklab_model::id::{CellId, ExperimentId, JobId, TrialId};
use blklab_model::outcome::{Failure, Outcome};
use blklab_model::plan::PlannedJob;
use blklab_model::record::{TrialDetails, TrialRecord};
use blklab_model::time::TimestampMs;
use blklab_model::trial::TrialState;

use super::column::{Place, json};
use super::error::StoreError;
use super::sql::{each, execute, insert_all, row, rows, rows_in, statements};
use super::tx::Tx;

/// What an agent reported of one attempt at a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// The trial.
    pub trial: TrialId,
    /// Which attempt at it, from 1.
    pub attempt: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// When it began, by the host's clock.
    pub started: TimestampMs,
    /// When the report came in.
    pub ended: TimestampMs,
    /// What else it said.
    pub details: TrialDetails,
}

/// How many trials of an experiment are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrialCounts {
    /// Wait.
    pub queued: u32,
    /// Are worked on.
    pub running: u32,
    /// Gave their values.
    pub completed: u32,
    /// Gave none.
    pub failed: u32,
    /// Were cancelled.
    pub cancelled: u32,
}

impl TrialCounts {
    /// All of them.
    pub fn total(&self) -> u32 {
        self.queued + self.running + self.over()
    }

    /// Those that have ended.
    pub fn over(&self) -> u32 {
        self.completed + self.failed + self.cancelled
    }
}

statements! {
    TRIAL_INSERT = "INSERT INTO trial (experiment, cell, round, arm, job, position, seed, state, attempt) ";
    TRIAL_GET = "
        SELECT experiment, cell, round, arm, job, position, seed, state, failure, attempt, started, ended, details
        FROM trial
        WHERE experiment = $1 AND cell = $2 AND round = $3 AND arm = $4";
    TRIAL_LIST = "
        SELECT experiment, cell, round, arm, job, position, seed, state, failure, attempt, started, ended, details
        FROM trial
        WHERE experiment = $1
        ORDER BY cell, round, arm";
    TRIAL_LIST_OF_JOB = "
        SELECT experiment, cell, round, arm, job, position, seed, state, failure, attempt, started, ended, details
        FROM trial
        WHERE experiment = $1 AND job = $2
        ORDER BY position";
    TRIAL_STATE_SET = "
        UPDATE trial
        SET state = $6, failure = $7, attempt = $8
        WHERE experiment = $1 AND cell = $2 AND round = $3 AND arm = $4 AND state = $5";
    TRIAL_REPORTED = "
        UPDATE trial
        SET state = $5, failure = $6, started = $7, ended = $8, details = $9,
            attempt = CASE WHEN attempt < $10 THEN $10 ELSE attempt END
        WHERE experiment = $1 AND cell = $2 AND round = $3 AND arm = $4";
    TRIAL_COUNTS = "
        SELECT experiment, state, COUNT(*)
        FROM trial
        WHERE experiment IN ($list)
        GROUP BY experiment, state";
    ATTEMPT_PUT = "
        INSERT INTO attempt (experiment, cell, round, arm, attempt, outcome, started, ended, details)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT DO NOTHING";
    ATTEMPT_LIST = "
        SELECT attempt, outcome, started, ended, details
        FROM attempt
        WHERE experiment = $1 AND cell = $2 AND round = $3 AND arm = $4
        ORDER BY attempt";
}

/// Queues the trials of a new experiment's jobs.
pub(super) async fn insert(tx: &mut Tx, experiment: ExperimentId, jobs: &[PlannedJob]) -> Result<(), StoreError> {
    let placed: Vec<_> = (0i64..)
        .zip(jobs)
        .flat_map(|(number, job)| (0i64..).zip(&job.trials).map(move |(position, trial)| (number, position, trial)))
        .collect();
    insert_all!(tx, TRIAL_INSERT, placed, |row, (job, position, trial)| {
        row.push_bind(i64::from(experiment.0)).push_bind(i64::from(trial.cell)).push_bind(i64::from(trial.run));
        row.push_bind(i64::from(trial.arm)).push_bind(*job).push_bind(*position).push_bind(trial.seed.cast_signed());
        row.push_bind(TrialState::Queued.word()).push_bind(0i64)
    })
}

/// The trial of that id.
pub async fn trial_get(tx: &mut Tx, id: TrialId) -> Result<Option<TrialRecord>, StoreError> {
    let [experiment, cell, round, arm] = key(id);
    let found: Option<TrialColumns> = row!(tx, TRIAL_GET, experiment, cell, round, arm)?;
    found.map(TrialColumns::read).transpose()
}

/// The trials of an experiment by cell, round and arm.
pub async fn trial_list(tx: &mut Tx, experiment: ExperimentId) -> Result<Vec<TrialRecord>, StoreError> {
    let found: Vec<TrialColumns> = rows!(tx, TRIAL_LIST, i64::from(experiment.0))?;
    found.into_iter().map(TrialColumns::read).collect()
}

/// The trials of a job in the order in which it runs them.
pub async fn trial_list_of_job(tx: &mut Tx, job: JobId) -> Result<Vec<TrialRecord>, StoreError> {
    let found: Vec<TrialColumns> = rows!(tx, TRIAL_LIST_OF_JOB, i64::from(job.experiment.0), i64::from(job.job))?;
    found.into_iter().map(TrialColumns::read).collect()
}

/// Compare-and-set of a trial's state; `attempt` is the number of attempts begun from now on.
pub async fn trial_state_set(tx: &mut Tx, id: TrialId, from: &TrialState, to: &TrialState, attempt: u32) -> Result<bool, StoreError> {
    let [experiment, cell, round, arm] = key(id);
    let (from, to, failure) = (from.word(), to.word(), failure_json(to));
    Ok(execute!(tx, TRIAL_STATE_SET, experiment, cell, round, arm, from, to, failure, i64::from(attempt))? == 1)
}

/// Keeps a report and lets its trial become `to`; its attempt counts as begun even if no heartbeat ever said so. False, and nothing is changed, when a report of that attempt is known already.
pub async fn trial_report_put(tx: &mut Tx, report: &Attempt, to: &TrialState) -> Result<bool, StoreError> {
    if !attempt_put(tx, report).await? {
        return Ok(false);
    }
    let [experiment, cell, round, arm] = key(report.trial);
    let (started, ended) = (report.started.0, report.ended.0);
    let (state, failure, details) = (to.word(), failure_json(to), json(&report.details));
    let attempt = i64::from(report.attempt);
    execute!(tx, TRIAL_REPORTED, experiment, cell, round, arm, state, failure, started, ended, details, attempt)?;
    Ok(true)
}

/// Keeps a report that changes nothing any more: it came in when its trial was over. False when it is known already.
pub async fn attempt_put(tx: &mut Tx, report: &Attempt) -> Result<bool, StoreError> {
    let [experiment, cell, round, arm] = key(report.trial);
    let (started, ended) = (report.started.0, report.ended.0);
    let (outcome, details) = (json(&report.outcome), json(&report.details));
    let attempt = i64::from(report.attempt);
    Ok(execute!(tx, ATTEMPT_PUT, experiment, cell, round, arm, attempt, outcome, started, ended, details)? == 1)
}

/// All reports of a trial, the first attempt first.
pub async fn attempt_list(tx: &mut Tx, trial: TrialId) -> Result<Vec<Attempt>, StoreError> {
    let [experiment, cell, round, arm] = key(trial);
    let found: Vec<AttemptColumns> = rows!(tx, ATTEMPT_LIST, experiment, cell, round, arm)?;
    found.into_iter().map(|columns| columns.read(trial)).collect()
}

/// Trials by state, for each of the experiments that has any.
pub async fn trial_counts(tx: &mut Tx, experiments: &[ExperimentId]) -> Result<BTreeMap<ExperimentId, TrialCounts>, StoreError> {
    let mut counts: BTreeMap<ExperimentId, TrialCounts> = BTreeMap::new();
    for some in experiments.chunks(super::sql::MAX_BOUND_VALUES) {
        let found: Vec<(i64, String, i64)> = rows_in!(tx, TRIAL_COUNTS, some.iter().map(|id| i64::from(id.0)))?;
        for (experiment, state, trials) in found {
            let place = Place { table: "trial", key: &format_args!("x{experiment}") };
            let counts = counts.entry(ExperimentId(place.number("experiment", experiment)?)).or_default();
            let count = match state.as_str() {
                "queued" => &mut counts.queued,
                "running" => &mut counts.running,
                "completed" => &mut counts.completed,
                "failed" => &mut counts.failed,
                "cancelled" => &mut counts.cancelled,
                word => return Err(place.broken("state", format!("`{word}` is no state"))),
            };
            *count = place.number("state", trials)?;
        }
    }
    Ok(counts)
}

/// The columns of a trial's id.
pub(super) fn key(id: TrialId) -> [i64; 4] {
    [id.cell.experiment.0, id.cell.cell, id.run, id.arm].map(i64::from)
}

/// The id in the columns of a row.
pub(super) fn id(place: &Place<'_>, [experiment, cell, round, arm]: [i64; 4]) -> Result<TrialId, StoreError> {
    let experiment = ExperimentId(place.number("experiment", experiment)?);
    let cell = CellId { experiment, cell: place.number("cell", cell)? };
    Ok(TrialId { cell, run: place.number("round", round)?, arm: place.number("arm", arm)? })
}

fn failure_json(state: &TrialState) -> Option<String> {
    match state {
        TrialState::Failed(failure) => Some(json(failure)),
        TrialState::Queued | TrialState::Running | TrialState::Completed | TrialState::Cancelled => None,
    }
}

#[derive(sqlx::FromRow)]
struct TrialColumns {
    experiment: i64,
    cell: i64,
    round: i64,
    arm: i64,
    job: i64,
    position: i64,
    seed: i64,
    state: String,
    failure: Option<String>,
    attempt: i64,
    started: Option<i64>,
    ended: Option<i64>,
    details: Option<String>,
}

impl TrialColumns {
    fn read(self) -> Result<TrialRecord, StoreError> {
        let key = &format_args!("x{}.c{}.r{}.a{}", self.experiment, self.cell, self.round, self.arm);
        let place = Place { table: "trial", key };
        let id = id(&place, [self.experiment, self.cell, self.round, self.arm])?;
        let failure: Option<Failure> = place.json_if_any("failure", self.failure.as_deref())?;
        Ok(TrialRecord {
            id,
            job: JobId { experiment: id.cell.experiment, job: place.number("job", self.job)? },
            position: place.number("position", self.position)?,
            seed: self.seed.cast_unsigned(),
            state: match (self.state.as_str(), failure) {
                ("queued", None) => TrialState::Queued,
                ("running", None) => TrialState::Running,
                ("completed", None) => TrialState::Completed,
                ("failed", Some(failure)) => TrialState::Failed(failure),
                ("cancelled", None) => TrialState::Cancelled,
                (word, failure) => return Err(place.broken("state", format!("`{word}` with failure {failure:?} is no state"))),
            },
            attempt: place.number("attempt", self.attempt)?,
            started: self.started.map(TimestampMs),
            ended: self.ended.map(TimestampMs),
            details: place.json_if_any("details", self.details.as_deref())?,
        })
    }
}

#[derive(sqlx::FromRow)]
struct AttemptColumns {
    attempt: i64,
    outcome: String,
    started: i64,
    ended: i64,
    details: String,
}

impl AttemptColumns {
    fn read(self, trial: TrialId) -> Result<Attempt, StoreError> {
        let place = Place { table: "attempt", key: &format_args!("{trial}, attempt {}", self.attempt) };
        Ok(Attempt {
            trial,
            attempt: place.number("attempt", self.attempt)?,
            outcome: place.json("outcome", &self.outcome)?,
            started: TimestampMs(self.started),
            ended: TimestampMs(self.ended),
            details: place.json("details", &self.details)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use blklab_model::outcome::Fault;
    use blklab_model::record::{CpuUse, OutputRef};
    use blklab_model::testing::id as parsed;

    use super::*;
    use crate::store::testing::{Sample, for_each_store};

    fn failure() -> Failure {
        Failure { fault: Fault::Lab, step: "mkfs".into(), message: "no space".into() }
    }

    fn report(trial: TrialId, attempt: u32, outcome: Outcome) -> Attempt {
        let details = TrialDetails {
            phases: vec![("mkfs".into(), 12), ("workload".into(), 3_000)],
            window_ms: Some((5, u64::MAX)),
            elapsed_s: [("rt".to_owned(), 0.1 + 0.2)].into(),
            environment: vec![("uname".into(), "6.18.1".into())],
            outputs: vec![OutputRef { name: "rt.out".into(), sha256: "ab".repeat(32), bytes: 7, truncated_bytes: 0 }],
            cpu: Some(CpuUse { user_pct: 1.5, system_pct: 2.5, iowait_pct: 90.0 }),
            warnings: vec!["a tab\tand a line\n".into()],
            boot: Some(blklab_model::record::Boot { id: "5f2c".into(), ms: 6_300 }),
        };
        Attempt { trial, attempt, outcome, started: TimestampMs(100), ended: TimestampMs(200), details }
    }

    #[tokio::test]
    async fn trials_are_where_the_plan_put_them() {
        for_each_store(async |store| {
            let sample = Sample::small().grown(3, 2);
            let experiment = sample.insert(&store).await;
            let mut tx = store.read().await.unwrap();
            for (number, planned) in (0u32..).zip(&sample.jobs) {
                let job = JobId { experiment, job: number };
                let trials = trial_list_of_job(&mut tx, job).await.unwrap();
                assert_eq!(trials.len(), planned.trials.len());
                for ((position, trial), planned_trial) in (0u32..).zip(&trials).zip(&planned.trials) {
                    let id =
                        TrialId { cell: CellId { experiment, cell: planned_trial.cell }, run: planned_trial.run, arm: planned_trial.arm };
                    assert_eq!((trial.id, trial.job, trial.position, trial.seed), (id, job, position, planned_trial.seed));
                    assert_eq!((&trial.state, trial.attempt, &trial.details), (&TrialState::Queued, 0, &None));
                    assert_eq!(trial_get(&mut tx, id).await.unwrap().as_ref(), Some(trial));
                }
            }
            let all = trial_list(&mut tx, experiment).await.unwrap();
            assert_eq!(all.len(), 12);
            assert!(all.is_sorted_by_key(|trial| trial.id));
            assert_eq!(trial_get(&mut tx, parsed("x1.c0.r9.a0")).await.unwrap(), None);
        })
        .await;
    }

    #[tokio::test]
    async fn a_state_is_set_only_over_the_one_that_was_read() {
        for_each_store(async |store| {
            Sample::small().insert(&store).await;
            let trial = parsed("x1.c0.r0.a1");
            let mut tx = store.write().await.unwrap();
            assert!(trial_state_set(&mut tx, trial, &TrialState::Queued, &TrialState::Running, 1).await.unwrap());
            assert!(!trial_state_set(&mut tx, trial, &TrialState::Queued, &TrialState::Running, 2).await.unwrap());
            let record = trial_get(&mut tx, trial).await.unwrap().unwrap();
            assert_eq!((record.state, record.attempt), (TrialState::Running, 1));
            let failed = TrialState::Failed(failure());
            for (from, to) in
                [(TrialState::Running, failed.clone()), (failed, TrialState::Cancelled), (TrialState::Cancelled, TrialState::Completed)]
            {
                assert!(trial_state_set(&mut tx, trial, &from, &to, 1).await.unwrap());
                assert_eq!(trial_get(&mut tx, trial).await.unwrap().unwrap().state, to);
            }
            assert!(!trial_state_set(&mut tx, parsed("x9.c0.r0.a0"), &TrialState::Queued, &TrialState::Running, 1).await.unwrap());
        })
        .await;
    }

    #[tokio::test]
    async fn a_report_counts_once_and_none_is_lost() {
        for_each_store(async |store| {
            Sample::small().insert(&store).await;
            let trial = parsed("x1.c0.r2.a0");
            let mut tx = store.write().await.unwrap();
            let first = report(trial, 1, Outcome::Failed(failure()));
            assert!(trial_report_put(&mut tx, &first, &TrialState::Queued).await.unwrap());
            assert_eq!(trial_get(&mut tx, trial).await.unwrap().unwrap().attempt, 1, "the next one is the second");
            let second = report(trial, 2, Outcome::Completed);
            assert!(trial_report_put(&mut tx, &second, &TrialState::Completed).await.unwrap());
            // The answer was lost and the agent sends again; the lab must not go back to what it said.
            assert!(!trial_report_put(&mut tx, &first, &TrialState::Queued).await.unwrap());
            let late = report(trial, 3, Outcome::Completed);
            assert!(attempt_put(&mut tx, &late).await.unwrap());
            assert!(!attempt_put(&mut tx, &late).await.unwrap());

            let record = trial_get(&mut tx, trial).await.unwrap().unwrap();
            assert_eq!((record.state, record.details.as_ref()), (TrialState::Completed, Some(&second.details)));
            assert_eq!((record.started, record.ended), (Some(second.started), Some(second.ended)));
            assert_eq!(attempt_list(&mut tx, trial).await.unwrap(), [first, second, late]);
            assert_eq!(attempt_list(&mut tx, parsed("x1.c0.r2.a1")).await.unwrap(), []);
        })
        .await;
    }

    #[tokio::test]
    async fn a_report_of_no_trial_is_refused() {
        for_each_store(async |store| {
            let mut tx = store.write().await.unwrap();
            let error = attempt_put(&mut tx, &report(parsed("x1.c0.r0.a0"), 1, Outcome::Completed)).await.unwrap_err();
            assert!(error.to_string().contains("ATTEMPT_PUT"), "{error}");
        })
        .await;
    }

    #[tokio::test]
    async fn trials_are_counted_by_state_in_one_statement() {
        for_each_store(async |store| {
            for _ in 0..3 {
                Sample::small().insert(&store).await;
            }
            let mut tx = store.write().await.unwrap();
            let ends = [TrialState::Running, TrialState::Completed, TrialState::Failed(failure()), TrialState::Cancelled];
            for (round, to) in (0u32..).zip(&ends) {
                let trial = TrialId { cell: parsed("x2.c0"), run: round / 2, arm: round % 2 };
                assert!(trial_state_set(&mut tx, trial, &TrialState::Queued, to, 1).await.unwrap());
            }
            let before = tx.statements();
            let counts = trial_counts(&mut tx, &[1, 2, 7].map(ExperimentId)).await.unwrap();
            assert_eq!(tx.statements() - before, 1);
            let untouched = TrialCounts { queued: 6, ..TrialCounts::default() };
            let mixed = TrialCounts { queued: 2, running: 1, completed: 1, failed: 1, cancelled: 1 };
            assert_eq!(counts, [(ExperimentId(1), untouched), (ExperimentId(2), mixed)].into());
            assert_eq!((mixed.total(), mixed.over()), (6, 3));
            assert_eq!(trial_counts(&mut tx, &[]).await.unwrap(), BTreeMap::new());
        })
        .await;
    }
}
