//! The kernels that a matrix names, as they are now.

use std::collections::BTreeMap;

use blklab_model::build::{BuildRecord, BuildState};
use blklab_model::experiment::Matrix;
use blklab_model::id::KernelName;
use blklab_model::kernel::{Kernel, KernelRecord};
use blklab_model::source::{SourceError, suggest};

use crate::store::{self, StoreError, Tx};

/// Kernels by the name in the matrix, or what is wrong with the first that cannot be had. `file` is the experiment file, for messages.
pub(crate) async fn wanted(
    tx: &mut Tx,
    matrix: &Matrix,
    file: &str,
) -> Result<Result<BTreeMap<KernelName, KernelRecord>, SourceError>, StoreError> {
    let mut found = BTreeMap::new();
    for kernel in &matrix.kernels {
        let Kernel::Built(name) = kernel else { continue };
        match store::kernel_get(tx, name).await? {
            Some(record) => drop(found.insert(name.clone(), record)),
            None => return missing(tx, name, file).await.map(Err),
        }
    }
    Ok(Ok(found))
}

/// Are these kernels still what they were a moment ago?
pub(crate) async fn frozen(tx: &mut Tx, kernels: &BTreeMap<KernelName, KernelRecord>) -> Result<bool, StoreError> {
    for (name, record) in kernels {
        if store::kernel_get(tx, name).await?.as_ref() != Some(record) {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn missing(tx: &mut Tx, name: &KernelName, file: &str) -> Result<SourceError, StoreError> {
    let error = |message: String, help: String| SourceError { file: file.to_owned(), line: None, message, help };
    if let Some(build) = store::build_list_of_kernel(tx, name, 1).await?.into_iter().next()
        && let Some((message, help)) = of_build(&build)
    {
        return Ok(error(message, help));
    }
    let known = store::kernel_list(tx).await?;
    let help = if known.is_empty() {
        "there is none yet; add one by `blklab kernel add`".to_owned()
    } else {
        format!("{}; add one by `blklab kernel add`", suggest(name.as_str(), known.iter().map(|kernel| kernel.name.as_str())))
    };
    Ok(error(format!("unknown kernel `{name}`"), help))
}

/// What to say of a build that has not given its kernel.
fn of_build(build: &BuildRecord) -> Option<(String, String)> {
    let (name, id) = (&build.request.name, build.id);
    match &build.state {
        BuildState::Queued => Some((format!("kernel `{name}` is not built yet: build {id} waits for a builder"), follow(build))),
        BuildState::Leased { host, .. } => Some((format!("kernel `{name}` is not built yet: {host} works on build {id}"), follow(build))),
        BuildState::Failed(failure) => Some((
            format!("there is no kernel `{name}`: build {id} failed ({})", failure.fault.words()),
            format!("its page /builds/{id} says why"),
        )),
        BuildState::Cancelled => Some((format!("there is no kernel `{name}`: build {id} was cancelled"), "ask for it again".to_owned())),
        // The kernel was removed since.
        BuildState::Built { .. } => None,
    }
}

fn follow(build: &BuildRecord) -> String {
    format!("submit again when it is done; follow it at /builds/{}", build.id)
}
