//! What a virtual host boots, from the files that people have: packages, images, folders of modules, programs of this machine.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use blklab_bootimage::deb::Package;
use blklab_bootimage::modules::{self, DRIVERS, Index, Source, Subset};
use blklab_bootimage::{image, initramfs};

use super::command::WATCHDOG_S;
use crate::guest::init::MODULES_FILE;

/// Parameters that a driver is loaded with; one that is built in gets them on the kernel's command line.
const PARAMETERS: (&str, &str) = ("i6300esb", "heartbeat");

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
    let mut list = String::new();
    for path in index.load_order(&DRIVERS).paths {
        let (driver, parameter) = PARAMETERS;
        let is_watchdog = path.file_stem().is_some_and(|stem| stem == driver);
        let parameters = if is_watchdog { format!(" {parameter}={WATCHDOG_S}") } else { String::new() };
        let _ = writeln!(list, "{}{parameters}", path.display());
    }
    let mut tree = initramfs::of_kernel(bytes.as_slice()).map_err(|error| error.to_string())?;
    tree.file(MODULES_FILE, 0o644, list.into_bytes()).map_err(|error| error.to_string())?;
    let mut archive = Vec::new();
    tree.write(&mut archive).map_err(|error| error.to_string())?;
    Ok(archive)
}

/// A kernel from a Debian package.
pub(super) fn package(path: &Path) -> Result<Kernel, String> {
    let said = |error: &dyn std::fmt::Display| format!("the known-good kernel {}: {error}", path.display());
    let package = Package::open(path).map_err(|error| said(&error))?;
    let (_, bytes) = package.image().map_err(|error| said(&error))?;
    let release = image::release(&bytes).map_err(|error| said(&error))?;
    let modules = pack(&Source::Package(&package), &release).map_err(|error| said(&error))?;
    Ok((bytes, Some(modules), release))
}

/// A kernel from an image, with its folder of modules if it has any.
pub(super) fn image(path: &Path, folder: Option<&Path>) -> Result<Kernel, String> {
    let said = |error: &dyn std::fmt::Display| format!("the known-good kernel {}: {error}", path.display());
    let bytes = fs::read(path).map_err(|error| said(&error))?;
    let release = image::release(&bytes).map_err(|error| said(&error))?;
    let modules = folder.map(|folder| pack(&Source::Folder(folder), &release)).transpose().map_err(|error| said(&error))?;
    Ok((bytes, modules, release))
}

fn pack(source: &Source<'_>, release: &str) -> Result<Vec<u8>, modules::ModulesError> {
    let subset = Subset::choose(source, release)?;
    let mut tar = Vec::new();
    modules::pack(&subset, &mut tar)?;
    Ok(tar)
}
