//! What can go wrong with the store, in words that tell an admin what to do.

use std::error::Error;

use sqlx::migrate::MigrateError;

/// Why the store failed to do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A URL of no known form.
    #[error("`{url}` is not a database that blklab knows; give `sqlite:PATH` or `postgres://USER:PASSWORD@HOST/DATABASE`")]
    UnknownScheme {
        /// As it was given, without a password.
        url: String,
    },
    /// The database cannot be opened.
    #[error("failed to open {database}: {source}; {remedy}")]
    Open {
        /// Path or URL, without a password.
        database: String,
        /// What to do.
        remedy: &'static str,
        /// What the driver said.
        source: sqlx::Error,
    },
    /// The tables were made by a newer program.
    #[error("the database has migration {version}, which this blklab does not know; start the newer blklab that made it")]
    NewerSchema {
        /// The first unknown migration.
        version: i64,
    },
    /// A migration that was applied is not the one of this program.
    #[error("migration {version} was applied in another form than this blklab has; was it built from a changed tree?")]
    ChangedMigration {
        /// The migration.
        version: i64,
    },
    /// A migration failed; the ones before it stay.
    #[error("failed to bring the tables up to date: {0}")]
    Migrate(#[source] MigrateError),
    /// No connection, or no turn to write, within the time that anybody waits.
    #[error("the database is busy: no turn for {statement} within {} s; is another transaction held open?", super::connect::WAIT.as_secs())]
    Busy {
        /// What waited.
        statement: &'static str,
        /// What the driver said.
        source: sqlx::Error,
    },
    /// No space is left for the database.
    #[error("no space is left for the database ({statement}); free some and try again, nothing was changed")]
    Full {
        /// What needed space.
        statement: &'static str,
        /// What the driver said.
        source: sqlx::Error,
    },
    /// A statement failed for another reason.
    #[error("statement {statement} failed: {source}")]
    Statement {
        /// Name of the statement in the sources.
        statement: &'static str,
        /// What the driver said.
        source: sqlx::Error,
    },
    /// A row holds what this program cannot read.
    #[error("table {table}, row {key}, column {column} cannot be read: {source}")]
    Broken {
        /// The table.
        table: &'static str,
        /// The id of the row, as people write it.
        key: String,
        /// The column.
        column: &'static str,
        /// What is wrong with it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A measurement that no database holds alike.
    #[error("metric {metric} of trial {trial} is {value}; measurements are finite")]
    NotFinite {
        /// The trial.
        trial: blklab_model::id::TrialId,
        /// The metric.
        metric: String,
        /// Its value.
        value: f64,
    },
}

impl StoreError {
    /// Sorts what a driver said of a statement.
    pub(super) fn statement(statement: &'static str, source: sqlx::Error) -> Self {
        match cause(&source) {
            Cause::Busy => StoreError::Busy { statement, source },
            Cause::Full => StoreError::Full { statement, source },
            Cause::Other => StoreError::Statement { statement, source },
        }
    }

    pub(super) fn migrate(source: MigrateError) -> Self {
        #[expect(clippy::wildcard_enum_match_arm, reason = "an error of another crate, of which two kinds have a remedy")]
        match source {
            MigrateError::VersionMissing(version) => StoreError::NewerSchema { version },
            MigrateError::VersionMismatch(version) => StoreError::ChangedMigration { version },
            other => StoreError::Migrate(other),
        }
    }
}

enum Cause {
    Busy,
    Full,
    Other,
}

/// SQLite gives its result codes (sqlite.org/rescode.html; the low byte is the primary code), PostgreSQL a SQLSTATE (its manual,
/// appendix A).
fn cause(error: &sqlx::Error) -> Cause {
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return Cause::Busy;
    }
    let Some(code) = error.as_database_error().and_then(|error| error.code()) else { return Cause::Other };
    let sqlite = code.parse::<u32>().ok().filter(|_| code.len() < 5).map(|code| code & 0xff);
    match (sqlite, &*code) {
        (Some(SQLITE_BUSY), _) | (None, "55P03" | "40001" | "53300") => Cause::Busy,
        (Some(SQLITE_FULL), _) | (None, "53100") => Cause::Full,
        (Some(_) | None, _) => Cause::Other,
    }
}

const SQLITE_BUSY: u32 = 5;
const SQLITE_FULL: u32 = 13;
