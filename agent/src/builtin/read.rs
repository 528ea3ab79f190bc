//! Reading from start to end: one file or disk, or every file of a tree.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::aligned::Aligned;
use super::{BuiltinError, Result, Tally};
use crate::stop::Stop;

/// Through the page cache, or past it (O_DIRECT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Cached,
    Direct,
}

/// Reads a file or disk in blocks, to its end or to `limit` bytes.
pub(super) fn linear(path: &Path, block_bytes: u64, limit: Option<u64>, mode: Mode, stop: &Stop) -> Result<Tally> {
    let flags = if mode == Mode::Direct { libc::O_DIRECT } else { 0 };
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(BuiltinError::io("open", path))?;
    let mut tally = Tally::default();
    let mut buffer = buffer(block_bytes);
    let mut left = limit.unwrap_or(u64::MAX);
    while left > 0 && !stop.is_asked() {
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.bytes().len());
        match tally.operation(|| read_some(&mut file, path, &mut buffer.bytes()[..length]))? {
            Some(read) => left -= read,
            None => break,
        }
    }
    Ok(tally)
}

/// Reads every file below a folder, in the order of readdir(3): that of the file system, as find(1) and tar(1) would.
pub(super) fn tree(path: &Path, block_bytes: u64, stop: &Stop) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut buffer = buffer(block_bytes);
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(BuiltinError::io("list", &folder))? {
            let entry = entry.map_err(BuiltinError::io("list", &folder))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(BuiltinError::io("look at", &folder))?);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                tally.operation(|| read_file(&path, buffer.bytes()))?;
            }
            if stop.is_asked() {
                return Ok(tally);
            }
        }
    }
    Ok(tally)
}

fn buffer(block_bytes: u64) -> Aligned {
    Aligned::new(usize::try_from(block_bytes).expect("the model limits blocks to 64 MiB"))
}

/// One read(2); none at the end of the file.
fn read_some(file: &mut File, path: &Path, block: &mut [u8]) -> Result<Option<u64>> {
    let read = file.read(block).map_err(BuiltinError::io("read", path))?;
    Ok((read > 0).then_some(read as u64))
}

fn read_file(path: &Path, block: &mut [u8]) -> Result<Option<u64>> {
    let mut file = File::open(path).map_err(BuiltinError::io("open", path))?;
    let mut bytes = 0;
    while let Some(read) = read_some(&mut file, path, block)? {
        bytes += read;
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::super::write;
    use super::*;

    #[test]
    fn to_the_end_or_to_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write::file(&path, 100_000, &Stop::default()).unwrap();
        let all = linear(&path, 4096, None, Mode::Cached, &Stop::default()).unwrap();
        assert_eq!((all.bytes, all.operations), (100_000, 25));
        let some = linear(&path, 4096, Some(5000), Mode::Cached, &Stop::default()).unwrap();
        assert_eq!((some.bytes, some.operations), (5000, 2));
    }

    #[test]
    fn every_file_of_a_tree_once() {
        let dir = tempfile::tempdir().unwrap();
        write::tree(dir.path(), 205, 1000, &Stop::default()).unwrap();
        std::os::unix::fs::symlink("/dev/zero", dir.path().join("endless")).unwrap();
        let tally = tree(dir.path(), 512, &Stop::default()).unwrap();
        assert_eq!((tally.bytes, tally.operations), (205_000, 205));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = linear(Path::new("/nonesuch"), 512, None, Mode::Cached, &Stop::default()).unwrap_err();
        assert_eq!(error.to_string(), "open /nonesuch: No such file or directory (os error 2)");
    }
}
