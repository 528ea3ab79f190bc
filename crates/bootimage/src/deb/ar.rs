//! The outer form of a Debian package: the common subset of ar(5) that deb(5) allows.

use std::io::{Read, Seek, SeekFrom};

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER_BYTES: usize = 60;

/// A package has three members, and may have more that begin with `_`.
const MAX_MEMBERS: usize = 64;

/// A member of an archive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    /// Where its bytes begin.
    pub(super) start: u64,
    pub(super) bytes: u64,
}

/// All members, in order. One that is longer than the file is an error.
pub(super) fn members(file: &mut (impl Read + Seek)) -> Result<Vec<Member>, String> {
    let length = file.seek(SeekFrom::End(0)).map_err(|error| error.to_string())?;
    let mut at = MAGIC.len() as u64;
    let mut magic = [0; MAGIC.len()];
    file.rewind().and_then(|()| file.read_exact(&mut magic)).map_err(|_| "it is no ar archive".to_owned())?;
    if magic != MAGIC {
        return Err("it is no ar archive".to_owned());
    }
    let mut members = Vec::new();
    while at < length {
        if members.len() == MAX_MEMBERS {
            return Err(format!("it has more than {MAX_MEMBERS} members"));
        }
        let mut header = [0; HEADER_BYTES];
        let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut header));
        read.map_err(|_| format!("it is cut short in the header of a member (byte {at} of {length})"))?;
        let text = |from: usize, to: usize| std::str::from_utf8(&header[from..to]).map(str::trim_end).unwrap_or_default();
        let bytes: Option<u64> = text(48, 58).parse().ok();
        let (Some(bytes), true) = (bytes, header.ends_with(b"`\n")) else {
            return Err(format!("what stands at byte {at} is no header of a member"));
        };
        let (name, start) = (text(0, 16).trim_end_matches('/').to_owned(), at + HEADER_BYTES as u64);
        let end = start + bytes;
        if end > length {
            return Err(format!("it is cut short: {name} should end at byte {end}, the file has {length}"));
        }
        members.push(Member { name, start, bytes });
        at = end.next_multiple_of(2);
    }
    Ok(members)
}

#[cfg(any(test, feature = "test-support"))]
pub(super) mod testing {
    pub(crate) fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = super::MAGIC.to_vec();
        for (name, contents) in members {
            bytes.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, contents.len()).as_bytes());
            bytes.extend(*contents);
            bytes.resize(bytes.len().next_multiple_of(2), b'\n');
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn members_are_found() {
        let bytes = testing::archive(&[("debian-binary", b"2.0\n"), ("odd/", b"abc"), ("last", b"")]);
        let members = members(&mut Cursor::new(bytes)).unwrap();
        let names: Vec<(&str, u64)> = members.iter().map(|member| (member.name.as_str(), member.bytes)).collect();
        assert_eq!(names, [("debian-binary", 4), ("odd", 3), ("last", 0)]);
        assert_eq!(members[1].start, 8 + 60 + 4 + 60);
    }

    #[test]
    fn damage_is_told() {
        let bytes = testing::archive(&[("debian-binary", b"2.0\n"), ("data", &[1; 50])]);
        let text = |bytes: &[u8]| members(&mut Cursor::new(bytes)).unwrap_err();
        assert_eq!(text(&bytes[..150]), "it is cut short: data should end at byte 182, the file has 150");
        assert_eq!(text(&bytes[..80]), "it is cut short in the header of a member (byte 72 of 80)");
        let mut damaged = bytes.clone();
        damaged[8 + 48] = b'x';
        assert_eq!(text(&damaged), "what stands at byte 8 is no header of a member");
        assert_eq!(text(b""), "it is no ar archive");
    }
}
