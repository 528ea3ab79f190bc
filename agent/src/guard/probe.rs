//! Reads the facts that [`super::decide`] needs. It opens disks for reading only, and never waits for one longer than half a minute.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use blklab_model::id::DiskId;

use super::{Signature, Standing};
use crate::sys::block::{self, DevNumber};
use crate::sys::limited::limited;
use crate::sys::roots::Roots;
use crate::sys::{self, SysError, command, files, mount};

/// A disk that cannot be read within this time is not one to measure on.
const READ_LIMIT: Duration = Duration::from_secs(30);

/// Read at both ends before blkid is believed. Nearly every super block that it knows lies within the first or the last MiB.
const READ_BYTES: u64 = 1 << 20;

/// blkid(8): nothing was found, *or* the device could not be read. On its own it never means blank.
const BLKID_NOTHING: i32 = 2;

/// blkid(8): several signatures contradict each other.
const BLKID_AMBIVALENT: i32 = 8;

/// Who is asked about.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// Kernel name.
    pub name: &'a str,
    /// Its stable id, or the one that the agent gave its own loop disk.
    pub id: Option<&'a DiskId>,
    /// True when the configuration lists it.
    pub allowed: bool,
    /// How many disks of the host carry the same id.
    pub same_id: usize,
}

/// Looks at a disk.
pub fn standing(roots: &Roots, subject: &Subject<'_>) -> sys::Result<Standing> {
    let name = subject.name;
    let folder = roots.block(name);
    let partitions = block::partitions(roots, name);
    let folders: Vec<_> = std::iter::once(folder.clone()).chain(partitions.iter().map(|part| folder.join(part))).collect();
    let numbers = folders.iter().map(|folder| block::number(folder)).collect::<sys::Result<Vec<_>>>()?;
    let devices: Vec<String> =
        std::iter::once(name).chain(partitions.iter().map(String::as_str)).map(|name| format!("/dev/{name}")).collect();
    let device = roots.device(name);
    Ok(Standing {
        name: name.to_owned(),
        id: subject.id.cloned(),
        allowed: subject.allowed,
        same_id: subject.same_id,
        mounted: mounted(roots, &numbers, &devices)?,
        swap: swap_areas(roots, &devices),
        holders: folders.iter().flat_map(|folder| block::holders(folder)).collect(),
        read_only: files::read_if_there(&folder.join("ro")).as_deref() == Some("1"),
        signature: signature(&device),
        claimed: is_claimed(&device),
        partitions,
    })
}

/// By device number, and by name as well: btrfs mounts have numbers of their own.
fn mounted(roots: &Roots, numbers: &[DevNumber], devices: &[String]) -> sys::Result<Vec<String>> {
    let on_it = |m: &mount::Mounted| numbers.contains(&m.dev) || devices.contains(&real_path(&m.source));
    Ok(mount::mounted(&roots.proc)?.into_iter().filter(on_it).map(|m| m.dir.display().to_string()).collect())
}

fn swap_areas(roots: &Roots, devices: &[String]) -> Vec<String> {
    let text = std::fs::read_to_string(roots.proc.join("swaps")).unwrap_or_default();
    let areas = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    areas.filter(|area| devices.contains(&real_path(area))).map(str::to_owned).collect()
}

/// Follows `/dev/disk/by-uuid/...` and `/dev/mapper/...` to the device.
fn real_path(source: &str) -> String {
    Path::new(source).canonicalize().map_or_else(|_| source.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// What `blkid --probe` reads from the disk itself; its cache is not asked. A disk is blank only if it could be read, too: blkid has one
/// answer for "nothing there" and "no answer from there".
pub fn signature(device: &Path) -> Signature {
    let unknown = |reason: String| Signature::Unknown { reason };
    let path = device.to_string_lossy();
    let act = format!("read {path}");
    let owned = device.to_owned();
    let read = limited(&act, READ_LIMIT, move || read_both_ends(&owned).map_err(SysError::io(format!("read {}", owned.display()))));
    if let Err(error) = read {
        return unknown(format!("failed to {error}; look into the kernel log, check the disk and its cable"));
    }
    let ended = match command::run_any(&["blkid", "--probe", "--output", "export", &path], READ_LIMIT) {
        Ok(ended) => ended,
        Err(error) => return unknown(error.to_string()),
    };
    match ended.status.code() {
        Some(0) => parse_blkid(&String::from_utf8_lossy(&ended.stdout.head)),
        Some(BLKID_NOTHING) => Signature::Blank,
        Some(BLKID_AMBIVALENT) => unknown(format!("it carries several signatures; if nothing on it is needed, run `wipefs --all {path}`")),
        Some(_) | None => unknown(format!("blkid failed ({}){}", ended.status, command::last_words(&ended.stderr.last_lines(2)))),
    }
}

/// Reads the first and the last MiB, as far as the device reaches.
fn read_both_ends(device: &Path) -> std::io::Result<()> {
    let mut file = File::open(device)?;
    let size = file.seek(SeekFrom::End(0))?;
    if size == 0 {
        return Err(std::io::Error::other("it has no size"));
    }
    let mut buffer = vec![0; usize::try_from(size.min(READ_BYTES)).expect("1 MiB fits")];
    for offset in [0, size - buffer.len() as u64] {
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(&mut buffer)?;
    }
    Ok(())
}

/// `KEY=value` lines. Something was found, so a kind that we do not know is still something.
fn parse_blkid(text: &str) -> Signature {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).map(str::to_owned);
    let kind = value("TYPE").or_else(|| value("PTTYPE")).unwrap_or_else(|| "something unknown".to_owned());
    Signature::Found { kind, uuid: value("UUID") }
}

/// The kernel gives an exclusive claim on a block device to one user only (open(2), O_EXCL without O_CREAT).
fn is_claimed(device: &Path) -> bool {
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(device);
    opened.is_err_and(|error| error.kind() == std::io::ErrorKind::ResourceBusy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blkid_is_read() {
        let ext4 = "DEVNAME=/dev/loop0\nUUID=4fc9\nBLOCK_SIZE=4096\nTYPE=ext4\nUSAGE=filesystem\n";
        assert_eq!(parse_blkid(ext4), Signature::Found { kind: "ext4".into(), uuid: Some("4fc9".into()) });
        let gpt = "DEVNAME=/dev/sda\nPTUUID=4fc9\nPTTYPE=gpt\n";
        assert_eq!(parse_blkid(gpt), Signature::Found { kind: "gpt".into(), uuid: None });
        assert_eq!(parse_blkid("FOO=1"), Signature::Found { kind: "something unknown".into(), uuid: None });
    }

    #[test]
    fn what_cannot_be_read_is_never_blank() {
        let dir = tempfile::tempdir().unwrap();
        let empty = dir.path().join("empty");
        File::create(&empty).unwrap();
        for path in [dir.path().join("nonesuch"), dir.path().to_owned(), empty] {
            assert!(matches!(signature(&path), Signature::Unknown { .. }), "{}", path.display());
        }
        let short = dir.path().join("short");
        std::fs::write(&short, [0; 4096]).unwrap();
        read_both_ends(&short).expect("a device shorter than both ends is read as far as it goes");
    }

    #[test]
    fn use_of_a_partition_is_use_of_the_disk() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots::under(root.path());
        for (folder, files) in [("", vec![("dev", "8:16"), ("ro", "0")]), ("sdb1", vec![("dev", "8:17"), ("partition", "1")])] {
            let folder = roots.block("sdb").join(folder);
            std::fs::create_dir_all(folder.join("holders/dm-3")).unwrap();
            for (file, text) in files {
                std::fs::write(folder.join(file), text).unwrap();
            }
        }
        std::fs::create_dir_all(roots.proc.join("self")).unwrap();
        std::fs::write(
            roots.proc.join("self/mountinfo"),
            "30 1 8:17 / /data rw - ext4 /dev/sdb1 rw\n31 1 0:40 / /pool rw - btrfs /dev/sdb rw\n32 1 8:1 / / rw - ext4 /dev/sda1 rw\n",
        )
        .unwrap();
        std::fs::write(roots.proc.join("swaps"), "Filename Type\n/dev/sdb1 partition 1\n/dev/sda2 partition 1\n").unwrap();
        let id: DiskId = "wwn-0x5".parse().unwrap();
        let standing = standing(&roots, &Subject { name: "sdb", id: Some(&id), allowed: true, same_id: 1 }).unwrap();
        assert_eq!(standing.mounted, ["/data", "/pool"]);
        assert_eq!(standing.swap, ["/dev/sdb1"]);
        assert_eq!(standing.holders, ["dm-3", "dm-3"]);
        assert_eq!(standing.partitions, ["sdb1"]);
    }
}
