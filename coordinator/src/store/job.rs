//! Jobs: what one host does under one lease.

use blklab_model::id::{ExperimentId, HostName, JobId};
use blklab_model::job::JobState;
use blklab_model::plan::PlannedJob;
use blklab_model::record::JobRecord;
use blklab_model::time::TimestampMs;

use super::column::{Place, json};
use super::error::StoreError;
use super::experiment::OPEN;
use super::sql::{each, execute, insert_all, row, rows, statements};
use super::tx::Tx;

statements! {
    JOB_INSERT = "INSERT INTO job (experiment, number, host, kernel, round, state) ";
    JOB_GET = "
        SELECT experiment, number, host, kernel, round, state, lease_host, lease_until
        FROM job
        WHERE experiment = $1 AND number = $2";
    JOB_LIST = "
        SELECT experiment, number, host, kernel, round, state, lease_host, lease_until
        FROM job
        WHERE experiment = $1
        ORDER BY number";
    JOB_LIST_IN_STATE = "
        SELECT experiment, number, host, kernel, round, state, lease_host, lease_until
        FROM job
        WHERE state = $1
        ORDER BY experiment, number";
    JOB_QUEUED_FOR = "
        SELECT job.experiment, job.number, job.host, job.kernel, job.round, job.state, job.lease_host, job.lease_until
        FROM job
        JOIN experiment ON experiment.id = job.experiment
        WHERE job.state = $1 AND job.host = $2 AND experiment.state IN ($3, $4)
        ORDER BY job.experiment, job.round, job.number
        LIMIT 1";
    JOB_LIST_LAST_OF_HOST = "
        SELECT experiment, number, host, kernel, round, state, lease_host, lease_until
        FROM job
        WHERE state IN ($1, $2) AND host = $3
        ORDER BY experiment DESC, round DESC, number DESC
        LIMIT $4";
    JOB_STATE_SET = "
        UPDATE job
        SET state = $6, lease_host = $7, lease_until = $8
        WHERE experiment = $1 AND number = $2
            AND state = $3 AND lease_host IS NOT DISTINCT FROM $4 AND lease_until IS NOT DISTINCT FROM $5";
}

/// Queues the jobs of a new experiment, numbered in the order of the plan.
pub(super) async fn insert(tx: &mut Tx, experiment: ExperimentId, jobs: &[PlannedJob]) -> Result<(), StoreError> {
    let numbered: Vec<_> = (0i64..).zip(jobs).collect();
    insert_all!(tx, JOB_INSERT, numbered, |row, (number, job)| {
        row.push_bind(i64::from(experiment.0)).push_bind(*number).push_bind(job.host.as_str());
        row.push_bind(json(&job.kernel)).push_bind(i64::from(job.round)).push_bind(JobState::Queued.word())
    })
}

/// The job of that id.
pub async fn job_get(tx: &mut Tx, id: JobId) -> Result<Option<JobRecord>, StoreError> {
    let found: Option<JobColumns> = row!(tx, JOB_GET, i64::from(id.experiment.0), i64::from(id.job))?;
    found.map(JobColumns::read).transpose()
}

/// The jobs of an experiment in the order of the plan.
pub async fn job_list(tx: &mut Tx, experiment: ExperimentId) -> Result<Vec<JobRecord>, StoreError> {
    let found: Vec<JobColumns> = rows!(tx, JOB_LIST, i64::from(experiment.0))?;
    found.into_iter().map(JobColumns::read).collect()
}

/// All jobs that are leased: at most a few for each host.
pub async fn job_list_leased(tx: &mut Tx) -> Result<Vec<JobRecord>, StoreError> {
    let found: Vec<JobColumns> = rows!(tx, JOB_LIST_IN_STATE, LEASED)?;
    found.into_iter().map(JobColumns::read).collect()
}

/// The job that `host` should claim next: of the oldest experiment that is not over, the earliest round, the order of the plan.
pub async fn job_queued_for(tx: &mut Tx, host: &HostName) -> Result<Option<JobRecord>, StoreError> {
    let queued = JobState::Queued.word();
    let found: Option<JobColumns> = row!(tx, JOB_QUEUED_FOR, queued, host.as_str(), OPEN[0].word(), OPEN[1].word())?;
    found.map(JobColumns::read).transpose()
}

/// The `limit` newest jobs that a host has worked on, the newest first.
pub async fn job_list_last_of_host(tx: &mut Tx, host: &HostName, limit: u32) -> Result<Vec<JobRecord>, StoreError> {
    let done = JobState::Done.word();
    let found: Vec<JobColumns> = rows!(tx, JOB_LIST_LAST_OF_HOST, done, LEASED, host.as_str(), i64::from(limit))?;
    found.into_iter().map(JobColumns::read).collect()
}

/// Compare-and-set of a job's state, lease included.
pub async fn job_state_set(tx: &mut Tx, id: JobId, from: &JobState, to: &JobState) -> Result<bool, StoreError> {
    let ((from_host, from_until), (to_host, to_until)) = (lease(from), lease(to));
    let changed = execute!(
        tx,
        JOB_STATE_SET,
        i64::from(id.experiment.0),
        i64::from(id.job),
        from.word(),
        from_host,
        from_until,
        to.word(),
        to_host,
        to_until,
    )?;
    Ok(changed == 1)
}

/// [`JobState::word`] of a leased job, without the lease.
const LEASED: &str = "leased";

fn lease(state: &JobState) -> (Option<&str>, Option<i64>) {
    match state {
        JobState::Leased { host, until } => (Some(host.as_str()), Some(until.0)),
        JobState::Queued | JobState::Done | JobState::Cancelled => (None, None),
    }
}

#[derive(sqlx::FromRow)]
struct JobColumns {
    experiment: i64,
    number: i64,
    host: String,
    kernel: String,
    round: i64,
    state: String,
    lease_host: Option<String>,
    lease_until: Option<i64>,
}

impl JobColumns {
    fn read(self) -> Result<JobRecord, StoreError> {
        let place = Place { table: "job", key: &format_args!("x{}.j{}", self.experiment, self.number) };
        let experiment = ExperimentId(place.number("experiment", self.experiment)?);
        Ok(JobRecord {
            id: JobId { experiment, job: place.number("number", self.number)? },
            host: place.parse("host", &self.host)?,
            kernel: place.json("kernel", &self.kernel)?,
            round: place.number("round", self.round)?,
            state: match (self.state.as_str(), self.lease_host, self.lease_until) {
                ("queued", None, None) => JobState::Queued,
                (LEASED, Some(host), Some(until)) => {
                    JobState::Leased { host: place.parse("lease_host", &host)?, until: TimestampMs(until) }
                }
                ("done", None, None) => JobState::Done,
                ("cancelled", None, None) => JobState::Cancelled,
                (word, host, until) => {
                    return Err(place.broken("state", format!("`{word}` with lease ({host:?}, {until:?}) is no state")));
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use blklab_model::experiment::state::ExperimentState;
    use blklab_model::testing::{host, id};

    use super::*;
    use crate::store::experiment_state_set;
    use crate::store::testing::{Sample, for_each_store};

    /// Two cells on two hosts, three rounds: jobs of `a` and `b` take turns.
    fn on_two_hosts() -> Sample {
        let changes = [("rounds = 6", "rounds = 3"), ("[\"ext4\"]", "[\"ext4\", \"xfs\"]")];
        Sample::on(&[host("a", &["sata-hdd"]), host("b", &["sata-hdd"])], &changes)
    }

    fn leased(until: i64) -> JobState {
        JobState::Leased { host: id("a"), until: TimestampMs(until) }
    }

    #[tokio::test]
    async fn jobs_are_numbered_as_they_were_planned() {
        for_each_store(async |store| {
            let sample = on_two_hosts();
            let experiment = sample.insert(&store).await;
            let mut tx = store.read().await.unwrap();
            let jobs = job_list(&mut tx, experiment).await.unwrap();
            assert_eq!(jobs.len(), 6);
            for ((number, job), planned) in (0u32..).zip(&jobs).zip(&sample.jobs) {
                assert_eq!(
                    (job.id, &job.host, &job.kernel, job.round),
                    (JobId { experiment, job: number }, &planned.host, &planned.kernel, planned.round)
                );
                assert_eq!(job.state, JobState::Queued);
                assert_eq!(job_get(&mut tx, job.id).await.unwrap().as_ref(), Some(job));
            }
            assert_eq!(job_get(&mut tx, id("x1.j6")).await.unwrap(), None);
        })
        .await;
    }

    #[tokio::test]
    async fn the_next_job_is_of_the_oldest_open_experiment_and_the_earliest_round() {
        for_each_store(async |store| {
            let (over, first, second) =
                (on_two_hosts().insert(&store).await, on_two_hosts().insert(&store).await, on_two_hosts().insert(&store).await);
            let mut tx = store.write().await.unwrap();
            assert!(
                experiment_state_set(&mut tx, over, ExperimentState::Queued, ExperimentState::Cancelled, TimestampMs(1)).await.unwrap()
            );
            let mut taken = Vec::new();
            while let Some(job) = job_queued_for(&mut tx, &id("a")).await.unwrap() {
                assert!(job_state_set(&mut tx, job.id, &job.state, &leased(5)).await.unwrap());
                taken.push((job.id.experiment, job.round));
            }
            assert_eq!(taken, [first, second].map(|id| [0, 1, 2].map(|round| (id, round))).concat());
            assert_eq!(job_list_leased(&mut tx).await.unwrap().len(), 6);
            assert!(job_queued_for(&mut tx, &id("b")).await.unwrap().is_some(), "the jobs of another host are left");
            assert!(job_queued_for(&mut tx, &id("c")).await.unwrap().is_none());
        })
        .await;
    }

    #[tokio::test]
    async fn the_last_jobs_of_a_host_are_those_it_worked_on() {
        for_each_store(async |store| {
            let experiment = on_two_hosts().insert(&store).await;
            on_two_hosts().insert(&store).await;
            let mut tx = store.write().await.unwrap();
            let mine: Vec<JobId> =
                job_list(&mut tx, experiment).await.unwrap().iter().filter(|job| job.host == id("a")).map(|job| job.id).collect();
            assert!(job_state_set(&mut tx, mine[0], &JobState::Queued, &JobState::Done).await.unwrap());
            assert!(job_state_set(&mut tx, mine[1], &JobState::Queued, &leased(5)).await.unwrap());
            let ids = |jobs: Vec<JobRecord>| jobs.into_iter().map(|job| job.id).collect::<Vec<_>>();
            assert_eq!(ids(job_list_last_of_host(&mut tx, &id("a"), 5).await.unwrap()), [mine[1], mine[0]]);
            assert_eq!(ids(job_list_last_of_host(&mut tx, &id("a"), 1).await.unwrap()), [mine[1]]);
            assert_eq!(ids(job_list_last_of_host(&mut tx, &id("b"), 5).await.unwrap()), []);
        })
        .await;
    }

    #[tokio::test]
    async fn a_state_is_set_only_over_the_one_that_was_read() {
        for_each_store(async |store| {
            Sample::small().insert(&store).await;
            let job = id("x1.j0");
            let mut tx = store.write().await.unwrap();
            assert!(job_state_set(&mut tx, job, &JobState::Queued, &leased(10)).await.unwrap());
            assert!(!job_state_set(&mut tx, job, &JobState::Queued, &leased(20)).await.unwrap(), "another host has it");
            assert!(!job_state_set(&mut tx, job, &leased(9), &JobState::Queued).await.unwrap(), "the lease was renewed meanwhile");
            assert!(job_state_set(&mut tx, job, &leased(10), &leased(30)).await.unwrap());
            assert_eq!(job_get(&mut tx, job).await.unwrap().unwrap().state, leased(30));
            for (from, to) in
                [(leased(30), JobState::Queued), (JobState::Queued, JobState::Cancelled), (JobState::Cancelled, JobState::Done)]
            {
                assert!(job_state_set(&mut tx, job, &from, &to).await.unwrap());
                assert_eq!(job_get(&mut tx, job).await.unwrap().unwrap().state, to);
            }
            assert_eq!(LEASED, leased(0).word());
        })
        .await;
    }
}
