//! Small files: sysfs values with read-back, and files of our own that survive a power cut.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{Result, SysError};

/// The text of a small file without white space at its ends.
pub fn read(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path).map_err(SysError::io(format!("read {}", path.display())))?;
    Ok(text.trim().to_owned())
}

/// Like [`read`]; nothing when the file is absent, unreadable or empty, as attributes of sysfs often are.
pub fn read_if_there(path: &Path) -> Option<String> {
    let text = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&text).trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned();
    (!text.is_empty()).then_some(text)
}

/// Writes a value to an existing file of sysfs, procfs or a cgroup, in one write(2) as those expect.
pub fn write(path: &Path, value: &str) -> Result<()> {
    let act = || format!("write `{value}` to {}", path.display());
    let mut file = OpenOptions::new().write(true).open(path).map_err(SysError::io(act()))?;
    file.write_all(value.as_bytes()).map_err(SysError::io(act()))
}

/// Writes a value and reads it back; numbers are compared as numbers, since the kernel prints `0x10` and `16` alike.
pub fn set(path: &Path, value: &str) -> Result<()> {
    write(path, value)?;
    let got = read(path)?;
    if same_value(&got, value) { Ok(()) } else { Err(SysError::ReadBack { file: path.to_owned(), wanted: value.to_owned(), got }) }
}

/// Is the value of a sysfs file the one that is wanted? Choices are printed as `none [bfq] kyber`.
pub fn same_value(got: &str, wanted: &str) -> bool {
    let chosen = got.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    let got = chosen.unwrap_or(got).trim();
    got == wanted.trim() || matches!((got.parse::<i64>(), wanted.trim().parse::<i64>()), (Ok(a), Ok(b)) if a == b)
}

/// Replaces a file so that after a power cut either the old or the new text is there: written beside, synced, renamed, folder synced.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let act = || format!("write {}", path.display());
    let beside = path.with_extension("new");
    let written = write_synced(&beside, bytes, mode).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // Half a file would only take space on a disk that may be full.
        let _ = std::fs::remove_file(&beside);
    }
    written.and_then(|()| sync_folder(path)).map_err(SysError::io(act()))
}

fn write_synced(path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// A short name for a folder, for sockets in it: a name in unix(7) ends at 108 bytes, however deep the folder lies.
#[derive(Debug)]
pub struct Short(File);

impl Short {
    /// Opens the folder; the name is good while this lives.
    pub fn open(folder: &Path) -> std::io::Result<Self> {
        File::open(folder).map(Short)
    }

    /// The name of an entry.
    pub fn join(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.0.as_raw_fd()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_as_the_kernel_prints_them() {
        assert!(same_value("none [bfq] kyber", "bfq"));
        assert!(!same_value("none [bfq] kyber", "none"));
        assert!(same_value("008", "8"));
        assert!(same_value("write back", "write back"));
        assert!(!same_value("128", "129"));
    }

    #[test]
    fn a_replaced_file_is_whole_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        replace(&path, b"one", 0o600).unwrap();
        replace(&path, b"two", 0o600).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside");
    }

    #[test]
    fn a_value_that_does_not_stick_is_an_error() {
        // /dev/null takes every write and reads back empty.
        let error = set(Path::new("/dev/null"), "16").unwrap_err();
        assert_eq!(error.to_string(), "set /dev/null: wrote `16`, reads back ``");
    }
}
