//! Kernel images for x86: a bzImage, or the uncompressed ELF file (vmlinux) inside of it. What an image says of itself is what a running
//! kernel can prove: its release, and its build id.

mod bzimage;
mod vmlinux;

use std::borrow::Cow;

use crate::compress::UnpackError;
use crate::elf::ElfError;

/// Longest kernel in memory: one of Debian is 60 MB, one with debugging information 800 MB.
pub const MAX_VMLINUX_BYTES: u64 = 1 << 30;

/// What kind of file an image is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Compressed, behind the code that unpacks it (kernel document arch/x86/boot.rst).
    BzImage,
    /// ELF, as the linker made it.
    Vmlinux,
}

/// What an image says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What kind of file it is.
    pub kind: Kind,
    /// `uname -r`.
    pub release: String,
    /// GNU build id in lower-case hexadecimal digits: what `/sys/kernel/notes` shows while it runs.
    pub build_id: String,
    /// The first line of its log: `Linux version 6.1.0-40-amd64 (who@where) (gcc...) #1 SMP ...`.
    pub banner: String,
    /// Compiler and linker, from the banner.
    pub toolchain: String,
    /// Can a virtual machine start its vmlinux without unpacking anything (CONFIG_PVH)?
    pub has_pvh_entry: bool,
}

/// Why a file is no usable image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// Neither of the two kinds.
    #[error("it is no kernel image for x86: neither a bzImage (with `HdrS` at byte 514) nor an ELF file")]
    NotAnImage,
    /// The file is shorter than it says.
    #[error("it is cut short: {what} should end at byte {end}, the file has {length}")]
    Cut {
        /// Of what.
        what: &'static str,
        /// Where that ends.
        end: u64,
        /// Length of the file.
        length: u64,
    },
    /// A bzImage that is not as boot.rst says.
    #[error("it is no usable bzImage: {0}")]
    BadHeader(&'static str),
    /// The kernel in it.
    #[error("its kernel is not unpacked: {0}")]
    Unpack(#[from] UnpackError),
    /// What was unpacked is not what was packed.
    #[error("its kernel is damaged: {found} bytes unpacked, {told} told")]
    WrongLength {
        /// Bytes that came.
        found: u64,
        /// Bytes that it says.
        told: u64,
    },
    /// An ELF file that is damaged, or something else.
    #[error("its kernel: {0}")]
    Elf(#[from] ElfError),
    /// An ELF file that is something else.
    #[error("it is an ELF file, but no kernel: no `Linux version ...` in it")]
    NotLinux,
    /// Two kernels in one.
    #[error("its header names release {header}, the kernel in it {inside}")]
    Contradiction {
        /// By the header.
        header: String,
        /// By the banner.
        inside: String,
    },
    /// Nothing to prove it by.
    #[error("it has no GNU build id, so no host could prove that it runs; link it with --build-id, as the kernel's Makefile does")]
    NoBuildId,
}

/// Which kind of image it is, by its first bytes.
pub fn kind(image: &[u8]) -> Result<Kind, ImageError> {
    if image.starts_with(b"\x7fELF") {
        return Ok(Kind::Vmlinux);
    }
    if bzimage::is_one(image) { Ok(Kind::BzImage) } else { Err(ImageError::NotAnImage) }
}

/// `uname -r` of the kernel in an image. Nothing is unpacked.
pub fn release(image: &[u8]) -> Result<String, ImageError> {
    match kind(image)? {
        Kind::BzImage => bzimage::Header::read(image)?.release(),
        Kind::Vmlinux => Ok(vmlinux::release(vmlinux::banner(image)?).to_owned()),
    }
}

/// The kernel as an ELF file: unpacked from a bzImage, or the image itself.
pub fn vmlinux(image: &[u8]) -> Result<Cow<'_, [u8]>, ImageError> {
    match kind(image)? {
        Kind::BzImage => bzimage::Header::read(image)?.unpack().map(Cow::Owned),
        Kind::Vmlinux => Ok(Cow::Borrowed(image)),
    }
}

/// The GNU build id of a vmlinux in lower-case hexadecimal digits.
pub fn build_id(vmlinux: &[u8]) -> Result<String, ImageError> {
    vmlinux::build_id(vmlinux)
}

/// Can a virtual machine start this vmlinux as it is (XEN_ELFNOTE_PHYS32_ENTRY)?
pub fn has_pvh_entry(vmlinux: &[u8]) -> Result<bool, ImageError> {
    vmlinux::has_pvh_entry(vmlinux)
}

/// Everything that an image says of itself, and its kernel as an ELF file, which [`vmlinux()`] would give.
pub fn inspect(image: &[u8]) -> Result<(Facts, Cow<'_, [u8]>), ImageError> {
    let kind = kind(image)?;
    let vmlinux = vmlinux(image)?;
    let banner = vmlinux::banner(&vmlinux)?;
    let release = vmlinux::release(banner).to_owned();
    if kind == Kind::BzImage {
        let header = bzimage::Header::read(image)?.release()?;
        if header != release {
            return Err(ImageError::Contradiction { header, inside: release });
        }
    }
    let facts = Facts {
        kind,
        build_id: vmlinux::build_id(&vmlinux)?,
        toolchain: vmlinux::toolchain(banner).to_owned(),
        has_pvh_entry: vmlinux::has_pvh_entry(&vmlinux)?,
        banner: banner.to_owned(),
        release,
    };
    Ok((facts, vmlinux))
}

#[cfg(any(test, feature = "test-support"))]
pub(crate) mod testing {
    use crate::elf::testing::{elf, note};

    /// A kernel that says what a real one says, and does nothing.
    pub(crate) fn vmlinux_of(release: &str, build_id: u8) -> Vec<u8> {
        let code: Vec<u8> = (0..60_000u32).flat_map(|n| (n / 5).to_le_bytes()).collect();
        let banner = banner(release) + "\n";
        let text = [code.as_slice(), b"\0Linux version of something else\0", banner.as_bytes(), b"\0%s version %s (\0"].concat();
        let notes = [note(b"Xen", 18, &[0; 8]), note(b"GNU", 3, &[build_id; 20]), note(b"Linux", 0x101, &[0; 4])].concat();
        elf(&text, &notes, &[(".data", b"x")])
    }

    pub(crate) fn banner(release: &str) -> String {
        format!(
            "Linux version {release} (who@where) (gcc-12 (Debian 12.2.0-14) 12.2.0, GNU ld (GNU Binutils for Debian) 2.40) \
             #1 SMP PREEMPT_DYNAMIC Thu Jan  1 00:00:00 UTC 1970"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{banner, vmlinux_of};
    use super::*;
    use crate::compress::Format;

    fn example() -> Vec<u8> {
        vmlinux_of("6.1.0-lab", 0xab)
    }

    fn bzimages() -> Vec<(Format, Vec<u8>)> {
        let formats = [Format::Gzip, Format::Xz, Format::Zstd, Format::Lz4, Format::Bzip2, Format::Lzma, Format::Lzo];
        formats.into_iter().filter_map(|format| Some((format, bzimage::testing::bzimage(format, &example(), "6.1.0-lab")?))).collect()
    }

    #[test]
    fn a_vmlinux_says_what_it_is() {
        let image = example();
        let (facts, same) = inspect(&image).unwrap();
        assert!(matches!(same, Cow::Borrowed(_)));
        assert_eq!(
            facts,
            Facts {
                kind: Kind::Vmlinux,
                release: "6.1.0-lab".into(),
                build_id: "ab".repeat(20),
                banner: banner("6.1.0-lab"),
                toolchain: "gcc-12 (Debian 12.2.0-14) 12.2.0, GNU ld (GNU Binutils for Debian) 2.40".into(),
                has_pvh_entry: true,
            }
        );
    }

    #[test]
    fn a_bzimage_says_the_same_in_every_compression() {
        let wanted = inspect(&example()).unwrap().0;
        for (format, image) in bzimages() {
            let (facts, unpacked) = inspect(&image).unwrap();
            assert_eq!(facts, Facts { kind: Kind::BzImage, ..wanted.clone() }, "{format:?}");
            assert!(unpacked == example() && release(&image).unwrap() == "6.1.0-lab");
        }
    }

    #[test]
    fn no_cut_gives_an_answer() {
        for (format, image) in bzimages() {
            let near_tables = (0..2048).chain(image.len() - 64..image.len());
            for end in near_tables.chain((2048..image.len()).step_by(997)) {
                assert!(vmlinux(&image[..end]).is_err(), "{format:?} {end}");
                assert!(inspect(&image[..end]).is_err(), "{format:?} {end}");
            }
        }
        let image = example();
        for end in (0..image.len()).step_by(101).chain(image.len() - 200..image.len()) {
            assert!(inspect(&image[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn no_damage_gives_another_kernel() {
        let wanted = inspect(&example()).unwrap().0;
        for (format, image) in bzimages() {
            // These two have no check sum.
            if matches!(format, Format::Lzma | Format::Lz4) {
                continue;
            }
            for at in (0x1f0..0x268).chain((0x268..image.len()).step_by(4999)) {
                let mut damaged = image.clone();
                damaged[at] ^= 0x15;
                if let Ok((facts, unpacked)) = inspect(&damaged) {
                    assert_eq!(facts, Facts { kind: Kind::BzImage, ..wanted.clone() }, "{format:?} {at}");
                    assert!(unpacked == example(), "{format:?} {at}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_kernel_says_why() {
        let text = |image: &[u8]| inspect(image).unwrap_err().to_string();
        insta::assert_snapshot!(text(b"#!/bin/sh\n"), @"it is no kernel image for x86: neither a bzImage (with `HdrS` at byte 514) nor an ELF file");
        insta::assert_snapshot!(text(&crate::elf::testing::elf(b"hello", &[], &[])), @"it is an ELF file, but no kernel: no `Linux version ...` in it");
        let image = example();
        insta::assert_snapshot!(text(&image[..image.len() - 1]), @"its kernel: it is cut short: its sections should end at byte 240690, the file has 240689");
        let bare = crate::elf::testing::elf((banner("6.1.0-lab") + "\n").as_bytes(), &[], &[]);
        insta::assert_snapshot!(text(&bare), @"it has no GNU build id, so no host could prove that it runs; link it with --build-id, as the kernel's Makefile does");
        let other = bzimage::testing::bzimage(Format::Gzip, &image, "6.1.1").unwrap();
        insta::assert_snapshot!(text(&other), @"its header names release 6.1.1, the kernel in it 6.1.0-lab");
        let cut = &other[..other.len() / 2];
        assert!(text(cut).starts_with("it is cut short: its protected-mode code should end at byte "), "{}", text(cut));
    }
}
