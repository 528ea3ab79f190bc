//! Kernels as an experiment names them. A host whose kernel is fixed offers exactly one: the one it has booted.

use serde::{Deserialize, Serialize};

/// A kernel on the kernel axis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// Whatever the host has booted; its release is recorded with each trial.
    AsBooted,
}

impl Kernel {
    /// The word in experiment files and on pages.
    pub fn label(&self) -> &'static str {
        match self {
            Kernel::AsBooted => "as-booted",
        }
    }

    /// Reads the word of an experiment file.
    pub fn from_word(word: &str) -> Option<Self> {
        (word == "as-booted").then_some(Kernel::AsBooted)
    }
}
