//! Loop disks: the agent makes them from files when it starts, and removes them when it ends.
//!
//! Every block of the file is written once. A hole, or a block that was only reserved, is read without any I/O: below the limits, and
//! faster than any disk. For the same reason the device is made not to discard, else each mkfs would make the holes anew.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use blklab_model::id::DiskId;
use rustix::fs::{Advice, FallocateFlags};

use super::State;
use crate::builtin::Noise;
use crate::config::{Config, LoopDiskConfig};
use crate::journal::Made;
use crate::stop::Stop;
use crate::sys::block::{self, DevNumber};
use crate::sys::roots::Roots;
use crate::sys::{self, SysError, files, loop_device};

/// Bytes that stay free on the file system of the backing files: journal, spool and everybody else live there, too.
const RESERVE_BYTES: u64 = 64 << 20;

/// Bytes a write when a file is filled.
const BLOCK_BYTES: usize = 1 << 20;

/// A loop disk of the configuration.
#[derive(Debug)]
pub(super) struct LoopDisk {
    pub(super) id: DiskId,
    /// The device, or why there is none.
    pub(super) device: Result<LoopDevice, String>,
}

/// A loop disk that is there.
#[derive(Debug, Clone)]
pub(super) struct LoopDevice {
    /// Kernel name.
    pub(super) name: String,
    /// What it is attached to as long as it is ours.
    file: PathBuf,
    /// The disk below, where the limits are set; none when the folder is on none that can be limited.
    pub(super) below: Option<DiskBelow>,
}

impl LoopDevice {
    /// Numbers of loop devices are given out again: after a `losetup --detach` of somebody, the same name may be somebody's image.
    pub(super) fn check_ours(&self, roots: &Roots) -> Result<(), String> {
        let (name, file) = (&self.name, self.file.display());
        match loop_device::backing_file(roots, name) {
            Some(found) if found == self.file => Ok(()),
            Some(found) => {
                Err(format!("{name} is now attached to {}, no longer to {file}; restart the agent to make it anew", found.display()))
            }
            None => Err(format!("somebody detached {name} from {file}; restart the agent to make it anew")),
        }
    }
}

/// The disk that holds a backing file.
#[derive(Debug, Clone)]
pub(super) struct DiskBelow {
    pub(super) name: String,
    pub(super) number: DevNumber,
}

/// Makes a loop disk. On failure nothing is left of it.
pub(super) fn make(state: &mut State, config: &Config, disk: &LoopDiskConfig, stop: &Stop) -> LoopDisk {
    let made = try_make(state, config, disk, stop).map_err(|error| format!("failed to {error}"));
    if let Err(reason) = &made {
        tracing::error!(disk = %disk.id, reason, "a loop disk cannot be made");
    }
    LoopDisk { id: disk.id.clone(), device: made }
}

fn try_make(state: &mut State, config: &Config, disk: &LoopDiskConfig, stop: &Stop) -> sys::Result<LoopDevice> {
    let folder = config.folder_of(disk);
    std::fs::create_dir_all(&folder).map_err(SysError::io(format!("make folder {}", folder.display())))?;
    let folder = folder.canonicalize().map_err(SysError::io(format!("resolve {}", folder.display())))?;
    let file = folder.join(format!("{}-{}.img", state.mark, disk.id));
    check_room(&folder, disk)?;
    // Before the journal has it: what is there already is not ours, and must not be removed as if it were.
    if file.symlink_metadata().is_ok() {
        let reason = "it is there already, and not in the journal of this agent; remove it if nobody needs it".to_owned();
        return Err(SysError::Unsupported { act: format!("make {}", file.display()), reason });
    }
    let backing = Made::BackingFile { path: file.clone() };
    state.journal.will_make(backing.clone())?;
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
    let mut opened = match opened.map_err(SysError::io(format!("make {}", file.display()))) {
        Ok(opened) => opened,
        Err(error) => {
            state.journal.gave_back(&backing)?;
            return Err(error);
        }
    };
    let device = Made::LoopDevice { file: file.clone() };
    let made = write_backing_file(&mut opened, &file, disk.size_bytes, stop).and_then(|()| {
        state.journal.will_make(device.clone())?;
        attach(state, &file, &folder, disk)
    });
    if made.is_err() {
        for name in loop_device::attached_to(&state.roots, &file) {
            loop_device::detach(&state.roots, &name, &file)?;
        }
        state.journal.gave_back(&device)?;
        let _ = std::fs::remove_file(&file);
        state.journal.gave_back(&backing)?;
    }
    made
}

fn attach(state: &State, file: &Path, folder: &Path, disk: &LoopDiskConfig) -> sys::Result<LoopDevice> {
    let below = match block::disk_below(&state.roots, folder) {
        Ok(name) => Some(DiskBelow { number: block::number(&state.roots.block(&name))?, name }),
        Err(_) if disk.limits.is_none() => None,
        Err(error) => return Err(error),
    };
    let name = loop_device::attach(&state.roots, file)?;
    let discard = state.roots.block(&name).join("queue/discard_max_bytes");
    if discard.exists() {
        files::set(&discard, "0")?;
    }
    Ok(LoopDevice { name, file: file.to_owned(), below })
}

fn check_room(folder: &Path, disk: &LoopDiskConfig) -> sys::Result<()> {
    let act = || format!("make loop disk {} of {} MiB in {}", disk.id, disk.size_bytes >> 20, folder.display());
    let stat = rustix::fs::statvfs(folder).map_err(SysError::io(act()))?;
    let free = stat.f_bavail * stat.f_frsize;
    if free >= disk.size_bytes + RESERVE_BYTES {
        return Ok(());
    }
    let reason = format!(
        "only {} MiB are free there, and {} MiB of them stay in reserve; make its `size` smaller, or give it another `folder`",
        free >> 20,
        RESERVE_BYTES >> 20
    );
    Err(SysError::Unsupported { act: act(), reason })
}

/// Reserves the space first, so that a full disk is found before a minute of writing.
fn write_backing_file(file: &mut File, path: &Path, bytes: u64, stop: &Stop) -> sys::Result<()> {
    let act = || format!("write {} MiB to {}", bytes >> 20, path.display());
    rustix::fs::fallocate(&*file, FallocateFlags::empty(), 0, bytes).map_err(SysError::io(act()))?;
    fill(file, bytes, stop).map_err(SysError::io(act()))
}

fn fill(file: &mut File, bytes: u64, stop: &Stop) -> std::io::Result<()> {
    let mut noise = Noise::new(bytes);
    let mut block = vec![0; BLOCK_BYTES];
    let mut left = bytes;
    while left > 0 {
        if stop.is_asked() {
            return Err(std::io::Error::other("the agent was asked to stop"));
        }
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        noise.fill(&mut block[..length]);
        file.write_all(&block[..length])?;
        left -= length as u64;
    }
    file.sync_all()?;
    // The page cache must not hold what the loop device reads past it.
    rustix::fs::fadvise(&*file, 0, None, Advice::DontNeed)?;
    Ok(())
}
