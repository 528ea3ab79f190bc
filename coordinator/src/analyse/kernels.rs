//! What pages, the API and the command line ask about kernels and their builds.

use blklab_model::build::{BuildRecord, BuildState};
use blklab_model::id::{BuildId, KernelName};
use blklab_model::kernel::KernelRecord;
use blklab_wire::people::BuildLine;

use crate::lab::Lab;
use crate::store;

impl Lab {
    /// All kernels, the newest first.
    pub async fn kernels(&self) -> anyhow::Result<Vec<KernelRecord>> {
        Ok(store::kernel_list(&mut self.store.read().await?).await?)
    }

    /// One kernel.
    pub async fn kernel(&self, name: &KernelName) -> anyhow::Result<Option<KernelRecord>> {
        Ok(store::kernel_get(&mut self.store.read().await?, name).await?)
    }

    /// Builds from the newest on.
    pub async fn builds(&self, limit: u32, before: Option<BuildId>) -> anyhow::Result<Vec<BuildLine>> {
        let builds = store::build_list(&mut self.store.read().await?, limit, before).await?;
        Ok(builds.iter().map(line).collect())
    }

    /// One build.
    pub async fn build(&self, id: BuildId) -> anyhow::Result<Option<BuildRecord>> {
        Ok(store::build_get(&mut self.store.read().await?, id).await?)
    }
}

fn line(build: &BuildRecord) -> BuildLine {
    let patches = match build.request.patches.len() {
        0 => String::new(),
        1 => " + 1 patch".to_owned(),
        n => format!(" + {n} patches"),
    };
    BuildLine {
        id: build.id,
        kernel: build.request.name.clone(),
        what: format!("{}{patches}", build.request.commit),
        submitter: build.submitter.clone(),
        state: state(&build.state),
        created: build.created,
        started: build.started,
        finished: build.finished,
    }
}

/// The state of a build in a few words.
pub(crate) fn state(state: &BuildState) -> String {
    match state {
        BuildState::Leased { host, .. } => format!("building on {host}"),
        BuildState::Failed(failure) => format!("failed: {}", failure.fault.words()),
        BuildState::Queued | BuildState::Built { .. } | BuildState::Cancelled => state.word().to_owned(),
    }
}
