//! What the folder of the objects holds, and when it must be emptied first. make(1) goes by times alone: an object that a killed compiler
//! left half-written looks finished, and objects of another version or compiler may look like this one's.

use std::fs;

use serde::{Deserialize, Serialize};

use super::folder::Folder;
use super::source::remove_dir;
use crate::sys::{SysError, files};

/// What the objects are of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objects {
    /// `make kernelversion`.
    pub version: String,
    /// Compiler and linker.
    pub toolchain: String,
    /// False from before make(1) starts until it has ended by itself.
    pub is_whole: bool,
}

impl Objects {
    /// Makes the folder fit for a build of this version with these tools; true when it had to be emptied.
    pub fn ready(folder: &Folder, version: &str, toolchain: &str) -> Result<bool, SysError> {
        let next = Objects { version: version.to_owned(), toolchain: toolchain.to_owned(), is_whole: true };
        let known = fs::read(folder.state()).ok().and_then(|bytes| serde_json::from_slice::<Objects>(&bytes).ok());
        let keep = known.as_ref() == Some(&next);
        let act = format!("make {}", folder.build().display());
        if !keep {
            remove_dir(&folder.build())?;
            fs::create_dir_all(folder.build()).map_err(SysError::io(act))?;
        }
        next.save(folder)?;
        Ok(!keep)
    }

    /// Notes that make(1) starts, or that it ended by itself.
    pub fn mark(folder: &Folder, is_whole: bool) -> Result<(), SysError> {
        let path = folder.state();
        let bytes = fs::read(&path).map_err(SysError::io(format!("read {}", path.display())))?;
        let objects: Objects = serde_json::from_slice(&bytes).map_err(SysError::io(format!("read {}", path.display())))?;
        Objects { is_whole, ..objects }.save(folder)
    }

    fn save(&self, folder: &Folder) -> Result<(), SysError> {
        let bytes = serde_json::to_vec(self).map_err(SysError::io("write down the state of the objects"))?;
        files::replace(&folder.state(), &bytes, 0o644)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_kept_only_when_they_are_whole_and_of_the_same_kind() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        let object = folder.build().join("x.o");
        let emptied = |version: &str, toolchain: &str| {
            fs::write(&object, "x").unwrap();
            let emptied = Objects::ready(&folder, version, toolchain).unwrap();
            assert_eq!(object.exists(), !emptied);
            emptied
        };
        assert!(emptied("6.1.1", "gcc 12"), "nobody knows what they are");
        assert!(!emptied("6.1.1", "gcc 12"));
        assert!(emptied("6.1.2", "gcc 12"));
        assert!(emptied("6.1.2", "gcc 13"));
        Objects::mark(&folder, false).unwrap();
        assert!(emptied("6.1.2", "gcc 13"), "a build was killed");
        Objects::mark(&folder, false).unwrap();
        Objects::mark(&folder, true).unwrap();
        assert!(!emptied("6.1.2", "gcc 13"));
    }
}
