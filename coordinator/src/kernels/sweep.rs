//! Removes files that no row names: of kernels that were removed, of uploads and builds that came to nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context;
use blklab_model::kernel::{Blob, KernelRecord};

use crate::lab::Lab;
use crate::store::{self, StoreError, Tx};

/// A file that nobody names is kept for so long: a build may put its image hours before the report that names it, and somebody who
/// removed a kernel by mistake has a day to add it again without sending the files.
pub const UNUSED_FOR: Duration = Duration::from_secs(24 * 3600);

/// One look; gives how many files went. Both lists are made, and files removed, in one turn to write, in which no row can begin to name
/// a file.
pub async fn sweep(lab: &Lab) -> anyhow::Result<usize> {
    let mut tx = lab.store.write().await?;
    let used = used(&mut tx).await?;
    let blobs = lab.blobs.clone();
    let swept = tokio::task::spawn_blocking(move || {
        let unused: Vec<String> = blobs.older_than(UNUSED_FOR)?.into_iter().filter(|name| !used.contains(name)).collect();
        for name in &unused {
            blobs.remove(name)?;
        }
        Ok::<usize, crate::artifact::ArtifactError>(unused.len())
    });
    let swept = swept.await.context("the task was lost")??;
    drop(tx);
    if swept > 0 {
        tracing::info!(files = swept, "removed files of kernels that nothing names");
    }
    Ok(swept)
}

/// Digests that rows name. Finished experiments keep only the words of a removed kernel.
async fn used(tx: &mut Tx) -> Result<BTreeSet<String>, StoreError> {
    let mut kernels: Vec<KernelRecord> = store::kernel_list(tx).await?;
    for experiment in store::experiment_list_open(tx).await? {
        kernels.extend(experiment.kernels.into_values());
    }
    let files = kernels.into_iter().flat_map(|kernel| [Some(kernel.image), kernel.modules, kernel.config, kernel.log]);
    let blobs = files.flatten().chain(store::build_logs(tx).await?);
    Ok(blobs.map(|Blob { sha256, .. }| sha256).collect())
}
