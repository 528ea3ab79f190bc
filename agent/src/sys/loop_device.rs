//! Loop devices with direct I/O: losetup(8) makes and removes them, sysfs tells what they are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::roots::Roots;
use super::{Result, SysError, block, command, files};
use crate::clock;

/// losetup answers at once unless udev or the kernel hangs.
const LOSETUP_LIMIT: Duration = Duration::from_secs(20);

/// A loop device that was detached while somebody still had it open goes when that one closes it (LO_FLAGS_AUTOCLEAR).
const DETACH_PATIENCE: Duration = Duration::from_secs(5);

/// Attaches a file and gives the kernel name of the new device.
///
/// Direct I/O is not a nicety: without it the backing file is read through the page cache of the host, and neither the limits below
/// the elevator nor the times are those of a disk.
pub fn attach(roots: &Roots, file: &Path) -> Result<String> {
    let path = file.to_string_lossy();
    let shown = command::run(&["losetup", "--find", "--show", "--direct-io=on", "--nooverlap", &path], LOSETUP_LIMIT)?;
    let device = String::from_utf8_lossy(&shown.stdout.head).trim().to_owned();
    let name = device.trim_start_matches("/dev/").to_owned();
    if files::read_if_there(&roots.block(&name).join("loop/dio")).as_deref() == Some("1") {
        return Ok(name);
    }
    detach(roots, &name, file)?;
    Err(SysError::Unsupported {
        act: format!("attach {} with direct I/O", file.display()),
        reason: "its file system refuses direct I/O; choose a folder on ext4 or xfs".into(),
    })
}

/// Detaches a device if `file` still is what it is attached to; a device of somebody else is left alone.
pub fn detach(roots: &Roots, name: &str, file: &Path) -> Result<()> {
    if backing_file(roots, name).as_deref() != Some(file) {
        return Ok(());
    }
    command::run(&["losetup", "--detach", &roots.device(name).to_string_lossy()], LOSETUP_LIMIT)?;
    let deadline = clock::monotonic() + DETACH_PATIENCE;
    while backing_file(roots, name).as_deref() == Some(file) {
        if clock::monotonic() > deadline {
            return Err(SysError::Unsupported {
                act: format!("detach {name}"),
                reason: "a process still has it open; fuser(1) names it".into(),
            });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Every loop device that is attached to `file`.
pub fn attached_to(roots: &Roots, file: &Path) -> Vec<String> {
    let names = block::folder_names(&roots.sys.join("block"));
    names.into_iter().filter(|name| backing_file(roots, name).as_deref() == Some(file)).collect()
}

/// The file of a loop device, if one is attached. The kernel marks a file that was removed.
pub fn backing_file(roots: &Roots, name: &str) -> Option<PathBuf> {
    let text = files::read_if_there(&roots.block(name).join("loop/backing_file"))?;
    Some(PathBuf::from(text.trim_end_matches(" (deleted)")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_found_by_their_file() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots::under(root.path());
        for (name, file) in [("loop0", "/var/other"), ("loop1", "/lab/a.img (deleted)"), ("loop2", "/lab/b.img")] {
            let folder = roots.block(name).join("loop");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("backing_file"), format!("{file}\n")).unwrap();
        }
        std::fs::create_dir_all(roots.block("vda")).unwrap();
        assert_eq!(attached_to(&roots, Path::new("/lab/a.img")), ["loop1"]);
        assert!(attached_to(&roots, Path::new("/lab/none.img")).is_empty());
        detach(&roots, "loop0", Path::new("/lab/a.img")).expect("a device of somebody else is left alone");
    }
}
