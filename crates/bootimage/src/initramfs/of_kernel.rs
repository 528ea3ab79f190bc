//! The part of the RAM disk that belongs to one kernel.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::tree::{InitramfsError, Tree};
use crate::modules::below_release;

/// The most that modules of a kernel may take: all those of a Debian kernel, unpacked, are some 400 MB.
const MAX_BYTES: u64 = 1 << 30;

/// The modules of a tar (`lib/modules/RELEASE/...`); other entries are refused. More files may be added before it is written behind the
/// base.
pub fn of_kernel(tar: impl Read) -> Result<Tree, InitramfsError> {
    let mut tree = Tree::new();
    let io = |error| InitramfsError::Io { path: PathBuf::from("the tar of modules"), error };
    let mut total = 0;
    for entry in tar::Archive::new(tar).entries().map_err(io)? {
        let mut entry = entry.map_err(io)?;
        let path = entry.path().map_err(io)?.into_owned();
        let is_folder = entry.header().entry_type().is_dir();
        if below_release(&path).is_none() {
            if is_folder {
                continue;
            }
            return Err(InitramfsError::Modules(format!(
                "the tar of modules holds {}, which is no part of lib/modules/RELEASE",
                path.display()
            )));
        }
        total += entry.size();
        if total > MAX_BYTES {
            return Err(InitramfsError::Modules(format!("the modules take more than {} MiB", MAX_BYTES >> 20)));
        }
        if is_folder {
            tree.folder(&path, 0o755)?;
        } else if entry.header().entry_type().is_file() {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(io)?;
            tree.file(&path, 0o644, bytes)?;
        } else if !is_link_to_source(&path) {
            return Err(InitramfsError::Modules(format!("the tar of modules holds {}, which is neither file nor folder", path.display())));
        }
    }
    Ok(tree)
}

/// `build` and `source` lead to a tree that only a builder has.
fn is_link_to_source(path: &Path) -> bool {
    path.ends_with("build") || path.ends_with("source")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tar(files: &[(&str, &str)]) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for (path, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o600);
            tar.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        let mut link = tar::Header::new_gnu();
        link.set_entry_type(tar::EntryType::Symlink);
        link.set_size(0);
        tar.append_link(&mut link, "lib/modules/6.1/build", "/usr/src/linux").unwrap();
        tar.into_inner().unwrap()
    }

    #[test]
    fn modules_go_where_lib_leads_to() {
        let tree = of_kernel(tar(&[("lib/modules/6.1/kernel/a.ko", "x"), ("lib/modules/6.1/modules.dep", "")]).as_slice()).unwrap();
        let paths: Vec<String> = tree.paths().map(|path| path.display().to_string()).collect();
        assert_eq!(
            paths[3..],
            ["usr/lib/modules/6.1", "usr/lib/modules/6.1/kernel", "usr/lib/modules/6.1/kernel/a.ko", "usr/lib/modules/6.1/modules.dep"]
        );
    }

    #[test]
    fn nothing_else_gets_in() {
        let error = of_kernel(tar(&[("etc/passwd", "x")]).as_slice()).unwrap_err();
        assert_eq!(error.to_string(), "the tar of modules holds etc/passwd, which is no part of lib/modules/RELEASE");
        let whole = tar(&[("lib/modules/6.1/a.ko", "0123456789")]);
        assert!(of_kernel(&whole[..515]).is_err(), "a tar that is cut");
    }
}
