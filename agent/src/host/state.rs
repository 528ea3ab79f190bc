//! The agent's own folder: locked by one agent, readable by root only, with the journal in it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::config::Config;
use crate::inventory::host;
use crate::journal::Journal;
use crate::sys::cgroup::Hierarchy;
use crate::sys::memory_group::MemoryHierarchy;
use crate::sys::roots::Roots;
use crate::sys::{SysError, mount};

/// Why an agent does not start.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// It needs to mount, format and limit disks.
    #[error("this needs root: the agent mounts, formats and limits disks; run it with sudo, or as a system service")]
    NotRoot,
    /// Another agent has the folder.
    #[error("the state folder {} is in use by another agent{}; stop that one, or give this one a `state_dir` of its own", dir.display(), holder(pid))]
    InUse {
        /// The folder.
        dir: PathBuf,
        /// The other agent, as it wrote itself into the lock.
        pid: String,
    },
    /// The folder or the journal.
    #[error("failed to {0}")]
    Sys(#[from] SysError),
    /// What an earlier agent left cannot be removed.
    #[error("what an earlier agent left behind cannot be given back: {0}")]
    Unclean(String),
}

/// The folder while it is ours.
#[derive(Debug)]
pub struct State {
    pub(super) dir: PathBuf,
    /// Name of what it makes outside of the folder: the host's, with the folder's inode. Two agents of one machine, each with a
    /// folder of its own, must not limit or kill each other's loads.
    pub(super) mark: String,
    pub(super) roots: Roots,
    pub(super) hierarchy: Hierarchy,
    pub(super) memory: MemoryHierarchy,
    pub(super) journal: Journal,
    /// Closing it lets the folder go.
    _lock: File,
}

impl State {
    /// Takes the folder, making it when it is not there.
    pub fn open(config: &Config) -> Result<Self, StateError> {
        if !rustix::process::geteuid().is_root() {
            return Err(StateError::NotRoot);
        }
        let roots = Roots::live();
        let dir = &config.state_dir;
        private_folder(dir)?;
        let lock = lock(dir)?;
        // Backing files and mount points are compared with what the kernel says, and the kernel knows no symbolic links.
        let dir = dir.canonicalize().map_err(SysError::io(format!("resolve {}", dir.display())))?;
        let journal = Journal::open(&dir, &host::boot_id(&roots))?;
        let mounted = mount::mounted(&roots.proc)?;
        let (hierarchy, memory) = (Hierarchy::find(&mounted), MemoryHierarchy::find(&mounted));
        let inode = dir.metadata().map_err(SysError::io(format!("look at {}", dir.display())))?.ino();
        Ok(State { dir, mark: format!("{}-{inode:x}", config.name), roots, hierarchy, memory, journal, _lock: lock })
    }
}

/// Makes a folder that nobody else may look into.
pub fn private_folder(dir: &Path) -> Result<(), SysError> {
    let act = || format!("make the state folder {}", dir.display());
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(SysError::io(act()))?;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700)).map_err(SysError::io(act()))
}

/// Takes a folder for as long as the file lives.
pub fn lock(dir: &Path) -> Result<File, StateError> {
    let path = dir.join("lock");
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = opened.map_err(SysError::io(format!("open {}", path.display())))?;
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        let mut pid = String::new();
        let _ = file.read_to_string(&mut pid);
        return Err(StateError::InUse { dir: dir.to_owned(), pid: pid.trim().to_owned() });
    }
    let written = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
    written.map_err(SysError::io(format!("write {}", path.display())))?;
    Ok(file)
}

fn holder(pid: &str) -> String {
    if pid.is_empty() { String::new() } else { format!(" (process {pid})") }
}
