//! What pages, the API and the command line ask about kernels and their builds.

use std::io::{Read, Seek, SeekFrom};

use blklab_model::build::{BuildRecord, BuildState};
use blklab_model::id::{BuildId, ExperimentId, KernelName};
use blklab_model::kernel::KernelRecord;
use blklab_wire::people::{BuildLine, KernelLine};

use crate::lab::Lab;
use crate::store::{self, StoreError, Tx};

impl Lab {
    /// All kernels, the newest first.
    pub async fn kernels(&self) -> anyhow::Result<Vec<KernelRecord>> {
        Ok(store::kernel_list(&mut self.store.read().await?).await?)
    }

    /// One kernel.
    pub async fn kernel(&self, name: &KernelName) -> anyhow::Result<Option<KernelRecord>> {
        Ok(store::kernel_get(&mut self.store.read().await?, name).await?)
    }

    /// All kernels with what the lab did with them, the newest first.
    pub async fn kernel_lines(&self) -> anyhow::Result<Vec<KernelLine>> {
        let mut tx = self.store.read().await?;
        let used = store::experiment_kernels(&mut tx, LOOK_BACK).await?;
        let mut lines = Vec::new();
        for kernel in store::kernel_list(&mut tx).await? {
            lines.push(kernel_line(&mut tx, kernel, &used).await?);
        }
        Ok(lines)
    }

    /// One kernel with what the lab did with it.
    pub async fn kernel_line(&self, name: &KernelName) -> anyhow::Result<Option<KernelLine>> {
        let mut tx = self.store.read().await?;
        let Some(kernel) = store::kernel_get(&mut tx, name).await? else { return Ok(None) };
        let used = store::experiment_kernels(&mut tx, LOOK_BACK).await?;
        Ok(Some(kernel_line(&mut tx, kernel, &used).await?))
    }

    /// Builds from the newest on.
    pub async fn builds(&self, limit: u32, before: Option<BuildId>) -> anyhow::Result<Vec<BuildLine>> {
        let builds = store::build_list(&mut self.store.read().await?, limit, before).await?;
        Ok(builds.iter().map(line).collect())
    }

    /// The end of a build's log, and whether something was cut off before it.
    pub async fn log_end(&self, build: &BuildRecord) -> anyhow::Result<Option<(String, bool)>> {
        let Some(log) = build.log.clone() else { return Ok(None) };
        let blobs = self.blobs.clone();
        let end = tokio::task::spawn_blocking(move || {
            let (mut file, length) = blobs.open_file(&log.sha256)?;
            let from = length.saturating_sub(LOG_END);
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(LOG_END).read_to_end(&mut bytes)?;
            Ok::<_, anyhow::Error>((String::from_utf8_lossy(&bytes).into_owned(), from > 0))
        });
        end.await?.map(Some)
    }

    /// One build.
    pub async fn build(&self, id: BuildId) -> anyhow::Result<Option<BuildRecord>> {
        Ok(store::build_get(&mut self.store.read().await?, id).await?)
    }
}

/// Bytes of a log that its page shows: errors stand at its end.
const LOG_END: u64 = 16 << 10;

/// Experiments with kernels that are looked through for the names of some.
const LOOK_BACK: u32 = 500;

/// Builds of one name that are looked at: those before the last one that gave a kernel gave others, which were removed since.
const FORMER: u32 = 20;

async fn kernel_line(tx: &mut Tx, kernel: KernelRecord, used: &[(ExperimentId, Vec<KernelName>)]) -> Result<KernelLine, StoreError> {
    let experiments = used.iter().filter(|(_, names)| names.contains(&kernel.name)).map(|(id, _)| *id).collect();
    let builds = store::build_list_of_kernel(tx, &kernel.name, FORMER).await?;
    let gave_it = |build: &&BuildRecord| matches!(build.state, BuildState::Built { .. }) && build.finished == Some(kernel.created);
    let build = builds.iter().find(gave_it).map(|build| build.id);
    Ok(KernelLine { kernel, experiments, build })
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
