//! The programs that a kernel build calls, and what has them on Debian.

use super::config::Config;
use crate::sys::command;

/// Needed by every build (kernel document process/changes.rst).
pub const ALWAYS: [&str; 11] = ["awk", "bc", "bison", "flex", "gcc", "git", "ld", "make", "sed", "strip", "tar"];

/// Where a program comes from on Debian.
const PACKAGES: [(&str, &str); 24] = [
    ("as", "binutils"),
    ("awk", "mawk"),
    ("bc", "bc"),
    ("bison", "bison"),
    ("bzip2", "bzip2"),
    ("ccache", "ccache"),
    ("cpio", "cpio"),
    ("depmod", "kmod"),
    ("flex", "flex"),
    ("gcc", "gcc"),
    ("git", "git"),
    ("ld", "binutils"),
    ("lz4", "lz4"),
    ("lzop", "lzop"),
    ("make", "make"),
    ("pahole", "pahole"),
    ("perl", "perl"),
    ("python3", "python3"),
    ("rsync", "rsync"),
    ("sed", "sed"),
    ("strip", "binutils"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
    ("zstd", "zstd"),
];

/// Programs that only some configurations need.
const BY_SYMBOL: [(&str, &str); 11] = [
    ("CONFIG_DEBUG_INFO_BTF", "pahole"),
    ("CONFIG_IKHEADERS", "cpio"),
    ("CONFIG_KERNEL_BZIP2", "bzip2"),
    ("CONFIG_KERNEL_LZ4", "lz4"),
    ("CONFIG_KERNEL_LZMA", "xz"),
    ("CONFIG_KERNEL_LZO", "lzop"),
    ("CONFIG_KERNEL_XZ", "xz"),
    ("CONFIG_KERNEL_ZSTD", "zstd"),
    ("CONFIG_MODULES", "depmod"),
    ("CONFIG_MODULE_COMPRESS_XZ", "xz"),
    ("CONFIG_MODULE_COMPRESS_ZSTD", "zstd"),
];

/// Programs that this configuration needs beyond [`ALWAYS`].
pub fn of_config(config: &Config) -> Vec<&'static str> {
    BY_SYMBOL.iter().filter(|(symbol, _)| config.is_on(symbol)).map(|(_, program)| *program).collect()
}

/// Those of these programs that are not installed, with their packages; none when all are.
pub fn missing(programs: &[&str]) -> Option<String> {
    let missing = programs.iter().filter(|program| command::find(program).is_none());
    let words: Vec<String> = missing.map(|program| format!("`{program}` is not installed{}", package_hint(program))).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// `; install the Debian package flex`, or nothing for a program that is not known.
pub fn package_hint(program: &str) -> String {
    let package = PACKAGES.iter().find(|(name, _)| *name == program);
    package.map(|(_, package)| format!("; install the Debian package {package}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_its_package() {
        let needed = ALWAYS.iter().chain(BY_SYMBOL.iter().map(|(_, program)| program));
        for program in needed {
            assert!(!package_hint(program).is_empty(), "{program}");
        }
        assert!(PACKAGES.is_sorted() && BY_SYMBOL.is_sorted() && ALWAYS.is_sorted());
    }

    #[test]
    fn a_compressed_image_needs_its_compressor() {
        assert_eq!(of_config(&Config::read("CONFIG_KERNEL_ZSTD=y\nCONFIG_MODULES=y\nCONFIG_SMP=y\n")), ["zstd", "depmod"]);
    }
}
