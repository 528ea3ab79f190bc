//! Chooses from all modules of a kernel those that a host of the lab needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::modinfo::ModInfo;
use super::{MAX_LIST_BYTES, MAX_MODULE_BYTES, ModulesError, name_of, normal, wanted};
use crate::compress::{self, Format};
use crate::deb::Package;

/// Folders looked at: a Debian kernel has 600.
const MAX_FOLDERS: usize = 10_000;

/// Where the modules of a kernel are.
#[derive(Debug)]
pub enum Source<'a> {
    /// A folder `lib/modules/RELEASE`, or one with `lib/modules/RELEASE` in it.
    Folder(&'a Path),
    /// A Debian package.
    Package(&'a Package),
}

/// Modules that were chosen.
#[derive(Debug, Default)]
pub struct Subset {
    /// `uname -r` of their kernel.
    pub release: String,
    /// Uncompressed modules and lists, by their path below `lib/modules/RELEASE`.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Names that were looked for and are part of the image.
    pub builtin: Vec<String>,
    /// Names that were looked for and are nowhere.
    pub absent: Vec<String>,
}

/// Lists that a kernel comes with; the others are made of these and the modules by depmod(8).
const LISTS: [&str; 3] = ["modules.builtin", "modules.builtin.modinfo", "modules.order"];

/// Where `make modules_install` puts modules from outside the tree.
const EXTRA: &str = "extra/";

impl Subset {
    /// What a host of the lab needs of the modules of kernel `release`, with everything that those need.
    pub fn choose(source: &Source, release: &str) -> Result<Self, ModulesError> {
        Subset::with(source, release, wanted::all())
    }

    fn with(source: &Source, release: &str, names: impl Iterator<Item = &'static str>) -> Result<Self, ModulesError> {
        let files = source.files(release)?;
        if !files.keys().any(|path| name_of(path).is_some()) {
            return Err(ModulesError::None(source.place(), release.to_owned()));
        }
        let mut subset = Subset { release: release.to_owned(), ..Subset::default() };
        for list in LISTS {
            if let Some(place) = files.get(list) {
                subset.files.insert(list.to_owned(), source.read(place, MAX_LIST_BYTES)?);
            }
        }
        // What somebody put beside the modules of the kernel is there on purpose: lab_disk of a builder, for example.
        let extra = files.keys().filter(|path| path.starts_with(EXTRA)).filter_map(|path| name_of(path));
        subset.take(source, &files, names.map(normal).chain(extra).map(|name| (name, None)).collect())?;
        subset.builtin.sort();
        subset.absent.sort();
        Ok(subset)
    }

    /// Adds a module that does not come with the kernel, and what it needs of the kernel's own; `name` is that of its file. It goes where
    /// `make modules_install` puts such modules.
    pub fn add(&mut self, source: Option<&Source>, name: &str, bytes: Vec<u8>) -> Result<(), ModulesError> {
        let (path, module) = unpacked(&format!("{EXTRA}{name}"), bytes)?;
        let needs = self.check(&path, &module)?.depends.into_iter().map(|need| (need, Some(path.clone()))).collect();
        self.files.insert(path, module);
        match source {
            Some(source) => self.take(source, &source.files(&self.release)?, needs),
            // What it needs must be built in; nothing says what is.
            None => Ok(()),
        }
    }

    /// Takes modules by name, each with the path of the module that needs it, and whatever they need.
    fn take(
        &mut self,
        source: &Source,
        files: &BTreeMap<String, PathBuf>,
        mut open: Vec<(String, Option<String>)>,
    ) -> Result<(), ModulesError> {
        let by_name: BTreeMap<String, &String> = files.keys().filter_map(|path| Some((name_of(path)?, path))).collect();
        let builtin: BTreeSet<String> = match self.files.get("modules.builtin") {
            Some(list) => String::from_utf8_lossy(list).lines().filter_map(name_of).collect(),
            None => BTreeSet::new(),
        };
        let mut seen: BTreeSet<String> = self.files.keys().filter_map(|path| name_of(path)).collect();
        while let Some((name, needed_by)) = open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let Some(&path) = by_name.get(&name) else {
                match (builtin.contains(&name), needed_by) {
                    (true, _) => self.builtin.push(name),
                    (false, None) => self.absent.push(name),
                    (false, Some(path)) => return Err(ModulesError::NoDependency { path, need: name }),
                }
                continue;
            };
            let (plain, module) = unpacked(path, source.read(&files[path], MAX_MODULE_BYTES)?)?;
            let info = self.check(path, &module)?;
            open.extend(info.depends.into_iter().map(|need| (need, Some(path.clone()))));
            // Many are names of the crypto layer, which no module has.
            open.extend(info.soft.into_iter().filter(|name| by_name.contains_key(name)).map(|name| (name, None)));
            self.files.insert(plain, module);
        }
        Ok(())
    }

    /// A kernel loads only modules that were built for it.
    fn check(&self, path: &str, module: &[u8]) -> Result<ModInfo, ModulesError> {
        let info = ModInfo::read(module, path)?;
        if info.release == self.release {
            return Ok(info);
        }
        Err(ModulesError::OtherKernel { path: path.to_owned(), found: info.release, wanted: self.release.clone() })
    }

    /// How many modules it has.
    pub fn modules(&self) -> usize {
        self.files.keys().filter(|path| name_of(path).is_some()).count()
    }
}

/// The path without the ending of its compression, and the bytes without it: finit_module(2) takes compressed modules only from kernels
/// that were configured for it.
fn unpacked(path: &str, bytes: Vec<u8>) -> Result<(String, Vec<u8>), ModulesError> {
    if Format::of_name(path).is_none() {
        return Ok((path.to_owned(), bytes));
    }
    let plain = path.rsplit_once('.').map_or(path, |(plain, _)| plain).to_owned();
    let bytes = compress::unpack(&bytes, MAX_MODULE_BYTES).map_err(|error| ModulesError::Unpack { path: path.to_owned(), error })?;
    Ok((plain, bytes))
}

impl Source<'_> {
    fn place(&self) -> String {
        match self {
            Source::Folder(folder) => folder.display().to_string(),
            Source::Package(package) => package.name.clone(),
        }
    }

    /// Places of files by their path below `lib/modules/RELEASE`.
    fn files(&self, release: &str) -> Result<BTreeMap<String, PathBuf>, ModulesError> {
        match self {
            Source::Folder(folder) => {
                let inside = [folder.join("lib/modules").join(release), folder.join("usr/lib/modules").join(release)];
                let folder = inside.into_iter().find(|inside| inside.is_dir()).unwrap_or_else(|| folder.to_path_buf());
                files_below(&folder)
            }
            Source::Package(package) => Ok(package.modules(release).map(|(below, path)| (below, PathBuf::from(path))).collect()),
        }
    }

    fn read(&self, place: &Path, limit_bytes: u64) -> Result<Vec<u8>, ModulesError> {
        match self {
            Source::Folder(_) => {
                let io = |error| ModulesError::Io { path: place.to_owned(), error };
                let bytes = fs::metadata(place).map_err(io)?.len();
                if bytes > limit_bytes {
                    return Err(io(io::Error::other(format!("it is longer than {} MiB", limit_bytes >> 20))));
                }
                fs::read(place).map_err(io)
            }
            Source::Package(package) => Ok(package.read(&place.to_string_lossy(), limit_bytes)?),
        }
    }
}

/// Regular files below a folder; links, such as `build`, are not followed.
fn files_below(folder: &Path) -> Result<BTreeMap<String, PathBuf>, ModulesError> {
    let mut files = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    let mut folders = 0;
    while let Some(current) = open.pop() {
        let io = |error| ModulesError::Io { path: current.clone(), error };
        folders += 1;
        if folders > MAX_FOLDERS {
            return Err(io(io::Error::other(format!("it holds more than {MAX_FOLDERS} folders"))));
        }
        for entry in fs::read_dir(&current).map_err(io)? {
            let entry = entry.map_err(io)?;
            let kind = entry.file_type().map_err(io)?;
            let path = entry.path();
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                let below = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
                files.insert(below, path);
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
pub(super) mod testing {
    use super::super::modinfo::testing::module;
    use super::*;

    /// A folder with modules of 6.1.0-lab.
    pub(crate) fn folder() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("lib/modules/6.1.0-lab");
        let put = |path: &str, bytes: &[u8]| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        put("kernel/fs/ext4/ext4.ko", &module("jbd2,mbcache", "softdep=pre: crc32c\0"));
        let jbd2 = compress::testing::pack(Format::Xz, &module("", "")).unwrap();
        put("kernel/fs/jbd2/jbd2.ko.xz", &jbd2);
        put("kernel/drivers/gpu/amdgpu.ko", &module("", ""));
        put("kernel/block/bfq.ko", &module("", "softdep=post: mbcache\0"));
        put("modules.builtin", b"kernel/fs/mbcache.ko\nkernel/drivers/scsi/sd_mod.ko\n");
        put("modules.order", b"kernel/fs/ext4/ext4.ko\n");
        std::os::unix::fs::symlink("/usr/src", folder.join("build")).unwrap();
        root
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: [&str; 4] = ["ext4", "sd_mod", "nvme", "bfq"];

    fn choose(root: &Path, release: &str) -> Result<Subset, ModulesError> {
        Subset::with(&Source::Folder(root), release, WANTED.into_iter())
    }

    #[test]
    fn what_is_needed_is_chosen_with_what_it_needs() {
        let root = testing::folder();
        let subset = choose(root.path(), "6.1.0-lab").unwrap();
        let paths: Vec<&str> = subset.files.keys().map(String::as_str).collect();
        assert_eq!(paths, ["kernel/block/bfq.ko", "kernel/fs/ext4/ext4.ko", "kernel/fs/jbd2/jbd2.ko", "modules.builtin", "modules.order"]);
        assert!(subset.files["kernel/fs/jbd2/jbd2.ko"].starts_with(b"\x7fELF"));
        assert_eq!(
            (subset.builtin.as_slice(), subset.absent.as_slice()),
            (&["mbcache".to_owned(), "sd_mod".into()][..], &["nvme".to_owned()][..])
        );
        let inside = choose(&root.path().join("lib/modules/6.1.0-lab"), "6.1.0-lab").unwrap();
        assert_eq!((inside.files, subset.modules()), (subset.files.clone(), 3));
    }

    #[test]
    fn a_module_from_elsewhere_brings_what_it_needs() {
        let root = testing::folder();
        let source = Source::Folder(root.path());
        let mut subset = Subset::with(&source, "6.1.0-lab", ["bfq"].into_iter()).unwrap();
        subset.add(Some(&source), "lab_disk.ko", super::super::modinfo::testing::module("jbd2,sd_mod", "")).unwrap();
        let paths: Vec<&str> = subset.files.keys().map(String::as_str).filter(|path| name_of(path).is_some()).collect();
        assert_eq!(paths, ["extra/lab_disk.ko", "kernel/block/bfq.ko", "kernel/fs/jbd2/jbd2.ko"]);
        let other = super::super::modinfo::testing::module_of("6.1.1", "", "");
        let error = subset.add(None, "lab_disk.ko", other).unwrap_err().to_string();
        assert_eq!(error, "module extra/lab_disk.ko is of kernel 6.1.1, not of 6.1.0-lab, which would refuse it");
        let error = subset.add(Some(&source), "x.ko", super::super::modinfo::testing::module("gone", "")).unwrap_err().to_string();
        assert!(error.starts_with("module extra/x.ko needs gone"), "{error}");
        assert!(subset.add(None, "x.ko", b"text".to_vec()).is_err());
    }

    #[test]
    fn modules_that_were_put_beside_those_of_the_kernel_come_along() {
        let root = testing::folder();
        let extra = root.path().join("lib/modules/6.1.0-lab/extra");
        std::fs::create_dir(&extra).unwrap();
        std::fs::write(extra.join("lab_disk.ko"), super::super::modinfo::testing::module("jbd2", "")).unwrap();
        let subset = Subset::with(&Source::Folder(root.path()), "6.1.0-lab", ["bfq"].into_iter()).unwrap();
        let paths: Vec<&str> = subset.files.keys().map(String::as_str).filter(|path| name_of(path).is_some()).collect();
        assert_eq!(paths, ["extra/lab_disk.ko", "kernel/block/bfq.ko", "kernel/fs/jbd2/jbd2.ko"]);
    }

    #[test]
    fn modules_that_cannot_work_are_refused() {
        let root = testing::folder();
        let error = choose(&root.path().join("lib/modules/6.1.0-lab"), "6.1.1").unwrap_err().to_string();
        assert!(error.ends_with(".ko is of kernel 6.1.0-lab, not of 6.1.1, which would refuse it"), "{error}");
        let fs = root.path().join("lib/modules/6.1.0-lab/kernel/fs");
        fs::remove_dir_all(fs.join("jbd2")).unwrap();
        let error = choose(root.path(), "6.1.0-lab").unwrap_err().to_string();
        assert_eq!(error, "module kernel/fs/ext4/ext4.ko needs jbd2, which is neither a module nor in modules.builtin");
        fs::write(fs.join("ext4/ext4.ko"), "cut").unwrap();
        assert_eq!(choose(root.path(), "6.1.0-lab").unwrap_err().to_string(), "module kernel/fs/ext4/ext4.ko: it is no ELF file");
        let empty = tempfile::tempdir().unwrap();
        let error = choose(empty.path(), "6.1").unwrap_err().to_string();
        assert!(error.ends_with("it should be a folder lib/modules/RELEASE, or one with lib/modules/6.1 in it"), "{error}");
    }
}
