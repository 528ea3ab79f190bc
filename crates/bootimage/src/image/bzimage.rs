//! A bzImage: the setup header and the compressed kernel behind it. Source: kernel document arch/x86/boot.rst, whose names are used here.

use super::{ImageError, MAX_VMLINUX_BYTES};
use crate::compress::{self, Format};

const SECTOR: u64 = 512;

/// `payload_offset` and `payload_length` are there since protocol 2.08 (Linux 2.6.26).
const MIN_PROTOCOL: u16 = 0x0208;

/// Where the setup header ends in protocol 2.08.
const HEADER_END: u64 = 0x250;

/// Shown releases are at most so long (`__NEW_UTS_LEN`, uname(2)).
const MAX_RELEASE: usize = 64;

/// Has it the words of a bzImage?
pub(super) fn is_one(image: &[u8]) -> bool {
    image.get(0x1fe..0x200) == Some(&[0x55, 0xaa]) && image.get(0x202..0x206) == Some(b"HdrS")
}

/// The setup header, checked against the length of the file.
pub(super) struct Header<'a> {
    image: &'a [u8],
    kernel_version: usize,
    setup_bytes: u64,
    payload: &'a [u8],
}

impl<'a> Header<'a> {
    pub(super) fn read(image: &'a [u8]) -> Result<Self, ImageError> {
        part(image, 0, HEADER_END, "its header")?;
        if u16_at(image, 0x206) < MIN_PROTOCOL {
            return Err(ImageError::BadHeader("its boot protocol is older than 2.08 (Linux 2.6.26)"));
        }
        if image[0x211] & 1 == 0 {
            return Err(ImageError::BadHeader("it is a zImage, which loads low"));
        }
        // For historical reasons 0 means 4.
        let setup_sectors = if image[0x1f1] == 0 { 4 } else { u64::from(image[0x1f1]) };
        let setup_bytes = (setup_sectors + 1) * SECTOR;
        let code = part(image, setup_bytes, u64::from(u32_at(image, 0x1f4)) * 16, "its protected-mode code")?;
        check_signature(image)?;
        let (start, length) = (u32_at(image, 0x248) as usize, u32_at(image, 0x24c) as usize);
        let payload = start.checked_add(length).and_then(|end| code.get(start..end)).filter(|payload| payload.len() > 4);
        let payload = payload.ok_or(ImageError::BadHeader("its payload does not lie in its protected-mode code"))?;
        Ok(Header { image, kernel_version: u16_at(image, 0x20e).into(), setup_bytes, payload })
    }

    /// `6.1.0-40-amd64` of `6.1.0-40-amd64 (who@where) #1 SMP ...`.
    pub(super) fn release(&self) -> Result<String, ImageError> {
        let setup = &self.image[..self.setup_bytes as usize];
        let text = setup.get(self.kernel_version + 0x200..).filter(|_| self.kernel_version > 0).unwrap_or_default();
        let word = text.split(|byte| matches!(byte, 0 | b' ')).next().unwrap_or_default();
        let is_release = !word.is_empty() && word.len() <= MAX_RELEASE && word.iter().all(u8::is_ascii_graphic);
        match std::str::from_utf8(word) {
            Ok(word) if is_release => Ok(word.to_owned()),
            Ok(_) | Err(_) => Err(ImageError::BadHeader("its header names no release (kernel_version)")),
        }
    }

    /// The ELF file inside. The kernel's build appends the length of what it packed to every format but gzip, which has it at its end
    /// anyway (scripts/Makefile.lib, `size_append`).
    pub(super) fn unpack(&self) -> Result<Vec<u8>, ImageError> {
        let format = Format::of(self.payload)?;
        let (rest, told) = self.payload.split_at(self.payload.len() - 4);
        let packed = if format == Format::Gzip { self.payload } else { rest };
        let told = u64::from(u32_at(told, 0));
        if told > MAX_VMLINUX_BYTES {
            return Err(ImageError::BadHeader("the kernel in it is longer than 1 GiB"));
        }
        let unpacked = compress::unpack(packed, MAX_VMLINUX_BYTES)?;
        if unpacked.len() as u64 != told {
            return Err(ImageError::WrongLength { found: unpacked.len() as u64, told });
        }
        Ok(unpacked)
    }
}

/// An image that is a PE program as well may end with a signature, which the header of boot.rst does not count: the certificate table of
/// the optional header (PE Format, "The Attribute Certificate Table").
fn check_signature(image: &[u8]) -> Result<(), ImageError> {
    if !image.starts_with(b"MZ") {
        return Ok(());
    }
    let pe = u32_at(image, 0x3c) as usize;
    let Some(optional) = image.get(pe..).filter(|rest| rest.starts_with(b"PE\0\0")).and_then(|rest| rest.get(24..)) else {
        return Ok(());
    };
    // The directories begin after 112 bytes in PE32+; the certificates are the fifth and are placed by their offset in the file.
    let is_plus = optional.get(..2) == Some(&[0x0b, 0x02]);
    let Some(entry) = optional.get(112 + 4 * 8..112 + 5 * 8).filter(|_| is_plus) else { return Ok(()) };
    let (start, length) = (u64::from(u32_at(entry, 0)), u64::from(u32_at(entry, 4)));
    part(image, start, length, "its signature").map(drop)
}

fn part<'a>(image: &'a [u8], start: u64, length: u64, what: &'static str) -> Result<&'a [u8], ImageError> {
    let end = start + length;
    image.get(start as usize..end as usize).ok_or(ImageError::Cut { what, end, length: image.len() as u64 })
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::compress::testing::pack;

    /// A bzImage around a kernel; none when the compressor is not installed here.
    pub(crate) fn bzimage(format: Format, vmlinux: &[u8], release: &str) -> Option<Vec<u8>> {
        let mut payload = pack(format, vmlinux)?;
        if format != Format::Gzip {
            payload.extend((vmlinux.len() as u32).to_le_bytes());
        }
        let setup_sectors = 3;
        let mut image = vec![0; (setup_sectors + 1) * SECTOR as usize];
        let unpacker = [0x90; 300];
        let code = (unpacker.len() + payload.len()).next_multiple_of(16);
        let mut put = |at: usize, value: &[u8]| image[at..at + value.len()].copy_from_slice(value);
        put(0x1f1, &[setup_sectors as u8]);
        put(0x1f4, &((code / 16) as u32).to_le_bytes());
        put(0x1fe, &[0x55, 0xaa]);
        put(0x202, b"HdrS");
        put(0x206, &0x020fu16.to_le_bytes());
        put(0x20e, &0x100u16.to_le_bytes());
        put(0x211, &[1]);
        put(0x248, &(unpacker.len() as u32).to_le_bytes());
        put(0x24c, &(payload.len() as u32).to_le_bytes());
        put(0x300, format!("{release} (who@where) #1 SMP\0").as_bytes());
        image.extend(unpacker);
        image.extend(payload);
        image.resize((setup_sectors + 1) * SECTOR as usize + code, 0);
        Some(image)
    }
}
