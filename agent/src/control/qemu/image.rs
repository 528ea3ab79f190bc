//! Files that QEMU loads: the kernel unpacked, and the initial RAM disk. Made once and kept, since an emulated processor takes seconds for
//! what this one does in an instant.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::pack;
use crate::control::boot::BootFiles;
use crate::control::config::{ControlConfig, KnownGood};

/// Kernels and RAM disks of the experiments that run now: the biggest pair takes some 300 MB.
const KEPT_BYTES: u64 = 8 << 30;

/// Programs that a trial may need: those of the agent, and those of the workload library. What this machine lacks is left out, and the
/// virtual host says so like any other.
const TOOLS: [&str; 28] = [
    "sh",
    "cat",
    "cp",
    "rm",
    "mkdir",
    "ls",
    "sleep",
    "true",
    "sync",
    "dd",
    "mount",
    "umount",
    "modprobe",
    "blkid",
    "mkfs.ext4",
    "mkfs.xfs",
    "mkfs.btrfs",
    "mkfs.f2fs",
    "ionice",
    "chrt",
    "taskset",
    "fio",
    "fs_mark",
    "dbench",
    "postmark",
    "ioping",
    "kill",
    "pidof",
];

/// Why a kernel cannot be prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ImageError {
    /// It is no kernel, or not a whole one.
    Kernel(String),
    /// A tool is missing, no space is left...
    Lab(String),
}

/// What QEMU loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prepared {
    pub(super) kernel: PathBuf,
    pub(super) initrd: PathBuf,
}

/// The folder of prepared files; clones share it.
#[derive(Debug, Clone)]
pub struct Images(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    /// This program.
    agent: PathBuf,
    /// The RAM disk without modules.
    base: PathBuf,
    /// Two hosts that boot the same kernel prepare it once.
    making: Mutex<()>,
}

impl Images {
    /// Packs this program and the tools of this machine, and prepares the known-good kernel.
    pub fn make(config: &ControlConfig, agent: &Path) -> Result<(Self, BootFiles), String> {
        let folder = config.state_dir.join("images");
        // Made anew at each start: programs of this machine may have been upgraded.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let base = folder.join("base.cpio");
        let tools: Vec<&str> = TOOLS.iter().copied().chain(config.tools.iter().map(String::as_str)).collect();
        pack::base(&base, agent, &tools)?;
        let known_good = known_good(&folder, &config.known_good)?;
        Ok((Images(Arc::new(Inner { folder, base, agent: agent.to_owned(), making: Mutex::default() })), known_good))
    }

    /// The agent's program.
    pub(super) fn agent(&self) -> &Path {
        &self.0.agent
    }

    /// The files for a kernel, made if they are not there.
    pub(super) fn prepare(&self, kernel: &BootFiles) -> Result<Prepared, ImageError> {
        let _alone = self.0.making.lock().unwrap_or_else(PoisonError::into_inner);
        let image = self.0.folder.join(format!("{}.vmlinux", stem(&kernel.image)));
        if !image.exists() {
            let bytes = fs::read(&kernel.image).map_err(lab("read", &kernel.image))?;
            let unpacked = pack::vmlinux(&bytes).map_err(ImageError::Kernel)?;
            self.keep(&image, |file| file.write_all(&unpacked))?;
        }
        let initrd = match &kernel.modules {
            None => self.0.base.clone(),
            Some(modules) => {
                let initrd = self.0.folder.join(format!("{}.cpio", stem(modules)));
                if !initrd.exists() {
                    let archive = pack::modules(modules).map_err(ImageError::Kernel)?;
                    let base = self.0.base.clone();
                    self.keep(&initrd, move |file| {
                        io::copy(&mut File::open(base)?, file)?;
                        file.write_all(&archive)
                    })?;
                }
                initrd
            }
        };
        Ok(Prepared { kernel: image, initrd })
    }

    /// Written aside and renamed, so that a file under its name is whole.
    fn keep(&self, path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), ImageError> {
        self.make_room();
        let aside = path.with_extension("part");
        let written = File::create(&aside).and_then(|file| {
            let mut file = BufWriter::new(file);
            write(&mut file)?;
            file.into_inner().map_err(io::IntoInnerError::into_error).map(|_| ())
        });
        written.and_then(|()| fs::rename(&aside, path)).map_err(|error| {
            let _ = fs::remove_file(&aside);
            lab("write", path)(error)
        })
    }

    /// Removes the files that were made longest ago; one that QEMU has open stays until it is closed.
    fn make_room(&self) {
        let Ok(entries) = fs::read_dir(&self.0.folder) else { return };
        let mut files: Vec<_> = entries
            .flatten()
            .filter(|entry| entry.path() != self.0.base && !entry.file_name().to_string_lossy().starts_with(KNOWN_GOOD))
            .filter_map(|entry| {
                let metadata = entry.metadata().ok()?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut kept: u64 = files.iter().map(|(_, length, _)| length).sum();
        for (_, length, path) in files {
            if kept <= KEPT_BYTES {
                break;
            }
            let _ = fs::remove_file(path);
            kept -= length;
        }
    }
}

/// How files of the known-good kernel begin.
const KNOWN_GOOD: &str = "known-good";

fn known_good(folder: &Path, known_good: &KnownGood) -> Result<BootFiles, String> {
    let (image, modules, name) = pack::known_good(known_good)?;
    let write = |name: &str, bytes: &[u8]| -> Result<PathBuf, String> {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(path)
    };
    let image = write(&format!("{KNOWN_GOOD}-image"), &image)?;
    let modules = modules.map(|modules| write(&format!("{KNOWN_GOOD}-modules"), &modules)).transpose()?;
    Ok(BootFiles { name, image, modules, arguments: String::new() })
}

/// Files are named by their digest, or begin with [`KNOWN_GOOD`].
fn stem(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn lab<'a>(act: &'a str, path: &'a Path) -> impl Fn(io::Error) -> ImageError + 'a {
    move |error| ImageError::Lab(format!("failed to {act} {}: {error}", path.display()))
}
