//! The store: everything the lab remembers, in SQLite or PostgreSQL, from one text of each statement.
//!
//! It owns SQL; nothing else in blklab knows any. Functions are `resource_verb`, take a [`Tx`] and give model types. It decides
//! nothing: states change in the model, the store saves them by compare-and-set.

#![expect(clippy::disallowed_methods, reason = "the one place that knows SQL")]

mod build;
mod cell;
mod column;
mod connect;
mod error;
mod experiment;
mod host;
mod job;
mod kernel;
mod measurement;
mod meta;
mod migrate;
mod sql;
#[cfg(any(test, feature = "test-support"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod trial;
mod tx;

use connect::Pools;
use sql::Connection;

pub use build::{
    build_get, build_insert, build_list, build_list_of_kernel, build_list_open, build_log_set, build_logs, build_queued, build_state_set,
};
pub use cell::{cell_get, cell_list};
pub use error::StoreError;
pub use experiment::{
    NewExperiment, experiment_get, experiment_insert, experiment_kernels, experiment_list, experiment_list_open, experiment_state_set,
};
pub use host::{HostRow, Seen, disk_health_set, host_get, host_health_set, host_list, host_put, host_seen};
pub use job::{job_get, job_list, job_list_last_of_host, job_list_leased, job_queued_for, job_state_set};
pub use kernel::{kernel_delete, kernel_get, kernel_insert, kernel_list, kernel_list_of_id};
pub use measurement::{measurement_list, measurement_put};
pub use meta::{meta_get, meta_set};
pub use trial::{
    Attempt, TrialCounts, attempt_list, attempt_put, trial_counts, trial_get, trial_list, trial_list_of_job, trial_report_put,
    trial_state_set,
};
pub use tx::Tx;

/// A database that is open and up to date. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Store {
    pools: Pools,
}

impl Store {
    /// Opens `sqlite:PATH` (the file is made when it is missing) or `postgres://...`, and applies the migrations that it lacks.
    pub async fn open(url: &str) -> Result<Store, StoreError> {
        let pools = connect::open(url).await?;
        migrate::run(&pools).await?;
        Ok(Store { pools })
    }

    /// Begins a transaction that reads one consistent moment and holds nobody up.
    pub async fn read(&self) -> Result<Tx, StoreError> {
        let begun = match &self.pools {
            Pools::Sqlite { readers, .. } => readers.begin().await.map(Connection::Sqlite),
            Pools::Postgres(pool) => pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY").await.map(Connection::Postgres),
        };
        begun.map(Tx::new).map_err(|error| StoreError::statement("BEGIN", error))
    }

    /// Begins a transaction that may write. There is one at a time in the lab, so what it reads stays true until its commit: keep it
    /// short, and never wait for anything else in it.
    pub async fn write(&self) -> Result<Tx, StoreError> {
        let begun = match &self.pools {
            // A deferred transaction that turned to writing would fail when another one has written meanwhile, whatever the time-out.
            Pools::Sqlite { writer, .. } => writer.begin_with("BEGIN IMMEDIATE").await.map(Connection::Sqlite),
            Pools::Postgres(pool) => pool.begin().await.map(Connection::Postgres),
        };
        let mut tx = begun.map(Tx::new).map_err(|error| StoreError::statement("BEGIN", error))?;
        if let Pools::Postgres(_) = &self.pools {
            tx.wait_for_turn().await?;
        }
        Ok(tx)
    }

    /// Waits for open transactions to end and closes all connections; SQLite folds its write-ahead log into the file.
    pub async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { writer, readers } => {
                readers.close().await;
                writer.close().await;
            }
            Pools::Postgres(pool) => pool.close().await,
        }
    }
}
