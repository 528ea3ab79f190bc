//! For tests: a fresh store on each database, and experiments to put into it. Nothing here is part of the program.
//!
//! SQLite is always there. PostgreSQL is the server of `BLKLAB_TEST_POSTGRES`, or a private one that is started for the test
//! process; without an installed PostgreSQL its half is skipped with a printed reason, unless `BLKLAB_REQUIRE_POSTGRES=1`.

mod postgres;
mod sample;

use tempfile::TempDir;

use super::Store;

pub use sample::{Sample, host_row};

/// Runs a test on a fresh store of SQLite, then on one of PostgreSQL.
///
/// # Panics
/// When the test does, or a database cannot be made.
pub async fn for_each_store(test: impl AsyncFn(Store)) {
    for_each_database(async |database| {
        let store = Store::open(database.url()).await.expect("a fresh database opens");
        test(store.clone()).await;
        store.close().await;
    })
    .await;
}

/// Runs a test on a fresh, empty database of each kind.
///
/// # Panics
/// When the test does, or a database cannot be made.
pub async fn for_each_database(test: impl AsyncFn(&Database)) {
    for database in [Some(Database::sqlite()), Database::postgres().await].into_iter().flatten() {
        // Shown only when the test fails: which half it was.
        eprintln!("on {}", database.url());
        test(&database).await;
    }
}

/// A database of one test; it is gone when this is dropped.
#[derive(Debug)]
pub struct Database {
    url: String,
    #[expect(dead_code, reason = "held for its Drop")]
    guard: Guard,
}

#[derive(Debug)]
#[expect(dead_code, reason = "held for their Drop")]
enum Guard {
    Sqlite(TempDir),
    Postgres(postgres::Database),
}

impl Database {
    /// An SQLite file in a folder of its own.
    pub fn sqlite() -> Database {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Database { url: format!("sqlite:{}", folder.path().join("lab.db").display()), guard: Guard::Sqlite(folder) }
    }

    /// A database of the test server, if there is one.
    pub async fn postgres() -> Option<Database> {
        let server = postgres::server()?;
        let database = postgres::Database::create(server).await;
        Some(Database { url: database.url(), guard: Guard::Postgres(database) })
    }

    /// What [`Store::open`] takes.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Is it the one where statements may differ?
    pub fn is_postgres(&self) -> bool {
        self.url.starts_with("postgres:")
    }
}
