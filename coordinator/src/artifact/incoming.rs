//! Bytes that come piece by piece and are too many for the memory: written aside while they are digested, named when they are whole.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::{ArtifactError, Artifacts, failed, hex};

/// A file on its way in; gone again unless it is kept.
#[derive(Debug)]
pub struct Incoming {
    artifacts: Arc<Artifacts>,
    path: PathBuf,
    wanted: String,
    file: NamedTempFile,
    hash: Sha256,
    bytes: u64,
    limit: u64,
}

impl Incoming {
    /// Begins to take in what shall be found under `sha256`, at most `limit` bytes.
    pub fn begin(artifacts: &Arc<Artifacts>, sha256: &str, limit: u64) -> Result<Incoming, ArtifactError> {
        let path = artifacts.path(sha256)?;
        let aside = artifacts.unfinished();
        let file = NamedTempFile::new_in(&aside).map_err(failed("write in", &aside))?;
        Ok(Incoming { artifacts: artifacts.clone(), path, wanted: sha256.to_owned(), file, hash: Sha256::new(), bytes: 0, limit })
    }

    /// Takes the next piece.
    pub fn write(&mut self, piece: &[u8]) -> Result<(), ArtifactError> {
        let bytes = self.bytes + piece.len() as u64;
        if bytes > self.limit {
            return Err(ArtifactError::TooLong { limit: self.limit });
        }
        self.file.write_all(piece).map_err(|source| self.artifacts.not_written(&self.path, piece.len(), source))?;
        self.hash.update(piece);
        self.bytes = bytes;
        Ok(())
    }

    /// Keeps what came if it is what its name says, in the place of what was kept under it before, and gives its length.
    pub fn keep(self) -> Result<u64, ArtifactError> {
        let found = hex(&self.hash.finalize());
        if found != self.wanted {
            return Err(ArtifactError::WrongDigest { wanted: self.wanted, found, bytes: self.bytes });
        }
        self.artifacts.name(self.file, &self.path).map_err(|source| self.artifacts.not_written(&self.path, 0, source))?;
        Ok(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::digest;

    fn artifacts() -> (tempfile::TempDir, Arc<Artifacts>) {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::open(folder.path().join("blobs")).unwrap();
        (folder, Arc::new(artifacts))
    }

    fn left_aside(artifacts: &Artifacts) -> usize {
        std::fs::read_dir(artifacts.unfinished()).unwrap().count()
    }

    #[test]
    fn pieces_become_one_file_under_its_digest() {
        let (_folder, artifacts) = artifacts();
        let name = digest(b"kernel image");
        for _ in 0..2 {
            let mut incoming = Incoming::begin(&artifacts, &name, 12).unwrap();
            for piece in ["kernel", " ", "image"] {
                incoming.write(piece.as_bytes()).unwrap();
            }
            assert_eq!(incoming.keep().unwrap(), 12);
        }
        assert_eq!((artifacts.get(&name).unwrap().as_slice(), artifacts.size(&name).unwrap()), (&b"kernel image"[..], Some(12)));
        assert_eq!(artifacts.open_file(&name).unwrap().1, 12);
        assert_eq!(left_aside(&artifacts), 0);
    }

    #[test]
    fn what_is_broken_off_too_long_or_another_file_leaves_nothing_behind() {
        let (_folder, artifacts) = artifacts();
        let name = digest(b"kernel");
        let mut broken_off = Incoming::begin(&artifacts, &name, 6).unwrap();
        broken_off.write(b"ker").unwrap();
        drop(broken_off);
        let mut too_long = Incoming::begin(&artifacts, &name, 6).unwrap();
        too_long.write(b"kernel").unwrap();
        assert!(matches!(too_long.write(b"s"), Err(ArtifactError::TooLong { limit: 6 })));
        drop(too_long);
        let mut other = Incoming::begin(&artifacts, &name, 6).unwrap();
        other.write(b"kernal").unwrap();
        assert!(matches!(other.keep(), Err(ArtifactError::WrongDigest { bytes: 6, .. })));
        assert!(matches!(Incoming::begin(&artifacts, "../x", 6), Err(ArtifactError::BadName(_))));
        assert_eq!((artifacts.size(&name).unwrap(), left_aside(&artifacts)), (None, 0));
    }
}
