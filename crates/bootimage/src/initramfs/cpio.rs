//! The `newc` form of cpio archives, as the kernel unpacks it (kernel document driver-api/early-userspace/buffer-format.rst).

use std::io::{self, Read, Write};

/// One entry: what the header says of a file, without its name and contents.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    /// Kind and permissions, as stat(2) has them.
    pub(super) mode: u32,
    /// Of a device.
    pub(super) major: u32,
    /// Of a device.
    pub(super) minor: u32,
    /// Length of the contents: of a file, or of the text of a symbolic link.
    pub(super) bytes: u64,
}

/// Writes entries one after the other.
pub(super) struct Writer<W> {
    out: W,
    written: u64,
    inode: u32,
}

/// The last entry of every archive.
const TRAILER: &[u8] = b"TRAILER!!!";

/// Archives end at a multiple of this, as cpio(1) ends them, so that another one may follow.
const BLOCK: u64 = 512;

impl<W: Write> Writer<W> {
    pub(super) fn new(out: W) -> Self {
        Writer { out, written: 0, inode: 0 }
    }

    /// One entry; `contents` must give exactly as many bytes as it says.
    pub(super) fn entry(&mut self, name: &[u8], entry: Entry, contents: impl Read) -> io::Result<()> {
        // Nothing has two names, so no number is used twice.
        self.inode += 1;
        self.header(name, entry, self.inode)?;
        let copied = io::copy(&mut contents.take(entry.bytes), &mut self.out)?;
        if copied != entry.bytes {
            return Err(io::Error::other(format!("it became shorter while it was read ({copied} of {} bytes)", entry.bytes)));
        }
        self.written += copied;
        self.pad(4)
    }

    /// Ends the archive; gives its length in bytes.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        self.header(TRAILER, Entry::default(), 0)?;
        self.pad(BLOCK)?;
        self.out.flush()?;
        Ok(self.written)
    }

    fn header(&mut self, name: &[u8], entry: Entry, inode: u32) -> io::Result<()> {
        let bytes = u32::try_from(entry.bytes).map_err(|_| io::Error::other("it is longer than 4 GiB, which this form cannot say"))?;
        let links = 1;
        let fields = [inode, entry.mode, 0, 0, links, 0, bytes, 0, 0, entry.major, entry.minor, name.len() as u32 + 1, 0];
        let mut header = b"070701".to_vec();
        for field in fields {
            header.extend(format!("{field:08x}").as_bytes());
        }
        header.extend(name);
        header.push(0);
        self.out.write_all(&header)?;
        self.written += header.len() as u64;
        self.pad(4)
    }

    fn pad(&mut self, unit: u64) -> io::Result<()> {
        let padding = self.written.next_multiple_of(unit) - self.written;
        self.written += padding;
        self.out.write_all(&[0; BLOCK as usize][..padding as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_as_the_document_says() {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        writer.entry(b"etc/name", Entry { mode: 0o100_644, bytes: 5, ..Entry::default() }, &b"hello"[..]).unwrap();
        writer.entry(b"dev/null", Entry { mode: 0o020_666, major: 1, minor: 3, bytes: 0 }, io::empty()).unwrap();
        assert_eq!((writer.finish().unwrap(), bytes.len()), (512, 512));
        let text = String::from_utf8(bytes).unwrap().replace('\0', ".");
        let entries: Vec<&str> = text.trim_end_matches('.').split("070701").collect();
        insta::assert_snapshot!(entries.join("\n").trim_start(), @r"
        00000001000081a40000000000000000000000010000000000000005000000000000000000000000000000000000000900000000etc/name..hello...
        00000002000021b60000000000000000000000010000000000000000000000000000000000000001000000030000000900000000dev/null..
        00000000000000000000000000000000000000010000000000000000000000000000000000000000000000000000000b00000000TRAILER!!!
        ");
    }

    #[test]
    fn a_file_that_shrinks_is_noticed() {
        let error = Writer::new(io::sink()).entry(b"x", Entry { bytes: 5, ..Entry::default() }, &b"abc"[..]).unwrap_err();
        assert_eq!(error.to_string(), "it became shorter while it was read (3 of 5 bytes)");
    }
}
