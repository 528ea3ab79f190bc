//! Messages between a builder and the coordinator.

use serde::{Deserialize, Serialize};

use blklab_model::build::{BuildFailure, BuildRequest};
use blklab_model::id::{BuildId, HostName, KernelId};
use blklab_model::kernel::{Blob, KernelSource};

/// `POST /api/v1/agent/builds/claim` takes a [`crate::agent::Claim`] and answers with one of these, or `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildSpec {
    /// Its number.
    pub build: BuildId,
    /// From 1.
    pub attempt: u32,
    /// What is to be built.
    pub request: BuildRequest,
}

/// `POST /api/v1/agent/builds/report`, after the blobs were put at `PUT /api/v1/agent/blobs/SHA256`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildReport {
    /// Name of the host.
    pub host: HostName,
    /// Its number.
    pub build: BuildId,
    /// Of the spec.
    pub attempt: u32,
    /// How it ended.
    pub outcome: BuildOutcome,
    /// The log, also of a failure.
    pub log: Option<Blob>,
}

/// How a build ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BuildOutcome {
    /// There is a new kernel.
    Built(Box<BuiltKernel>),
    /// A kernel with this signature exists already (see [`Known`]).
    Reused(KernelId),
    /// There is none.
    Failed(BuildFailure),
}

/// What a build gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltKernel {
    /// Signature of tree, configuration and toolchain.
    pub id: KernelId,
    /// `make kernelrelease`.
    pub release: String,
    /// GNU build id of vmlinux, hexadecimal.
    pub build_id: String,
    /// Repository, commit, tree, patches.
    pub source: KernelSource,
    /// Compiler and linker.
    pub toolchain: String,
    /// bzImage or vmlinux.
    pub image: Blob,
    /// Tar of `lib/modules/RELEASE`.
    pub modules: Option<Blob>,
    /// The final `.config`.
    pub config: Blob,
}

/// Answer to [`BuildReport`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildReceipt {
    /// False when this report was known already (sent twice) or came too late to count.
    pub counted: bool,
}

/// `POST /api/v1/agent/builds/known`: is there a kernel with this signature, so that nothing need be built? Answered with `true` or
/// `false`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Name of the host.
    pub host: HostName,
    /// The signature.
    pub id: KernelId,
}
