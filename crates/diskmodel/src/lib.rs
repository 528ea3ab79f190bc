//! Disks that exist as models, so that any machine is a lab with varied disks.
//!
//! A [`DiskModel`] says how a disk serves requests; a [`Disk`] is the simulation of one, pure: time in nanoseconds and seed are
//! arguments. [`server`] serves a sparse file over NBD on a unix socket and holds each reply back until the simulation says that the
//! disk would be done; it alone knows clock, threads and files.
//!
//! ```no_run
//! use blklab_diskmodel::{DiskModel, server::Server};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = DiskModel::preset("sata-hdd").expect("it is shipped");
//! let backing = std::fs::OpenOptions::new().read(true).write(true).open("disk.img")?;
//! let server = Server::start("disk.sock".as_ref(), backing, 8 << 30, &model, 42)?;
//! server.reseed(43); // at the start of each trial
//! println!("{} requests", server.stats().requests());
//! # Ok(())
//! # }
//! ```

pub mod disk;
pub mod exercise;
pub mod fit;
pub mod model;
pub mod profile;
pub mod server;
#[cfg(any(test, feature = "test-support"))]
pub mod testing;

pub use disk::{Completion, Disk, Operation, Request};
pub use model::{DiskModel, Mechanics, PRESETS, Parallel, ReadAhead, Rotational, WriteCache};
pub use server::{Server, Stats};
