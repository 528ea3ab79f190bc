//! A transaction on either database. It begins in [`Store::read`](super::Store::read) or [`Store::write`](super::Store::write),
//! ends in [`Tx::commit`], and is rolled back when it is dropped.

use super::error::StoreError;
use super::sql::{Connection, each, execute, statements};

statements! {
    /// PostgreSQL only: writers take turns, as they do on SQLite. The number is `blklab` in ASCII; such locks are per database and
    /// end with the transaction.
    WRITE_TURN = "SELECT pg_advisory_xact_lock(108217798254946)";
}

/// Statements that SQLite does not have; `migrations/README.md` says why.
#[cfg(test)]
pub(super) const POSTGRES_ONLY: [&str; 1] = [WRITE_TURN.name()];

/// A transaction. What it reads is one consistent moment; what it writes is seen by others at [`Tx::commit`] or not at all.
/// After an error of the database there is nothing to do but to drop it.
pub struct Tx {
    connection: Connection,
    statements: u32,
}

impl Tx {
    pub(super) fn new(connection: Connection) -> Self {
        Tx { connection, statements: 0 }
    }

    /// Waits until no other transaction writes.
    pub(super) async fn wait_for_turn(&mut self) -> Result<(), StoreError> {
        execute!(self, WRITE_TURN)?;
        Ok(())
    }

    /// Makes what was written durable and visible.
    pub async fn commit(self) -> Result<(), StoreError> {
        let done = match self.connection {
            Connection::Sqlite(transaction) => transaction.commit().await,
            Connection::Postgres(transaction) => transaction.commit().await,
        };
        tracing::trace!(statements = self.statements, "committed");
        done.map_err(|error| StoreError::statement("COMMIT", error))
    }

    /// Statements sent so far: a page or a claim that sends one for each row shows here.
    pub fn statements(&self) -> u32 {
        self.statements
    }

    /// The connection, for one statement.
    pub(super) fn connection_for_statement(&mut self) -> &mut Connection {
        self.statements += 1;
        &mut self.connection
    }
}
