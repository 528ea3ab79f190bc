//! A cap on the memory of a trial's loads, page cache included: what they read and write is charged to their group, so a machine with much
//! memory can stand for one with little.
//!
//! `memory.max` of the `memory` controller of v2 (Documentation/admin-guide/cgroup-v2.rst), or `memory.limit_in_bytes` of v1
//! (Documentation/admin-guide/cgroup-v1/memory.rst). Swap is closed to the group under v2, so that a cap is not paid by another disk.

use std::path::{Path, PathBuf};

use super::cgroup::PARENT;
use super::mount::Mounted;
use super::{Result, SysError, files};

/// The hierarchy of this host that can cap memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryHierarchy {
    /// The `memory` controller of v1, mounted here.
    V1(PathBuf),
    /// The unified hierarchy with the `memory` controller, mounted here.
    V2(PathBuf),
    /// Neither.
    Missing,
}

impl MemoryHierarchy {
    /// Finds it among what is mounted.
    pub fn find(mounted: &[Mounted]) -> Self {
        let has_memory = |m: &&Mounted| {
            files::read_if_there(&m.dir.join("cgroup.controllers")).is_some_and(|list| list.split(' ').any(|c| c == "memory"))
        };
        let v2 = mounted.iter().filter(|m| m.kind == "cgroup2").find(has_memory);
        let v1 = mounted.iter().find(|m| m.kind == "cgroup" && m.options.split(',').any(|option| option == "memory"));
        match (v2, v1) {
            (Some(v2), _) => MemoryHierarchy::V2(v2.dir.clone()),
            (None, Some(v1)) => MemoryHierarchy::V1(v1.dir.clone()),
            (None, None) => MemoryHierarchy::Missing,
        }
    }

    /// Where a group of this name would be.
    ///
    /// # Errors
    /// [`SysError::Unsupported`] on a host that cannot cap memory.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        match self {
            MemoryHierarchy::V1(root) | MemoryHierarchy::V2(root) => Ok(root.join(PARENT).join(name)),
            MemoryHierarchy::Missing => Err(SysError::Unsupported {
                act: "cap the memory of the loads".into(),
                reason: "this host has no memory controller of cgroup v1 or v2; boot a kernel with CONFIG_MEMCG, or one with `mem=` on its command line".into(),
            }),
        }
    }

    /// Makes a group at a path of [`MemoryHierarchy::path`]; one that is there already is good.
    pub fn make(&self, group: &Path) -> Result<()> {
        std::fs::create_dir_all(group).map_err(SysError::io(format!("make control group {}", group.display())))?;
        if let MemoryHierarchy::V2(root) = self {
            for folder in [root.clone(), root.join(PARENT)] {
                files::write(&folder.join("cgroup.subtree_control"), "+memory")?;
            }
        }
        Ok(())
    }

    /// Sets the cap of a group and reads it back: the kernel rounds it down to whole pages.
    pub fn cap(&self, group: &Path, bytes: u64) -> Result<()> {
        let file = match self {
            MemoryHierarchy::V1(_) | MemoryHierarchy::Missing => group.join("memory.limit_in_bytes"),
            MemoryHierarchy::V2(_) => {
                // A kernel without swap has no such file.
                let swap = group.join("memory.swap.max");
                if swap.exists() {
                    files::write(&swap, "0")?;
                }
                group.join("memory.max")
            }
        };
        let wanted = bytes / PAGE_BYTES * PAGE_BYTES;
        files::write(&file, &wanted.to_string())?;
        let got = files::read(&file)?;
        if got.trim() == wanted.to_string() {
            return Ok(());
        }
        Err(SysError::ReadBack { file, wanted: wanted.to_string(), got })
    }
}

/// The largest page that a cap is rounded to on the machines that the agent runs on (64 KiB on some arm64 and powerpc).
const PAGE_BYTES: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::super::block::DevNumber;
    use super::*;

    fn mount(kind: &str, dir: &Path, options: &str) -> Mounted {
        let dev = DevNumber { major: 0, minor: 1 };
        Mounted { dev, dir: dir.to_owned(), kind: kind.into(), source: kind.into(), options: options.into() }
    }

    #[test]
    fn the_hierarchy_with_the_controller_is_chosen() {
        let root = tempfile::tempdir().unwrap();
        let (v1, v2) = (root.path().join("memory"), root.path().join("unified"));
        std::fs::create_dir_all(&v2).unwrap();
        let mounted = [mount("cgroup", &v1, "rw,memory"), mount("cgroup2", &v2, "rw")];
        assert_eq!(MemoryHierarchy::find(&mounted), MemoryHierarchy::V1(v1));
        assert_eq!(MemoryHierarchy::find(&mounted[1..]), MemoryHierarchy::Missing);
        std::fs::write(v2.join("cgroup.controllers"), "cpu io memory\n").unwrap();
        assert_eq!(MemoryHierarchy::find(&mounted), MemoryHierarchy::V2(v2));
        let error = MemoryHierarchy::Missing.path("x").unwrap_err().to_string();
        assert!(error.contains("CONFIG_MEMCG") && error.contains("mem="), "{error}");
    }

    #[test]
    fn v2_closes_swap_and_reads_the_cap_back() {
        let root = tempfile::tempdir().unwrap();
        let hierarchy = MemoryHierarchy::V2(root.path().to_owned());
        let group = hierarchy.path("lab-1").unwrap();
        std::fs::create_dir_all(&group).unwrap();
        for file in [root.path().join("cgroup.subtree_control"), root.path().join(PARENT).join("cgroup.subtree_control")] {
            std::fs::write(file, "").unwrap();
        }
        for file in ["memory.max", "memory.swap.max"] {
            std::fs::write(group.join(file), "").unwrap();
        }
        hierarchy.make(&group).unwrap();
        hierarchy.cap(&group, (64 << 20) + 5).unwrap();
        assert_eq!(std::fs::read_to_string(group.join("memory.max")).unwrap(), "67108864");
        assert_eq!(std::fs::read_to_string(group.join("memory.swap.max")).unwrap(), "0");
    }
}
