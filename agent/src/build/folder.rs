//! The cache folder of a builder: what is kept between builds, always at the same paths. Objects are rebuilt and ccache misses when a path
//! changes: a full rebuild after a move took 655 s of processor time instead of 183 s. One build at a time holds the folder.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::fs::FlockOperation;
use sha2::{Digest, Sha256};

use super::failure::Failure;
use super::signature::hex;
use crate::sys::SysError;

/// Characters of an address that a mirror's folder shows, and digits of its digest that make it unique.
const NAME_CHARS: usize = 40;
const DIGEST_CHARS: usize = 12;

/// What git is told beside the command line; nothing of a user's own configuration reaches it. A repository on this machine may belong to
/// somebody else, which git refuses to read unless told so here (git-config(1), `safe.directory`); no hook runs. Objects that a build
/// needs are held by refs, so that collecting garbage is safe; it may not go on in the background, beyond the step's limit.
const GIT_CONFIG: &str = "\
[safe]
\tdirectory = *
[core]
\thooksPath = /dev/null
[advice]
\tdetachedHead = false
\tmergeConflict = false
[am]
\tthreeWay = false
[commit]
\tgpgSign = false
[gc]
\tautoDetach = false
";

/// The folder while it is ours.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    /// Closing it lets the folder go, unless a program of ours still holds it.
    lock: File,
}

impl Folder {
    /// Takes the folder, making it when it is not there.
    pub fn open(root: &Path) -> Result<Self, Failure> {
        let act = || format!("make the cache folder {}", root.display());
        fs::create_dir_all(root).map_err(|error| failed(&act(), error))?;
        let root = root.canonicalize().map_err(|error| failed(&act(), error))?;
        // make(1) and merge_config.sh split words, ccache and PATH split at colons.
        if !root.to_string_lossy().chars().all(|c| c.is_ascii_alphanumeric() || "/._-+".contains(c)) {
            return Err(Failure::infrastructure(format!(
                "use the cache folder {}: its path may hold letters, digits, `.`, `_`, `-` and `+` only; give another one",
                root.display()
            )));
        }
        let lock = lock(&root)?;
        let folder = Folder { root, lock };
        for dir in [folder.home(), folder.scratch(), folder.build(), folder.ccache(), folder.mirrors(), folder.source()] {
            fs::create_dir_all(&dir).map_err(|error| failed(&act(), error))?;
        }
        fs::write(folder.git_config(), GIT_CONFIG).map_err(|error| failed(&act(), error))?;
        Ok(folder)
    }

    /// The standard input of every program of a build: the lock's file at its end, so there is nothing to read. A lock belongs to the open
    /// file (flock(2)): programs that an agent left behind when it was killed keep the next build from a folder that they still change.
    pub fn hold(&self) -> Stdio {
        self.lock.try_clone().map_or_else(|_| Stdio::null(), Stdio::from)
    }

    /// The work tree of the sources.
    pub fn source(&self) -> PathBuf {
        self.root.join("source")
    }

    /// The folder of the objects (`O=`).
    pub fn build(&self) -> PathBuf {
        self.root.join("build")
    }

    /// Objects of git, a bare repository for each address.
    pub fn mirrors(&self) -> PathBuf {
        self.root.join("mirrors")
    }

    /// The mirror of one address; its name can be recognised by people.
    pub fn mirror(&self, address: &str) -> PathBuf {
        let last = address.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
        let name: String =
            last.trim_end_matches(".git").chars().filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c)).take(NAME_CHARS).collect();
        let digest = hex(&Sha256::digest(address.as_bytes()));
        self.mirrors().join(format!("{name}-{}.git", &digest[..DIGEST_CHARS]))
    }

    /// Where ccache keeps objects.
    pub fn ccache(&self) -> PathBuf {
        self.root.join("ccache")
    }

    /// HOME of all programs: empty.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Temporary files of programs, so that a full disk is this one and what a killed compiler left is found again.
    pub fn scratch(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Where modules are installed before they are packed.
    pub fn staging(&self) -> PathBuf {
        self.scratch().join("staging")
    }

    /// Sources of modules from outside the tree.
    pub fn modules(&self) -> PathBuf {
        self.root.join("modules")
    }

    /// What the folder of the objects holds.
    pub fn state(&self) -> PathBuf {
        self.root.join("build.json")
    }

    /// The log of the last build.
    pub fn log(&self) -> PathBuf {
        self.root.join("build.log")
    }

    /// What git reads instead of the user's configuration.
    pub fn git_config(&self) -> PathBuf {
        self.root.join("gitconfig")
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

fn lock(root: &Path) -> Result<File, Failure> {
    let path = root.join("lock");
    let act = format!("open {}", path.display());
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(|error| failed(&act, error))?;
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        let mut pid = String::new();
        let _ = file.read_to_string(&mut pid);
        let holder = if pid.trim().is_empty() { String::new() } else { format!(" (process {})", pid.trim()) };
        return Err(Failure::infrastructure(format!(
            "take the cache folder {}: another build{holder} uses it; wait for its end, or give this one a folder of its own",
            root.display()
        )));
    }
    let written = file.set_len(0).and_then(|()| file.write_all(std::process::id().to_string().as_bytes()));
    written.map_err(|error| failed(&act, error))?;
    Ok(file)
}

fn failed(act: &str, error: std::io::Error) -> Failure {
    super::exec::of_system(SysError::io(act.to_owned())(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::command;

    #[test]
    fn two_builds_do_not_meet() {
        let dir = tempfile::tempdir().unwrap();
        let held = Folder::open(dir.path()).unwrap();
        let refused = Folder::open(dir.path()).unwrap_err().to_string();
        assert!(refused.contains(&format!("another build (process {})", std::process::id())), "{refused}");
        drop(held);
        Folder::open(dir.path()).unwrap();
    }

    #[test]
    fn what_a_killed_agent_left_running_keeps_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let held = Folder::open(dir.path()).unwrap();
        let mut child = command::program("cat").stdin(held.hold()).stdout(Stdio::null()).spawn().unwrap();
        assert!(child.wait().unwrap().success(), "there is nothing to read");
        let mut child = command::program("sleep").arg("1000").stdin(held.hold()).spawn().unwrap();
        drop(held);
        Folder::open(dir.path()).unwrap_err();
        child.kill().unwrap();
        child.wait().unwrap();
        Folder::open(dir.path()).unwrap();
    }

    #[test]
    fn a_path_that_make_would_split_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Folder::open(&dir.path().join("a b")).unwrap_err().to_string().contains("give another one"));
    }

    #[test]
    fn addresses_have_mirrors_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        let name = |address: &str| folder.mirror(address).file_name().unwrap().to_string_lossy().into_owned();
        assert!(name("https://git.example.org/pub/linux.git").starts_with("linux-"));
        assert!(name("host:linux").starts_with("linux-"));
        assert_ne!(name("https://a.example/linux.git"), name("https://b.example/linux.git"));
        assert_eq!(folder.mirror("/../..").parent().unwrap(), folder.mirrors());
    }
}
