//! What the running kernel says of itself: release, build id, and the token of the boot that was ordered.

use std::fs;

use crate::guest::message::{GUEST_PROTOCOL, Ready};
use crate::sys::files::read_if_there;
use crate::sys::roots::Roots;

/// Name of the token on the kernel's command line.
pub const TOKEN_PARAMETER: &str = "blklab.token";

/// Type of the note that holds a build id (binutils, `NT_GNU_BUILD_ID` in elf.h).
const NT_GNU_BUILD_ID: u32 = 3;

/// Asks the running kernel.
pub fn ready(roots: &Roots) -> Ready {
    let line = read_if_there(&roots.proc.join("cmdline")).unwrap_or_default();
    Ready {
        protocol: GUEST_PROTOCOL,
        release: read_if_there(&roots.proc.join("sys/kernel/osrelease")).unwrap_or_default(),
        build_id: fs::read(roots.sys.join("kernel/notes")).map(|notes| build_id(&notes)).unwrap_or_default(),
        boot_id: read_if_there(&roots.proc.join("sys/kernel/random/boot_id")).unwrap_or_default(),
        token: parameter(&line, TOKEN_PARAMETER).unwrap_or_default().to_owned(),
    }
}

fn parameter<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

/// The GNU build id among ELF notes (`man 5 elf`, "Notes"): name size, descriptor size, type; then both, each padded to 4 bytes. Empty
/// when there is none.
fn build_id(notes: &[u8]) -> String {
    let mut rest = notes;
    while let Some((header, body)) = rest.split_at_checked(12) {
        let word = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let (name_bytes, text_bytes) = (word(0) as usize, word(4) as usize);
        let text_at = name_bytes.next_multiple_of(4);
        let Some(text) = body.get(text_at..text_at.saturating_add(text_bytes)) else { break };
        if word(8) == NT_GNU_BUILD_ID && body.starts_with(b"GNU\0") {
            return text.iter().map(|byte| format!("{byte:02x}")).collect();
        }
        let Some(next) = body.get(text_at + text_bytes.next_multiple_of(4)..) else { break };
        rest = next;
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(name: &[u8], kind: u32, text: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [name.len() as u32, text.len() as u32, kind] {
            bytes.extend(word.to_ne_bytes());
        }
        for part in [name, text] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    #[test]
    fn the_build_id_is_found_among_other_notes() {
        let notes = [note(b"Xen\0", 6, b"linux"), note(b"GNU\0", 3, &[0xab, 1, 2]), note(b"Linux\0", 0x101, &[])].concat();
        assert_eq!(build_id(&notes), "ab0102");
        for end in 0..notes.len() {
            build_id(&notes[..end]);
        }
        assert_eq!(build_id(&note(b"GNU\0", 1, b"abi.")), "");
    }

    #[test]
    fn a_parameter_is_a_whole_word() {
        assert_eq!(parameter("quiet blklab.token=ab12 x", TOKEN_PARAMETER), Some("ab12"));
        assert_eq!(parameter("noblklab.token=ab12 blklab.tokens=1", TOKEN_PARAMETER), None);
    }

    #[test]
    fn this_kernel_answers() {
        let ready = ready(&Roots::live());
        assert!(!ready.release.is_empty() && !ready.boot_id.is_empty(), "{ready:?}");
    }
}
