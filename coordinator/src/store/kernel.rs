//! Kernels of the lab: one row a name, the digests of its files in it.

use blklab_model::id::{KernelId, KernelName};
use blklab_model::kernel::KernelRecord;

use super::column::{Place, json};
use super::error::StoreError;
use super::sql::{each, execute, row, rows, statements};
use super::tx::Tx;

statements! {
    KERNEL_INSERT = "
        INSERT INTO kernel (name, id, definition, created)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT DO NOTHING";
    KERNEL_GET = "
        SELECT name, definition
        FROM kernel
        WHERE name = $1";
    KERNEL_LIST = "
        SELECT name, definition
        FROM kernel
        ORDER BY created DESC, name";
    KERNEL_LIST_OF_ID = "
        SELECT name, definition
        FROM kernel
        WHERE id = $1
        ORDER BY created, name";
    KERNEL_DELETE = "
        DELETE FROM kernel
        WHERE name = $1";
}

/// Adds a kernel; false, and nothing is changed, when its name is taken.
pub async fn kernel_insert(tx: &mut Tx, kernel: &KernelRecord) -> Result<bool, StoreError> {
    let inserted = execute!(tx, KERNEL_INSERT, kernel.name.as_str(), kernel.id.as_str(), json(kernel), kernel.created.0)?;
    Ok(inserted == 1)
}

/// The kernel of that name.
pub async fn kernel_get(tx: &mut Tx, name: &KernelName) -> Result<Option<KernelRecord>, StoreError> {
    let found: Option<KernelColumns> = row!(tx, KERNEL_GET, name.as_str())?;
    found.map(KernelColumns::read).transpose()
}

/// All kernels, the newest first.
pub async fn kernel_list(tx: &mut Tx) -> Result<Vec<KernelRecord>, StoreError> {
    let found: Vec<KernelColumns> = rows!(tx, KERNEL_LIST)?;
    found.into_iter().map(KernelColumns::read).collect()
}

/// The names under which one build is known, the oldest first.
pub async fn kernel_list_of_id(tx: &mut Tx, id: &KernelId) -> Result<Vec<KernelRecord>, StoreError> {
    let found: Vec<KernelColumns> = rows!(tx, KERNEL_LIST_OF_ID, id.as_str())?;
    found.into_iter().map(KernelColumns::read).collect()
}

/// Forgets a kernel; false when there is none of that name. Its files stay until nothing names them.
pub async fn kernel_delete(tx: &mut Tx, name: &KernelName) -> Result<bool, StoreError> {
    Ok(execute!(tx, KERNEL_DELETE, name.as_str())? == 1)
}

#[derive(sqlx::FromRow)]
struct KernelColumns {
    name: String,
    definition: String,
}

impl KernelColumns {
    fn read(self) -> Result<KernelRecord, StoreError> {
        Place { table: "kernel", key: &self.name }.json("definition", &self.definition)
    }
}

#[cfg(test)]
mod tests {
    use blklab_model::testing::{id, kernel};
    use blklab_model::time::TimestampMs;

    use super::*;
    use crate::store::testing::for_each_store;

    #[tokio::test]
    async fn a_kernel_comes_back_as_it_was_added_and_goes_when_it_is_told() {
        for_each_store(async |store| {
            let (first, mut second) = (kernel("base", 'a'), kernel("patched", 'b'));
            second.created = TimestampMs(2_000);
            let mut tx = store.write().await.unwrap();
            assert!(kernel_insert(&mut tx, &first).await.unwrap());
            assert!(kernel_insert(&mut tx, &second).await.unwrap());
            assert_eq!(kernel_get(&mut tx, &first.name).await.unwrap().as_ref(), Some(&first));
            assert_eq!(kernel_get(&mut tx, &id("none")).await.unwrap(), None);
            assert_eq!(kernel_list(&mut tx).await.unwrap(), [second.clone(), first.clone()]);
            assert!(kernel_delete(&mut tx, &first.name).await.unwrap());
            assert!(!kernel_delete(&mut tx, &first.name).await.unwrap());
            assert_eq!(kernel_list(&mut tx).await.unwrap(), [second]);
        })
        .await;
    }

    #[tokio::test]
    async fn a_name_is_given_once_and_a_build_may_have_two_names() {
        for_each_store(async |store| {
            let (first, twin, thief) = (kernel("base", 'a'), kernel("again", 'a'), kernel("base", 'b'));
            let mut tx = store.write().await.unwrap();
            assert!(kernel_insert(&mut tx, &first).await.unwrap());
            assert!(!kernel_insert(&mut tx, &thief).await.unwrap());
            assert_eq!(kernel_get(&mut tx, &first.name).await.unwrap().as_ref(), Some(&first));
            assert!(kernel_insert(&mut tx, &twin).await.unwrap());
            assert_eq!(kernel_list_of_id(&mut tx, &first.id).await.unwrap(), [twin, first]);
            assert_eq!(kernel_list_of_id(&mut tx, &thief.id).await.unwrap(), []);
        })
        .await;
    }
}
