//! Kernel builds: what is asked, and how far it is.

use blklab_model::build::{BuildRecord, BuildRequest, BuildState};
use blklab_model::id::{BuildId, KernelName};
use blklab_model::kernel::Blob;
use blklab_model::time::TimestampMs;

use super::column::{Place, json};
use super::error::StoreError;
use super::sql::{each, execute, row, rows, statements};
use super::tx::Tx;

statements! {
    /// Writers take turns, so nobody else draws the same number.
    BUILD_NEXT_ID = "
        SELECT COALESCE(MAX(id), 0) + 1
        FROM build";
    BUILD_INSERT = "
        INSERT INTO build (id, kernel, request, submitter, state, state_details, attempt, created)
        VALUES ($1, $2, $3, $4, $5, $6, 0, $7)";
    BUILD_GET = "
        SELECT id, request, submitter, state, state_details, lease_host, lease_until, attempt, log, created, started, finished
        FROM build
        WHERE id = $1";
    BUILD_LIST = "
        SELECT id, request, submitter, state, state_details, lease_host, lease_until, attempt, log, created, started, finished
        FROM build
        WHERE id < $1
        ORDER BY id DESC
        LIMIT $2";
    BUILD_LIST_OF_KERNEL = "
        SELECT id, request, submitter, state, state_details, lease_host, lease_until, attempt, log, created, started, finished
        FROM build
        WHERE kernel = $1
        ORDER BY id DESC
        LIMIT $2";
    BUILD_LIST_OPEN = "
        SELECT id, request, submitter, state, state_details, lease_host, lease_until, attempt, log, created, started, finished
        FROM build
        WHERE state IN ($1, $2)
        ORDER BY id";
    BUILD_QUEUED = "
        SELECT id, request, submitter, state, state_details, lease_host, lease_until, attempt, log, created, started, finished
        FROM build
        WHERE state = $1
        ORDER BY id
        LIMIT 1";
    BUILD_STATE_SET = "
        UPDATE build
        SET state = $5, state_details = $6, lease_host = $7, lease_until = $8, attempt = $9,
            started = COALESCE($10, started), finished = COALESCE(finished, $11)
        WHERE id = $1 AND state = $2 AND lease_host IS NOT DISTINCT FROM $3 AND lease_until IS NOT DISTINCT FROM $4";
    BUILD_LOG_SET = "
        UPDATE build
        SET log = $2
        WHERE id = $1";
    BUILD_LOGS = "
        SELECT id, log
        FROM build
        WHERE log IS NOT NULL";
}

/// Words of [`BuildState::word`].
const QUEUED: &str = "queued";
const BUILDING: &str = "building";

/// Gives a request the next number and queues it.
pub async fn build_insert(tx: &mut Tx, request: &BuildRequest, submitter: &str, now: TimestampMs) -> Result<BuildId, StoreError> {
    let next: Option<(i64,)> = row!(tx, BUILD_NEXT_ID)?;
    let (next,) = next.expect("an aggregate without GROUP BY gives one row");
    let id = BuildId(Place { table: "build", key: &next }.number("id", next)?);
    let state = BuildState::Queued;
    execute!(tx, BUILD_INSERT, next, request.name.as_str(), json(request), submitter, state.word(), json(&state), now.0)?;
    Ok(id)
}

/// The build of that number.
pub async fn build_get(tx: &mut Tx, id: BuildId) -> Result<Option<BuildRecord>, StoreError> {
    let found: Option<BuildColumns> = row!(tx, BUILD_GET, i64::from(id.0))?;
    found.map(BuildColumns::read).transpose()
}

/// Builds from the newest on: the `limit` newest, or those below the number `before`.
pub async fn build_list(tx: &mut Tx, limit: u32, before: Option<BuildId>) -> Result<Vec<BuildRecord>, StoreError> {
    let before = before.map_or(i64::MAX, |id| i64::from(id.0));
    let found: Vec<BuildColumns> = rows!(tx, BUILD_LIST, before, i64::from(limit))?;
    found.into_iter().map(BuildColumns::read).collect()
}

/// The `limit` newest builds that were to give the kernel of that name.
pub async fn build_list_of_kernel(tx: &mut Tx, kernel: &KernelName, limit: u32) -> Result<Vec<BuildRecord>, StoreError> {
    let found: Vec<BuildColumns> = rows!(tx, BUILD_LIST_OF_KERNEL, kernel.as_str(), i64::from(limit))?;
    found.into_iter().map(BuildColumns::read).collect()
}

/// Builds that are not over, in the order of the queue.
pub async fn build_list_open(tx: &mut Tx) -> Result<Vec<BuildRecord>, StoreError> {
    let found: Vec<BuildColumns> = rows!(tx, BUILD_LIST_OPEN, QUEUED, BUILDING)?;
    found.into_iter().map(BuildColumns::read).collect()
}

/// The build that the next builder should take: the oldest one.
pub async fn build_queued(tx: &mut Tx) -> Result<Option<BuildRecord>, StoreError> {
    let found: Option<BuildColumns> = row!(tx, BUILD_QUEUED, QUEUED)?;
    found.map(BuildColumns::read).transpose()
}

/// Compare-and-set of a build's state, lease included; `attempt` is the number of attempts begun from now on.
pub async fn build_state_set(
    tx: &mut Tx,
    id: BuildId,
    from: &BuildState,
    to: &BuildState,
    attempt: u32,
    now: TimestampMs,
) -> Result<bool, StoreError> {
    let ((from_host, from_until), (to_host, to_until)) = (lease(from), lease(to));
    let started = (from.word() == QUEUED && to.word() == BUILDING).then_some(now.0);
    let finished = to.is_over().then_some(now.0);
    let changed = execute!(
        tx,
        BUILD_STATE_SET,
        i64::from(id.0),
        from.word(),
        from_host,
        from_until,
        to.word(),
        json(to),
        to_host,
        to_until,
        i64::from(attempt),
        started,
        finished,
    )?;
    Ok(changed == 1)
}

/// Notes the log of an attempt in the place of that of an earlier one.
pub async fn build_log_set(tx: &mut Tx, id: BuildId, log: &Blob) -> Result<(), StoreError> {
    execute!(tx, BUILD_LOG_SET, i64::from(id.0), json(log))?;
    Ok(())
}

/// The logs of all builds.
pub async fn build_logs(tx: &mut Tx) -> Result<Vec<Blob>, StoreError> {
    let found: Vec<(i64, String)> = rows!(tx, BUILD_LOGS)?;
    found.into_iter().map(|(id, log)| Place { table: "build", key: &format_args!("b{id}") }.json("log", &log)).collect()
}

fn lease(state: &BuildState) -> (Option<&str>, Option<i64>) {
    match state {
        BuildState::Leased { host, until } => (Some(host.as_str()), Some(until.0)),
        BuildState::Queued | BuildState::Built { .. } | BuildState::Failed(_) | BuildState::Cancelled => (None, None),
    }
}

#[derive(sqlx::FromRow)]
struct BuildColumns {
    id: i64,
    request: String,
    submitter: String,
    state: String,
    state_details: String,
    lease_host: Option<String>,
    lease_until: Option<i64>,
    attempt: i64,
    log: Option<String>,
    created: i64,
    started: Option<i64>,
    finished: Option<i64>,
}

impl BuildColumns {
    fn read(self) -> Result<BuildRecord, StoreError> {
        let place = Place { table: "build", key: &format_args!("b{}", self.id) };
        let state: BuildState = place.json("state_details", &self.state_details)?;
        // The columns are what statements look at, so they must say the same.
        if (self.state.as_str(), self.lease_host.as_deref(), self.lease_until) != (state.word(), lease(&state).0, lease(&state).1) {
            let columns = (&self.state, &self.lease_host, self.lease_until);
            return Err(place.broken("state", format!("{columns:?} is not {state:?}")));
        }
        Ok(BuildRecord {
            id: BuildId(place.number("id", self.id)?),
            request: place.json("request", &self.request)?,
            submitter: self.submitter,
            state,
            attempt: place.number("attempt", self.attempt)?,
            log: place.json_if_any("log", self.log.as_deref())?,
            created: TimestampMs(self.created),
            started: self.started.map(TimestampMs),
            finished: self.finished.map(TimestampMs),
        })
    }
}

#[cfg(test)]
mod tests {
    use blklab_model::build::{BuildFailure, BuildFault};
    use blklab_model::testing::{build_request, id};

    use super::*;
    use crate::store::testing::for_each_store;

    fn leased(until: i64) -> BuildState {
        BuildState::Leased { host: id("builder"), until: TimestampMs(until) }
    }

    fn failed() -> BuildState {
        BuildState::Failed(BuildFailure { fault: BuildFault::DoesNotApply, message: "idle.mbox: hunk #2 'fails' \u{1f525}".into() })
    }

    #[tokio::test]
    async fn a_build_comes_back_as_it_was_asked() {
        for_each_store(async |store| {
            let mut tx = store.write().await.unwrap();
            let request = build_request("patched");
            let build = build_insert(&mut tx, &request, "someone", TimestampMs(7)).await.unwrap();
            let expected = BuildRecord {
                id: BuildId(1),
                request,
                submitter: "someone".into(),
                state: BuildState::Queued,
                attempt: 0,
                log: None,
                created: TimestampMs(7),
                started: None,
                finished: None,
            };
            assert_eq!(build_get(&mut tx, build).await.unwrap(), Some(expected));
            assert_eq!(build_get(&mut tx, BuildId(2)).await.unwrap(), None);
        })
        .await;
    }

    #[tokio::test]
    async fn the_oldest_build_comes_first_and_lists_go_from_the_newest_on() {
        for_each_store(async |store| {
            let mut tx = store.write().await.unwrap();
            for name in ["a", "b", "c", "b"] {
                build_insert(&mut tx, &build_request(name), "someone", TimestampMs(7)).await.unwrap();
            }
            assert_eq!(build_queued(&mut tx).await.unwrap().unwrap().id, BuildId(1));
            assert!(build_state_set(&mut tx, BuildId(1), &BuildState::Queued, &leased(9), 1, TimestampMs(8)).await.unwrap());
            assert!(build_state_set(&mut tx, BuildId(2), &BuildState::Queued, &failed(), 0, TimestampMs(8)).await.unwrap());
            let numbers = |list: Vec<BuildRecord>| list.into_iter().map(|build| build.id.0).collect::<Vec<_>>();
            assert_eq!(build_queued(&mut tx).await.unwrap().unwrap().id, BuildId(3));
            assert_eq!(numbers(build_list_open(&mut tx).await.unwrap()), [1, 3, 4]);
            assert_eq!(numbers(build_list(&mut tx, 2, None).await.unwrap()), [4, 3]);
            assert_eq!(numbers(build_list(&mut tx, 2, Some(BuildId(3))).await.unwrap()), [2, 1]);
            assert_eq!(numbers(build_list_of_kernel(&mut tx, &id("b"), 9).await.unwrap()), [4, 2]);
        })
        .await;
    }

    #[tokio::test]
    async fn a_state_is_set_only_over_the_one_that_was_read() {
        for_each_store(async |store| {
            let mut tx = store.write().await.unwrap();
            let build = build_insert(&mut tx, &build_request("a"), "someone", TimestampMs(7)).await.unwrap();
            assert!(build_state_set(&mut tx, build, &BuildState::Queued, &leased(10), 1, TimestampMs(8)).await.unwrap());
            assert!(!build_state_set(&mut tx, build, &BuildState::Queued, &leased(20), 1, TimestampMs(9)).await.unwrap());
            assert!(!build_state_set(&mut tx, build, &leased(9), &BuildState::Queued, 1, TimestampMs(9)).await.unwrap());
            assert!(build_state_set(&mut tx, build, &leased(10), &leased(30), 1, TimestampMs(9)).await.unwrap());
            let record = build_get(&mut tx, build).await.unwrap().unwrap();
            assert_eq!((record.state, record.attempt, record.started), (leased(30), 1, Some(TimestampMs(8))), "renewing begins nothing");
            assert!(build_state_set(&mut tx, build, &leased(30), &failed(), 1, TimestampMs(40)).await.unwrap());
            let record = build_get(&mut tx, build).await.unwrap().unwrap();
            assert_eq!((record.state, record.finished), (failed(), Some(TimestampMs(40))));
            assert_eq!((leased(0).word(), BuildState::Queued.word()), (BUILDING, QUEUED));
        })
        .await;
    }

    #[tokio::test]
    async fn the_last_log_counts() {
        for_each_store(async |store| {
            let mut tx = store.write().await.unwrap();
            let build = build_insert(&mut tx, &build_request("a"), "someone", TimestampMs(7)).await.unwrap();
            assert_eq!(build_logs(&mut tx).await.unwrap(), []);
            let blob = |digit: &str| Blob { sha256: digit.repeat(64), bytes: 5 };
            for digit in ["a", "b"] {
                build_log_set(&mut tx, build, &blob(digit)).await.unwrap();
            }
            assert_eq!(build_logs(&mut tx).await.unwrap(), [blob("b")]);
            assert_eq!(build_get(&mut tx, build).await.unwrap().unwrap().log, Some(blob("b")));
        })
        .await;
    }
}
