//! Makes the tar of modules that the lab keeps.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use super::{ModulesError, Subset};
use crate::program::{self, Limits};

/// depmod takes 0.2 s for the 150 modules of a Debian kernel that a lab needs.
const DEPMOD_TIME: Duration = Duration::from_secs(120);

/// It prints nothing unless something is wrong.
const DEPMOD_BYTES: u64 = 1 << 20;

/// What was packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// How many modules.
    pub modules: usize,
    /// Length of the tar.
    pub bytes: u64,
}

/// Writes a subset as a tar of `lib/modules/RELEASE` with the lists of depmod(8). The same modules give the same bytes: sorted, with time
/// 0, owned by root.
pub fn pack(subset: &Subset, out: impl Write) -> Result<Packed, ModulesError> {
    let root = tempfile::tempdir().map_err(|error| ModulesError::Io { path: std::env::temp_dir(), error })?;
    let inside = Path::new("lib/modules").join(&subset.release);
    let folder = root.path().join(&inside);
    let write = |path: &Path, bytes: &[u8]| -> io::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(&folder))?;
        fs::write(path, bytes)
    };
    for (below, bytes) in &subset.files {
        let path = folder.join(below);
        write(&path, bytes).map_err(|error| ModulesError::Io { path, error })?;
    }
    depmod(root.path(), &subset.release)?;
    let mut counted = Counted { out, bytes: 0 };
    write_tar(&folder, &inside, &mut counted).map_err(|error| ModulesError::Io { path: folder.clone(), error })?;
    Ok(Packed { modules: subset.modules(), bytes: counted.bytes })
}

/// Some distributions build depmod to look below /usr; and it is not to read the settings of this machine.
fn depmod(root: &Path, release: &str) -> Result<(), ModulesError> {
    let io = |error| ModulesError::Io { path: root.to_owned(), error };
    let settings = root.join("settings");
    fs::create_dir_all(&settings).map_err(io)?;
    fs::create_dir_all(root.join("usr")).map_err(io)?;
    std::os::unix::fs::symlink("../lib", root.join("usr/lib")).map_err(io)?;
    let arguments: [&OsStr; 5] = ["-C".as_ref(), settings.as_os_str(), "-b".as_ref(), root.as_os_str(), release.as_ref()];
    program::run("depmod", &arguments, io::empty(), io::sink(), Limits { bytes: DEPMOD_BYTES, time: DEPMOD_TIME })?;
    Ok(())
}

fn write_tar(folder: &Path, inside: &Path, out: impl Write) -> io::Result<()> {
    let mut tar = tar::Builder::new(out);
    add(&mut tar, folder, inside)?;
    tar.into_inner()?.flush()
}

/// A folder with everything in it, sorted. Only what [`pack`] has written is there.
fn add<W: Write>(tar: &mut tar::Builder<W>, path: &Path, inside: &Path) -> io::Result<()> {
    let mut names: Vec<_> = fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<_>>()?;
    names.sort();
    let mut header = header(tar::EntryType::Directory, 0o755, 0);
    tar.append_data(&mut header, inside, io::empty())?;
    for name in names {
        let (path, inside) = (path.join(&name), inside.join(&name));
        if path.is_dir() {
            add(tar, &path, &inside)?;
        } else {
            let bytes = fs::read(&path)?;
            let mut header = self::header(tar::EntryType::Regular, 0o644, bytes.len() as u64);
            tar.append_data(&mut header, &inside, bytes.as_slice())?;
        }
    }
    Ok(())
}

fn header(kind: tar::EntryType, mode: u32, bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(bytes);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::super::subset::testing::folder;
    use super::super::{Index, Source};
    use super::*;

    #[test]
    fn the_same_modules_give_the_same_tar_in_which_everything_is_found() {
        let root = folder();
        let mut tars = Vec::new();
        for _ in 0..2 {
            let subset = Subset::choose(&Source::Folder(root.path()), "6.1.0-lab").unwrap();
            let mut tar = Vec::new();
            let packed = pack(&subset, &mut tar).unwrap();
            assert_eq!(packed, Packed { modules: 3, bytes: tar.len() as u64 });
            tars.push(tar);
        }
        assert_eq!(tars[0], tars[1]);
        let index = Index::of_tar(tars[0].as_slice(), "x").unwrap();
        assert_eq!(index.names().collect::<Vec<_>>(), ["bfq", "ext4", "jbd2"]);
        // depmod goes by symbols, and these modules have none.
        assert_eq!(index.load_order(&["ext4", "sd_mod"]).paths, [Path::new("/lib/modules/6.1.0-lab/kernel/fs/ext4/ext4.ko")]);
        let tree = crate::initramfs::of_kernel(tars[0].as_slice()).unwrap();
        assert!(tree.contains("/lib/modules/6.1.0-lab/modules.dep.bin"));
    }
}
