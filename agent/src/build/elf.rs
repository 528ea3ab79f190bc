//! The GNU build id of an ELF image, as the linker wrote it and `/sys/kernel/notes` shows it: elf(5), "Notes (Nhdr)". Only 64-bit
//! little-endian files: what an x86-64 kernel is.

use std::io::{self, Read, Seek, SeekFrom};

/// Bytes of a note segment that are read; that of a kernel with all its Xen and PVH notes is below 1 KiB.
const NOTES_BYTES: u64 = 1 << 20;

/// Program headers looked at; a kernel has five.
const MAX_SEGMENTS: u16 = 64;

const HEADER_BYTES: usize = 64;
const SEGMENT_BYTES: usize = 56;

/// `PT_NOTE` and `NT_GNU_BUILD_ID` of elf.h.
const PT_NOTE: u32 = 4;
const NT_GNU_BUILD_ID: u32 = 3;

/// The build id in lower-case hexadecimal digits; none when the image has none.
pub fn build_id(mut image: impl Read + Seek) -> io::Result<Option<String>> {
    let mut header = [0; HEADER_BYTES];
    image.read_exact(&mut header)?;
    // Class 2: 64 bits; data 1: least significant byte first.
    if header[..6] != *b"\x7fELF\x02\x01" {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no 64-bit little-endian ELF file"));
    }
    let (offset, size, count) = (u64_at(&header, 32), u16_at(&header, 54), u16_at(&header, 56));
    if usize::from(size) != SEGMENT_BYTES || count > MAX_SEGMENTS {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "its program headers are not those of an x86-64 image"));
    }
    for index in 0..u64::from(count) {
        let mut segment = [0; SEGMENT_BYTES];
        image.seek(SeekFrom::Start(offset.saturating_add(index * SEGMENT_BYTES as u64)))?;
        image.read_exact(&mut segment)?;
        if u32_at(&segment, 0) != PT_NOTE {
            continue;
        }
        let (start, length, align) = (u64_at(&segment, 8), u64_at(&segment, 32), u64_at(&segment, 48));
        let mut notes = Vec::new();
        image.seek(SeekFrom::Start(start))?;
        image.by_ref().take(length.min(NOTES_BYTES)).read_to_end(&mut notes)?;
        if let Some(id) = build_id_of(&notes, if align == 8 { 8 } else { 4 }) {
            return Ok(Some(super::signature::hex(id)));
        }
    }
    Ok(None)
}

/// Looks through notes: three words (length of name, length of description, kind), then both, each padded.
fn build_id_of(mut notes: &[u8], align: usize) -> Option<&[u8]> {
    while notes.len() >= 12 {
        let (name_length, length, kind) = (u32_at(notes, 0) as usize, u32_at(notes, 4) as usize, u32_at(notes, 8));
        let name = notes.get(12..12usize.checked_add(name_length)?)?;
        let start = (12 + name_length).checked_next_multiple_of(align)?;
        let description = notes.get(start..start.checked_add(length)?)?;
        if name == b"GNU\0" && kind == NT_GNU_BUILD_ID {
            return Some(description);
        }
        notes = notes.get((start + length).checked_next_multiple_of(align)?..)?;
    }
    None
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn note(name: &[u8], kind: u32, description: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [name.len() as u32, description.len() as u32, kind] {
            bytes.extend(word.to_le_bytes());
        }
        for part in [name, description] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    /// An image with one segment of notes.
    fn image(notes: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES + SEGMENT_BYTES];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[32..40].copy_from_slice(&(HEADER_BYTES as u64).to_le_bytes());
        bytes[54..56].copy_from_slice(&(SEGMENT_BYTES as u16).to_le_bytes());
        bytes[56..58].copy_from_slice(&1u16.to_le_bytes());
        let segment = &mut bytes[HEADER_BYTES..];
        segment[..4].copy_from_slice(&PT_NOTE.to_le_bytes());
        segment[8..16].copy_from_slice(&((HEADER_BYTES + SEGMENT_BYTES) as u64).to_le_bytes());
        segment[32..40].copy_from_slice(&(notes.len() as u64).to_le_bytes());
        segment[48..56].copy_from_slice(&4u64.to_le_bytes());
        bytes.extend(notes);
        bytes
    }

    #[test]
    fn the_build_id_is_found_among_other_notes() {
        let notes = [note(b"Xen\0", 18, &[0; 8]), note(b"Linux\0", 0x100, b"salt\0"), note(b"GNU\0", 3, &[0xab, 0xcd, 0x01])].concat();
        assert_eq!(build_id(Cursor::new(image(&notes))).unwrap().as_deref(), Some("abcd01"));
        assert_eq!(build_id(Cursor::new(image(&note(b"Xen\0", 3, &[1])))).unwrap(), None);
    }

    #[test]
    fn every_cut_and_every_damage_is_survived() {
        let whole = image(&note(b"GNU\0", 3, &[1; 20]));
        for end in 0..whole.len() {
            let _ = build_id(Cursor::new(&whole[..end]));
            let mut damaged = whole.clone();
            damaged[end] = 0xff;
            let _ = build_id(Cursor::new(damaged));
        }
    }

    #[test]
    fn what_is_no_image_is_an_error() {
        assert!(build_id(Cursor::new(vec![b'M'; 200])).is_err());
    }
}
