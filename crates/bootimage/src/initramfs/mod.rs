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

/// For kernel, agent and programs beside the files. A Debian 6.1 with 117 MB of archives did not come up with 54 MiB of it (QEMU, 288 MiB in
/// all) and did with 86 MiB.
const KERNEL_BYTES: u64 = 128 << 20;

/// Memory that a host needs to unpack an archive of this length, in bytes: the archive is there twice until it is unpacked. The kernel must
/// be told `rootfstype=ramfs`, or it gives files half of its memory at most, and goes on without those that did not fit
/// (init/initramfs.c, "Initramfs unpacking failed: write error").
pub fn memory_bytes(archive_bytes: u64) -> u64 {
    2 * archive_bytes + KERNEL_BYTES
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_debian_kernel_with_all_tools_needs_a_third_of_a_gigabyte() {
        assert_eq!(super::memory_bytes(117_000_000) >> 20, 351);
    }
}
