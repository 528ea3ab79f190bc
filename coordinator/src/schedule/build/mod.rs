//! Kernel builds: asked for by people, claimed and reported by builders. As everywhere in here each function is one transaction, and the
//! model says what a build becomes.

mod ask;
mod cancel;
mod claim;
mod lease;
mod report;

use blklab_model::id::{BuildId, KernelName};
use blklab_model::transition::Refused;

use super::agent::AgentError;
use crate::kernels::KernelError;
use crate::store::StoreError;

pub use ask::ask;
pub use cancel::cancel;
pub use claim::claim;
pub(super) use lease::{of_host_abandoned, renew, tick};
pub use report::{known, report};

/// Why something about a build is refused.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Nobody can build it.
    #[error("{0}")]
    Bad(String),
    /// A kernel has the name.
    #[error("there is a kernel `{0}` already")]
    Taken(KernelName),
    /// Another build has.
    #[error("build {build} is under way for another kernel of the name `{name}`")]
    BeingBuilt {
        /// The name.
        name: KernelName,
        /// The build.
        build: BuildId,
    },
    /// No such build.
    #[error("there is no build `{0}`")]
    Unknown(BuildId),
    /// It is over.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The agent is refused.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// What it built is not here.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Nobody's fault.
    #[error(transparent)]
    Store(#[from] StoreError),
}
