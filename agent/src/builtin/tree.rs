//! Copying a tree, once or until stopped: the background load of the journal-thread experiment (workloads.md, classic 1).

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use super::write::sync_file_system;
use super::{BuiltinError, Result, Tally};
use crate::stop::Stop;

/// Bytes a read and a write. Plain read(2) and write(2): copy_file_range(2), which std::fs::copy uses, may share blocks instead.
const BLOCK_BYTES: usize = 64 << 10;

/// How often a tree is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    /// Once, and the copy reaches the disk before the clock stops: as a task, it measures a disk and not the memory.
    Once,
    /// Again and again without a sync, as `while cp -a` does.
    UntilStopped,
}

/// Copies a tree; each copy replaces the one before.
pub(super) fn copy(from: &Path, to: &Path, times: Times, stop: &Stop) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut buffer = vec![0; BLOCK_BYTES];
    loop {
        remove(to)?;
        copy_folder(from, to, &mut buffer, &mut tally, stop)?;
        if times == Times::Once {
            sync_file_system(to)?;
            return Ok(tally);
        }
        if stop.is_asked() {
            return Ok(tally);
        }
    }
}

fn remove(tree: &Path) -> Result<()> {
    match std::fs::remove_dir_all(tree) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(BuiltinError::io("remove", tree)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn copy_folder(from: &Path, to: &Path, buffer: &mut [u8], tally: &mut Tally, stop: &Stop) -> Result<()> {
    std::fs::create_dir_all(to).map_err(BuiltinError::io("make folder", to))?;
    for entry in std::fs::read_dir(from).map_err(BuiltinError::io("list", from))? {
        if stop.is_asked() {
            break;
        }
        let entry = entry.map_err(BuiltinError::io("list", from))?;
        let kind = entry.file_type().map_err(BuiltinError::io("look at", from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if kind.is_dir() {
            copy_folder(&source, &target, buffer, tally, stop)?;
        } else if kind.is_file() {
            tally.operation(|| copy_file(&source, &target, buffer))?;
        } else if kind.is_symlink() {
            let link = std::fs::read_link(&source).map_err(BuiltinError::io("read link", &source))?;
            std::os::unix::fs::symlink(link, &target).map_err(BuiltinError::io("make link", &target))?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path, buffer: &mut [u8]) -> Result<Option<u64>> {
    let mut source = File::open(from).map_err(BuiltinError::io("open", from))?;
    let mut target = File::create(to).map_err(BuiltinError::io("make", to))?;
    let mut bytes = 0;
    loop {
        let read = source.read(buffer).map_err(BuiltinError::io("read", from))?;
        if read == 0 {
            return Ok(Some(bytes));
        }
        target.write_all(&buffer[..read]).map_err(BuiltinError::io("write", to))?;
        bytes += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::super::write;
    use super::*;

    #[test]
    fn a_copy_is_the_same_and_replaces_the_last() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        write::tree(&from, 101, 70_000, &Stop::default()).unwrap();
        std::fs::create_dir_all(to.join("old")).unwrap();
        let tally = copy(&from, &to, Times::Once, &Stop::default()).unwrap();
        assert_eq!((tally.bytes, tally.operations), (101 * 70_000, 101));
        assert_eq!(std::fs::read(from.join("1/100")).unwrap(), std::fs::read(to.join("1/100")).unwrap());
        assert!(!to.join("old").exists());
    }

    #[test]
    fn an_endless_copy_ends_when_asked() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        write::tree(&from, 3, 1000, &Stop::default()).unwrap();
        let stop = Stop::default();
        let asker = stop.clone();
        let first = to.join("0/0");
        let copier = std::thread::spawn(move || copy(&from, &to, Times::UntilStopped, &stop));
        while !first.exists() {
            std::thread::yield_now();
        }
        asker.ask();
        assert!(copier.join().unwrap().unwrap().operations >= 1);
    }
}
