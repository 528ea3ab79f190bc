//! The files of an archive, before it is written.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::cpio::{Entry, Writer};
use crate::program::ProgramError;

/// Kinds of files in st_mode (inode(7)).
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;
const BLOCK_DEVICE: u32 = 0o060_000;

/// Folders that are links into /usr on today's systems (file-hierarchy(7)).
pub(super) const MERGED: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

/// Why there is no archive.
#[derive(Debug, thiserror::Error)]
pub enum InitramfsError {
    /// A file that is to go into it, or the archive itself.
    #[error("{}: {error}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Two things of different kinds at one place.
    #[error("{} is to be two different things", .0.display())]
    Clash(PathBuf),
    /// A path that leads out of the archive.
    #[error("{} is no path inside of an archive", .0.display())]
    BadPath(PathBuf),
    /// A program whose libraries are not there.
    #[error("{} needs {library}, which is not found here", .program.display())]
    NoLibrary {
        /// The program.
        program: PathBuf,
        /// The library, or the interpreter of a script.
        library: String,
    },
    /// ldd.
    #[error("the libraries of {}: {error}", .program.display())]
    Libraries {
        /// The program.
        program: PathBuf,
        /// Why.
        error: ProgramError,
    },
    /// Modules.
    #[error("{0}")]
    Modules(String),
}

/// A device node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device {
    /// By major and minor number (kernel document admin-guide/devices.txt).
    Character(u32, u32),
    /// Likewise.
    Block(u32, u32),
}

/// Files by their paths. `/bin`, `/lib`, `/lib64` and `/sbin` are links into `/usr`, and what is put there goes to `/usr`: an archive that
/// had a folder of that name would replace the link of an archive before it.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: BTreeMap<PathBuf, Node>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Folder(u32),
    File(u32, Contents),
    Symlink(PathBuf),
    Device(u32, Device),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Contents {
    Bytes(Vec<u8>),
    /// Of this machine, read when the archive is written.
    File(PathBuf),
}

impl Tree {
    /// Nothing yet.
    pub fn new() -> Self {
        Tree::default()
    }

    /// A folder, with those above it.
    pub fn folder(&mut self, path: impl AsRef<Path>, mode: u32) -> Result<(), InitramfsError> {
        self.put(path.as_ref(), Node::Folder(mode))
    }

    /// A file with these contents.
    pub fn file(&mut self, path: impl AsRef<Path>, mode: u32, contents: Vec<u8>) -> Result<(), InitramfsError> {
        self.put(path.as_ref(), Node::File(mode, Contents::Bytes(contents)))
    }

    /// A file of this machine; it is read when the archive is written.
    pub fn copy(&mut self, path: impl AsRef<Path>, mode: u32, from: &Path) -> Result<(), InitramfsError> {
        self.put(path.as_ref(), Node::File(mode, Contents::File(from.to_owned())))
    }

    /// A symbolic link.
    pub fn symlink(&mut self, path: impl AsRef<Path>, target: impl Into<PathBuf>) -> Result<(), InitramfsError> {
        self.put(path.as_ref(), Node::Symlink(target.into()))
    }

    /// A device node.
    pub fn device(&mut self, path: impl AsRef<Path>, mode: u32, device: Device) -> Result<(), InitramfsError> {
        self.put(path.as_ref(), Node::Device(mode, device))
    }

    /// Is anything at this path?
    pub fn contains(&self, path: impl AsRef<Path>) -> bool {
        inner(path.as_ref()).is_ok_and(|path| self.nodes.contains_key(&path))
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        let bytes = |node: &Node| match node {
            Node::File(_, Contents::Bytes(bytes)) => bytes.len() as u64,
            Node::File(_, Contents::File(path)) => fs::metadata(path).map_or(0, |meta| meta.len()),
            Node::Folder(_) | Node::Symlink(_) | Node::Device(..) => 0,
        };
        self.nodes.values().map(bytes).sum()
    }

    /// Paths of everything, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.nodes.keys().map(PathBuf::as_path)
    }

    /// Writes it as one archive; gives its length in bytes. Another archive may follow.
    pub fn write(&self, out: impl Write) -> Result<u64, InitramfsError> {
        let mut writer = Writer::new(io::BufWriter::with_capacity(1 << 20, out));
        for (path, node) in &self.nodes {
            write_node(&mut writer, path, node).map_err(|error| InitramfsError::Io { path: path.clone(), error })?;
        }
        writer.finish().map_err(|error| InitramfsError::Io { path: "the end of the archive".into(), error })
    }

    fn put(&mut self, path: &Path, node: Node) -> Result<(), InitramfsError> {
        let path = inner(path)?;
        for folder in path.ancestors().skip(1).filter(|folder| *folder != Path::new("")) {
            match self.nodes.entry(folder.to_owned()) {
                Slot::Vacant(slot) => drop(slot.insert(Node::Folder(0o755))),
                Slot::Occupied(slot) if matches!(slot.get(), Node::Folder(_)) => {}
                Slot::Occupied(_) => return Err(InitramfsError::Clash(folder.to_owned())),
            }
        }
        match self.nodes.entry(path) {
            Slot::Vacant(slot) => drop(slot.insert(node)),
            Slot::Occupied(slot) if *slot.get() == node => {}
            // A folder that was only implied gets its mode.
            Slot::Occupied(mut slot) if matches!((slot.get(), &node), (Node::Folder(_), Node::Folder(_))) => drop(slot.insert(node)),
            Slot::Occupied(slot) => return Err(InitramfsError::Clash(slot.key().clone())),
        }
        Ok(())
    }
}

fn write_node<W: Write>(writer: &mut Writer<W>, path: &Path, node: &Node) -> io::Result<()> {
    let name = path.as_os_str().as_bytes();
    match node {
        Node::Folder(mode) => writer.entry(name, Entry { mode: FOLDER | mode, ..Entry::default() }, io::empty()),
        Node::Symlink(target) => {
            let target = target.as_os_str().as_bytes();
            writer.entry(name, Entry { mode: SYMLINK | 0o777, bytes: target.len() as u64, ..Entry::default() }, target)
        }
        Node::Device(mode, device) => {
            let (kind, major, minor) = match device {
                Device::Character(major, minor) => (CHARACTER_DEVICE, *major, *minor),
                Device::Block(major, minor) => (BLOCK_DEVICE, *major, *minor),
            };
            writer.entry(name, Entry { mode: kind | mode, major, minor, bytes: 0 }, io::empty())
        }
        Node::File(mode, contents) => {
            let (bytes, reader): (u64, Box<dyn Read>) = match contents {
                Contents::Bytes(bytes) => (bytes.len() as u64, Box::new(bytes.as_slice())),
                Contents::File(path) => {
                    let file = File::open(path)?;
                    (file.metadata()?.len(), Box::new(file))
                }
            };
            writer.entry(name, Entry { mode: FILE | mode, bytes, ..Entry::default() }, reader)
        }
    }
}

/// The path in the archive: relative, without `.` and `..`, and below `usr` where that is its real place.
pub(super) fn inner(path: &Path) -> Result<PathBuf, InitramfsError> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(part) => parts.push(part),
            Component::ParentDir | Component::Prefix(_) => return Err(InitramfsError::BadPath(path.to_owned())),
        }
    }
    let (Some(first), more) = (parts.first(), parts.len() > 1) else { return Err(InitramfsError::BadPath(path.to_owned())) };
    let is_merged = more && MERGED.iter().any(|folder| *first == *folder);
    let parts = parts.iter();
    Ok(if is_merged { std::iter::once(&std::ffi::OsStr::new("usr")).chain(parts).collect() } else { parts.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_one_place() {
        let at = |path: &str| inner(Path::new(path)).map(|path| path.display().to_string()).ok();
        assert_eq!(at("/lib/x86_64-linux-gnu/libc.so.6").as_deref(), Some("usr/lib/x86_64-linux-gnu/libc.so.6"));
        assert_eq!(at("./usr/bin/fio").as_deref(), Some("usr/bin/fio"));
        assert_eq!(at("/lib").as_deref(), Some("lib"), "the link itself");
        assert_eq!(at("/init").as_deref(), Some("init"));
        assert_eq!((at("/a/../../b"), at("/"), at("")), (None, None, None));
    }

    #[test]
    fn one_path_is_one_thing() {
        let mut tree = Tree::new();
        tree.file("/etc/a", 0o644, b"1".to_vec()).unwrap();
        tree.file("/etc/a", 0o644, b"1".to_vec()).unwrap();
        assert!(matches!(tree.file("/etc/a", 0o644, b"2".to_vec()), Err(InitramfsError::Clash(_))));
        assert!(matches!(tree.file("/etc/a/b", 0o644, vec![]), Err(InitramfsError::Clash(_))));
        tree.folder("/etc", 0o700).unwrap();
        assert!(tree.contains("/etc/a") && !tree.contains("/etc/b"));
    }

    /// cpio(1) reads what is written, where it is installed.
    #[test]
    fn another_program_reads_the_archive() {
        let mut tree = Tree::new();
        tree.symlink("lib", "usr/lib").unwrap();
        tree.file("/lib/x/file", 0o640, vec![b'x'; 1001]).unwrap();
        tree.device("dev/console", 0o600, Device::Character(5, 1)).unwrap();
        let mut bytes = Vec::new();
        assert_eq!(tree.write(&mut bytes).unwrap() as usize, bytes.len());
        let mut again = Vec::new();
        tree.write(&mut again).unwrap();
        assert_eq!(again, bytes, "the same in, the same out");
        let limits = crate::program::Limits { bytes: 1 << 20, time: std::time::Duration::from_secs(20) };
        let Some((name, arguments)) =
            [("cpio", ["-t"].as_slice()), ("busybox", &["cpio", "-t"])].into_iter().find(|(name, _)| crate::program::find(name).is_some())
        else {
            eprintln!("skipped: neither cpio nor busybox is installed");
            return;
        };
        let mut list = Vec::new();
        let arguments: Vec<&std::ffi::OsStr> = arguments.iter().map(std::ffi::OsStr::new).collect();
        crate::program::run(name, &arguments, bytes.as_slice(), &mut list, limits).unwrap();
        assert_eq!(String::from_utf8(list).unwrap(), "dev\ndev/console\nlib\nusr\nusr/lib\nusr/lib/x\nusr/lib/x/file\n");
    }
}
