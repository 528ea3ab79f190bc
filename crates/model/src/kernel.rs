//! Kernels: what an experiment names, what the lab keeps of each, and the clock that a host measures by.

use serde::{Deserialize, Serialize};

use crate::id::{KernelId, KernelName};
use crate::time::TimestampMs;

/// A kernel on the kernel axis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// Whatever the host has booted; on a host that can boot kernels, its known-good one. The release is recorded with each trial.
    AsBooted,
    /// A kernel of the lab, by its name.
    Built(KernelName),
}

/// The word for [`Kernel::AsBooted`]; no kernel of the lab can have this name.
pub const AS_BOOTED: &str = "as-booted";

impl Kernel {
    /// The word in experiment files and on pages.
    pub fn label(&self) -> &str {
        match self {
            Kernel::AsBooted => AS_BOOTED,
            Kernel::Built(name) => name.as_str(),
        }
    }

    /// Is it booted for each job?
    pub fn is_booted(&self) -> bool {
        match self {
            Kernel::AsBooted => false,
            Kernel::Built(_) => true,
        }
    }

    /// Reads the word of an experiment file.
    pub fn from_word(word: &str) -> Result<Self, crate::id::BadId> {
        if word == AS_BOOTED { Ok(Kernel::AsBooted) } else { word.parse().map(Kernel::Built) }
    }
}

/// A kernel that the lab keeps: content-addressed files and where they come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelRecord {
    /// What experiment files call it; unique in the lab.
    pub name: KernelName,
    /// Signature of the parts that matter for its behaviour. Two names may share it: then they are one build.
    pub id: KernelId,
    /// `uname -r`.
    pub release: String,
    /// GNU build id of vmlinux in hexadecimal digits, as `/sys/kernel/notes` shows it while the kernel runs.
    pub build_id: String,
    /// Where it comes from.
    pub source: KernelSource,
    /// Compiler and linker, as far as known.
    pub toolchain: String,
    /// A bzImage, or an uncompressed vmlinux with a PVH entry.
    pub image: Blob,
    /// A tar of `lib/modules/RELEASE`; none when everything is built in.
    pub modules: Option<Blob>,
    /// Words for its command line, beside those that the boot needs (Documentation/admin-guide/kernel-parameters.rst).
    #[serde(default)]
    pub arguments: String,
    /// Its `.config`.
    pub config: Option<Blob>,
    /// The log of its build.
    pub log: Option<Blob>,
    /// When it was added.
    pub created: TimestampMs,
}

/// A file in the artifact store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Blob {
    /// Hexadecimal SHA-256 of the bytes, which is their key.
    pub sha256: String,
    /// Length.
    pub bytes: u64,
}

/// Where a kernel comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "from")]
pub enum KernelSource {
    /// A Debian package.
    Package {
        /// `linux-image-6.1.0-40-amd64`.
        package: String,
        /// Its version.
        version: String,
    },
    /// An image that somebody uploaded.
    Upload {
        /// Name of the file.
        file: String,
    },
    /// Built from a git repository.
    Git {
        /// Its address.
        repo: String,
        /// The commit that was asked for, in full.
        commit: String,
        /// The tree after the patches, in full: equal trees are equal sources.
        tree: String,
        /// Subjects of the patches on top, in order.
        patches: Vec<String>,
    },
}

impl KernelSource {
    /// One line for lists.
    pub fn summary(&self) -> String {
        match self {
            KernelSource::Package { package, version } => format!("{package} {version}"),
            KernelSource::Upload { file } => format!("uploaded {file}"),
            KernelSource::Git { commit, patches, .. } => {
                let commit = commit.get(..12).unwrap_or(commit);
                match patches.len() {
                    0 => format!("commit {commit}"),
                    1 => format!("commit {commit} + `{}`", patches[0]),
                    n => format!("commit {commit} + {n} patches"),
                }
            }
        }
    }
}

/// How a host gets the kernel it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootMethod {
    /// Its kernel is fixed.
    #[default]
    None,
    /// A controller starts it as a virtual host.
    Qemu,
    /// A controller boots it over ssh.
    Ssh,
}

impl BootMethod {
    /// The word in files and on pages.
    pub fn word(self) -> &'static str {
        match self {
            BootMethod::None => "none",
            BootMethod::Qemu => "qemu",
            BootMethod::Ssh => "ssh",
        }
    }

    /// Can it boot kernels of the lab?
    pub fn boots(self) -> bool {
        match self {
            BootMethod::None => false,
            BootMethod::Qemu | BootMethod::Ssh => true,
        }
    }
}

/// The clock that times are measured by. Results of different clocks are never compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// The time of the world.
    #[default]
    Real,
    /// The time of a virtual host, counted in its instructions (QEMU `-icount`): free of the machine's noise, blind to caches and locks.
    Virtual,
}

impl Clock {
    /// The word in files and on pages.
    pub fn word(self) -> &'static str {
        match self {
            Clock::Real => "real",
            Clock::Virtual => "virtual",
        }
    }

    /// Reads the word of a file.
    pub fn from_word(word: &str) -> Option<Self> {
        [Clock::Real, Clock::Virtual].into_iter().find(|clock| clock.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for word in ["as-booted", "debian-6.1.0-40", "patched"] {
            assert_eq!(Kernel::from_word(word).unwrap().label(), word);
        }
        assert!(Kernel::from_word("../vmlinuz").is_err());
        assert_eq!(serde_json::to_string(&Kernel::AsBooted).unwrap(), "\"as-booted\"", "as earlier rows have it");
        assert_eq!(Clock::from_word("virtual"), Some(Clock::Virtual));
    }

    #[test]
    fn summaries_are_one_line() {
        let git = |patches: &[&str]| KernelSource::Git {
            repo: "linux".into(),
            commit: "0123456789abcdef".into(),
            tree: String::new(),
            patches: patches.iter().map(|&patch| patch.to_owned()).collect(),
        };
        assert_eq!(git(&[]).summary(), "commit 0123456789ab");
        assert_eq!(git(&["ext4: x"]).summary(), "commit 0123456789ab + `ext4: x`");
        assert_eq!(git(&["a", "b"]).summary(), "commit 0123456789ab + 2 patches");
    }
}
