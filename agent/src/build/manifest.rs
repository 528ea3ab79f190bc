//! What a build leaves in its output folder: files under fixed names, and a list of them that is written last.

use std::fs::{self, File};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::signature::{Signature, digest_of};
use crate::sys::{SysError, files};

/// The list itself; where it is, the files are whole.
pub const MANIFEST: &str = "manifest.json";
/// The uncompressed image without debugging information: what QEMU starts by PVH.
pub const VMLINUX: &str = "vmlinux";
/// The compressed image, for boot loaders and kexec.
pub const BZIMAGE: &str = "bzImage";
/// Addresses of symbols, to read traces by.
pub const SYSTEM_MAP: &str = "System.map";
/// The final `.config`.
pub const CONFIG: &str = "config";
/// `lib/modules/RELEASE`, without compression.
pub const MODULES: &str = "modules.tar";
/// Everything that the programs of the build wrote.
pub const LOG: &str = "build.log";

/// A kernel that was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// What makes it the same as another one.
    pub signature: Signature,
    /// `uname -r`.
    pub release: String,
    /// GNU build id of the image in hexadecimal digits.
    pub build_id: String,
    /// Where its source came from.
    pub repository: String,
    /// The revision that was asked for.
    pub revision: String,
    /// The commit that it was, in full.
    pub commit: String,
    /// The tree after the patches, in full.
    pub tree: String,
    /// Subjects of the patches' mails, in order.
    pub patches: Vec<String>,
    /// Names of the fragments, in order.
    pub fragments: Vec<String>,
    /// CONFIG_BUILD_SALT, if one was asked for.
    pub salt: Option<String>,
    /// Names of the modules from outside the tree.
    pub modules: Vec<String>,
    /// Versions of compiler and linker.
    pub toolchain: String,
    /// The files, sorted by name.
    pub files: Vec<FileRecord>,
    /// Time of each step, in order.
    pub steps: Vec<StepTime>,
}

/// A file of the output folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its name.
    pub name: String,
    /// Hexadecimal SHA-256.
    pub sha256: String,
    /// Length in bytes.
    pub bytes: u64,
}

/// How long a step took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTime {
    /// Which.
    pub step: String,
    /// Milliseconds.
    pub ms: u64,
}

impl Manifest {
    /// Reads that of a folder; none when there is none, or not all of its files are there.
    pub fn read(folder: &Path) -> Option<Self> {
        let manifest: Manifest = serde_json::from_slice(&fs::read(folder.join(MANIFEST)).ok()?).ok()?;
        let is_there = |file: &FileRecord| folder.join(&file.name).metadata().is_ok_and(|meta| meta.len() == file.bytes);
        manifest.files.iter().all(is_there).then_some(manifest)
    }

    /// Writes it; the files must be there.
    pub fn write(&self, folder: &Path) -> Result<(), SysError> {
        let mut bytes = serde_json::to_vec_pretty(self).map_err(SysError::io("write the manifest"))?;
        bytes.push(b'\n');
        files::replace(&folder.join(MANIFEST), &bytes, 0o644)
    }
}

impl FileRecord {
    /// Of a file in a folder.
    pub fn of(folder: &Path, name: &str) -> Result<Self, SysError> {
        let path = folder.join(name);
        let read = File::open(&path).and_then(digest_of);
        let (sha256, bytes) = read.map_err(SysError::io(format!("read {}", path.display())))?;
        Ok(FileRecord { name: name.to_owned(), sha256, bytes })
    }
}
