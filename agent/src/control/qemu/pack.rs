//! What a virtual host boots, from the files that people have: packages, images, folders of modules, programs of this machine.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use blklab_bootimage::deb::Package;
use blklab_bootimage::modules::{self, DRIVERS, Index, Source, Subset};
use blklab_bootimage::{image, initramfs};

use super::lab_disk;
use crate::control::config::{KernelFiles, KnownGood};
use crate::guest::init::MODULES_FILE;

/// An image with its modules as a tar, and a name for people.
pub(super) type Kernel = (Vec<u8>, Option<Vec<u8>>, String);

/// Writes the part of the RAM disk that is the same for every kernel.
pub(super) fn base(to: &Path, agent: &Path, tools: &[&str]) -> Result<(), String> {
    let base = initramfs::base(agent, tools).map_err(|error| format!("the tools of this machine cannot be packed: {error}"))?;
    let tools: Vec<&str> = base.tools.iter().map(|tool| tool.name.as_str()).collect();
    tracing::info!(mib = base.tree.bytes() >> 20, tools = tools.join(" "), missing = base.missing.join(" "), "packed for virtual hosts");
    let written = File::create(to).map_err(|error| error.to_string());
    let written = written.and_then(|file| base.tree.write(BufWriter::new(file)).map_err(|error| error.to_string()));
    written.map(|_| ()).map_err(|error| format!("cannot write {}: {error}", to.display()))
}

/// The kernel as QEMU starts it without unpacking anything in the guest.
pub(super) fn vmlinux(bytes: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let unpacked = image::vmlinux(bytes).map_err(|error| error.to_string())?;
    match image::has_pvh_entry(&unpacked) {
        Ok(true) => Ok(unpacked),
        // The kernel unpacks itself, some seconds later.
        Ok(false) => Ok(Cow::Borrowed(bytes)),
        Err(error) => Err(error.to_string()),
    }
}

/// The part of the RAM disk that belongs to a kernel: its modules, and the list of those that nobody asks for.
pub(super) fn modules(tar: &Path) -> Result<Vec<u8>, String> {
    let place = tar.display().to_string();
    let bytes = fs::read(tar).map_err(|error| format!("{place}: {error}"))?;
    let index = Index::of_tar(bytes.as_slice(), &place).map_err(|error| error.to_string())?;
    let drivers = [DRIVERS.as_slice(), &[lab_disk::MODULE]].concat();
    let list: String = index.load_order(&drivers).paths.iter().map(|path| format!("{}\n", path.display())).collect();
    let mut tree = initramfs::of_kernel(bytes.as_slice()).map_err(|error| error.to_string())?;
    tree.file(MODULES_FILE, 0o644, list.into_bytes()).map_err(|error| error.to_string())?;
    let mut archive = Vec::new();
    tree.write(&mut archive).map_err(|error| error.to_string())?;
    Ok(archive)
}

/// The known-good kernel.
pub(super) fn known_good(known_good: &KnownGood) -> Result<Kernel, String> {
    let extra = &known_good.extra_modules;
    let (path, kernel) = match &known_good.source {
        KernelFiles::Package(path) => (path, package(path, extra)),
        KernelFiles::Image { image, modules } => (image, of_image(image, modules.as_deref(), extra)),
    };
    kernel.map_err(|error| format!("the known-good kernel {}: {error}", path.display()))
}

fn package(path: &Path, extra: &[PathBuf]) -> Result<Kernel, String> {
    let package = Package::open(path).map_err(|error| error.to_string())?;
    let (_, bytes) = package.image().map_err(|error| error.to_string())?;
    let release = image::release(&bytes).map_err(|error| error.to_string())?;
    let subset = Subset::choose(&Source::Package(&package), &release).map_err(|error| error.to_string())?;
    Ok((bytes, pack(subset, extra)?, release))
}

fn of_image(path: &Path, folder: Option<&Path>, extra: &[PathBuf]) -> Result<Kernel, String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let release = image::release(&bytes).map_err(|error| error.to_string())?;
    let subset = match folder {
        Some(folder) => Subset::choose(&Source::Folder(folder), &release).map_err(|error| error.to_string())?,
        None => Subset { release: release.clone(), ..Subset::default() },
    };
    Ok((bytes, pack(subset, extra)?, release))
}

/// None when there is no module at all.
fn pack(mut subset: Subset, extra: &[PathBuf]) -> Result<Option<Vec<u8>>, String> {
    for path in extra {
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| format!("{} has no name", path.display()))?;
        let bytes = fs::read(path).map_err(|error| format!("extra module {}: {error}", path.display()))?;
        subset.files.insert(format!("extra/{name}"), bytes);
    }
    if subset.files.is_empty() {
        return Ok(None);
    }
    let mut tar = Vec::new();
    modules::pack(&subset, &mut tar).map_err(|error| error.to_string())?;
    Ok(Some(tar))
}
