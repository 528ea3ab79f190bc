//! What this crate reads of ELF files (elf(5)): segments, notes, sections. Only 64-bit little-endian files for x86-64. Every offset comes
//! from the file and is checked against its length.

/// Why a file is not read as ELF.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// It begins differently.
    #[error("it is no ELF file")]
    NotElf,
    /// For another machine.
    #[error("it is an ELF file, but not for x86-64 (64 bits, little-endian)")]
    OtherMachine,
    /// The file is shorter than its own tables say.
    #[error("it is cut short: {what} should end at byte {end}, the file has {length}")]
    Cut {
        /// Of what.
        what: &'static str,
        /// Where that ends.
        end: u64,
        /// Length of the file.
        length: u64,
    },
    /// Its tables contradict themselves.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
}

pub(crate) const HEADER_BYTES: usize = 64;
const SEGMENT_BYTES: usize = 56;
const SECTION_BYTES: usize = 64;

/// `e_machine` of elf.h.
const EM_X86_64: u16 = 62;

/// `p_type` of elf.h.
const PT_LOAD: u32 = 1;
const PT_INTERP: u32 = 3;
const PT_NOTE: u32 = 4;

/// `sh_type` of elf.h: a section without bytes in the file.
const SHT_NOBITS: u32 = 8;

/// An ELF file whose tables are within its bytes.
#[derive(Debug)]
pub(crate) struct Elf<'a> {
    bytes: &'a [u8],
    segments: Vec<Segment>,
    sections: Vec<Section>,
    names: usize,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    kind: u32,
    start: u64,
    length: u64,
    align: u64,
}

#[derive(Debug, Clone, Copy)]
struct Section {
    name: u32,
    kind: u32,
    start: u64,
    length: u64,
}

/// A note (elf(5), "Notes (Nhdr)").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Note<'a> {
    /// Without the zero at its end.
    pub(crate) name: &'a [u8],
    pub(crate) kind: u32,
    pub(crate) description: &'a [u8],
}

impl<'a> Elf<'a> {
    /// Reads the tables; a file that is shorter than they say is an error.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, ElfError> {
        if !bytes.starts_with(b"\x7fELF") {
            return Err(ElfError::NotElf);
        }
        let header = part(bytes, 0, HEADER_BYTES as u64, "its header")?;
        // Class 2: 64 bits; data 1: least significant byte first.
        if header[4..6] != [2, 1] || u16_at(header, 18) != EM_X86_64 {
            return Err(ElfError::OtherMachine);
        }
        let segments = table(bytes, u64_at(header, 32), u16_at(header, 54), u16_at(header, 56), SEGMENT_BYTES, "its segments")?;
        let sections = table(bytes, u64_at(header, 40), u16_at(header, 58), u16_at(header, 60), SECTION_BYTES, "its sections")?;
        let segments = segments.map(|entry| Segment {
            kind: u32_at(entry, 0),
            start: u64_at(entry, 8),
            length: u64_at(entry, 32),
            align: u64_at(entry, 48),
        });
        let sections = sections.map(|entry| Section {
            name: u32_at(entry, 0),
            kind: u32_at(entry, 4),
            start: u64_at(entry, 24),
            length: u64_at(entry, 32),
        });
        let elf = Elf { bytes, segments: segments.collect(), sections: sections.collect(), names: u16_at(header, 62).into() };
        for segment in &elf.segments {
            part(bytes, segment.start, segment.length, "a segment")?;
        }
        for section in elf.sections.iter().filter(|section| section.kind != SHT_NOBITS) {
            part(bytes, section.start, section.length, "a section")?;
        }
        Ok(elf)
    }

    /// All notes of its segments.
    pub(crate) fn notes(&self) -> Result<Vec<Note<'a>>, ElfError> {
        let mut notes = Vec::new();
        for segment in self.segments.iter().filter(|segment| segment.kind == PT_NOTE) {
            let align = if segment.align == 8 { 8 } else { 4 };
            let mut rest = part(self.bytes, segment.start, segment.length, "a segment")?;
            // What is left at the end is padding.
            while rest.len() >= 12 {
                let (note, after) = note(rest, align).ok_or(ElfError::Damaged("a note is longer than its segment"))?;
                notes.push(note);
                rest = after;
            }
        }
        Ok(notes)
    }

    /// The dynamic loader that it asks for; none for a static program.
    pub(crate) fn loader(&self) -> Option<&'a [u8]> {
        let segment = self.segments.iter().find(|segment| segment.kind == PT_INTERP)?;
        let path = part(self.bytes, segment.start, segment.length, "a segment").ok()?;
        path.split(|&byte| byte == 0).next()
    }

    /// The contents of the first section of that name.
    pub(crate) fn section(&self, name: &[u8]) -> Option<&'a [u8]> {
        let names = self.contents(self.sections.get(self.names)?)?;
        let is_wanted =
            |section: &&Section| names.get(section.name as usize..).and_then(|rest| rest.split(|&byte| byte == 0).next()) == Some(name);
        self.contents(self.sections.iter().find(is_wanted)?)
    }

    fn contents(&self, section: &Section) -> Option<&'a [u8]> {
        part(self.bytes, section.start, section.length, "a section").ok()
    }

    /// Is there anything to be loaded into memory?
    pub(crate) fn is_loadable(&self) -> bool {
        self.segments.iter().any(|segment| segment.kind == PT_LOAD && segment.length > 0)
    }

    /// The bytes that running it needs: segments and what lies before their end. Symbols, debugging information and the table of
    /// sections come behind them and are read by other programs only (elf(5)).
    pub(crate) fn runnable_bytes(&self) -> Vec<u8> {
        let end = self.segments.iter().map(|segment| segment.start + segment.length).max().unwrap_or(0);
        let end = usize::try_from(end).unwrap_or(self.bytes.len()).max(HEADER_BYTES).min(self.bytes.len());
        let mut bytes = self.bytes[..end].to_vec();
        // No table of sections: e_shoff, e_shnum and e_shstrndx are zero.
        bytes[40..48].fill(0);
        bytes[60..64].fill(0);
        bytes
    }
}

/// Three words (length of name, length of description, kind), then both, each padded.
fn note(bytes: &[u8], align: usize) -> Option<(Note<'_>, &[u8])> {
    let (name_bytes, length, kind) = (u32_at(bytes, 0) as usize, u32_at(bytes, 4) as usize, u32_at(bytes, 8));
    let name = bytes.get(12..12usize.checked_add(name_bytes)?)?;
    let start = (12 + name_bytes).checked_next_multiple_of(align)?;
    let end = start.checked_add(length)?;
    let description = bytes.get(start..end)?;
    // The last one may lack its padding.
    let rest = bytes.get(end.checked_next_multiple_of(align)?..).unwrap_or_default();
    Some((Note { name: name.strip_suffix(b"\0").unwrap_or(name), kind, description }, rest))
}

fn table<'a>(
    bytes: &'a [u8],
    start: u64,
    entry_bytes: u16,
    count: u16,
    wanted_bytes: usize,
    what: &'static str,
) -> Result<std::slice::ChunksExact<'a, u8>, ElfError> {
    if count > 0 && usize::from(entry_bytes) != wanted_bytes {
        return Err(ElfError::Damaged("the entries of its tables have another size than elf(5) says"));
    }
    Ok(part(bytes, start, u64::from(count) * wanted_bytes as u64, what)?.chunks_exact(wanted_bytes))
}

fn part<'a>(bytes: &'a [u8], start: u64, length: u64, what: &'static str) -> Result<&'a [u8], ElfError> {
    let end = start.saturating_add(length);
    let range = usize::try_from(start).unwrap_or(usize::MAX)..usize::try_from(end).unwrap_or(usize::MAX);
    if length == 0 {
        return Ok(&[]);
    }
    bytes.get(range).ok_or(ElfError::Cut { what, end, length: bytes.len() as u64 })
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

#[cfg(any(test, feature = "test-support"))]
pub(crate) mod testing {
    use super::*;

    /// A note with its padding.
    pub(crate) fn note(name: &[u8], kind: u32, description: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [name.len() as u32 + 1, description.len() as u32, kind] {
            bytes.extend(word.to_le_bytes());
        }
        for part in [&[name, b"\0"].concat(), description] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    /// An ELF file with one loadable segment of `text` and one of `notes`, and with `sections` behind them.
    pub(crate) fn elf(text: &[u8], notes: &[u8], sections: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES + 2 * SEGMENT_BYTES];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(16, &2u16.to_le_bytes());
        put(18, &EM_X86_64.to_le_bytes());
        put(32, &(HEADER_BYTES as u64).to_le_bytes());
        put(54, &(SEGMENT_BYTES as u16).to_le_bytes());
        put(56, &2u16.to_le_bytes());
        put(58, &(SECTION_BYTES as u16).to_le_bytes());
        for (index, (kind, contents)) in [(PT_LOAD, text), (PT_NOTE, notes)].into_iter().enumerate() {
            let at = HEADER_BYTES + index * SEGMENT_BYTES;
            let start = bytes.len() as u64;
            bytes.extend(contents);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            let mut put = |offset: usize, value: u64| bytes[at + offset..at + offset + 8].copy_from_slice(&value.to_le_bytes());
            put(0, kind.into());
            put(8, start);
            put(32, contents.len() as u64);
            put(48, 4);
        }
        let mut names = vec![0];
        let mut table = vec![0; SECTION_BYTES];
        for (name, contents) in sections.iter().copied().chain([(".shstrtab", &[][..])]) {
            let mut entry = [0; SECTION_BYTES];
            entry[..4].copy_from_slice(&(names.len() as u32).to_le_bytes());
            entry[4..8].copy_from_slice(&1u32.to_le_bytes());
            names.extend(name.as_bytes());
            names.push(0);
            let contents = if name == ".shstrtab" { names.clone() } else { contents.to_vec() };
            entry[24..32].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            entry[32..40].copy_from_slice(&(contents.len() as u64).to_le_bytes());
            bytes.extend(contents);
            table.extend(entry);
        }
        let count = (table.len() / SECTION_BYTES) as u16;
        let start = bytes.len() as u64;
        bytes[40..48].copy_from_slice(&start.to_le_bytes());
        bytes[60..62].copy_from_slice(&count.to_le_bytes());
        bytes[62..64].copy_from_slice(&(count - 1).to_le_bytes());
        bytes.extend(table);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Vec<u8> {
        let notes = [testing::note(b"Xen", 18, &[0; 8]), testing::note(b"GNU", 3, &[1, 2, 3])].concat();
        testing::elf(b"some code", &notes, &[(".modinfo", b"depends=jbd2\0"), (".debug", &[9; 500])])
    }

    #[test]
    fn notes_and_sections_are_found() {
        let bytes = example();
        let elf = Elf::read(&bytes).unwrap();
        let notes = elf.notes().unwrap();
        assert_eq!(notes[1], Note { name: b"GNU", kind: 3, description: &[1, 2, 3] });
        assert_eq!(elf.section(b".modinfo"), Some(&b"depends=jbd2\0"[..]));
        assert_eq!((elf.section(b".modinf"), elf.loader()), (None, None));
        let runnable = elf.runnable_bytes();
        assert!(runnable.len() < bytes.len() - 500);
        let again = Elf::read(&runnable).unwrap();
        assert_eq!((again.notes().unwrap(), again.is_loadable(), again.section(b".debug")), (notes, true, None));
    }

    #[test]
    fn every_cut_is_an_error_and_no_damage_a_panic() {
        let whole = example();
        for end in 0..whole.len() {
            assert!(Elf::read(&whole[..end]).is_err(), "{end}");
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                let Ok(elf) = Elf::read(&damaged) else { continue };
                let _ = (elf.notes(), elf.loader(), elf.section(b".modinfo"), elf.runnable_bytes());
            }
        }
    }

    #[test]
    fn other_files_say_what_they_are_not() {
        assert_eq!(Elf::read(b"MZ").unwrap_err(), ElfError::NotElf);
        let mut arm = example();
        arm[18] = 183;
        assert_eq!(Elf::read(&arm).unwrap_err(), ElfError::OtherMachine);
    }
}
