//! Statements: written once, registered, run on either database. The only file that calls `sqlx::query`.
//!
//! A statement is a constant made by [`statements!`], so that a test can prepare every one of them on both databases. It is run by
//! [`rows!`], [`row!`], [`execute!`] or [`insert_all!`], which expand one body for each arm of the [`Connection`]: bound values and
//! row structs are checked by the compiler against both drivers.

use sqlx::{Postgres, Sqlite, Transaction};

/// Values that one statement binds at most. SQLite takes 32,766 (sqlite.org/limits.html, SQLITE_MAX_VARIABLE_NUMBER), PostgreSQL
/// 65,535 (a 16-bit count in its Bind message).
pub(super) const MAX_BOUND_VALUES: usize = 32_000;

/// A registered statement.
#[derive(Debug)]
pub(super) struct Statement {
    name: &'static str,
    sql: &'static str,
}

/// A transaction of either database.
pub(super) enum Connection {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

impl Statement {
    /// For [`statements!`] only.
    pub(super) const fn new(name: &'static str, sql: &'static str) -> Self {
        Statement { name, sql }
    }

    /// The name of its constant, for messages.
    pub(super) const fn name(&self) -> &'static str {
        self.name
    }

    /// Its text. Two forms are completed when they are run: an INSERT that ends with its columns gets rows, `($list)` gets values.
    pub(super) const fn sql(&self) -> &'static str {
        self.sql
    }

    /// The text before and after `$list`.
    pub(super) fn around_list(&self) -> (&'static str, &'static str) {
        self.sql.split_once("$list").expect("a statement with a list")
    }

    /// Rows that an INSERT takes at once.
    pub(super) fn rows_at_once(&self) -> usize {
        MAX_BOUND_VALUES / self.columns()
    }

    /// Columns between the first parentheses of an INSERT.
    fn columns(&self) -> usize {
        let (_, list) = self.sql.split_once('(').expect("an INSERT names its columns");
        let (list, _) = list.split_once(')').expect("an INSERT names its columns");
        list.split(',').count()
    }
}

/// Defines statements and the list `STATEMENTS` of them.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:literal;)*) => {
        $($(#[$doc])* const $name: $crate::store::sql::Statement = $crate::store::sql::Statement::new(stringify!($name), $sql);)*
        #[cfg(test)]
        pub(super) const STATEMENTS: &[$crate::store::sql::Statement] = &[$($name),*];
    };
}

/// Runs one body on whichever connection a `Tx` holds and names the statement in the error.
macro_rules! each {
    ($tx:expr, $statement:expr, $connection:ident => $body:expr) => {
        match $tx.connection_for_statement() {
            $crate::store::sql::Connection::Sqlite(transaction) => {
                let $connection = &mut **transaction;
                $body
            }
            $crate::store::sql::Connection::Postgres(transaction) => {
                let $connection = &mut **transaction;
                $body
            }
        }
        .map_err(|error| $crate::store::error::StoreError::statement($statement.name(), error))
    };
}

/// All rows of a query: `rows!(tx, HOST_LIST, value...)`.
macro_rules! rows {
    ($tx:expr, $statement:expr $(, $value:expr)* $(,)?) => {
        each!($tx, $statement, connection => sqlx::query_as($statement.sql())$(.bind($value))*.fetch_all(connection).await)
    };
}

/// The row of a query that gives one at most.
macro_rules! row {
    ($tx:expr, $statement:expr $(, $value:expr)* $(,)?) => {
        each!($tx, $statement, connection => sqlx::query_as($statement.sql())$(.bind($value))*.fetch_optional(connection).await)
    };
}

/// Changes rows; gives how many.
macro_rules! execute {
    ($tx:expr, $statement:expr $(, $value:expr)* $(,)?) => {
        each!($tx, $statement, connection => sqlx::query($statement.sql())$(.bind($value))*
            .execute(connection).await.map(|done| done.rows_affected()))
    };
}

/// All rows of a query with an `IN ($list)`.
macro_rules! rows_in {
    ($tx:expr, $statement:expr, $list:expr) => {
        each!($tx, $statement, connection => {
            let (head, tail) = $statement.around_list();
            let mut query = sqlx::QueryBuilder::new(head);
            let mut list = query.separated(", ");
            for value in $list {
                list.push_bind(value);
            }
            query.push(tail);
            query.build_query_as().persistent(false).fetch_all(connection).await
        })
    };
}

/// Inserts a slice of items, as many with each statement as both databases take. The column list of the statement and the pushed
/// values must agree; both databases refuse them otherwise.
macro_rules! insert_all {
    ($tx:expr, $statement:expr, $items:expr, |$row:ident, $item:pat_param| $push:expr) => {
        async {
            for chunk in $items.chunks($statement.rows_at_once()) {
                each!($tx, $statement, connection => {
                    let mut query = sqlx::QueryBuilder::new($statement.sql());
                    query.push_values(chunk, |mut $row, $item| { $push; });
                    query.build().persistent(false).execute(connection).await.map(drop)
                })?;
            }
            Ok::<(), $crate::store::error::StoreError>(())
        }.await
    };
}

pub(super) use {each, execute, insert_all, row, rows, rows_in, statements};

#[cfg(test)]
mod tests {
    use sqlx::{AssertSqlSafe, Executor, SqlSafeStr};

    use super::*;
    use crate::store::testing::for_each_store;
    use crate::store::{build, cell, experiment, host, job, kernel, measurement, meta, trial, tx};

    /// A list of statements that is missing here is an unused constant, which the lints refuse.
    const ALL: [&[Statement]; 10] = [
        build::STATEMENTS,
        cell::STATEMENTS,
        experiment::STATEMENTS,
        host::STATEMENTS,
        job::STATEMENTS,
        kernel::STATEMENTS,
        measurement::STATEMENTS,
        meta::STATEMENTS,
        trial::STATEMENTS,
        tx::STATEMENTS,
    ];

    #[tokio::test]
    async fn every_statement_prepares_on_both_databases() {
        for_each_store(async |store| {
            let mut tx = store.write().await.unwrap();
            let is_postgres = matches!(tx.connection_for_statement(), Connection::Postgres(_));
            for statement in ALL.into_iter().flatten().filter(|statement| is_postgres || !tx::POSTGRES_ONLY.contains(&statement.name)) {
                let sql = AssertSqlSafe(completed(statement)).into_sql_str();
                each!(tx, statement, connection => connection.prepare(sql).await.map(drop)).unwrap();
            }
        })
        .await;
    }

    /// The text of a statement with one row, or one value in its list.
    fn completed(statement: &Statement) -> String {
        let sql = statement.sql.replace("$list", "$1");
        if !sql.contains("INSERT") || sql.contains("VALUES") {
            return sql;
        }
        let values: Vec<String> = (1..=statement.columns()).map(|number| format!("${number}")).collect();
        format!("{sql} VALUES ({})", values.join(", "))
    }

    /// Statements reach a database only through the macros above, and the macros take only registered ones.
    #[test]
    fn no_statement_escapes_the_list() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
        // Tests may break a row or make one for a migration.
        let program = |text: &str| text.split("#[cfg(test)]\nmod tests {").next().expect("there is a first part").to_owned();
        let mut seen = 0;
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if !name.ends_with(".rs") || name == "sql.rs" || name == "tests.rs" {
                continue;
            }
            let text = program(&std::fs::read_to_string(entry.path()).unwrap());
            for word in ["sqlx::query", "raw_sql", "QueryBuilder", "AssertSqlSafe", "Executor", "Statement::new"] {
                assert!(!text.contains(word), "{name} has `{word}`: use the macros of sql.rs");
            }
            seen += 1;
        }
        assert!(seen >= ALL.len(), "only {seen} files were read");
    }

    #[test]
    fn a_batch_fits_both_databases() {
        for statement in ALL.into_iter().flatten().filter(|statement| completed(statement) != statement.sql.replace("$list", "$1")) {
            let bound = statement.rows_at_once() * statement.columns();
            assert!(bound <= MAX_BOUND_VALUES && statement.rows_at_once() >= 1_000, "{}", statement.name);
        }
    }
}
