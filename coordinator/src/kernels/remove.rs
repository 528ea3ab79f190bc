//! Somebody removes a kernel.

use blklab_model::id::{ExperimentId, KernelName};

use super::KernelError;
use crate::lab::Lab;
use crate::store;

/// Forgets a kernel, unless an experiment that is not over needs it. Reports of finished experiments keep what they say of it; its files
/// go when nothing names them any more.
pub async fn remove(lab: &Lab, name: &KernelName) -> Result<(), KernelError> {
    let mut tx = lab.store.write().await?;
    let open = store::experiment_list_open(&mut tx).await?;
    let experiments: Vec<ExperimentId> = open.iter().filter(|open| open.kernels.contains_key(name)).map(|open| open.id).collect();
    if !experiments.is_empty() {
        return Err(KernelError::Needed { name: name.clone(), experiments });
    }
    if !store::kernel_delete(&mut tx, name).await? {
        return Err(KernelError::Unknown(name.clone()));
    }
    tx.commit().await?;
    lab.changed();
    tracing::info!(kernel = %name, "kernel removed");
    Ok(())
}
