//! Modules of a kernel: which there are, which of them a host of the lab needs, and in which order they are loaded.

mod index;
mod modinfo;
mod pack;
mod subset;
mod wanted;

use std::io;
use std::path::PathBuf;

use crate::compress::UnpackError;
use crate::deb::DebError;
use crate::program::ProgramError;

pub(crate) use index::below_release;
pub use index::{Index, IndexError, LoadOrder};
pub use pack::{Packed, pack};
pub use subset::{Source, Subset};
pub use wanted::DRIVERS;

/// Longest `modules.*` list taken: `modules.alias` of a Debian kernel has 1.5 MB, `modules.dep` 0.6 MB.
const MAX_LIST_BYTES: u64 = 64 << 20;

/// Longest module taken: amdgpu of Debian, which no host of the lab needs, has 20 MB.
const MAX_MODULE_BYTES: u64 = 128 << 20;

/// Why modules are not packed.
#[derive(Debug, thiserror::Error)]
pub enum ModulesError {
    /// The system.
    #[error("{}: {error}", .path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The package that they are in.
    #[error(transparent)]
    Package(#[from] DebError),
    /// There are none.
    #[error("there is no module in {0}; it should be a folder lib/modules/RELEASE, or one with lib/modules/{1} in it")]
    None(String, String),
    /// A file that is no module.
    #[error("module {path}: {what}")]
    BadModule {
        /// Below `lib/modules/RELEASE`.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// A compressed module.
    #[error("module {path}: {error}")]
    Unpack {
        /// Below `lib/modules/RELEASE`.
        path: String,
        /// Why.
        error: UnpackError,
    },
    /// Modules of another kernel.
    #[error("module {path} is of kernel {found}, not of {wanted}, which would refuse it")]
    OtherKernel {
        /// Below `lib/modules/RELEASE`.
        path: String,
        /// By its vermagic.
        found: String,
        /// By the image.
        wanted: String,
    },
    /// A need that is nowhere.
    #[error("module {path} needs {need}, which is neither a module nor in modules.builtin")]
    NoDependency {
        /// Below `lib/modules/RELEASE`.
        path: String,
        /// Name of what is missing.
        need: String,
    },
    /// depmod.
    #[error("the list of dependencies: {0}")]
    Depmod(#[from] ProgramError),
}

/// `ahci` of `kernel/drivers/ata/ahci.ko.xz`; in a name, `-` and `_` are the same (kmod, `modname_normalize`). None for other files.
pub fn name_of(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    let (name, ending) = file.split_once(".ko")?;
    let is_module = matches!(ending, "" | ".gz" | ".xz" | ".zst");
    is_module.then(|| normal(name))
}

#[cfg(any(test, feature = "test-support"))]
pub(crate) fn testing_module(release: &str, depends: &str) -> Vec<u8> {
    modinfo::testing::module_of(release, depends, "")
}

/// The one spelling of a module's name.
fn normal(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_spelling() {
        assert_eq!(name_of("kernel/block/kyber-iosched.ko.xz").as_deref(), Some("kyber_iosched"));
        assert_eq!(name_of("ahci.ko").as_deref(), Some("ahci"));
        assert_eq!(name_of("modules.dep"), None);
        assert_eq!(name_of("a.ko.debug"), None);
    }
}
