//! The lab's control groups: one for each trial, so that whatever its loads start can be found and killed, with limits on the disk
//! below the one under test.
//!
//! Limits live in the `blkio` controller of v1 (Documentation/admin-guide/cgroup-v1/blkio-controller.rst) or the `io` controller of v2
//! (Documentation/admin-guide/cgroup-v2.rst). Under v1, buffered write-back is charged to the root group and so escapes the limits;
//! reads and direct or synchronous writes do not.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::block::DevNumber;
use super::{Result, SysError, files};
use crate::clock;

/// Parent of all groups of the lab, below the root of the hierarchy.
pub(super) const PARENT: &str = "blklab";

/// A killed process may need a moment to leave its group, and one in disk sleep until its I/O is done.
const EMPTY_PATIENCE: Duration = Duration::from_secs(30);

/// Limits of I/O below the elevator; none means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// Reads a second.
    pub read_iops: Option<u64>,
    /// Writes a second.
    pub write_iops: Option<u64>,
    /// Bytes read a second.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written a second.
    pub write_bytes_per_s: Option<u64>,
}

impl Limits {
    /// Is there any?
    pub fn is_none(&self) -> bool {
        *self == Limits::default()
    }

    /// `125 reads/s, 40.0 MiB/s read`, for people.
    pub fn words(&self) -> String {
        const MIB: f64 = (1 << 20) as f64;
        let rate = |bytes: u64, what: &str| format!("{:.1} MiB/s {what}", bytes as f64 / MIB);
        let words = [
            self.read_iops.map(|n| format!("{n} reads/s")),
            self.write_iops.map(|n| format!("{n} writes/s")),
            self.read_bytes_per_s.map(|bytes| rate(bytes, "read")),
            self.write_bytes_per_s.map(|bytes| rate(bytes, "written")),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn fields(&self) -> [(Field, Option<u64>); 4] {
        [
            (Field { v1: "blkio.throttle.read_iops_device", v2: "riops" }, self.read_iops),
            (Field { v1: "blkio.throttle.write_iops_device", v2: "wiops" }, self.write_iops),
            (Field { v1: "blkio.throttle.read_bps_device", v2: "rbps" }, self.read_bytes_per_s),
            (Field { v1: "blkio.throttle.write_bps_device", v2: "wbps" }, self.write_bytes_per_s),
        ]
    }
}

/// How the two versions name a limit.
struct Field {
    v1: &'static str,
    v2: &'static str,
}

/// The hierarchy of this host that holds the lab's groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hierarchy {
    /// The `blkio` controller of v1, mounted here.
    V1(PathBuf),
    /// The unified hierarchy with the `io` controller, mounted here.
    V2(PathBuf),
    /// Neither; groups are kept where cgroup2 is mounted, if it is, but there are no limits.
    WithoutLimits(Option<PathBuf>),
}

impl Hierarchy {
    /// Finds it among what is mounted.
    pub fn find(mounted: &[super::mount::Mounted]) -> Self {
        let v1 = mounted.iter().find(|m| m.kind == "cgroup" && m.options.split(',').any(|option| option == "blkio"));
        let v2 = mounted.iter().find(|m| m.kind == "cgroup2");
        let has_io =
            |root: &Path| files::read_if_there(&root.join("cgroup.controllers")).is_some_and(|list| list.split(' ').any(|c| c == "io"));
        match (v1, v2) {
            (_, Some(v2)) if has_io(&v2.dir) => Hierarchy::V2(v2.dir.clone()),
            (Some(v1), _) => Hierarchy::V1(v1.dir.clone()),
            (None, v2) => Hierarchy::WithoutLimits(v2.map(|m| m.dir.clone())),
        }
    }

    /// `v1`, `v2`, or empty when no limits can be set.
    pub fn word(&self) -> &'static str {
        match self {
            Hierarchy::V1(_) => "v1",
            Hierarchy::V2(_) => "v2",
            Hierarchy::WithoutLimits(_) => "",
        }
    }

    /// Where a group of this name would be; none on a host without control groups.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        match self {
            Hierarchy::V1(root) | Hierarchy::V2(root) | Hierarchy::WithoutLimits(Some(root)) => Some(root.join(PARENT).join(name)),
            Hierarchy::WithoutLimits(None) => None,
        }
    }

    /// Makes a group at a path of [`Hierarchy::path`].
    pub fn make(&self, group: &Path) -> Result<()> {
        std::fs::create_dir_all(group).map_err(SysError::io(format!("make control group {}", group.display())))?;
        if let Hierarchy::V2(root) = self {
            for folder in [root.clone(), root.join(PARENT)] {
                files::write(&folder.join("cgroup.subtree_control"), "+io")?;
            }
        }
        Ok(())
    }

    /// Sets the limits of a group on a disk, and reads them back.
    pub fn limit(&self, group: &Path, disk: DevNumber, limits: &Limits) -> Result<()> {
        match self {
            Hierarchy::V1(_) => limit_v1(group, disk, limits),
            Hierarchy::V2(_) => limit_v2(group, disk, limits),
            Hierarchy::WithoutLimits(_) if limits.is_none() => Ok(()),
            Hierarchy::WithoutLimits(_) => Err(SysError::Unsupported {
                act: format!("limit disk {disk} to {}", limits.words()),
                reason: "this host has neither the blkio controller of cgroup v1 nor the io controller of v2; boot a kernel with CONFIG_BLK_DEV_THROTTLING".into(),
            }),
        }
    }
}

fn limit_v1(group: &Path, disk: DevNumber, limits: &Limits) -> Result<()> {
    for (field, value) in limits.fields() {
        let Some(value) = value else { continue };
        let file = group.join(field.v1);
        let wanted = format!("{disk} {value}");
        files::write(&file, &wanted)?;
        let got = files::read(&file)?;
        if !got.lines().any(|line| line == wanted) {
            return Err(SysError::ReadBack { file, wanted, got });
        }
    }
    Ok(())
}

fn limit_v2(group: &Path, disk: DevNumber, limits: &Limits) -> Result<()> {
    let wanted: Vec<String> =
        limits.fields().iter().filter_map(|(field, value)| value.map(|value| format!("{}={value}", field.v2))).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let file = group.join("io.max");
    files::write(&file, &format!("{disk} {}", wanted.join(" ")))?;
    let got = files::read(&file)?;
    let line = got.lines().find(|line| line.split(' ').next() == Some(disk.to_string().as_str())).unwrap_or_default();
    if wanted.iter().all(|want| line.split(' ').any(|word| word == want)) {
        return Ok(());
    }
    Err(SysError::ReadBack { file, wanted: wanted.join(" "), got })
}

/// Moves the calling process into a group; what it executes stays there.
pub fn join(group: &Path) -> Result<()> {
    files::write(&group.join("cgroup.procs"), &std::process::id().to_string())
}

/// Kills every process of a group and removes it. A group that is not there is success.
pub fn remove(group: &Path) -> Result<()> {
    let deadline = clock::monotonic() + EMPTY_PATIENCE;
    while group.exists() {
        let left = kill(group);
        match std::fs::remove_dir(group) {
            Ok(()) => break,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
            Err(error) if clock::monotonic() > deadline => {
                return Err(SysError::io(format!("remove control group {} with {left} processes in it", group.display()))(error));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    Ok(())
}

/// Sends SIGKILL to every process of a group; how many there were.
pub fn kill(group: &Path) -> usize {
    let members = members(group);
    for pid in &members {
        let _ = rustix::process::kill_process(*pid, rustix::process::Signal::KILL);
    }
    members.len()
}

/// Removes the lab's parent group, when no other agent of this host has groups in it.
pub fn remove_parent(group: &Path) {
    if let Some(parent) = group.parent().filter(|parent| parent.ends_with(PARENT)) {
        // It fails when it is not empty, which is the wish.
        let _ = std::fs::remove_dir(parent);
    }
}

fn members(group: &Path) -> Vec<rustix::process::Pid> {
    let text = files::read_if_there(&group.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| rustix::process::Pid::from_raw(line.trim().parse().ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::mount::Mounted;
    use super::*;

    const DISK: DevNumber = DevNumber { major: 254, minor: 0 };

    fn limits() -> Limits {
        Limits { read_iops: Some(125), read_bytes_per_s: Some(40 << 20), ..Limits::default() }
    }

    fn mount(kind: &str, dir: &Path, options: &str) -> Mounted {
        Mounted {
            dev: DevNumber { major: 0, minor: 1 },
            dir: dir.to_owned(),
            kind: kind.into(),
            source: kind.into(),
            options: options.into(),
        }
    }

    #[test]
    fn the_hierarchy_with_the_controller_is_chosen() {
        let root = tempfile::tempdir().unwrap();
        let (v1, v2) = (root.path().join("blkio"), root.path().join("unified"));
        std::fs::create_dir_all(&v2).unwrap();
        let mounted = [mount("cgroup", &v1, "rw,relatime,blkio"), mount("cgroup2", &v2, "rw")];
        assert_eq!(Hierarchy::find(&mounted), Hierarchy::V1(v1));
        assert_eq!(Hierarchy::find(&mounted[1..]), Hierarchy::WithoutLimits(Some(v2.clone())));
        std::fs::write(v2.join("cgroup.controllers"), "cpuset cpu io memory\n").unwrap();
        assert_eq!(Hierarchy::find(&mounted[1..]), Hierarchy::V2(v2));
        assert_eq!(Hierarchy::find(&[]), Hierarchy::WithoutLimits(None));
    }

    #[test]
    fn v2_writes_one_line_and_reads_it_back() {
        let root = tempfile::tempdir().unwrap();
        let hierarchy = Hierarchy::V2(root.path().to_owned());
        let group = hierarchy.path("lab-1").unwrap();
        std::fs::create_dir_all(&group).unwrap();
        for folder in [root.path(), &root.path().join(PARENT)] {
            std::fs::write(folder.join("cgroup.subtree_control"), "").unwrap();
        }
        std::fs::write(group.join("io.max"), "").unwrap();
        hierarchy.make(&group).unwrap();
        hierarchy.limit(&group, DISK, &limits()).unwrap();
        assert_eq!(std::fs::read_to_string(group.join("io.max")).unwrap(), "254:0 riops=125 rbps=41943040");
        assert_eq!(std::fs::read_to_string(root.path().join("cgroup.subtree_control")).unwrap(), "+io");
    }

    #[test]
    fn limits_without_a_controller_are_refused_with_the_remedy() {
        let none = Hierarchy::WithoutLimits(None);
        none.limit(Path::new("/x"), DISK, &Limits::default()).unwrap();
        let error = none.limit(Path::new("/x"), DISK, &limits()).unwrap_err();
        assert!(error.to_string().starts_with("limit disk 254:0 to 125 reads/s, 40.0 MiB/s read: this host has neither"), "{error}");
    }
}
