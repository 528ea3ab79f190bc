//! Parts of what is to be built, from files of this machine.

use std::fs;
use std::path::{Path, PathBuf};

use super::spec::{ModuleSource, NamedText};
use crate::sys::SysError;

/// Larger than any patch, configuration or module source: a wrong file is noticed before it is read.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// A text, under its path as it was given.
pub fn text(path: &Path) -> Result<NamedText, SysError> {
    let act = format!("read {}", path.display());
    let length = path.metadata().map_err(SysError::io(act.clone()))?.len();
    if length > MAX_TEXT_BYTES {
        return Err(SysError::Unsupported {
            act,
            reason: format!("{length} bytes are more than the {MAX_TEXT_BYTES} that a text may have"),
        });
    }
    // Mails of other times are not UTF-8; git takes care of those that say so, the others lose a name's accents.
    let bytes = fs::read(path).map_err(SysError::io(act))?;
    Ok(NamedText { name: path.display().to_string(), text: String::from_utf8_lossy(&bytes).into_owned() })
}

/// A module, from the folder of its sources, whose name it gets.
pub fn module(folder: &Path) -> Result<ModuleSource, SysError> {
    let act = format!("read the module {}", folder.display());
    let folder = folder.canonicalize().map_err(SysError::io(act.clone()))?;
    let name = folder.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| SysError::Unsupported { act: act.clone(), reason: "its name is no text".to_owned() })?.to_owned();
    let entries = fs::read_dir(&folder).map_err(SysError::io(act.clone()))?.collect::<Result<Vec<_>, _>>().map_err(SysError::io(act))?;
    let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).filter(|path| is_source(path)).collect();
    paths.sort();
    let mut files = paths.iter().map(|path| text(path)).collect::<Result<Vec<_>, _>>()?;
    for file in &mut files {
        file.name = file.name.rsplit('/').next().unwrap_or_default().to_owned();
    }
    Ok(ModuleSource { name, files })
}

/// What an earlier build in that folder left is no source.
fn is_source(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_made = name.ends_with(".mod.c") || !matches!(path.extension().and_then(|end| end.to_str()), None | Some("c" | "h" | "S"));
    path.is_file() && !name.starts_with('.') && !is_made && !matches!(name, "modules" | "Module")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_read_without_what_was_made_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("lab_disk");
        fs::create_dir(&folder).unwrap();
        for name in ["Kbuild", "lab_disk.c", "lab_disk.h", "lab_disk.mod.c", "lab_disk.o", ".lab_disk.o.cmd", "Module.symvers", "README.md"]
        {
            fs::write(folder.join(name), "x").unwrap();
        }
        let module = module(&folder).unwrap();
        let names: Vec<&str> = module.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!((module.name.as_str(), names), ("lab_disk", vec!["Kbuild", "lab_disk.c", "lab_disk.h"]));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let error = text(Path::new("/nonesuch/0001.patch")).unwrap_err().to_string();
        assert!(error.starts_with("read /nonesuch/0001.patch: No such file"), "{error}");
    }
}
