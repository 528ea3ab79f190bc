//! What is to be built, as plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::failure::Failure;

/// Targets of the kernel's Makefile that make a configuration without asking anybody and without looking at the machine.
const TARGETS: [&str; 6] = ["alldefconfig", "allmodconfig", "allnoconfig", "allyesconfig", "defconfig", "tinyconfig"];

/// A full distribution configuration takes hours on two cores.
const WALL: Duration = Duration::from_secs(6 * 3600);

/// The log of an `allmodconfig` build with its warnings stays below a tenth of this.
const LOG_BYTES: u64 = 64 << 20;

/// Measured with Linux 6.1: 1.5 GB of sources, 0.3 GB of history without depth, 0.3 GB of objects of a small configuration.
const SPACE_BYTES: u64 = 4 << 30;

/// More patches than the longest series on the lists.
const MAX_PATCHES: usize = 1000;

/// CONFIG_BUILD_SALT goes into a note of every image and module.
const MAX_SALT_CHARS: usize = 64;

/// What is to be built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildSpec {
    /// A git repository: an address (`https`, `http`, `git`, `ssh`, `file`) or a path on this machine.
    pub repository: String,
    /// Any revision of it: a tag, a branch, a commit, `v6.1~3`.
    pub commit: String,
    /// Mails in mbox form, as git-format-patch(1) writes them, applied in this order.
    pub patches: Vec<NamedText>,
    /// What the configuration starts from.
    pub base: Base,
    /// Merged over the base in this order.
    pub fragments: Vec<NamedText>,
    /// Becomes CONFIG_BUILD_SALT: the same source under another salt is a kernel with another build id.
    pub salt: Option<String>,
    /// Modules from outside the tree that are built against this kernel and packed with its own.
    pub modules: Vec<ModuleSource>,
    /// How much it may take.
    pub limits: Limits,
}

/// A text with the name its author gave it, for messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedText {
    /// Path or name.
    pub name: String,
    /// Contents.
    pub text: String,
}

/// What a configuration starts from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Base {
    /// A target of the kernel's own Makefile, such as `tinyconfig`.
    Target(String),
    /// A whole `.config`.
    Text(NamedText),
}

/// A module from outside the tree: a folder with a Kbuild file or Makefile and its sources (kernel document kbuild/modules.rst).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleSource {
    /// Name of the folder it is built in.
    pub name: String,
    /// Its files, by plain names.
    pub files: Vec<NamedText>,
}

/// How much a build may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// For all of it.
    pub wall: Duration,
    /// Bytes of its log.
    pub log_bytes: u64,
    /// Bytes that must be free in the cache folder before it begins.
    pub space_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { wall: WALL, log_bytes: LOG_BYTES, space_bytes: SPACE_BYTES }
    }
}

impl BuildSpec {
    /// What can be found wrong without a tree. Words that reach git, make or a path are checked here, and only here.
    pub fn check(&self) -> Result<(), Failure> {
        let address = &self.repository;
        if address.is_empty() || address.starts_with('-') || address.chars().any(char::is_control) {
            return Err(refused(format!("use the repository `{address}`: give an address or a path")));
        }
        let commit = &self.commit;
        if commit.is_empty() || commit.starts_with('-') || commit.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(refused(format!("use the revision `{commit}`: give a tag, a branch or a commit")));
        }
        if self.patches.len() > MAX_PATCHES {
            return Err(refused(format!("take {} patches: {MAX_PATCHES} are the most", self.patches.len())));
        }
        if let Base::Target(target) = &self.base
            && !is_target(target)
        {
            return Err(refused(format!("start from `{target}`: give one of {}, or one that ends in `_defconfig`", TARGETS.join(", "))));
        }
        if let Some(salt) = &self.salt
            && (salt.len() > MAX_SALT_CHARS || !is_plain(salt))
        {
            return Err(refused(format!(
                "use the salt `{salt}`: give at most {MAX_SALT_CHARS} letters, digits, `.`, `-` and `_`, and begin with a letter or digit"
            )));
        }
        self.modules.iter().try_for_each(ModuleSource::check)
    }

    /// The fragments with the salt as the last one, so that no other overrides it.
    pub fn fragments(&self) -> Vec<NamedText> {
        let salt = self.salt.as_ref().map(|salt| NamedText { name: "salt".into(), text: format!("CONFIG_BUILD_SALT=\"{salt}\"\n") });
        self.fragments.iter().cloned().chain(salt).collect()
    }
}

impl ModuleSource {
    fn check(&self) -> Result<(), Failure> {
        let bad = std::iter::once(&self.name).chain(self.files.iter().map(|file| &file.name)).find(|name| !is_plain(name));
        match bad {
            Some(name) => Err(refused(format!("build the module {}: `{name}` is no plain file name", self.name))),
            None if self.files.iter().any(|file| matches!(file.name.as_str(), "Kbuild" | "Makefile")) => Ok(()),
            None => Err(refused(format!("build the module {}: it has neither Kbuild nor Makefile", self.name))),
        }
    }
}

/// Letters, digits, `.`, `-`, `_`, not beginning with a sign.
fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c))
}

fn is_target(target: &str) -> bool {
    is_plain(target) && (TARGETS.contains(&target) || target.ends_with("_defconfig"))
}

/// Whoever asks for what cannot be had would get the same answer again; but no class of answers to authors is about words like these.
fn refused(message: String) -> Failure {
    Failure::infrastructure(message)
}

#[cfg(test)]
mod tests {
    use super::super::fake::spec;
    use super::*;

    #[test]
    fn words_that_git_or_make_would_take_for_options_are_refused() {
        let good = spec("/repository");
        good.check().unwrap();
        let bad = [
            BuildSpec { repository: "--upload-pack=x".into(), ..good.clone() },
            BuildSpec { commit: "-f".into(), ..good.clone() },
            BuildSpec { commit: "a b".into(), ..good.clone() },
            BuildSpec { base: Base::Target("menuconfig".into()), ..good.clone() },
            BuildSpec { base: Base::Target("../x_defconfig".into()), ..good.clone() },
            BuildSpec { salt: Some("a\"b".into()), ..good.clone() },
            BuildSpec { modules: vec![ModuleSource { name: "..".into(), files: vec![] }], ..good.clone() },
            BuildSpec { modules: vec![ModuleSource { name: "m".into(), files: vec![] }], ..good.clone() },
        ];
        for spec in bad {
            spec.check().unwrap_err();
        }
        BuildSpec { base: Base::Target("x86_64_defconfig".into()), ..good }.check().unwrap();
    }

    #[test]
    fn the_salt_comes_last() {
        let spec = BuildSpec { salt: Some("again".into()), ..spec("/r") };
        assert_eq!(spec.fragments().last().unwrap().text, "CONFIG_BUILD_SALT=\"again\"\n");
    }
}
