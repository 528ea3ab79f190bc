//! Random direct overwrites of a file or disk: the foreground load of the journal-thread experiment (workloads.md, classic 1).

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::aligned::Aligned;
use super::{BuiltinError, Noise, Result, Tally};
use crate::stop::Stop;

/// Blocks of direct I/O are whole sectors (open(2), NOTES).
const SECTOR_BYTES: u64 = 512;

/// What is done at each place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Write,
    ReadThenWrite,
}

/// What is done.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) block_bytes: u64,
    pub(super) operations: u64,
    pub(super) order: Order,
    pub(super) seed: u64,
}

/// Overwrites blocks at random places, then syncs the data. The latency is that of one place, its read included.
pub(super) fn random(path: &Path, plan: &Plan, stop: &Stop) -> Result<Tally> {
    let opened = OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(path);
    let mut file = opened.map_err(BuiltinError::io("open for direct I/O", path))?;
    let blocks = whole_blocks(&mut file, path, plan.block_bytes)?;
    let mut noise = Noise::new(plan.seed);
    let mut buffer = Aligned::new(usize::try_from(plan.block_bytes).expect("the model limits blocks to 64 MiB"));
    let mut content = vec![0; buffer.bytes().len()];
    noise.fill(&mut content);
    let touched = if plan.order == Order::ReadThenWrite { 2 } else { 1 };
    let mut tally = Tally::default();
    for number in (0..plan.operations).take_while(|_| !stop.is_asked()) {
        let offset = noise.below(blocks) * plan.block_bytes;
        // No two blocks are alike, and the disk is not kept waiting for a whole block of noise.
        content[..8].copy_from_slice(&(plan.seed ^ number).to_le_bytes());
        let block = buffer.bytes();
        tally.operation(|| {
            if plan.order == Order::ReadThenWrite {
                file.read_exact_at(block, offset).map_err(BuiltinError::io("read a block of", path))?;
            }
            block.copy_from_slice(&content);
            file.write_all_at(block, offset).map_err(BuiltinError::io("overwrite a block of", path))?;
            Ok(Some(plan.block_bytes * touched))
        })?;
    }
    file.sync_data().map_err(BuiltinError::io("sync", path))?;
    Ok(tally)
}

fn whole_blocks(file: &mut File, path: &Path, block_bytes: u64) -> Result<u64> {
    if !block_bytes.is_multiple_of(SECTOR_BYTES) {
        let message = format!("a block of {block_bytes} bytes cannot be written directly; choose a multiple of {SECTOR_BYTES}");
        return Err(BuiltinError::Unfit { message });
    }
    // The end of a block device is found by seeking; its metadata say 0.
    let bytes = file.seek(SeekFrom::End(0)).map_err(BuiltinError::io("find the end of", path))?;
    match bytes / block_bytes {
        0 => Err(BuiltinError::Unfit {
            message: format!("{} has {bytes} bytes, less than one block of {block_bytes}; prepare it first", path.display()),
        }),
        blocks => Ok(blocks),
    }
}

#[cfg(test)]
mod tests {
    use super::super::write;
    use super::*;

    fn plan(order: Order) -> Plan {
        Plan { block_bytes: 4096, operations: 50, order, seed: 7 }
    }

    #[test]
    fn blocks_change_and_the_file_keeps_its_length() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write::file(&path, 64 * 4096 + 100, &Stop::default()).unwrap();
        let before = std::fs::read(&path).unwrap();
        let tally = random(&path, &plan(Order::ReadThenWrite), &Stop::default()).unwrap();
        let after = std::fs::read(&path).unwrap();
        assert_eq!((tally.operations, tally.bytes), (50, 2 * 50 * 4096));
        assert_eq!(before.len(), after.len());
        let changed = before.chunks(4096).zip(after.chunks(4096)).filter(|(a, b)| a != b).count();
        assert!((20..=50).contains(&changed), "{changed}");
        random(&path, &plan(Order::Write), &Stop::default()).unwrap();
    }

    #[test]
    fn what_does_not_fit_is_explained() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write::file(&path, 100, &Stop::default()).unwrap();
        let error = random(&path, &plan(Order::Write), &Stop::default()).unwrap_err().to_string();
        assert!(error.ends_with("has 100 bytes, less than one block of 4096; prepare it first"), "{error}");
        let odd = Plan { block_bytes: 1000, ..plan(Order::Write) };
        assert!(random(&path, &odd, &Stop::default()).unwrap_err().to_string().contains("multiple of 512"));
    }
}
