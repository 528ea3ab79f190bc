//! Mounting: mount(2) with the options of mount(8), umount(2), and what /proc/self/mountinfo says (proc_pid_mountinfo(5)).

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::mount::{MountFlags, UnmountFlags};

use super::block::DevNumber;
use super::{Result, SysError};
use crate::clock;

/// A killed load may need a moment to die and let go of the file system.
const UNMOUNT_PATIENCE: Duration = Duration::from_secs(10);

/// Between two attempts to unmount.
const UNMOUNT_PAUSE: Duration = Duration::from_millis(50);

/// A line of mountinfo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mounted {
    /// Device number; anonymous (major 0) for btrfs and file systems without a disk.
    pub dev: DevNumber,
    /// Where.
    pub dir: PathBuf,
    /// `ext4`.
    pub kind: String,
    /// `/dev/sda1`.
    pub source: String,
    /// Options of the mount point and of the file system, comma separated.
    pub options: String,
}

/// Mounts a file system; the folder is made when it is not there.
pub fn mount(device: &Path, dir: &Path, kind: &str, options: &str) -> Result<()> {
    let act = || format!("mount {} on {} as {kind}", device.display(), dir.display());
    std::fs::create_dir_all(dir).map_err(SysError::io(act()))?;
    let (flags, data) = parse_options(options);
    let unsupported = |_| SysError::Unsupported { act: act(), reason: "the mount options hold a zero byte".into() };
    let data = CString::new(data).map_err(unsupported)?;
    let with_options = || if options.is_empty() { act() } else { format!("{} with options `{options}`", act()) };
    rustix::mount::mount(device, dir, kind, flags, data.as_c_str()).map_err(SysError::io(with_options()))
}

/// Unmounts what is mounted on `dir`, trying again for a while when it is busy. Nothing mounted there is success.
pub fn unmount(dir: &Path) -> Result<()> {
    let deadline = clock::monotonic() + UNMOUNT_PATIENCE;
    loop {
        match rustix::mount::unmount(dir, UnmountFlags::empty()) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => return Ok(()),
            Err(rustix::io::Errno::BUSY) if clock::monotonic() < deadline => std::thread::sleep(UNMOUNT_PAUSE),
            Err(errno) => return Err(SysError::io(format!("unmount {}", dir.display()))(errno)),
        }
    }
}

/// Everything that is mounted in this mount namespace.
pub fn mounted(proc: &Path) -> Result<Vec<Mounted>> {
    let path = proc.join("self/mountinfo");
    let text = std::fs::read_to_string(&path).map_err(SysError::io(format!("read {}", path.display())))?;
    Ok(text.lines().filter_map(parse_line).collect())
}

/// What is mounted on `dir`, the topmost if several are.
pub fn mounted_on(proc: &Path, dir: &Path) -> Result<Option<Mounted>> {
    Ok(mounted(proc)?.into_iter().rfind(|m| m.dir == dir))
}

/// `36 35 98:0 /root /mnt rw,noatime shared:1 - ext3 /dev/root rw,errors=continue`: the optional fields end at the lone dash.
fn parse_line(line: &str) -> Option<Mounted> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let dev = left.next()?.parse().ok()?;
    let dir = PathBuf::from(unescape(left.nth(1)?));
    let point_options = left.next()?;
    let mut right = right.split(' ');
    let kind = right.next()?.to_owned();
    let source = unescape(right.next()?);
    let options = join_options(point_options, right.next().unwrap_or_default());
    Some(Mounted { dev, dir, kind, source, options })
}

/// Both lists without doubles, in the order of first sight.
fn join_options(point: &str, fs: &str) -> String {
    let mut options: Vec<&str> = Vec::new();
    for option in point.split(',').chain(fs.split(',')).filter(|option| !option.is_empty()) {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    options.join(",")
}

/// Space, tab, newline and backslash are written as `\040` and so on.
fn unescape(text: &str) -> String {
    let pairs = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    pairs.iter().fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

/// Splits the options of mount(8) into flags of mount(2) and what the file system itself reads.
fn parse_options(options: &str) -> (MountFlags, String) {
    let mut flags = MountFlags::empty();
    let mut data = Vec::new();
    for option in options.split(',').map(str::trim).filter(|option| !option.is_empty()) {
        match option {
            "defaults" | "rw" | "suid" | "dev" | "exec" | "async" | "atime" | "diratime" => {}
            "ro" => flags |= MountFlags::RDONLY,
            "nosuid" => flags |= MountFlags::NOSUID,
            "nodev" => flags |= MountFlags::NODEV,
            "noexec" => flags |= MountFlags::NOEXEC,
            "sync" => flags |= MountFlags::SYNCHRONOUS,
            "dirsync" => flags |= MountFlags::DIRSYNC,
            "noatime" => flags |= MountFlags::NOATIME,
            "nodiratime" => flags |= MountFlags::NODIRATIME,
            "relatime" => flags |= MountFlags::RELATIME,
            "strictatime" => flags |= MountFlags::STRICTATIME,
            "lazytime" => flags |= MountFlags::LAZYTIME,
            of_the_file_system => data.push(of_the_file_system),
        }
    }
    (flags, data.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_lines_are_read() {
        let line = r"36 35 98:0 /mnt1 /mnt/two\040words rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue";
        let mounted = parse_line(line).unwrap();
        assert_eq!(mounted.dir, Path::new("/mnt/two words"));
        assert_eq!((mounted.dev.major, mounted.dev.minor), (98, 0));
        assert_eq!((mounted.kind.as_str(), mounted.source.as_str()), ("ext3", "/dev/root"));
        assert_eq!(mounted.options, "rw,noatime,errors=continue");
        assert_eq!(parse_line("garbage"), None);
    }

    #[test]
    fn options_of_mount8_become_flags_and_data() {
        let (flags, data) = parse_options("noatime,data=journal, nodev,commit=30,defaults");
        assert_eq!(flags, MountFlags::NOATIME | MountFlags::NODEV);
        assert_eq!(data, "data=journal,commit=30");
        assert_eq!(parse_options(""), (MountFlags::empty(), String::new()));
    }

    #[test]
    fn this_host_has_a_root() {
        let all = mounted(Path::new("/proc")).unwrap();
        assert!(all.iter().any(|m| m.dir == Path::new("/")));
        assert!(mounted_on(Path::new("/proc"), Path::new("/nonesuch")).unwrap().is_none());
    }
}
