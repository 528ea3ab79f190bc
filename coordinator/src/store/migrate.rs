//! Bringing the tables up to date. The migrations of `migrations/` are part of the program.

use sqlx::migrate::Migrator;

use super::connect::Pools;
use super::error::StoreError;

static MIGRATIONS: Migrator = sqlx::migrate!("../migrations");

/// Applies what is missing, in order, each in a transaction of its own.
pub(super) async fn run(pools: &Pools) -> Result<(), StoreError> {
    run_to(pools, i64::MAX).await
}

/// The same up to and with `last`.
async fn run_to(pools: &Pools, last: i64) -> Result<(), StoreError> {
    let done = match pools {
        Pools::Sqlite { writer, .. } => MIGRATIONS.run_to(last, writer).await,
        Pools::Postgres(pool) => MIGRATIONS.run_to(last, pool).await,
    };
    done.map_err(StoreError::migrate)
}

#[cfg(test)]
mod tests {
    use blklab_model::disk::DiskHealth;
    use blklab_model::host::HostHealth;
    use blklab_model::id::ExperimentId;
    use blklab_model::testing::id;
    use blklab_model::trial::TrialState;
    use sqlx::{AssertSqlSafe, raw_sql};

    use super::*;
    use crate::store::testing::for_each_database;
    use crate::store::*;

    async fn run_sql(pools: &Pools, sql: String) {
        let sql = AssertSqlSafe(sql);
        match pools {
            Pools::Sqlite { writer, .. } => drop(raw_sql(sql).execute(writer).await.unwrap()),
            Pools::Postgres(pool) => drop(raw_sql(sql).execute(pool).await.unwrap()),
        }
    }

    /// A lab that is as old as its first migration, and was used after each: `migrations/rows` holds what it wrote.
    #[tokio::test]
    async fn what_an_old_lab_wrote_is_read_by_this_program() {
        for_each_database(async |database| {
            let pools = connect::open(database.url()).await.unwrap();
            for migration in MIGRATIONS.iter() {
                run_to(&pools, migration.version).await.unwrap();
                let rows = format!("{}/../migrations/rows/{:04}.sql", env!("CARGO_MANIFEST_DIR"), migration.version);
                let rows = std::fs::read_to_string(&rows)
                    .unwrap_or_else(|error| panic!("each migration has rows, see its README: {rows}: {error}"));
                run_sql(&pools, rows).await;
            }
            let store = Store { pools };
            assert_reads_old_lab(&mut store.read().await.unwrap()).await;
            store.close().await;
        })
        .await;
    }

    async fn assert_reads_old_lab(tx: &mut Tx) {
        assert_eq!(meta_get(tx, "lab").await.unwrap().as_deref(), Some("old"));
        let hosts = host_list(tx).await.unwrap();
        assert_eq!(hosts[0].job, Some(id("x1.j1")));
        assert_eq!(hosts[1].host.health, HostHealth::Dirty { reason: "umount: it's busy".into() });
        assert_eq!(hosts[1].host.disks[0].health, DiskHealth::Quarantined { reason: "slow".into() });

        let experiments = experiment_list_open(tx).await.unwrap();
        assert_eq!((experiments.len(), experiments[0].seed), (1, u64::MAX - 1));
        assert_eq!(cell_list(tx, ExperimentId(1)).await.unwrap()[0].arms.len(), 2);
        assert_eq!(job_list_leased(tx).await.unwrap()[0].id, id("x1.j1"));
        assert_eq!(job_queued_for(tx, &id("lab-1")).await.unwrap().unwrap().id, id("x1.j2"));
        let counts = trial_counts(tx, &[ExperimentId(1)]).await.unwrap()[&ExperimentId(1)];
        assert_eq!(counts, TrialCounts { queued: 3, running: 1, completed: 1, failed: 1, cancelled: 0 });
        let trials = trial_list(tx, ExperimentId(1)).await.unwrap();
        assert_eq!(trials[0].details.as_ref().unwrap().outputs[0].name, "reader.err");
        assert!(matches!(&trials[1].state, TrialState::Failed(failure) if failure.step == "task reader"));
        assert_eq!(attempt_list(tx, trials[0].id).await.unwrap()[0].details, trials[0].details.clone().unwrap());
        let measurements = measurement_list(tx, ExperimentId(1)).await.unwrap();
        assert_eq!((measurements.len(), measurements[0].value), (1, 12_345_678.5));

        assert_eq!((hosts[0].build, &hosts[0].last_boot, experiments[0].kernels.len()), (None, &None, 0));
        assert_eq!(kernel_get(tx, &id("debian-6.1")).await.unwrap().unwrap().release, "6.1.0-40-amd64");
        let builds = build_list_open(tx).await.unwrap();
        assert_eq!((builds[0].request.name.as_str(), builds[0].attempt), ("patched", 1));

        assert_eq!(experiments[0].imported, None);
        let imported = experiment_get(tx, ExperimentId(2)).await.unwrap().unwrap().imported.unwrap();
        assert_eq!((imported.sources[0].as_str(), imported.summary(0, 1, "time").unwrap().mean), ("t.csv", 4631.3));
    }

    #[tokio::test]
    async fn a_program_that_is_too_old_or_was_changed_says_so_and_touches_nothing() {
        for_each_database(async |database| {
            let store = Store::open(database.url()).await.unwrap();
            let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                SELECT 9000, 'future', success, checksum, execution_time FROM _sqlx_migrations WHERE version = 1";
            run_sql(&store.pools, newer.into()).await;
            let error = Store::open(database.url()).await.unwrap_err();
            assert!(matches!(error, StoreError::NewerSchema { version: 9000 }), "{error}");

            run_sql(&store.pools, "DELETE FROM _sqlx_migrations WHERE version = 9000".into()).await;
            let changed = "UPDATE _sqlx_migrations
                SET checksum = (SELECT other.checksum FROM _sqlx_migrations other WHERE other.version = 1) WHERE version = 2";
            run_sql(&store.pools, changed.into()).await;
            let error = Store::open(database.url()).await.unwrap_err();
            assert!(matches!(error, StoreError::ChangedMigration { version: 2 }), "{error}");
            store.close().await;
        })
        .await;
    }

    #[tokio::test]
    async fn coordinators_that_start_at_once_migrate_once() {
        for_each_database(async |database| {
            // SQLite has one coordinator; several that share a PostgreSQL may be restarted together.
            if !database.is_postgres() {
                return;
            }
            let url = database.url();
            let (first, second, third) = tokio::join!(Store::open(url), Store::open(url), Store::open(url));
            for store in [first, second, third] {
                store.unwrap().close().await;
            }
        })
        .await;
    }
}
