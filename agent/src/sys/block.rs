//! Block devices in sysfs (Documentation/ABI/stable/sysfs-block): numbers, sizes, the queue, and which disk lies below a folder.

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;

use blklab_model::scheduler::{self, Tunables};

use super::files;
use super::roots::Roots;
use super::{Result, SysError};

/// Sizes in sysfs and /proc are counted in sectors of this many bytes, whatever the disk's own block size is.
pub const SECTOR_BYTES: u64 = 512;

/// Files of `queue/` that change how a disk performs; those that a kernel lacks are passed over.
const TUNABLES: [&str; 16] = [
    "add_random",
    "discard_max_bytes",
    "io_poll",
    "io_poll_delay",
    "io_timeout",
    "iostats",
    "max_sectors_kb",
    "nomerges",
    "nr_requests",
    "read_ahead_kb",
    "rotational",
    "rq_affinity",
    "throttle_sample_time",
    "wbt_lat_usec",
    "write_cache",
    "zoned",
];

/// Major and minor number of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DevNumber {
    /// Of the driver.
    pub major: u32,
    /// Of the device.
    pub minor: u32,
}

impl fmt::Display for DevNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DevNumber {
    type Err = ();
    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let (major, minor) = text.trim().split_once(':').ok_or(())?;
        Ok(DevNumber { major: major.parse().map_err(drop)?, minor: minor.parse().map_err(drop)? })
    }
}

/// The number of a disk or partition by its folder in sysfs.
pub fn number(folder: &Path) -> Result<DevNumber> {
    let file = folder.join("dev");
    let text = files::read(&file)?;
    text.parse()
        .map_err(|()| SysError::Unsupported { act: format!("read {}", file.display()), reason: format!("`{text}` is no device number") })
}

/// Bytes of a disk.
pub fn size_bytes(roots: &Roots, disk: &str) -> Result<u64> {
    let file = roots.block(disk).join("size");
    let text = files::read(&file)?;
    let sectors: u64 = text.parse().map_err(|_| SysError::Unsupported {
        act: format!("read {}", file.display()),
        reason: format!("`{text}` is no number of sectors"),
    })?;
    Ok(sectors * SECTOR_BYTES)
}

/// Names of the partitions of a disk.
pub fn partitions(roots: &Roots, disk: &str) -> Vec<String> {
    folder_names(&roots.block(disk)).into_iter().filter(|name| roots.block(disk).join(name).join("partition").exists()).collect()
}

/// What is stacked on a disk or partition (`dm-0`, `md127`), by its folder in sysfs.
pub fn holders(folder: &Path) -> Vec<String> {
    folder_names(&folder.join("holders"))
}

/// Sorted names of a folder's entries; none when it is not there.
pub fn folder_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The schedulers that a disk offers, and the active one.
pub fn schedulers(roots: &Roots, disk: &str) -> (Vec<String>, Option<String>) {
    let text = files::read_if_there(&roots.block(disk).join("queue/scheduler")).unwrap_or_default();
    scheduler::parse_sysfs(&text)
}

/// Values of the queue, by name below `queue/`: those that change performance, and all of `iosched/`.
pub fn tunables(roots: &Roots, disk: &str) -> Tunables {
    let queue = roots.block(disk).join("queue");
    let of_scheduler = folder_names(&queue.join("iosched")).into_iter().map(|name| format!("iosched/{name}"));
    let names = TUNABLES.iter().map(|name| (*name).to_owned()).chain(of_scheduler);
    names.filter_map(|name| files::read_if_there(&queue.join(&name)).map(|value| (name, value))).collect::<BTreeMap<_, _>>()
}

/// The whole disk whose I/O limits rule a folder: that of its file system, above any partition.
pub fn disk_below(roots: &Roots, folder: &Path) -> Result<String> {
    let act = || format!("find the disk below {}", folder.display());
    let dev = folder.metadata().map_err(SysError::io(act()))?.dev();
    let number = DevNumber { major: rustix::fs::major(dev), minor: rustix::fs::minor(dev) };
    let link = roots.sys.join("dev/block").join(number.to_string());
    let device = link.canonicalize().map_err(|_| SysError::Unsupported {
        act: act(),
        reason: format!("its file system is on no block device ({number}); choose a folder on ext4 or xfs"),
    })?;
    let whole = if device.join("partition").exists() { device.parent() } else { Some(device.as_path()) };
    let name = whole.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.ok_or_else(|| SysError::Unsupported { act: act(), reason: format!("{} is no disk", device.display()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers() {
        let number: DevNumber = " 254:16\n".parse().unwrap();
        assert_eq!(number.to_string(), "254:16");
        assert!("254".parse::<DevNumber>().is_err());
        assert!(TUNABLES.is_sorted());
    }

    #[test]
    fn a_partition_is_limited_by_its_disk() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots::under(root.path());
        let dev = root.path().metadata().unwrap().dev();
        let number = format!("{}:{}", rustix::fs::major(dev), rustix::fs::minor(dev));
        let partition = roots.sys.join("devices/ata1/sdz/sdz1");
        std::fs::create_dir_all(&partition).unwrap();
        std::fs::write(partition.join("partition"), "1").unwrap();
        std::fs::create_dir_all(roots.sys.join("dev/block")).unwrap();
        std::os::unix::fs::symlink(&partition, roots.sys.join("dev/block").join(number)).unwrap();
        assert_eq!(disk_below(&roots, root.path()).unwrap(), "sdz");
    }

    #[test]
    fn a_folder_without_a_disk_says_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let error = disk_below(&Roots::under(root.path()), root.path()).unwrap_err();
        assert!(error.to_string().contains("choose a folder on ext4 or xfs"), "{error}");
    }
}
