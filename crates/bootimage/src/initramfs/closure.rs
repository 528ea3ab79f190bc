//! Programs of this machine with everything that they need to start: dynamic loader, libraries, interpreter.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::tree::{InitramfsError, Tree, inner};
use crate::elf::Elf;
use crate::program::{self, Limits};

/// ldd takes 0.1 s for the 60 libraries of fio.
const LDD_TIME: Duration = Duration::from_secs(60);

/// Its output has a line of 100 bytes for each library.
const LDD_BYTES: u64 = 1 << 20;

/// Scripts whose interpreter is a script...
const MAX_INTERPRETERS: u32 = 4;

/// Loaded by libc itself when a thread ends or is cancelled (pthread_exit(3)), so no table of needs names it.
const LATE_LIBRARY: &str = "libgcc_s.so.1";

impl Tree {
    /// Puts a program of this machine at its own path, with its libraries at theirs. Libraries that it opens by itself while it runs are
    /// not known; those of libc are there.
    pub fn program(&mut self, path: &Path) -> Result<(), InitramfsError> {
        self.program_and_interpreter(path, MAX_INTERPRETERS)
    }

    /// Puts a program of this machine at `at`, with its libraries at their own paths.
    pub fn program_at(&mut self, at: impl AsRef<Path>, path: &Path) -> Result<(), InitramfsError> {
        let bytes = read(path)?;
        self.libraries(path, &bytes)?;
        self.file(at, 0o755, runnable(bytes))
    }

    fn program_and_interpreter(&mut self, path: &Path, depth: u32) -> Result<(), InitramfsError> {
        if self.contains(path) {
            return Ok(());
        }
        let bytes = read(path)?;
        if let Some(interpreter) = interpreter(&bytes) {
            let missing = || InitramfsError::NoLibrary { program: path.to_owned(), library: interpreter.display().to_string() };
            if depth == 0 {
                return Err(missing());
            }
            let found = if interpreter.is_absolute() { Some(interpreter.clone()) } else { program::find(&interpreter.to_string_lossy()) };
            self.program_and_interpreter(&found.ok_or_else(missing)?, depth - 1)?;
        } else {
            self.libraries(path, &bytes)?;
        }
        self.real(path, |tree, real| tree.file(real, 0o755, runnable(bytes)))
    }

    /// What ldd(1) lists.
    fn libraries(&mut self, program: &Path, bytes: &[u8]) -> Result<(), InitramfsError> {
        let Ok(elf) = Elf::read(bytes) else { return Ok(()) };
        let Some(loader) = elf.loader() else { return Ok(()) };
        let loader = PathBuf::from(OsStr::from_bytes(loader));
        let mut needed = BTreeSet::from([loader]);
        let limits = Limits { bytes: LDD_BYTES, time: LDD_TIME };
        let mut list = Vec::new();
        // The path may be relative, which ldd takes only with a slash.
        let absolute = fs::canonicalize(program).map_err(|error| InitramfsError::Io { path: program.to_owned(), error })?;
        program::run("ldd", &[absolute.as_os_str()], std::io::empty(), &mut list, limits)
            .map_err(|error| InitramfsError::Libraries { program: program.to_owned(), error })?;
        for line in String::from_utf8_lossy(&list).lines() {
            match library(line) {
                Library::At(path) => drop(needed.insert(path)),
                Library::NotFound(library) => return Err(InitramfsError::NoLibrary { program: program.to_owned(), library }),
                Library::None => {}
            }
        }
        let late: Vec<PathBuf> =
            needed.iter().filter(|path| path.ends_with("libc.so.6")).map(|libc| libc.with_file_name(LATE_LIBRARY)).collect();
        needed.extend(late.into_iter().filter(|path| path.exists()));
        for path in needed {
            self.real(&path, |tree, real| tree.copy(real, 0o755, real))?;
        }
        Ok(())
    }

    /// Puts something at the place where a path of this machine leads to, and a link at the path itself if that is another place.
    pub(super) fn real(
        &mut self,
        path: &Path,
        put: impl FnOnce(&mut Tree, &Path) -> Result<(), InitramfsError>,
    ) -> Result<(), InitramfsError> {
        let real = fs::canonicalize(path).map_err(|error| InitramfsError::Io { path: path.to_owned(), error })?;
        if !self.contains(&real) {
            put(self, &real)?;
        }
        if inner(path)? != inner(&real)? && !self.contains(path) {
            self.symlink(path, Path::new("/").join(inner(&real)?))?;
        }
        Ok(())
    }
}

/// A line of ldd(1).
#[derive(Debug, PartialEq, Eq)]
enum Library {
    At(PathBuf),
    NotFound(String),
    None,
}

/// `\tlibc.so.6 => /lib/libc.so.6 (0x7f...)`, `\t/lib64/ld-linux-x86-64.so.2 (0x7f...)`, `\tlibx.so => not found`, or
/// `\tlinux-vdso.so.1 (0x7f...)`, which the kernel itself gives.
fn library(line: &str) -> Library {
    let line = line.trim();
    let (name, place) = line.split_once(" => ").unwrap_or((line, line));
    if place == "not found" {
        return Library::NotFound(name.to_owned());
    }
    match place.rsplit_once(" (0x") {
        Some((path, _)) if path.starts_with('/') => Library::At(path.into()),
        Some(_) | None => Library::None,
    }
}

/// The program after `#!`, and that after `/usr/bin/env`, which looks it up.
fn interpreter(bytes: &[u8]) -> Option<PathBuf> {
    let line = bytes.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let program = words.next()?;
    Some(PathBuf::from(if program.ends_with("/env") { words.next()? } else { program }))
}

/// Without symbols and debugging information, which a debug build has 50 MB of and which would be memory of the virtual host.
fn runnable(bytes: Vec<u8>) -> Vec<u8> {
    match Elf::read(&bytes) {
        Ok(elf) if elf.is_loadable() => elf.runnable_bytes(),
        Ok(_) | Err(_) => bytes,
    }
}

fn read(path: &Path) -> Result<Vec<u8>, InitramfsError> {
    fs::read(path).map_err(|error| InitramfsError::Io { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ldd_are_told_apart() {
        assert_eq!(library("\tlinux-vdso.so.1 (0x00007ffd)"), Library::None);
        assert_eq!(
            library("\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)"),
            Library::At("/lib/x86_64-linux-gnu/libc.so.6".into())
        );
        assert_eq!(library("\t/lib64/ld-linux-x86-64.so.2 (0x00007f)"), Library::At("/lib64/ld-linux-x86-64.so.2".into()));
        assert_eq!(library("\tlibrados.so.2 => not found"), Library::NotFound("librados.so.2".into()));
        assert_eq!(library("\tstatically linked"), Library::None);
    }

    #[test]
    fn scripts_bring_their_interpreter() {
        assert_eq!(interpreter(b"#!/bin/sh -e\n"), Some("/bin/sh".into()));
        assert_eq!(interpreter(b"#! /usr/bin/env python3\nx"), Some("python3".into()));
        assert_eq!(interpreter(b"\x7fELF"), None);
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        let mut tree = Tree::new();
        tree.program(&script).unwrap();
        assert!(tree.contains(&script) && tree.contains("/bin/sh"));
        let circle = format!("#!{}\n", script.display());
        fs::write(&script, circle).unwrap();
        assert!(matches!(Tree::new().program(&script), Err(InitramfsError::NoLibrary { .. })));
    }

    #[test]
    fn a_program_runs_from_its_tree_alone() {
        let mut tree = Tree::new();
        let sh = program::find("sh").unwrap();
        tree.program(&sh).unwrap();
        tree.program(&sh).unwrap();
        let names: Vec<String> = tree.paths().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect();
        assert!(names.iter().any(|name| name.starts_with("ld-linux")) && names.iter().any(|name| name == "libc.so.6"), "{names:?}");
        assert!(names.iter().any(|name| name == LATE_LIBRARY), "{names:?}");
    }

    #[test]
    fn this_program_shrinks_and_still_runs() {
        let whole = fs::read(std::env::current_exe().unwrap()).unwrap();
        let short = runnable(whole.clone());
        assert!(short.len() < whole.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        fs::write(&path, short).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let limits = Limits { bytes: 1 << 20, time: Duration::from_secs(60) };
        let mut list = Vec::new();
        let run = format!("exec {} --list", path.display());
        program::run("sh", &["-c".as_ref(), run.as_ref()], std::io::empty(), &mut list, limits).unwrap();
        assert!(String::from_utf8_lossy(&list).contains("this_program_shrinks_and_still_runs"));
    }
}
