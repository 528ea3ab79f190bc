//! The initial RAM disk of a virtual host, which is its whole root file system: the agent as `/init`, tools of this machine with their
//! libraries, and the modules of a kernel.
//!
//! It is made of two archives, one behind the other, which the kernel unpacks in turn (kernel document
//! driver-api/early-userspace/buffer-format.rst): [`base`], the same for every kernel, and [`of_kernel`]. They are not compressed, because
//! an emulated processor would unpack them slowly. Nothing here needs root: devices and owners are bytes of the archive.
//!
//! The same input gives the same bytes: entries are sorted, times are 0, and everything belongs to root.

mod base;
mod closure;
mod cpio;
mod of_kernel;
mod tree;

pub use base::{Base, Tool, base};
pub use of_kernel::of_kernel;
pub use tree::{Device, InitramfsError, Tree};
