//! The words of a build plan. Nothing is undone at the end: a build begins by putting its folder in order, whatever the last one left.

use std::fmt;
use std::time::Duration;

use super::config::Wish;
use super::spec::{Base, ModuleSource, NamedText};

/// One step of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// How long it may take; the limit of the whole build may end it before.
    pub limit: Duration,
}

/// What can be done in a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The programs of every build must be installed.
    CheckTools,
    /// The disk of the cache folder must have this much room.
    CheckSpace {
        /// Bytes.
        bytes: u64,
    },
    /// Gets the revision into the mirror of its repository.
    Fetch {
        /// Its address.
        repository: String,
        /// Which revision.
        revision: Revision,
    },
    /// Makes the work tree that of the commit; files that do not differ keep their times.
    Checkout,
    /// Applies a patch, which may hold several mails.
    Apply {
        /// Which, from 0.
        index: usize,
        /// The mails.
        patch: NamedText,
    },
    /// Notes the tree after the patches: equal trees are equal sources.
    IdentifyTree,
    /// Empties the folder of the objects when they are another version's or a killed build's.
    ReadyObjects,
    /// Makes the configuration that everything starts from.
    Configure {
        /// Which.
        base: Base,
    },
    /// Merges fragments over it.
    Merge {
        /// In order.
        fragments: Vec<NamedText>,
    },
    /// Lets Kconfig complete it.
    Complete,
    /// Every line of every fragment must have survived.
    CheckConfig {
        /// These.
        wishes: Vec<Wish>,
    },
    /// Draws the signature, and ends here when such a kernel is known.
    Sign {
        /// Modules from outside the tree are part of it.
        modules: Vec<ModuleSource>,
    },
    /// Makes vmlinux, bzImage and the modules of the tree.
    Make,
    /// Installs the modules of the tree into the staging folder.
    InstallModules,
    /// Makes a module from outside the tree and installs it beside them.
    MakeModule {
        /// Which.
        module: ModuleSource,
    },
    /// Packs the staging folder, the image and what belongs to it into the output folder.
    Collect,
}

/// How a revision can be got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revision {
    /// A whole commit id: nothing is fetched when it is there.
    Commit(String),
    /// A branch or a tag: only it is fetched.
    Name(String),
    /// Anything else (`v6.1~3`, a short id): all branches and tags are fetched.
    Expression(String),
}

impl Revision {
    /// Tells by its shape. A word of hexadecimal digits may be a short id, so it is taken for one.
    pub fn of(words: &str) -> Self {
        let is_hex = words.chars().all(|c| c.is_ascii_hexdigit());
        if is_hex && matches!(words.len(), 40 | 64) {
            Revision::Commit(words.to_ascii_lowercase())
        } else if is_hex || words.contains(['~', '^', '@', ':']) {
            Revision::Expression(words.to_owned())
        } else {
            Revision::Name(words.to_owned())
        }
    }

    /// As it was written.
    pub fn words(&self) -> &str {
        match self {
            Revision::Commit(words) | Revision::Name(words) | Revision::Expression(words) => words,
        }
    }
}

/// As failures and progress name it.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::CheckTools => f.write_str("check tools"),
            Action::CheckSpace { .. } => f.write_str("check space"),
            Action::Fetch { revision, .. } => write!(f, "fetch {}", revision.words()),
            Action::Checkout => f.write_str("check out"),
            Action::Apply { patch, .. } => write!(f, "apply {}", patch.name),
            Action::IdentifyTree => f.write_str("identify tree"),
            Action::ReadyObjects => f.write_str("ready objects"),
            Action::Configure { base: Base::Target(target) } => write!(f, "make {target}"),
            Action::Configure { base: Base::Text(text) } => write!(f, "take {}", text.name),
            Action::Merge { fragments } => {
                let names: Vec<&str> = fragments.iter().map(|fragment| fragment.name.as_str()).collect();
                write!(f, "merge {}", names.join(", "))
            }
            Action::Complete => f.write_str("make olddefconfig"),
            Action::CheckConfig { .. } => f.write_str("check configuration"),
            Action::Sign { .. } => f.write_str("sign"),
            Action::Make => f.write_str("make"),
            Action::InstallModules => f.write_str("make modules_install"),
            Action::MakeModule { module } => write!(f, "make module {}", module.name),
            Action::Collect => f.write_str("collect"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_known_by_its_shape() {
        let id = "6d2db3364b2395828da615d4b060be17f6c1212f";
        assert_eq!(Revision::of(&id.to_uppercase()), Revision::Commit(id.into()));
        assert_eq!(Revision::of("v6.1.192-lab"), Revision::Name("v6.1.192-lab".into()));
        assert_eq!(Revision::of("refs/heads/for-next"), Revision::Name("refs/heads/for-next".into()));
        for expression in ["6d2db33", "v6.1~3", "HEAD^", "master@{1}", ":/subject"] {
            assert_eq!(Revision::of(expression), Revision::Expression(expression.into()));
        }
    }
}
