//! Removing what nothing names any more. What is used is the caller's knowledge.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::time::Duration;

use tempfile::NamedTempFile;

use super::{ArtifactError, Artifacts, failed};

impl Artifacts {
    /// Names of files that got their name longer ago than `age`. The clock is the folder's own, as for what is left unfinished.
    pub fn older_than(&self, age: Duration) -> Result<BTreeSet<String>, ArtifactError> {
        self.list_older_than(age).map_err(failed("look through", &self.folder))
    }

    /// Removes what is kept under a name. A name that is gone already is no error.
    pub fn remove(&self, sha256: &str) -> Result<(), ArtifactError> {
        let path = self.path(sha256)?;
        match fs::remove_file(&path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed("remove", &path)(error)),
        }
    }

    fn list_older_than(&self, age: Duration) -> io::Result<BTreeSet<String>> {
        let probe = NamedTempFile::new_in(self.unfinished())?;
        let now = probe.as_file().metadata()?.modified()?;
        let mut names = BTreeSet::new();
        for folder in fs::read_dir(&self.folder)? {
            let folder = folder?;
            let Some(first) = folder.file_name().to_str().map(str::to_owned).filter(|name| name.len() == 2) else { continue };
            for file in fs::read_dir(folder.path())? {
                let file = file?;
                let Some(name) = file.file_name().to_str().map(|rest| format!("{first}{rest}")) else { continue };
                let Ok(modified) = file.metadata().and_then(|metadata| metadata.modified()) else { continue };
                if self.path(&name).is_ok() && now.duration_since(modified).is_ok_and(|since| since > age) {
                    names.insert(name);
                }
            }
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_old_is_listed_and_only_what_is_named_is_removed() {
        const DAY: Duration = Duration::from_secs(24 * 3600);
        let folder = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::open(folder.path()).unwrap();
        let (old, new) = (artifacts.put(b"old").unwrap(), artifacts.put(b"new").unwrap());
        fs::write(folder.path().join(&old[..2]).join("README"), "not ours").unwrap();
        assert_eq!(artifacts.older_than(DAY).unwrap(), BTreeSet::new());
        let path = artifacts.path(&old).unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(modified - DAY * 2).unwrap();
        assert_eq!(artifacts.older_than(DAY).unwrap(), BTreeSet::from([old.clone()]));
        artifacts.remove(&old).unwrap();
        artifacts.remove(&old).unwrap();
        assert_eq!((artifacts.size(&old).unwrap(), artifacts.size(&new).unwrap()), (None, Some(3)));
        assert!(artifacts.remove("../README").is_err());
    }
}
