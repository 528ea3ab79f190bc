//! Where the kernel's file systems are. Tests build a tree of their own; everybody else uses [`Roots::live`].

use std::path::{Path, PathBuf};

/// Roots of the pseudo file systems.
#[derive(Debug, Clone)]
pub struct Roots {
    /// `/sys`.
    pub sys: PathBuf,
    /// `/proc`.
    pub proc: PathBuf,
    /// `/run/udev/data`, may be absent.
    pub udev: PathBuf,
    /// `/dev`.
    pub dev: PathBuf,
    /// `/etc`, for os-release.
    pub etc: PathBuf,
}

impl Roots {
    /// Those of this host.
    pub fn live() -> Self {
        Self::under(Path::new("/"))
    }

    /// The same layout below another folder.
    pub fn under(root: &Path) -> Self {
        Roots {
            sys: root.join("sys"),
            proc: root.join("proc"),
            udev: root.join("run/udev/data"),
            dev: root.join("dev"),
            etc: root.join("etc"),
        }
    }

    /// `/sys/block/NAME`. The kernel writes `!` in sysfs for a `/` in a name (`cciss!c0d0`).
    pub fn block(&self, name: &str) -> PathBuf {
        self.sys.join("block").join(name)
    }

    /// `/dev/NAME`.
    pub fn device(&self, name: &str) -> PathBuf {
        self.dev.join(name.replace('!', "/"))
    }
}
