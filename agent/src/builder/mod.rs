//! `blklab-agent builder`: a host that builds kernels for the lab. It claims builds from the coordinator's queue, makes them with
//! [`crate::build`] in one cache folder, one after the other, and hands in what came out: files first, then the report.
//!
//! | question | module |
//! |---|---|
//! | who, whom, where, how much? | [`config`] |
//! | whose is the cache folder? | `leftover` |
//! | claim, build, hand in, come back | `session` |
//! | from the lab's words to the library's and back | `parcel` |
//!
//! Nothing but the folder of the last kernel outlives a builder: one that was killed is asked for the same build again, and finds in that
//! folder, among its objects or in ccache whatever was done already.

pub mod config;
mod leftover;
mod parcel;
mod session;

#[cfg(test)]
mod tests;

pub use config::BuilderConfig;
pub use session::{BuilderError, PAUSES, serve};
