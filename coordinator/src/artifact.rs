//! The artifact store: bytes under their SHA-256, in a folder. It knows nothing of trials; rows hold the digests.
//!
//! A file is written aside, synced and renamed, so that a name stands for whole contents also after a power cut. All calls block.

mod incoming;
mod sweep;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

/// A file that is still unfinished after so long was left by a coordinator that died; the longest report is written in seconds.
const UNFINISHED_AFTER: Duration = Duration::from_secs(24 * 3600);

pub use incoming::Incoming;

/// Why bytes could not be kept or given back.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// Not 64 lower-case hexadecimal digits.
    #[error("`{0}` is no SHA-256 in 64 lower-case hexadecimal digits")]
    BadName(String),
    /// Nothing is kept under that name.
    #[error("there is no artifact {sha256} in {}; was the folder moved or cleaned?", folder.display())]
    Missing {
        /// Its name.
        sha256: String,
        /// Of the store.
        folder: PathBuf,
    },
    /// The file is not what was put.
    #[error("artifact {sha256} in {} is damaged: its SHA-256 is {found}; restore it from a backup", folder.display())]
    Damaged {
        /// Its name.
        sha256: String,
        /// What it contains now.
        found: String,
        /// Of the store.
        folder: PathBuf,
    },
    /// No space is left, or a quota is used up.
    #[error("no space is left in {} for {bytes} more bytes; free some and send again, nothing is lost", folder.display())]
    Full {
        /// Of the store.
        folder: PathBuf,
        /// What was to be kept.
        bytes: usize,
    },
    /// More than anybody may send.
    #[error("more than {limit} bytes")]
    TooLong {
        /// The limit.
        limit: u64,
    },
    /// What came is not what was announced.
    #[error("{bytes} bytes with SHA-256 {found} came under the name {wanted}")]
    WrongDigest {
        /// The name.
        wanted: String,
        /// What it would be.
        found: String,
        /// Length of what came.
        bytes: u64,
    },
    /// The file system refused.
    #[error("failed to {action} {}: {source}; the folder must exist on a local file system and be writable for this user", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A folder of artifacts. `ab/cdef...` holds the bytes whose SHA-256 is `abcdef...`, `unfinished/` what is being written.
#[derive(Debug)]
pub struct Artifacts {
    folder: PathBuf,
}

impl Artifacts {
    /// Opens or makes the folder, proves that it can be written, and removes what was left unfinished long ago.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Artifacts, ArtifactError> {
        let artifacts = Artifacts { folder: folder.into() };
        let unfinished = artifacts.unfinished();
        fs::create_dir_all(&unfinished).map_err(failed("make", &unfinished))?;
        artifacts.remove_leftovers().map_err(failed("clean", &unfinished))?;
        Ok(artifacts)
    }

    /// Keeps bytes and gives the name under which they are found. The same bytes are kept once.
    pub fn put(&self, bytes: &[u8]) -> Result<String, ArtifactError> {
        let sha256 = digest(bytes);
        match self.get(&sha256) {
            Ok(_) => return Ok(sha256),
            // What is damaged is replaced.
            Err(ArtifactError::Missing { .. } | ArtifactError::Damaged { .. }) => {}
            Err(
                error @ (ArtifactError::BadName(_)
                | ArtifactError::Full { .. }
                | ArtifactError::Io { .. }
                | ArtifactError::TooLong { .. }
                | ArtifactError::WrongDigest { .. }),
            ) => return Err(error),
        }
        let path = self.path(&sha256)?;
        self.write(&path, bytes).map_err(|source| self.not_written(&path, bytes.len(), source))?;
        Ok(sha256)
    }

    /// Length of what is kept under a name, if anything is. The bytes are not looked at.
    pub fn size(&self, sha256: &str) -> Result<Option<u64>, ArtifactError> {
        let path = self.path(sha256)?;
        match fs::metadata(&path) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("look at", &path)(error)),
        }
    }

    /// Opens what is kept under a name, for contents that are too long for the memory; whoever reads them to the end checks the digest.
    pub fn open_file(&self, sha256: &str) -> Result<(File, u64), ArtifactError> {
        let path = self.path(sha256)?;
        let open = || {
            let file = File::open(&path)?;
            let length = file.metadata()?.len();
            Ok((file, length))
        };
        open().map_err(
            |error: io::Error| {
                if error.kind() == ErrorKind::NotFound { self.missing(sha256) } else { failed("open", &path)(error) }
            },
        )
    }

    /// Gives back the bytes of a name, checked against it.
    pub fn get(&self, sha256: &str) -> Result<Vec<u8>, ArtifactError> {
        let path = self.path(sha256)?;
        let bytes = fs::read(&path)
            .map_err(|source| if source.kind() == ErrorKind::NotFound { self.missing(sha256) } else { failed("read", &path)(source) })?;
        let found = digest(&bytes);
        if found != sha256 {
            return Err(ArtifactError::Damaged { sha256: sha256.to_owned(), found, folder: self.folder.clone() });
        }
        Ok(bytes)
    }

    /// Where a name's bytes are. Names come from rows and URLs: nothing but digits reaches the file system.
    fn path(&self, sha256: &str) -> Result<PathBuf, ArtifactError> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if sha256.len() != 64 || !sha256.bytes().all(is_digit) {
            return Err(ArtifactError::BadName(sha256.chars().take(80).collect()));
        }
        let (first, rest) = sha256.split_at(2);
        Ok(self.folder.join(first).join(rest))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = NamedTempFile::new_in(self.unfinished())?;
        file.write_all(bytes)?;
        self.name(file, path)
    }

    /// Gives a whole file its name, for good.
    fn name(&self, file: NamedTempFile, path: &Path) -> io::Result<()> {
        file.as_file().sync_all()?;
        let parent = path.parent().expect("every artifact has a folder");
        fs::create_dir_all(parent)?;
        file.persist(path)?;
        // The new name is durable only when its folder is (fsync(2)), and the folder only when its own is.
        File::open(parent)?.sync_all()?;
        File::open(&self.folder)?.sync_all()
    }

    fn missing(&self, sha256: &str) -> ArtifactError {
        ArtifactError::Missing { sha256: sha256.to_owned(), folder: self.folder.clone() }
    }

    fn not_written(&self, path: &Path, bytes: usize, source: io::Error) -> ArtifactError {
        if matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
            ArtifactError::Full { folder: self.folder.clone(), bytes }
        } else {
            failed("write", path)(source)
        }
    }

    fn unfinished(&self) -> PathBuf {
        self.folder.join("unfinished")
    }

    /// The age of a file is taken from a file made now: the folder's own clock, which other coordinators may share.
    fn remove_leftovers(&self) -> io::Result<()> {
        let probe = NamedTempFile::new_in(self.unfinished())?;
        let now = probe.as_file().metadata()?.modified()?;
        for entry in fs::read_dir(self.unfinished())? {
            let entry = entry?;
            // One that is gone was finished or removed by another coordinator.
            let Ok(modified) = entry.metadata().and_then(|metadata| metadata.modified()) else { continue };
            if now.duration_since(modified).is_ok_and(|age| age > UNFINISHED_AFTER) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ArtifactError {
    let path = path.to_owned();
    move |source| ArtifactError::Io { action, path, source }
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    use std::fmt::Write;
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes any text");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of `abc` (FIPS 180-4, example B.1).
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn artifacts() -> (tempfile::TempDir, Artifacts) {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::open(folder.path().join("artifacts")).unwrap();
        (folder, artifacts)
    }

    #[test]
    fn bytes_come_back_under_their_digest() {
        let (_folder, artifacts) = artifacts();
        assert_eq!(artifacts.put(b"abc").unwrap(), ABC);
        assert_eq!(artifacts.get(ABC).unwrap(), b"abc");
        let empty = artifacts.put(b"").unwrap();
        assert_eq!(artifacts.get(&empty).unwrap(), b"");
        assert_eq!(fs::read_dir(artifacts.unfinished()).unwrap().count(), 0, "nothing is left aside");
    }

    #[test]
    fn the_same_bytes_are_written_once() {
        use std::os::unix::fs::MetadataExt;
        let (_folder, artifacts) = artifacts();
        let inode = |name: &str| fs::metadata(artifacts.path(name).unwrap()).unwrap().ino();
        let first = artifacts.put(b"abc").unwrap();
        let before = inode(&first);
        artifacts.put(b"abc").unwrap();
        assert_eq!(inode(&first), before);
    }

    #[test]
    fn damage_is_seen_and_healed_by_the_next_put() {
        let (_folder, artifacts) = artifacts();
        artifacts.put(b"abc").unwrap();
        fs::write(artifacts.path(ABC).unwrap(), b"abd").unwrap();
        assert!(matches!(artifacts.get(ABC), Err(ArtifactError::Damaged { .. })));
        artifacts.put(b"abc").unwrap();
        assert_eq!(artifacts.get(ABC).unwrap(), b"abc");
    }

    #[test]
    fn only_digests_are_names() {
        let (_folder, artifacts) = artifacts();
        assert!(matches!(artifacts.get(ABC), Err(ArtifactError::Missing { .. })));
        for name in ["", "..", "../../etc/passwd", &ABC[1..], &ABC.to_uppercase(), &format!("{ABC}0"), &ABC.replace('b', "/"), "ä"] {
            assert!(matches!(artifacts.get(name), Err(ArtifactError::BadName(_))), "{name}");
        }
    }

    #[test]
    fn only_old_leftovers_are_removed() {
        let (folder, artifacts) = artifacts();
        let (old, new) = (artifacts.unfinished().join("old"), artifacts.unfinished().join("new"));
        for path in [&old, &new] {
            fs::write(path, "half").unwrap();
        }
        let now = fs::metadata(&old).unwrap().modified().unwrap();
        File::options().write(true).open(&old).unwrap().set_modified(now - UNFINISHED_AFTER * 2).unwrap();
        Artifacts::open(folder.path().join("artifacts")).unwrap();
        assert!(!old.exists() && new.exists());
    }

    #[test]
    fn a_folder_that_cannot_be_made_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let message = Artifacts::open(file).unwrap_err().to_string();
        assert!(message.contains("must exist on a local file system and be writable"), "{message}");
    }

    /// A real full disk: a tmpfs of 64 KiB, which takes root to mount.
    #[test]
    fn a_full_disk_loses_nothing() {
        let Some(mount) = tmpfs::Mounted::new("64k") else { return };
        let artifacts = Artifacts::open(mount.path()).unwrap();
        artifacts.put(b"abc").unwrap();
        let large: Vec<u8> = (0..200_000u32).map(|number| number.to_le_bytes()[0]).collect();
        let error = artifacts.put(&large).unwrap_err();
        assert!(matches!(&error, ArtifactError::Full { bytes: 200_000, .. }), "{error}");
        assert!(matches!(artifacts.get(&digest(&large)), Err(ArtifactError::Missing { .. })));
        assert_eq!(artifacts.get(ABC).unwrap(), b"abc");
        assert_eq!(fs::read_dir(artifacts.unfinished()).unwrap().count(), 0, "what was written aside is gone");
        artifacts.put(b"there is space again").unwrap();
    }

    mod tmpfs {
        use std::io::Write;
        use std::path::Path;

        use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

        /// A small file system; unmounted when this is dropped.
        pub(super) struct Mounted(tempfile::TempDir);

        impl Mounted {
            pub(super) fn new(size: &str) -> Option<Mounted> {
                let folder = tempfile::tempdir().unwrap();
                let options = std::ffi::CString::new(format!("size={size}")).unwrap();
                match mount("tmpfs", folder.path(), "tmpfs", MountFlags::empty(), options.as_c_str()) {
                    Ok(()) => Some(Mounted(folder)),
                    Err(reason) => {
                        let required = std::env::var("BLKLAB_REQUIRE_ROOT").as_deref() == Ok("1");
                        assert!(!required, "a full disk cannot be tested: cannot mount a tmpfs: {reason}");
                        // Written past the capture of the test harness, which would swallow it.
                        let _ = writeln!(std::io::stderr(), "skipped the test of a full disk: cannot mount a tmpfs: {reason}");
                        None
                    }
                }
            }

            pub(super) fn path(&self) -> &Path {
                self.0.path()
            }
        }

        impl Drop for Mounted {
            fn drop(&mut self) {
                let _ = unmount(self.0.path(), UnmountFlags::DETACH);
            }
        }
    }
}
