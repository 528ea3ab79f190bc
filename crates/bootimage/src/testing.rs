//! Kernels for tests: they say what real ones say, and do nothing.

use crate::compress::Format;

/// A vmlinux of kernel `release`, whose build id is this byte 20 times.
pub fn vmlinux(release: &str, build_id: u8) -> Vec<u8> {
    crate::image::testing::vmlinux_of(release, build_id)
}

/// A module of kernel `release` that needs these others (`jbd2,mbcache`).
pub fn module(release: &str, depends: &str) -> Vec<u8> {
    crate::modules::testing_module(release, depends)
}

/// A Debian package `linux-image-6.1.0-lab` with these files.
///
/// # Panics
/// When xz is not installed.
pub fn package(files: &[(&str, &[u8])]) -> Vec<u8> {
    crate::deb::testing::package(Format::Xz, files)
}
