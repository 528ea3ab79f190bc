//! `modules.dep` and `modules.builtin` of `lib/modules/RELEASE` (modules.dep(5)): what depends on what.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{MAX_LIST_BYTES, name_of, normal};

/// The modules of a kernel and their dependencies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Index {
    /// `uname -r` of their kernel.
    release: String,
    /// By name.
    modules: BTreeMap<String, Module>,
    /// Names of what is part of the image.
    builtin: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Module {
    /// Below `lib/modules/RELEASE`.
    path: String,
    /// Names of those that must be there before, in any order.
    needs: Vec<String>,
}

/// What to load, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadOrder {
    /// Files, each after those that it needs: absolute paths, as in `/lib/modules/6.1.0-40-amd64/kernel/drivers/ata/ahci.ko`.
    pub paths: Vec<PathBuf>,
    /// Names that are neither a module nor known to be part of the image. A kernel may still have them built in under another name.
    pub absent: Vec<String>,
}

/// Why there is no index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The system, or a damaged tar.
    #[error("the modules in {place}: {error}")]
    Io {
        /// File or folder.
        place: String,
        /// Why.
        error: io::Error,
    },
    /// A list that makes no sense.
    #[error("the modules in {place}: {what}")]
    Bad {
        /// File or folder.
        place: String,
        /// What is wrong.
        what: String,
    },
}

impl Index {
    /// Of a folder `lib/modules/RELEASE` on which depmod(8) was run.
    pub fn of_folder(folder: &Path) -> Result<Self, IndexError> {
        let place = folder.display().to_string();
        let release = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let dep = fs::read_to_string(folder.join("modules.dep")).map_err(|error| {
            let error = io::Error::new(error.kind(), format!("modules.dep: {error} (depmod makes it)"));
            IndexError::Io { place: place.clone(), error }
        })?;
        // A kernel without anything built in that could be a module has none.
        let builtin = fs::read_to_string(folder.join("modules.builtin")).unwrap_or_default();
        Index::read(release, &dep, &builtin).map_err(|what| IndexError::Bad { place, what })
    }

    /// Of a tar with `lib/modules/RELEASE` on which depmod(8) was run. `place` is for messages.
    pub fn of_tar(tar: impl Read, place: &str) -> Result<Self, IndexError> {
        let io = |error| IndexError::Io { place: place.to_owned(), error };
        let bad = |what: &str| IndexError::Bad { place: place.to_owned(), what: what.to_owned() };
        let (mut dep, mut builtin, mut release) = (None, String::new(), String::new());
        for entry in tar::Archive::new(tar).entries().map_err(io)? {
            let entry = entry.map_err(io)?;
            let path = entry.path().map_err(io)?.into_owned();
            let Some((found, rest)) = below_release(&path) else { continue };
            if release.is_empty() {
                release = found;
            } else if release != found {
                return Err(bad(&format!("they are of two kernels, {release} and {found}")));
            }
            match rest.as_str() {
                "modules.dep" => dep = Some(text(entry).map_err(io)?),
                "modules.builtin" => builtin = text(entry).map_err(io)?,
                _ => {}
            }
        }
        let dep = dep.ok_or_else(|| bad("there is no lib/modules/RELEASE/modules.dep; run depmod before packing"))?;
        Index::read(&release, &dep, &builtin).map_err(|what| bad(&what))
    }

    /// From the texts.
    pub(crate) fn read(release: &str, dep: &str, builtin: &str) -> Result<Self, String> {
        let mut modules = BTreeMap::new();
        for line in dep.lines().filter(|line| !line.is_empty()) {
            let (path, needs) = line.split_once(':').ok_or_else(|| format!("modules.dep has no colon in `{line}`"))?;
            let name = name_of(path).ok_or_else(|| format!("modules.dep names `{path}`, which is no module"))?;
            // The path is opened by the first process of a host.
            if path.starts_with('/') || path.split('/').any(|part| part == "..") {
                return Err(format!("modules.dep names `{path}`, which lies outside of the kernel's folder"));
            }
            let needs = needs.split_whitespace().filter_map(name_of).collect();
            modules.insert(name, Module { path: path.to_owned(), needs });
        }
        let builtin = builtin.lines().filter_map(name_of).collect();
        Ok(Index { release: release.to_owned(), modules, builtin })
    }

    /// `uname -r` of the kernel that they belong to.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Names of the modules, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.modules.keys().map(String::as_str)
    }

    /// How to have all of these: files for finit_module(2), each after those that it needs, in the order of `names` otherwise.
    pub fn load_order(&self, names: &[&str]) -> LoadOrder {
        let mut order = LoadOrder::default();
        let mut done = BTreeSet::new();
        for name in names {
            let name = normal(name);
            if self.modules.contains_key(&name) {
                self.visit(&name, &mut done, &mut order.paths);
            } else if !self.builtin.contains(&name) {
                order.absent.push(name);
            }
        }
        order
    }

    /// Depth first; a circle, which depmod refuses to write, is cut where it closes.
    fn visit(&self, name: &str, done: &mut BTreeSet<String>, paths: &mut Vec<PathBuf>) {
        let Some(module) = self.modules.get(name) else { return };
        if !done.insert(name.to_owned()) {
            return;
        }
        for need in &module.needs {
            self.visit(need, done, paths);
        }
        paths.push(Path::new("/lib/modules").join(&self.release).join(&module.path));
    }
}

/// Release and the path below it, of `./lib/modules/RELEASE/...` and `usr/lib/modules/RELEASE/...`.
pub(crate) fn below_release(path: &Path) -> Option<(String, String)> {
    let path = path.to_str()?;
    let path = path.trim_start_matches("./").trim_start_matches('/');
    let path = path.strip_prefix("usr/").unwrap_or(path).strip_prefix("lib/modules/")?;
    let (release, rest) = path.split_once('/').unwrap_or((path, ""));
    (!release.is_empty()).then(|| (release.to_owned(), rest.to_owned()))
}

fn text(entry: impl Read) -> io::Result<String> {
    let mut text = String::new();
    entry.take(MAX_LIST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEP: &str = "\
kernel/drivers/virtio/virtio_ring.ko: kernel/drivers/virtio/virtio.ko
kernel/drivers/virtio/virtio.ko:
kernel/drivers/virtio/virtio_pci.ko.xz: kernel/drivers/virtio/virtio_ring.ko kernel/drivers/virtio/virtio.ko
kernel/block/kyber-iosched.ko:
kernel/drivers/scsi/sd_mod.ko: kernel/drivers/scsi/scsi_mod.ko kernel/block/t10-pi.ko
kernel/drivers/scsi/scsi_mod.ko:
kernel/block/t10-pi.ko:
";

    fn index() -> Index {
        Index::read("6.1.0-lab", DEP, "kernel/fs/ext4/ext4.ko\nkernel/block/mq-deadline.ko\n").unwrap()
    }

    #[test]
    fn each_comes_after_what_it_needs() {
        let order = index().load_order(&["virtio-pci", "sd_mod", "mq-deadline", "nvme", "scsi_mod"]);
        let files: Vec<_> = order.paths.iter().map(|path| path.strip_prefix("/lib/modules/6.1.0-lab/kernel").unwrap()).collect();
        insta::assert_debug_snapshot!(files, @r#"
        [
            "drivers/virtio/virtio.ko",
            "drivers/virtio/virtio_ring.ko",
            "drivers/virtio/virtio_pci.ko.xz",
            "drivers/scsi/scsi_mod.ko",
            "block/t10-pi.ko",
            "drivers/scsi/sd_mod.ko",
        ]
        "#);
        assert_eq!(order.absent, ["nvme"]);
    }

    #[test]
    fn a_circle_ends() {
        let index = Index::read("6", "a.ko: b.ko\nb.ko: a.ko\n", "").unwrap();
        assert_eq!(index.load_order(&["a"]).paths.len(), 2);
    }

    #[test]
    fn a_tar_says_the_same_as_its_folder() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("lib/modules/6.1.0-lab");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("modules.dep"), DEP).unwrap();
        fs::write(folder.join("modules.builtin"), "kernel/fs/ext4/ext4.ko\nkernel/block/mq-deadline.ko\n").unwrap();
        let mut tar = tar::Builder::new(Vec::new());
        tar.append_dir_all(".", root.path()).unwrap();
        let tar = tar.into_inner().unwrap();
        assert_eq!(Index::of_tar(tar.as_slice(), "modules.tar").unwrap(), index());
        assert_eq!(Index::of_folder(&folder).unwrap(), index());
        let cut = Index::of_tar(&tar[..tar.len() / 3], "modules.tar").unwrap_err().to_string();
        assert!(cut.starts_with("the modules in modules.tar: "), "{cut}");
    }

    #[test]
    fn paths_stay_inside() {
        assert!(Index::read("6", "../../evil.ko:\n", "").unwrap_err().contains("outside"));
        assert!(Index::read("6", "/evil.ko:\n", "").is_err());
        assert!(Index::read("6", "no colon\n", "").is_err());
    }
}
