//! Which files there are behind the arguments of one side, in the order of a person. Opens none.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use blklab_compare::names::{Place, natural};

/// Files of a side: a folder with more is something else than results.
const MAX_FILES: usize = 100_000;

/// Folders below folders; also ends loops of symbolic links.
const MAX_DEPTH: usize = 16;

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    /// Where it is.
    pub(super) path: PathBuf,
    /// Below the folder that was named.
    pub(super) place: Place,
    /// Was it named itself? Then it must be readable; in a folder anything may lie about.
    pub(super) named: bool,
    /// Length, for the progress bar.
    pub(super) bytes: u64,
}

/// The files behind the arguments, folders expanded, hidden files left out.
pub(super) fn find(paths: &[PathBuf]) -> anyhow::Result<Vec<Source>> {
    let mut found = Vec::new();
    for path in paths {
        let metadata = fs::metadata(path).with_context(|| format!("failed to open {}", path.display()))?;
        if metadata.is_dir() {
            let before = found.len();
            walk(path, &Vec::new(), &mut found)?;
            if found.len() == before {
                bail!("there are no files in {}", path.display());
            }
        } else {
            let place = vec![name(path)];
            found.push(Source { path: path.clone(), place, named: true, bytes: metadata.len() });
        }
    }
    Ok(found)
}

fn walk(folder: &Path, place: &Place, found: &mut Vec<Source>) -> anyhow::Result<()> {
    if place.len() > MAX_DEPTH {
        bail!("{} is more than {MAX_DEPTH} folders deep; name the folder of the results themselves", folder.display());
    }
    let failed = || format!("failed to read the folder {}", folder.display());
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        entries.push(entry.path());
    }
    entries.sort_by(|a, b| natural(&name(a), &name(b)));
    for path in entries.into_iter().filter(|path| !name(path).starts_with('.')) {
        // A link that leads nowhere is no result.
        let Ok(metadata) = fs::metadata(&path) else { continue };
        let mut place = place.clone();
        place.push(name(&path));
        if metadata.is_dir() {
            walk(&path, &place, found)?;
        } else if metadata.is_file() {
            if found.len() >= MAX_FILES {
                bail!("there are more than {MAX_FILES} files; name the folder of the results themselves");
            }
            found.push(Source { path, place, named: false, bytes: metadata.len() });
        }
    }
    Ok(())
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_read_in_the_order_of_a_person_without_hidden_files() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["run-10.json", "run-2.json", ".hidden", "ssd/run-1.json"] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let found = find(&[folder.path().to_owned()]).unwrap();
        let places: Vec<String> = found.iter().map(|source| source.place.join("/")).collect();
        assert_eq!(places, ["run-2.json", "run-10.json", "ssd/run-1.json"]);
        assert!(found.iter().all(|source| !source.named && source.bytes == 1));
    }

    #[test]
    fn what_is_not_there_or_empty_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = find(&[folder.path().to_owned()]).unwrap_err().to_string();
        assert!(error.contains("there are no files in"), "{error}");
        assert!(find(&[folder.path().join("nothing")]).is_err());
    }

    #[test]
    fn a_loop_of_links_ends() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
        let error = find(&[folder.path().to_owned()]).unwrap_err().to_string();
        assert!(error.contains("folders deep"), "{error}");
    }
}
