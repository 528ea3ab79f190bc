//! Somebody asks for a kernel.

use blklab_model::build::{BuildRecord, BuildRequest, BuildState};
use blklab_model::id::BuildId;

use super::BuildError;
use crate::lab::Lab;
use crate::store;

/// Builds of one name that are looked at for the same request.
const FORMER: u32 = 20;

/// Queues a build; false when the same was asked before and is under way, or gave the kernel that is still here.
pub async fn ask(lab: &Lab, request: &BuildRequest, submitter: &str) -> Result<(BuildId, bool), BuildError> {
    request.check().map_err(BuildError::Bad)?;
    let name = &request.name;
    let mut tx = lab.store.write().await?;
    let former = store::build_list_of_kernel(&mut tx, name, FORMER).await?;
    if let Some(open) = former.iter().find(|build| !build.state.is_over()) {
        return if open.request == *request {
            Ok((open.id, false))
        } else {
            Err(BuildError::BeingBuilt { name: name.clone(), build: open.id })
        };
    }
    if store::kernel_get(&mut tx, name).await?.is_some() {
        return former
            .iter()
            .find(|build| gave_the_same(build, request))
            .map(|build| (build.id, false))
            .ok_or(BuildError::Taken(name.clone()));
    }
    let id = store::build_insert(&mut tx, request, submitter, lab.now()).await?;
    tx.commit().await?;
    lab.changed();
    tracing::info!(build = %id, kernel = %name, "build asked for");
    Ok((id, true))
}

/// A branch may have moved since, a full commit id has not.
fn gave_the_same(build: &BuildRecord, request: &BuildRequest) -> bool {
    let is_id = matches!(request.commit.len(), 40 | 64) && request.commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id && matches!(build.state, BuildState::Built { .. }) && build.request == *request
}
