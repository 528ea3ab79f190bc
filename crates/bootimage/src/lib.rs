//! What a host boots, as files: kernel images, their modules, Debian packages of both, and the initial RAM disk of a virtual host.
//! Knows nothing of the coordinator, of QEMU, or of what is measured.
//!
//! | question | module |
//! |---|---|
//! | which kernel is in this image, and how does it prove itself? | [`image`] |
//! | what is in this Debian package? | [`deb`] |
//! | which modules are there, and in which order are they loaded? | [`modules`] |
//! | what does a virtual host find when it starts? | [`initramfs`] |
//!
//! Compressed files are read by the programs that wrote them (xz, zstd, gzip...): they know every filter and version of their format, a
//! damaged file ends another process than ours, and a lab has them installed, because its kernels are packed with them.

mod compress;
pub mod deb;
mod elf;
pub mod image;
pub mod initramfs;
pub mod modules;
mod program;
#[cfg(any(test, feature = "test-support"))]
pub mod testing;

pub use compress::{Format, UnpackError};
pub use elf::ElfError;
pub use program::ProgramError;
