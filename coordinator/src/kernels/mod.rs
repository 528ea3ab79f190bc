//! The kernels that the lab keeps: coming, going, and the files that no row names any more. Rows and files are changed in one turn to
//! write, so that no row ever names a file that is not there.

mod add;
mod remove;
mod sweep;
mod wanted;

use blklab_model::id::{BuildId, ExperimentId, KernelId, KernelName};
use blklab_model::kernel::Blob;

use crate::artifact::ArtifactError;
use crate::lab::Lab;
use crate::store::StoreError;

pub use add::add;
pub(crate) use add::{check_identity, named};
pub use remove::remove;
pub use sweep::{UNUSED_FOR, sweep};
pub(crate) use wanted::{frozen, wanted};

/// Longest file of a kernel. Modules of a Debian kernel unpacked are some 400 MB (Installed-Size of linux-image-6.1.0-40-amd64), an
/// image with debugging information somewhat more.
pub const MAX_BLOB_BYTES: u64 = 1 << 30;

/// Why a kernel is not added or removed.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// Nobody can run it.
    #[error("{0}")]
    Bad(String),
    /// A file was not put, or another one was.
    #[error("{what} {} ({} bytes) {}", .blob.sha256, .blob.bytes, .found.map_or("is not here".to_owned(), |found| format!("is {found} bytes long here")))]
    NoBlob {
        /// `its image`...
        what: &'static str,
        /// As it was named.
        blob: Blob,
        /// Length of what is kept.
        found: Option<u64>,
    },
    /// Another kernel has the name.
    #[error("the name `{name}` is taken by another kernel ({})", .id.short())]
    Taken {
        /// The name.
        name: KernelName,
        /// The signature of the other one.
        id: KernelId,
    },
    /// A build will give it.
    #[error("the name `{name}` belongs to build {build}, which is under way")]
    BeingBuilt {
        /// The name.
        name: KernelName,
        /// The build.
        build: BuildId,
    },
    /// No such kernel.
    #[error("there is no kernel `{0}`")]
    Unknown(KernelName),
    /// Experiments that are not over need it.
    #[error("kernel `{name}` is needed by {}", .experiments.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Needed {
        /// The name.
        name: KernelName,
        /// The experiments.
        experiments: Vec<ExperimentId>,
    },
    /// Not the asker's fault.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Likewise.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// Likewise.
    #[error("a task was lost")]
    Lost,
}

/// Are these files here, as long as they should be? To be asked in a turn to write, in which nothing is swept away.
pub(crate) async fn check_blobs(lab: &Lab, blobs: Vec<(&'static str, Blob)>) -> Result<(), KernelError> {
    let files = lab.blobs.clone();
    let checked = tokio::task::spawn_blocking(move || {
        for (what, blob) in blobs {
            let found = files.size(&blob.sha256).map_err(|error| match error {
                ArtifactError::BadName(_) => KernelError::Bad(format!("{what}: {error}")),
                ArtifactError::Missing { .. }
                | ArtifactError::Damaged { .. }
                | ArtifactError::Full { .. }
                | ArtifactError::TooLong { .. }
                | ArtifactError::WrongDigest { .. }
                | ArtifactError::Io { .. } => error.into(),
            })?;
            if found != Some(blob.bytes) {
                return Err(KernelError::NoBlob { what, blob, found });
            }
        }
        Ok(())
    });
    checked.await.map_err(|_| KernelError::Lost)?
}
