//! A kernel as files that can be sent: read, checked, and packed on this machine.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use blklab_bootimage::deb::Package;
use blklab_bootimage::image::{self, Facts};
use blklab_bootimage::modules::{self, Source, Subset};
use blklab_model::id::KernelId;
use blklab_model::kernel::{Blob, KernelSource};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::kernels::MAX_BLOB_BYTES;

/// A `.config` of a distribution has 300 KB.
const MAX_CONFIG_BYTES: u64 = 8 << 20;

/// A kernel that can be sent.
pub(super) struct Prepared {
    pub(super) release: String,
    pub(super) build_id: String,
    pub(super) toolchain: String,
    pub(super) source: KernelSource,
    pub(super) image: Packed,
    pub(super) modules: Option<Packed>,
    pub(super) config: Option<Packed>,
    /// What its owner should know.
    pub(super) notes: Vec<String>,
    /// Holds the files.
    _folder: TempDir,
}

/// A file that waits to be sent.
pub(super) struct Packed {
    pub(super) path: PathBuf,
    pub(super) blob: Blob,
}

impl Prepared {
    /// Its signature. What it is made of decides how it behaves: image, modules, and what it is told when it starts.
    pub(super) fn id(&self, arguments: &str) -> KernelId {
        let modules = self.modules.as_ref().map_or("none", |modules| modules.blob.sha256.as_str());
        let text = format!("blklab kernel of files 1\nimage {}\nmodules {modules}\narguments {arguments}\n", self.image.blob.sha256);
        digest(text.as_bytes()).parse().expect("a digest is a signature")
    }
}

/// From a Debian package, with modules that do not come with it.
pub(super) fn package(path: &Path, extra: &[PathBuf]) -> anyhow::Result<Prepared> {
    let failed = || format!("failed to read the kernel of {}", path.display());
    let package = Package::open(path).context("failed to read the package")?;
    let (inside, bytes) = package.image().with_context(failed)?;
    let (facts, _) = image::inspect(&bytes).with_context(|| format!("failed to read {inside} of {}", path.display()))?;
    let has_modules = package.modules(&facts.release).next().is_some();
    let source = has_modules.then_some(Source::Package(&package));
    let subset = modules(source.as_ref(), &facts.release, extra)?;
    let config = package.config(&facts.release).with_context(failed)?;
    let mut prepared = pack(facts, &bytes, subset.as_ref(), config.as_deref())?;
    if !has_modules {
        prepared.notes.push("the package holds no modules; what the kernel needs must be built in".to_owned());
    }
    Ok(Prepared { source: KernelSource::Package { package: package.name.clone(), version: package.version.clone() }, ..prepared })
}

/// From an image, the folder of its modules, modules that are not in it, and its configuration.
pub(super) fn image(path: &Path, folder: Option<&Path>, extra: &[PathBuf], config: Option<&Path>) -> anyhow::Result<Prepared> {
    let bytes = read(path, MAX_BLOB_BYTES)?;
    let (facts, _) = image::inspect(&bytes).with_context(|| format!("failed to read the image {}", path.display()))?;
    let subset = modules(folder.map(Source::Folder).as_ref(), &facts.release, extra)?;
    let config = config.map(|config| read(config, MAX_CONFIG_BYTES)).transpose()?;
    pack(facts, &bytes, subset.as_ref(), config.as_deref()).map(|prepared| {
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Prepared { source: KernelSource::Upload { file }, ..prepared }
    })
}

/// Those that a host of the lab may need, and these files; none when there are neither.
fn modules(source: Option<&Source>, release: &str, extra: &[PathBuf]) -> anyhow::Result<Option<Subset>> {
    let mut subset = match source {
        Some(source) => Subset::choose(source, release).context("failed to choose its modules")?,
        None if extra.is_empty() => return Ok(None),
        None => Subset { release: release.to_owned(), ..Subset::default() },
    };
    for path in extra {
        let failed = || format!("failed to take the module {}", path.display());
        let name = path.file_name().and_then(|name| name.to_str()).filter(|name| modules::name_of(name).is_some());
        let name = name.context("its name must end with .ko").with_context(failed)?;
        subset.add(source, name, read(path, MAX_BLOB_BYTES)?).with_context(failed)?;
    }
    Ok(Some(subset))
}

fn pack(facts: Facts, image: &[u8], subset: Option<&Subset>, config: Option<&[u8]>) -> anyhow::Result<Prepared> {
    let folder = TempDir::with_prefix("blklab-kernel-").context("failed to make a folder for temporary files")?;
    let mut notes = Vec::new();
    if !facts.has_pvh_entry {
        notes.push("it has no PVH entry (CONFIG_PVH), so virtual hosts unpack it themselves, which takes seconds at each boot".to_owned());
    }
    let image = keep(&folder, "image", image)?;
    let modules = match subset {
        Some(subset) => {
            let mut tar = Vec::new();
            let packed = modules::pack(subset, &mut tar).context("failed to pack the modules")?;
            eprintln!("modules: {} of those that a host of the lab may need", packed.modules);
            Some(keep(&folder, "modules.tar", &tar)?)
        }
        None => None,
    };
    let config = config.map(|config| keep(&folder, "config", config)).transpose()?;
    Ok(Prepared {
        release: facts.release,
        build_id: facts.build_id,
        toolchain: facts.toolchain,
        source: KernelSource::Upload { file: String::new() },
        image,
        modules,
        config,
        notes,
        _folder: folder,
    })
}

fn keep(folder: &TempDir, name: &str, bytes: &[u8]) -> anyhow::Result<Packed> {
    let path = folder.path().join(name);
    fs::write(&path, bytes).with_context(|| format!("failed to write {}", path.display()))?;
    Ok(Packed { path, blob: Blob { sha256: digest(bytes), bytes: bytes.len() as u64 } })
}

fn read(path: &Path, limit_bytes: u64) -> anyhow::Result<Vec<u8>> {
    let bytes = fs::metadata(path).with_context(|| format!("failed to read {}", path.display()))?.len();
    if bytes > limit_bytes {
        bail!("{} is longer than {} MiB; is it the right file?", path.display(), limit_bytes >> 20);
    }
    fs::read(path).with_context(|| format!("failed to read {}", path.display()))
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(image: &[u8], modules: Option<&[u8]>) -> Prepared {
        let folder = TempDir::new().unwrap();
        Prepared {
            release: "6.1".into(),
            build_id: String::new(),
            toolchain: String::new(),
            source: KernelSource::Upload { file: "bzImage".into() },
            image: keep(&folder, "image", image).unwrap(),
            modules: modules.map(|modules| keep(&folder, "modules", modules).unwrap()),
            config: None,
            notes: Vec::new(),
            _folder: folder,
        }
    }

    #[test]
    fn what_it_is_made_of_makes_its_signature() {
        let id = |image: &[u8], modules: Option<&[u8]>, arguments: &str| prepared(image, modules).id(arguments);
        let one = id(b"image", Some(b"modules"), "");
        assert_eq!(one, id(b"image", Some(b"modules"), ""));
        assert_eq!(one.as_str().len(), 64);
        for other in [id(b"other", Some(b"modules"), ""), id(b"image", None, ""), id(b"image", Some(b"modules"), "quiet")] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn what_is_no_kernel_is_refused_with_its_name() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("notes.txt");
        fs::write(&path, "hello").unwrap();
        let error = format!("{:#}", image(&path, None, &[], None).err().unwrap());
        assert!(
            error.ends_with("notes.txt: it is no kernel image for x86: neither a bzImage (with `HdrS` at byte 514) nor an ELF file"),
            "{error}"
        );
        let error = format!("{:#}", package(&path, &[]).err().unwrap());
        assert!(error.ends_with("is no usable Debian package: it is no ar archive"), "{error}");
        let error = format!("{:#}", image(&folder.path().join("none"), None, &[], None).err().unwrap());
        assert!(error.contains("failed to read") && error.contains("No such file"), "{error}");
    }
}
