//! Fills files with noise: the preparation of most workloads.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::{BuiltinError, Noise, Result, Tally};
use crate::stop::Stop;

/// Bytes a write.
const BLOCK_BYTES: usize = 1 << 20;

/// Files in one folder of a tree.
const FILES_PER_FOLDER: u64 = 100;

/// Writes one file and syncs it.
pub(super) fn file(path: &Path, bytes: u64, stop: &Stop) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut buffer = vec![0; BLOCK_BYTES];
    let mut file = File::create(path).map_err(BuiltinError::io("make", path))?;
    let mut noise = Noise::named(&path.to_string_lossy());
    let mut left = bytes;
    while left > 0 && !stop.is_asked() {
        let block = block(left, &mut buffer);
        noise.fill(block);
        left -= block.len() as u64;
        tally.operation(|| {
            file.write_all(block).map_err(BuiltinError::io("write", path))?;
            Ok(Some(block.len() as u64))
        })?;
    }
    file.sync_all().map_err(BuiltinError::io("sync", path))?;
    Ok(tally)
}

/// Writes a tree, `0/0` to `0/99`, `1/100` and so on, and syncs its file system once.
pub(super) fn tree(path: &Path, files: u64, file_bytes: u64, stop: &Stop) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut buffer = vec![0; BLOCK_BYTES];
    std::fs::create_dir_all(path).map_err(BuiltinError::io("make folder", path))?;
    for number in (0..files).take_while(|_| !stop.is_asked()) {
        let folder = path.join((number / FILES_PER_FOLDER).to_string());
        if number % FILES_PER_FOLDER == 0 {
            std::fs::create_dir_all(&folder).map_err(BuiltinError::io("make folder", &folder))?;
        }
        tally.operation(|| fill(&folder.join(number.to_string()), file_bytes, &mut buffer))?;
    }
    sync_file_system(path)?;
    Ok(tally)
}

/// Everything of the file system that holds `path` to its disk (syncfs(2)).
pub(super) fn sync_file_system(path: &Path) -> Result<()> {
    let folder = File::open(path).map_err(BuiltinError::io("open", path))?;
    rustix::fs::syncfs(&folder).map_err(BuiltinError::io("sync the file system of", path))
}

fn fill(path: &Path, bytes: u64, buffer: &mut [u8]) -> Result<Option<u64>> {
    let mut file = File::create(path).map_err(BuiltinError::io("make", path))?;
    let mut noise = Noise::named(&path.to_string_lossy());
    let mut left = bytes;
    while left > 0 {
        let block = block(left, buffer);
        noise.fill(block);
        file.write_all(block).map_err(BuiltinError::io("write", path))?;
        left -= block.len() as u64;
    }
    Ok(Some(bytes))
}

/// As much of the buffer as is still to be written.
fn block(left: u64, buffer: &mut [u8]) -> &mut [u8] {
    let length = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
    &mut buffer[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_length_and_no_holes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let tally = file(&path, (1 << 20) + 5, &Stop::default()).unwrap();
        let content = std::fs::read(&path).unwrap();
        assert_eq!(content.len(), (1 << 20) + 5);
        assert_eq!((tally.bytes, tally.operations), ((1 << 20) + 5, 2));
        assert!(content.chunks_exact(8).all(|chunk| chunk != [0; 8]));
    }

    #[test]
    fn a_tree_has_a_hundred_files_to_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let tally = tree(dir.path(), 150, 10, &Stop::default()).unwrap();
        assert_eq!((tally.bytes, tally.operations), (1500, 150));
        let count = |folder: &str| std::fs::read_dir(dir.path().join(folder)).unwrap().count();
        assert_eq!((count("0"), count("1")), (100, 50));
        assert_ne!(std::fs::read(dir.path().join("0/0")).unwrap(), std::fs::read(dir.path().join("0/1")).unwrap());
    }
}
