//! A kernel as an ELF file.

use super::ImageError;
use crate::elf::Elf;

/// `NT_GNU_BUILD_ID` of elf.h.
const GNU_BUILD_ID: u32 = 3;

/// `XEN_ELFNOTE_PHYS32_ENTRY` (xen/include/public/elfnote.h): the address where a PVH start begins.
const XEN_PHYS32_ENTRY: u32 = 18;

/// How `linux_banner` begins (init/version.c).
const BANNER: &[u8] = b"Linux version ";

/// The longest banner taken: those of distributions have some 250 bytes.
const MAX_BANNER: usize = 1024;

/// The first line of the kernel's log, without its end.
pub(super) fn banner(vmlinux: &[u8]) -> Result<&str, ImageError> {
    Elf::read(vmlinux)?;
    let mut rest = vmlinux;
    while let Some(at) = rest.iter().position(|&byte| byte == BANNER[0]) {
        rest = &rest[at..];
        if rest.starts_with(BANNER)
            && let Some(banner) = whole_banner(rest)
        {
            return Ok(banner);
        }
        rest = &rest[1..];
    }
    Err(ImageError::NotLinux)
}

/// A line with a number, a compiler and a version of the build, up to its zero; other texts begin with the same words.
fn whole_banner(bytes: &[u8]) -> Option<&str> {
    let line = bytes[..bytes.len().min(MAX_BANNER)].split(|&byte| byte == 0).next()?.strip_suffix(b"\n")?;
    let line = std::str::from_utf8(line).ok()?;
    let has_number = line.as_bytes().get(BANNER.len()).is_some_and(u8::is_ascii_digit);
    (has_number && line.contains(") #") && !line.contains(char::is_control)).then_some(line)
}

/// The release in a banner.
pub(super) fn release(banner: &str) -> &str {
    banner.split(' ').nth(2).unwrap_or_default()
}

/// The second parenthesis of a banner: compiler and linker.
pub(super) fn toolchain(banner: &str) -> &str {
    let after_builder = banner.split_once(") (").map_or("", |(_, rest)| rest);
    let mut depth = 1;
    for (at, letter) in after_builder.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &after_builder[..at];
        }
    }
    ""
}

pub(super) fn build_id(vmlinux: &[u8]) -> Result<String, ImageError> {
    let notes = Elf::read(vmlinux)?.notes()?;
    let note = notes.iter().find(|note| note.name == b"GNU" && note.kind == GNU_BUILD_ID).ok_or(ImageError::NoBuildId)?;
    Ok(note.description.iter().map(|byte| format!("{byte:02x}")).collect())
}

pub(super) fn has_pvh_entry(vmlinux: &[u8]) -> Result<bool, ImageError> {
    Ok(Elf::read(vmlinux)?.notes()?.iter().any(|note| note.name == b"Xen" && note.kind == XEN_PHYS32_ENTRY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchains_are_read_from_banners() {
        let banner = "Linux version 6.6.8 (builder@host) (Debian clang version 14.0.6, Debian LLD 14.0.6) #3 SMP Fri";
        assert_eq!((release(banner), toolchain(banner)), ("6.6.8", "Debian clang version 14.0.6, Debian LLD 14.0.6"));
        assert_eq!(toolchain("Linux version 2.6.18 (root@x) (gcc version 4.1.2 #1"), "");
    }
}
