//! Kernels from source: what is to be built is data ([`spec`]), so are its steps ([`plan`], [`step`]); [`run`] carries them out in a cache
//! folder ([`folder`]) and leaves a kernel with its manifest, or a failure that says whose it is and where ([`failure`]).
//!
//! It knows nothing of the coordinator. Its programs run blocking, in process groups of their own, under limits ([`exec`]), and see
//! nothing of the agent ([`environment`]).

pub mod compile;
pub mod config;
mod configure;
pub mod elf;
pub mod environment;
pub mod exec;
pub mod failure;
pub mod folder;
pub mod kconfig;
pub mod local;
pub mod manifest;
pub mod objects;
mod pack;
pub mod patch;
pub mod plan;
pub mod run;
pub mod signature;
pub mod source;
pub mod spec;
pub mod step;
pub mod tools;

#[cfg(any(test, feature = "test-support"))]
pub mod fake;
#[cfg(test)]
mod tests;

pub use failure::Failure;
pub use folder::Folder;
pub use manifest::Manifest;
pub use run::{Hooks, Outcome, Report, build};
pub use signature::Signature;
pub use spec::{Base, BuildSpec, Limits, ModuleSource, NamedText};
