//! Facts of the lab as a whole, by key: its enrolment token's digest, for example.

use super::error::StoreError;
use super::sql::{each, execute, row, statements};
use super::tx::Tx;

statements! {
    META_GET = "
        SELECT value
        FROM meta
        WHERE key = $1";
    META_SET = "
        INSERT INTO meta (key, value)
        VALUES ($1, $2)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";
}

/// The value of `key`, if it was set.
pub async fn meta_get(tx: &mut Tx, key: &str) -> Result<Option<String>, StoreError> {
    let found: Option<(String,)> = row!(tx, META_GET, key)?;
    Ok(found.map(|(value,)| value))
}

/// Sets `key`, whatever it was before.
pub async fn meta_set(tx: &mut Tx, key: &str, value: &str) -> Result<(), StoreError> {
    execute!(tx, META_SET, key, value)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::for_each_store;

    #[tokio::test]
    async fn the_last_value_counts_and_only_once_it_is_committed() {
        for_each_store(async |store| {
            let mut tx = store.write().await.unwrap();
            meta_set(&mut tx, "token", "first").await.unwrap();
            meta_set(&mut tx, "token", "second").await.unwrap();
            assert_eq!(meta_get(&mut store.read().await.unwrap(), "token").await.unwrap(), None);
            tx.commit().await.unwrap();
            assert_eq!(meta_get(&mut store.read().await.unwrap(), "token").await.unwrap().as_deref(), Some("second"));
            meta_set(&mut store.write().await.unwrap(), "token", "dropped").await.unwrap();
            assert_eq!(meta_get(&mut store.read().await.unwrap(), "token").await.unwrap().as_deref(), Some("second"));
        })
        .await;
    }
}
