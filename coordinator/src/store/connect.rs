//! Opening a database: which URLs are known, how its connections are set up, which limits they have.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{PgPool, SqlitePool};

use super::error::StoreError;

/// Longest wait for a connection, a lock or a turn to write. Transactions take milliseconds: who waits longer waits for a fault.
pub(super) const WAIT: Duration = Duration::from_secs(30);

/// PostgreSQL ends a transaction that holds its locks for so long without a statement: a coordinator that was stopped must not stop
/// the others for ever.
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(60);

/// Readers of an SQLite file: pages in work at the same time; more would only share the same processors.
const SQLITE_READERS: u32 = 4;

/// Connections to PostgreSQL: one writes at a time, as with SQLite, the others read. A server takes 100 by default.
const POSTGRES_CONNECTIONS: u32 = 8;

/// Connections to one database.
#[derive(Debug, Clone)]
pub(super) enum Pools {
    /// One connection writes; the write-ahead log lets the others read meanwhile.
    Sqlite { writer: SqlitePool, readers: SqlitePool },
    /// Any connection writes once it has the lock.
    Postgres(PgPool),
}

/// Opens the database that `url` names and proves that it answers.
pub(super) async fn open(url: &str) -> Result<Pools, StoreError> {
    match url.split_once(':') {
        Some(("sqlite", path)) => open_sqlite(path.strip_prefix("//").unwrap_or(path)).await,
        Some(("postgres" | "postgresql", _)) => open_postgres(url).await,
        Some(_) | None => Err(StoreError::UnknownScheme { url: without_password(url) }),
    }
}

async fn open_sqlite(path: &str) -> Result<Pools, StoreError> {
    // An empty name or `:memory:` would be a private database of each connection, lost at exit.
    if path.is_empty() || path.starts_with(':') {
        return Err(StoreError::UnknownScheme { url: format!("sqlite:{path}") });
    }
    let options = SqliteConnectOptions::new().filename(Path::new(path)).foreign_keys(true).busy_timeout(WAIT);
    // FULL: what was committed survives a power cut (sqlite.org/pragma.html#pragma_synchronous).
    let for_writer = options.clone().create_if_missing(true).journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
    let pool = || SqlitePoolOptions::new().acquire_timeout(WAIT).test_before_acquire(false).idle_timeout(None).max_lifetime(None);
    let writer = pool().max_connections(1).connect_with(for_writer).await.map_err(|source| StoreError::Open {
        database: path.to_owned(),
        remedy: "its folder must exist and be writable for this user, and the file must be an SQLite database",
        source,
    })?;
    // A reader that tries to write is a mistake in this program, and SQLite says so.
    let readers = pool().max_connections(SQLITE_READERS).connect_lazy_with(options.pragma("query_only", "ON"));
    Ok(Pools::Sqlite { writer, readers })
}

async fn open_postgres(url: &str) -> Result<Pools, StoreError> {
    let fault = |source| StoreError::Open {
        database: without_password(url),
        remedy: "the server must run there, and user, password and database must exist; the user must be allowed to create tables",
        source,
    };
    let options = PgConnectOptions::from_str(url).map_err(fault)?.options([
        ("lock_timeout", WAIT.as_millis().to_string()),
        ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION.as_millis().to_string()),
    ]);
    let pool = PgPoolOptions::new().acquire_timeout(WAIT).max_connections(POSTGRES_CONNECTIONS);
    Ok(Pools::Postgres(pool.connect_with(options).await.map_err(fault)?))
}

/// `postgres://user:secret@host/lab` as it may stand in a log.
pub(super) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let Some((user, host)) = rest.rsplit_once('@') else { return url.to_owned() };
    let user = user.split_once(':').map_or(user, |(user, _)| user);
    format!("{scheme}://{user}@{host}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_stay_out_of_messages() {
        assert_eq!(without_password("postgres://lab:se@cret@db/lab?x=1"), "postgres://lab@db/lab?x=1");
        assert_eq!(without_password("postgres://db/lab"), "postgres://db/lab");
        assert_eq!(without_password("lab.db"), "lab.db");
    }

    #[tokio::test]
    async fn a_wrong_url_is_refused_with_the_forms_that_are_right() {
        for url in ["", "lab.db", "mysql://db/lab", "sqlite:", "sqlite::memory:", "sqlite://:memory:"] {
            let message = open(url).await.unwrap_err().to_string();
            assert!(message.contains("`sqlite:PATH` or `postgres://"), "{message}");
        }
    }

    #[tokio::test]
    async fn a_database_that_cannot_be_opened_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let missing = open(&format!("sqlite:{}/no/lab.db", folder.path().display())).await.unwrap_err().to_string();
        assert!(missing.contains("no/lab.db") && missing.contains("folder must exist"), "{missing}");
        let text = folder.path().join("notes.txt");
        std::fs::write(&text, "not a database, but longer than the header of one, which has a hundred bytes ".repeat(20)).unwrap();
        let text = open(&format!("sqlite:{}", text.display())).await.unwrap_err().to_string();
        assert!(text.contains("must be an SQLite database"), "{text}");
        let silent = open(&format!("postgres://lab:secret@localhost/lab?host={}", folder.path().display())).await.unwrap_err().to_string();
        assert!(silent.contains("server must run there") && !silent.contains("secret"), "{silent}");
    }
}
