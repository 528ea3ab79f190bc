//! Files of kernels that a host is to boot: fetched once, checked by their digest, kept in a folder of bounded size.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use blklab_model::kernel::Blob;
use blklab_wire::agent::KernelSpec;
use sha2::{Digest, Sha256};

use super::client::{Client, ClientError};
use super::runner::ReadyKernel;
use crate::sys::SysError;

/// Kernels of an experiment stay while it runs, those of former ones go: a Debian kernel with the modules of a lab takes some 60 MB.
const KEPT_BYTES: u64 = 4 << 30;

/// Why a kernel is not here.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// The coordinator does not give it.
    #[error("cannot fetch the kernel `{name}`: {error}")]
    Client {
        /// Its name.
        name: String,
        /// Why not.
        error: ClientError,
    },
    /// It cannot be kept.
    #[error("failed to {0}")]
    Sys(#[from] SysError),
}

/// Makes the files of a kernel be in `folder`.
pub(super) async fn fetch(client: &Client, folder: &Path, kernel: &KernelSpec) -> Result<ReadyKernel, FetchError> {
    let spec = match kernel {
        KernelSpec::AsBooted => return Ok(ReadyKernel::AsBooted),
        KernelSpec::Boot(spec) => spec,
    };
    let mut paths = Vec::new();
    for blob in std::iter::once(&spec.image).chain(&spec.modules) {
        let path = folder.join(&blob.sha256);
        if !is_whole(&path, blob) {
            make_room(folder, blob.bytes)?;
            let mut file = Aside::new(folder, &blob.sha256)?;
            let fetched = client.blob(&blob.sha256, |chunk| file.write(chunk)).await;
            fetched.map_err(|error| FetchError::Client { name: spec.name.to_string(), error })?;
            file.keep(blob)?;
        }
        paths.push(path);
    }
    let mut paths = paths.into_iter();
    let image = paths.next().expect("an image is always fetched");
    Ok(ReadyKernel::Boot { spec: Box::new(spec.clone()), image, modules: paths.next() })
}

/// A file of the right length was checked when it came; one that was damaged since fails its boot, not a measurement.
fn is_whole(path: &Path, blob: &Blob) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.len() == blob.bytes)
}

/// Removes the files that were fetched longest ago until `bytes` more fit.
fn make_room(folder: &Path, bytes: u64) -> Result<(), SysError> {
    fs::create_dir_all(folder).map_err(SysError::io(format!("make {}", folder.display())))?;
    let entries = fs::read_dir(folder).map_err(SysError::io(format!("read {}", folder.display())))?;
    let mut files: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        })
        .collect();
    files.sort();
    let mut kept: u64 = files.iter().map(|(_, length, _)| length).sum();
    for (_, length, path) in files {
        if kept + bytes <= KEPT_BYTES {
            break;
        }
        // Gone already: another host of this controller made room, too.
        let _ = fs::remove_file(path);
        kept -= length;
    }
    Ok(())
}

/// A file while it is fetched; it gets its name when it is whole.
struct Aside {
    file: File,
    path: PathBuf,
    name: PathBuf,
    hash: Sha256,
    bytes: u64,
}

impl Aside {
    fn new(folder: &Path, sha256: &str) -> Result<Self, SysError> {
        let random = getrandom::u64().map_err(|error| SysError::io("draw a random number")(io::Error::other(error)))?;
        let path = folder.join(format!("{random:016x}.part"));
        let file = File::create_new(&path).map_err(SysError::io(format!("make {}", path.display())))?;
        Ok(Aside { file, path, name: folder.join(sha256), hash: Sha256::new(), bytes: 0 })
    }

    fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.hash.update(chunk);
        self.bytes += chunk.len() as u64;
        self.file.write_all(chunk)
    }

    fn keep(self, blob: &Blob) -> Result<(), SysError> {
        let digest: String = self.hash.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if digest != blob.sha256 || self.bytes != blob.bytes {
            let got = io::Error::other(format!("{} bytes with SHA-256 {digest} came; a proxy or a damaged artifact store", self.bytes));
            return Err(SysError::io(format!("fetch {}", blob.sha256))(got));
        }
        fs::rename(&self.path, &self.name).map_err(SysError::io(format!("name {}", self.name.display())))
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // After a rename there is nothing under this name.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(bytes: &[u8]) -> Blob {
        let digest = Sha256::digest(bytes);
        Blob { sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(), bytes: bytes.len() as u64 }
    }

    #[test]
    fn what_is_not_what_was_asked_for_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = blob(b"kernel");
        let mut aside = Aside::new(dir.path(), &wanted.sha256).unwrap();
        aside.write(b"kernal").unwrap();
        assert!(aside.keep(&wanted).unwrap_err().to_string().contains("6 bytes with SHA-256"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);

        let mut aside = Aside::new(dir.path(), &wanted.sha256).unwrap();
        aside.write(b"kern").unwrap();
        aside.write(b"el").unwrap();
        aside.keep(&wanted).unwrap();
        assert_eq!(fs::read(dir.path().join(&wanted.sha256)).unwrap(), b"kernel");
        assert!(is_whole(&dir.path().join(&wanted.sha256), &wanted));
    }
}
