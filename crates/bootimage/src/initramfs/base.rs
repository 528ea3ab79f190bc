//! The part of the RAM disk that is the same for every kernel.

use std::path::{Path, PathBuf};

use super::tree::{Device, InitramfsError, MERGED, Tree};
use crate::program;

/// Files that tools read, with the tools that do; what is not here is not packed.
const DATA: [(&str, &str); 3] = [
    // Default features of file systems; a tool without it makes others.
    ("mkfs.ext", "/etc/mke2fs.conf"),
    ("mke2fs", "/etc/mke2fs.conf"),
    // The operations that it replays.
    ("dbench", "/usr/share/dbench/client.txt"),
];

/// Empty folders that programs expect.
const FOLDERS: [(&str, u32); 10] = [
    ("dev", 0o755),
    ("etc", 0o755),
    ("mnt", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("var/lib", 0o755),
    ("var/tmp", 0o1777),
];

/// The base of a RAM disk.
#[derive(Debug)]
pub struct Base {
    /// Its files; [`Tree::write`] makes the archive.
    pub tree: Tree,
    /// The tools that are in it, in the order that was asked for.
    pub tools: Vec<Tool>,
    /// Tools that this machine does not have.
    pub missing: Vec<String>,
}

/// A tool of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// As it was asked for.
    pub name: String,
    /// Where it is, here and in the archive.
    pub path: PathBuf,
    /// Bytes that it adds, with the libraries that no tool before it needed.
    pub bytes: u64,
}

/// The base with `agent` as `/init` and the tools that this machine has. A tool whose libraries are not all there is an error: it would
/// fail in the middle of a trial.
pub fn base(agent: &Path, tools: &[&str]) -> Result<Base, InitramfsError> {
    let mut tree = Tree::new();
    for folder in MERGED {
        tree.folder(Path::new("usr").join(folder), 0o755)?;
        tree.symlink(folder, Path::new("usr").join(folder))?;
    }
    for (folder, mode) in FOLDERS {
        tree.folder(folder, mode)?;
    }
    // The kernel opens it for /init before anything is mounted (init/main.c, console_on_rootfs).
    tree.device("dev/console", 0o600, Device::Character(5, 1))?;
    tree.device("dev/null", 0o666, Device::Character(1, 3))?;
    tree.file("etc/passwd", 0o644, b"root:x:0:0:root:/root:/bin/sh\n".to_vec())?;
    tree.file("etc/group", 0o644, b"root:x:0:\n".to_vec())?;
    tree.symlink("etc/mtab", "/proc/self/mounts")?;
    tree.program_at("init", agent)?;
    // Where libraries are that lie beside the usual folders (ld.so(8)): their paths are those of this machine.
    for file in ["/etc/ld.so.cache", "/etc/ld.so.conf"] {
        copy_if_there(&mut tree, Path::new(file))?;
    }
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    let mut before = tree.bytes();
    for &name in tools {
        let Some(path) = program::find(name) else {
            missing.push(name.to_owned());
            continue;
        };
        tree.program(&path)?;
        for (_, file) in DATA.iter().filter(|(tool, _)| name.starts_with(tool)) {
            copy_if_there(&mut tree, Path::new(file))?;
        }
        let now = tree.bytes();
        found.push(Tool { name: name.to_owned(), path, bytes: now - before });
        before = now;
    }
    Ok(Base { tree, tools: found, missing })
}

fn copy_if_there(tree: &mut Tree, file: &Path) -> Result<(), InitramfsError> {
    if file.is_file() { tree.real(file, |tree, real| tree.copy(real, 0o644, real)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_has_an_init_and_the_tools_that_are_here() {
        let sh = program::find("sh").unwrap();
        let base = base(&sh, &["sh", "ls", "no-such-tool"]).unwrap();
        assert_eq!(base.missing, ["no-such-tool"]);
        let names: Vec<&str> = base.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["sh", "ls"]);
        for path in ["/init", "/bin/sh", "/bin", "/lib64", "/dev/console", "/etc/passwd", "/proc", "/tmp"] {
            assert!(base.tree.contains(path), "{path}");
        }
        let mut bytes = Vec::new();
        base.tree.write(&mut bytes).unwrap();
        assert!(bytes.len() as u64 > base.tree.bytes());
    }
}
