//! Compressed files: which format, and their contents, read by the program of the format.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::time::Duration;

use crate::program::{self, Limits, ProgramError};

/// The largest, the data of a Debian package (400 MB unpacked), takes xz 10 s; a crowded machine is 20 times slower.
const TIME: Duration = Duration::from_secs(600);

/// A compression that kernels, modules and packages come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// RFC 1952.
    Gzip,
    /// .xz, with any filter.
    Xz,
    /// RFC 8878.
    Zstd,
    /// Frames, and the older form that the kernel's own unpacker takes.
    Lz4,
    /// bzip2(1).
    Bzip2,
    /// The form before .xz.
    Lzma,
    /// lzop(1).
    Lzo,
}

/// Why something is not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// No format begins like this.
    #[error("it is in no known compression (its first bytes are {0:02x?})")]
    Unknown(Vec<u8>),
    /// The program.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// How each format begins.
const MAGIC: [(&[u8], Format); 8] = [
    (&[0x1f, 0x8b], Format::Gzip),
    (b"\xfd7zXZ\0", Format::Xz),
    (&[0x28, 0xb5, 0x2f, 0xfd], Format::Zstd),
    (&[0x02, 0x21, 0x4c, 0x18], Format::Lz4),
    (&[0x04, 0x22, 0x4d, 0x18], Format::Lz4),
    (b"BZh", Format::Bzip2),
    (&[0x5d, 0, 0], Format::Lzma),
    (b"\x89LZO", Format::Lzo),
];

impl Format {
    /// By the first bytes.
    pub fn of(beginning: &[u8]) -> Result<Format, UnpackError> {
        let found = MAGIC.iter().find(|(magic, _)| beginning.starts_with(magic));
        found.map(|(_, format)| *format).ok_or_else(|| UnpackError::Unknown(beginning[..beginning.len().min(6)].to_vec()))
    }

    /// By the end of a file's name; none for a name that says nothing of a compression.
    pub fn of_name(name: &str) -> Option<Format> {
        match name.rsplit_once('.')?.1 {
            "gz" => Some(Format::Gzip),
            "xz" => Some(Format::Xz),
            "zst" => Some(Format::Zstd),
            "lz4" => Some(Format::Lz4),
            "bz2" => Some(Format::Bzip2),
            "lzma" => Some(Format::Lzma),
            _ => None,
        }
    }

    fn program(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Format::Gzip => ("gzip", &["-dc"]),
            Format::Xz => ("xz", &["--format=xz", "-dc"]),
            Format::Zstd => ("zstd", &["-dcq"]),
            Format::Lz4 => ("lz4", &["-dcq"]),
            Format::Bzip2 => ("bzip2", &["-dc"]),
            Format::Lzma => ("xz", &["--format=lzma", "-dc"]),
            Format::Lzo => ("lzop", &["-dc"]),
        }
    }

    /// Unpacks `input` to `output`, at most `limit_bytes`; gives how many bytes it was.
    pub fn unpack(self, input: impl Read + Send, output: impl Write, limit_bytes: u64) -> Result<u64, UnpackError> {
        let (name, arguments) = self.program();
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        Ok(program::run(name, &arguments, input, output, Limits { bytes: limit_bytes, time: TIME })?)
    }
}

/// Unpacks bytes whose format their beginning tells.
pub(crate) fn unpack(bytes: &[u8], limit_bytes: u64) -> Result<Vec<u8>, UnpackError> {
    let mut output = Vec::new();
    Format::of(bytes)?.unpack(bytes, &mut output, limit_bytes)?;
    Ok(output)
}

#[cfg(any(test, feature = "test-support"))]
pub(crate) mod testing {
    use super::*;

    /// Packs with the program of the format; none when it is not installed here.
    pub(crate) fn pack(format: Format, bytes: &[u8]) -> Option<Vec<u8>> {
        let (name, arguments): (&str, &[&str]) = match format {
            Format::Gzip => ("gzip", &["-c"]),
            // As the kernel's scripts/xz_wrap.sh does.
            Format::Xz => ("xz", &["--check=crc32", "--x86", "--lzma2=dict=4MiB", "-c"]),
            Format::Zstd => ("zstd", &["-cq"]),
            // As its scripts/Makefile.lib does.
            Format::Lz4 => ("lz4", &["-l", "-cq"]),
            Format::Bzip2 => ("bzip2", &["-c"]),
            Format::Lzma => ("xz", &["--format=lzma", "-c"]),
            Format::Lzo => ("lzop", &["-c"]),
        };
        program::find(name)?;
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        let mut output = Vec::new();
        program::run(name, &arguments, bytes, &mut output, Limits { bytes: 1 << 30, time: TIME }).expect("a compressor works");
        Some(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Format; 7] = [Format::Gzip, Format::Xz, Format::Zstd, Format::Lz4, Format::Bzip2, Format::Lzma, Format::Lzo];

    #[test]
    fn every_format_comes_back() {
        let bytes: Vec<u8> = (0..200_000u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        for format in ALL {
            let Some(packed) = testing::pack(format, &bytes) else {
                eprintln!("skipped: {} is not installed", format.program().0);
                continue;
            };
            assert_eq!(Format::of(&packed).unwrap(), format);
            assert!(unpack(&packed, bytes.len() as u64).unwrap() == bytes, "{format:?}");
            let error = unpack(&packed, bytes.len() as u64 - 1).unwrap_err();
            assert!(matches!(error, UnpackError::Program(ProgramError::TooLong { .. })), "{error}");
            let mut damaged = packed.clone();
            damaged.truncate(packed.len() / 2);
            assert!(unpack(&damaged, bytes.len() as u64).map_or(true, |short| short != bytes), "{format:?}");
        }
    }

    #[test]
    fn what_is_not_compressed_says_so() {
        assert_eq!(
            unpack(b"MZ\xea\x07", 1).unwrap_err().to_string(),
            "it is in no known compression (its first bytes are [4d, 5a, ea, 07])"
        );
        assert_eq!(Format::of_name("ext4.ko.xz"), Some(Format::Xz));
        assert_eq!(Format::of_name("ext4.ko"), None);
    }
}
