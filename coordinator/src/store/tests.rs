//! What the store promises as a whole, on both databases: turns, isolation, limits, and errors that name their place.

use std::collections::BTreeSet;
use std::time::Duration;

use blklab_model::id::{ExperimentId, HostName, JobId};
use blklab_model::job::{self, JobEvent};
use blklab_model::testing::{build_request, id, kernel};
use blklab_model::time::TimestampMs;
use tokio::task::JoinSet;

use super::sql::{Statement, each, execute};
use super::testing::{Database, Sample, for_each_database, for_each_store, host_row};
use super::*;

/// As many agents as a small lab has hosts, all asking at once.
const CLAIMERS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_job_is_claimed_twice_and_readers_are_not_held_up() {
    for_each_store(async |store| {
        let experiment = Sample::small().grown(2, 100).insert(&store).await;
        let mut claimers = JoinSet::new();
        for _ in 0..CLAIMERS {
            let store = store.clone();
            claimers.spawn(async move {
                let mut claimed = Vec::new();
                while let Some(job) = claim(&store, &id("lab-1")).await {
                    claimed.push(job);
                }
                claimed
            });
        }
        let reader = tokio::spawn(watch_until_all_are_leased(store.clone(), experiment));
        let claimed: Vec<JobId> = claimers.join_all().await.concat();
        let distinct: BTreeSet<JobId> = claimed.iter().copied().collect();
        assert_eq!((claimed.len(), distinct.len()), (100, 100));
        assert!(reader.await.unwrap() > 0, "the reader never saw the lab at work");
    })
    .await;
}

/// What `schedule::claim` does, in a transaction of its own; a busy database is a failure here.
async fn claim(store: &Store, host: &HostName) -> Option<JobId> {
    let mut tx = store.write().await.unwrap();
    let job = job_queued_for(&mut tx, host).await.unwrap()?;
    let next = job::step(&job.state, JobEvent::Claimed(host.clone()), TimestampMs(0)).unwrap();
    assert!(job_state_set(&mut tx, job.id, &job.state, &next).await.unwrap(), "what was read in a write transaction stays true");
    tx.commit().await.unwrap();
    Some(job.id)
}

/// Reads the lab again and again; each look is one moment, in which the two ways to count agree. Gives the number of looks.
async fn watch_until_all_are_leased(store: Store, experiment: ExperimentId) -> usize {
    for looks in 0..100_000 {
        let mut tx = store.read().await.unwrap();
        let listed = job_list(&mut tx, experiment).await.unwrap().into_iter().filter(|job| job.state.word() == "leased").count();
        let leased = job_list_leased(&mut tx).await.unwrap().len();
        assert_eq!(listed, leased);
        if leased == 100 {
            return looks;
        }
    }
    panic!("the claimers do not come to an end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn experiments_that_come_at_once_get_numbers_without_gaps() {
    for_each_store(async |store| {
        let mut submitters = JoinSet::new();
        for _ in 0..CLAIMERS {
            let store = store.clone();
            submitters.spawn(async move { Sample::small().insert(&store).await.0 });
        }
        let mut numbers = submitters.join_all().await;
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test]
async fn two_programs_can_share_a_database() {
    for_each_database(async |database| {
        let (one, other) = (Store::open(database.url()).await.unwrap(), Store::open(database.url()).await.unwrap());
        let mut tx = one.write().await.unwrap();
        meta_set(&mut tx, "from", "one").await.unwrap();
        let waiting = tokio::spawn({
            let other = other.clone();
            async move {
                let mut tx = other.write().await.unwrap();
                meta_get(&mut tx, "from").await.unwrap()
            }
        });
        // However long it is given, the other one has no turn before this one has committed.
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!waiting.is_finished());
        tx.commit().await.unwrap();
        assert_eq!(waiting.await.unwrap().as_deref(), Some("one"));
        one.close().await;
        other.close().await;
    })
    .await;
}

/// The wait is shortened in here: 30 s on the program's connections.
#[tokio::test]
async fn who_waits_too_long_for_a_turn_is_told_what_for() {
    for_each_database(async |database| {
        let (one, other) = (Store::open(database.url()).await.unwrap(), Store::open(database.url()).await.unwrap());
        let mut waiting = other.write().await.unwrap();
        let error = match &other.pools {
            Pools::Sqlite { .. } => {
                execute!(waiting, Statement::new("SHORTEN", "PRAGMA busy_timeout = 20")).unwrap();
                drop(waiting);
                let _turn = one.write().await.unwrap();
                other.write().await.map(drop).unwrap_err()
            }
            Pools::Postgres(pool) => {
                let mut second = Tx::new(Connection::Postgres(pool.begin().await.unwrap()));
                execute!(second, Statement::new("SHORTEN", "SET LOCAL lock_timeout = '20ms'")).unwrap();
                second.wait_for_turn().await.unwrap_err()
            }
        };
        assert!(matches!(error, StoreError::Busy { .. }), "{error}");
        assert!(error.to_string().contains("is another transaction held open?"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_reader_sees_one_moment() {
    for_each_store(async |store| {
        let mut reader = store.read().await.unwrap();
        assert_eq!(meta_get(&mut reader, "key").await.unwrap(), None);
        let mut writer = store.write().await.unwrap();
        meta_set(&mut writer, "key", "value").await.unwrap();
        writer.commit().await.unwrap();
        assert_eq!(meta_get(&mut reader, "key").await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn a_reader_cannot_write() {
    for_each_store(async |store| {
        let mut tx = store.read().await.unwrap();
        let error = meta_set(&mut tx, "key", "value").await.unwrap_err().to_string();
        assert!(error.contains("META_SET") && (error.contains("readonly") || error.contains("read-only")), "{error}");
    })
    .await;
}

#[tokio::test]
async fn what_was_committed_is_there_after_a_restart() {
    for_each_database(async |database| {
        let store = Store::open(database.url()).await.unwrap();
        let experiment = Sample::small().insert(&store).await;
        store.close().await;
        let store = Store::open(database.url()).await.unwrap();
        assert!(experiment_get(&mut store.read().await.unwrap(), experiment).await.unwrap().is_some());
        store.close().await;
    })
    .await;
}

/// A statement for each trial would be 10,000; ten values each, at 32,000 a statement, make four, and a few more for the rest.
#[tokio::test]
async fn ten_thousand_trials_are_a_few_statements() {
    for_each_store(async |store| {
        let sample = Sample::small().grown(50, 100);
        let mut tx = store.write().await.unwrap();
        let experiment = experiment_insert(&mut tx, &sample.new, &sample.cells, &sample.jobs).await.unwrap();
        assert!(tx.statements() <= 10, "{} statements", tx.statements());
        assert_eq!(trial_counts(&mut tx, &[experiment]).await.unwrap()[&experiment].total(), 10_000);
        tx.commit().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_broken_row_is_named_and_does_not_hide_the_others() {
    for_each_store(async |store| {
        let experiment = Sample::small().insert(&store).await;
        let mut tx = store.write().await.unwrap();
        host_put(&mut tx, &host_row("lab-1", &["sata-hdd"])).await.unwrap();
        kernel_insert(&mut tx, &kernel("base", 'a')).await.unwrap();
        build_insert(&mut tx, &build_request("patched"), "someone", TimestampMs(0)).await.unwrap();
        tx.commit().await.unwrap();
        let broken: [(&str, &[&str]); 12] = [
            ("UPDATE host SET facts = '{' WHERE name = 'lab-1'", &["table host", "row lab-1", "column facts", "EOF"]),
            ("UPDATE host SET health = 'ill' WHERE name = 'lab-1'", &["table host", "column health", "`ill`"]),
            ("UPDATE host SET last_boot = '7' WHERE name = 'lab-1'", &["table host", "row lab-1", "column last_boot"]),
            ("UPDATE kernel SET definition = '{}' WHERE name = 'base'", &["table kernel", "row base", "column definition"]),
            ("UPDATE build SET request = '{' WHERE id = 1", &["table build", "row b1", "column request", "EOF"]),
            ("UPDATE build SET state = 'building' WHERE id = 1", &["table build", "row b1", "column state", "Queued"]),
            ("UPDATE disk SET facts = '[]' WHERE host = 'lab-1'", &["table disk", "row lab-1/loop-sata-hdd", "column facts"]),
            ("UPDATE experiment SET definition = '{}' WHERE id = 1", &["table experiment", "row x1", "column definition", "missing field"]),
            ("UPDATE cell SET definition = 'x' WHERE experiment = 1", &["table cell", "row x1.c0", "column definition"]),
            ("UPDATE job SET round = -1 WHERE number = 0", &["table job", "row x1.j0", "column round", "-1"]),
            ("UPDATE job SET state = 'leased' WHERE number = 1", &["table job", "row x1.j1", "column state", "`leased`"]),
            ("UPDATE trial SET details = '7' WHERE round = 2 AND arm = 1", &["table trial", "row x1.c0.r2.a1", "column details"]),
        ];
        for (sql, words) in broken {
            let statement = Statement::new("BREAK", sql);
            let mut tx = store.write().await.unwrap();
            assert!(execute!(tx, statement).unwrap() > 0, "{sql}");
            let message = read_all(&mut tx, experiment).await.unwrap_err().to_string();
            for word in words {
                assert!(message.contains(word), "`{word}` is not in: {message}");
            }
            assert_eq!(trial_get(&mut tx, id("x1.c0.r0.a0")).await.unwrap().map(|trial| trial.id), Some(id("x1.c0.r0.a0")));
        }
    })
    .await;
}

async fn read_all(tx: &mut Tx, experiment: ExperimentId) -> Result<(), StoreError> {
    host_list(tx).await?;
    experiment_list(tx, 10, None).await?;
    cell_list(tx, experiment).await?;
    job_list(tx, experiment).await?;
    trial_list(tx, experiment).await?;
    kernel_list(tx).await?;
    build_list(tx, 10, None).await?;
    Ok(())
}

#[tokio::test]
async fn a_full_database_says_so_and_changes_nothing() {
    let database = Database::sqlite();
    let store = Store::open(database.url()).await.unwrap();
    let mut tx = store.write().await.unwrap();
    // As if the disk were full: the file may not grow (sqlite.org/pragma.html#pragma_max_page_count).
    execute!(tx, Statement::new("LIMIT", "PRAGMA max_page_count = 1")).unwrap();
    let error = meta_set(&mut tx, "key", &"x".repeat(1 << 20)).await.unwrap_err();
    assert!(matches!(error, StoreError::Full { statement: "META_SET", .. }), "{error}");
    drop(tx);
    assert_eq!(meta_get(&mut store.read().await.unwrap(), "key").await.unwrap(), None);
}
