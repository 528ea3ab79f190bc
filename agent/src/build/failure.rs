//! Why there is no kernel. Three classes answer the author of a patch or a configuration; only the fourth is tried again.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Hunks, symbols or errors that a message shows; who has more reads the log.
const SHOWN: usize = 5;

/// Why there is no kernel. Its text is for the author: it names the place and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "class")]
pub enum Failure {
    /// A patch does not apply.
    DoesNotApply(PatchFailure),
    /// The configuration cannot be made, or a line of a fragment did not survive.
    DoesNotConfigure(ConfigFailure),
    /// The compiler, the linker or another part of the build refuses.
    DoesNotCompile(CompileFailure),
    /// Nobody's patch: no network, no space, a missing tool, too slow.
    Infrastructure {
        /// Completes "failed to", with the remedy where there is one.
        message: String,
    },
}

/// A patch that does not apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchFailure {
    /// Which of the patches, from 0.
    pub patch: usize,
    /// Its name.
    pub name: String,
    /// Subject of the mail that failed; none when no mail was found in it.
    pub subject: Option<String>,
    /// Which mail of the patch's mbox, from 1, when it holds several.
    pub mail: Option<usize>,
    /// What git says beyond rejected hunks, and what may be done about it.
    pub reasons: Vec<String>,
    /// The hunks that found no place.
    pub hunks: Vec<RejectedHunk>,
}

/// A hunk that found no place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedHunk {
    /// From the root of the tree.
    pub file: String,
    /// Where the patch expects it, in lines from 1.
    pub line: u32,
    /// Which hunk of the file, from 1.
    pub number: Option<u32>,
    /// The hunk as the patch has it, cut after some lines.
    pub hunk: String,
    /// What the tree has at these lines.
    pub there: String,
}

/// A configuration that is not the one asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigFailure {
    /// The kernel's configuration program does not take it: a target that the tree does not have, a fault in a Kconfig file.
    Refused {
        /// What was tried.
        step: String,
        /// Its last words.
        message: String,
    },
    /// Lines of fragments that did not survive.
    Lost {
        /// Each of them.
        symbols: Vec<LostSymbol>,
    },
}

/// A line of a fragment that did not survive `make olddefconfig`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostSymbol {
    /// `CONFIG_BLK_DEV_NVME`.
    pub symbol: String,
    /// The value asked for; `n` for one that is to be off.
    pub wanted: String,
    /// The value it has; `n` for one that is off or does not exist.
    pub got: String,
    /// Name of the fragment.
    pub fragment: String,
    /// Line in it, from 1.
    pub line: usize,
    /// Why, as far as the Kconfig files tell.
    pub hint: Option<String>,
}

/// A tree that does not compile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompileFailure {
    /// What was made.
    pub step: String,
    /// The first errors.
    pub errors: Vec<CompileError>,
    /// Errors beyond those.
    pub more: usize,
    /// The last lines of the log when no error was recognised.
    pub last_words: String,
}

/// An error of a compiler, linker or make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompileError {
    /// From the root of the tree, where it is known.
    pub file: Option<String>,
    /// Line in it, from 1.
    pub line: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// Source and marks as the compiler printed them below.
    pub excerpt: String,
}

impl Failure {
    /// The others would fail again in the same way.
    pub fn is_retried(&self) -> bool {
        match self {
            Failure::Infrastructure { .. } => true,
            Failure::DoesNotApply(_) | Failure::DoesNotConfigure(_) | Failure::DoesNotCompile(_) => false,
        }
    }

    /// The class in words.
    pub fn class(&self) -> &'static str {
        match self {
            Failure::DoesNotApply(_) => "does not apply",
            Failure::DoesNotConfigure(_) => "does not configure",
            Failure::DoesNotCompile(_) => "does not compile",
            Failure::Infrastructure { .. } => "infrastructure",
        }
    }

    pub(super) fn infrastructure(message: impl Into<String>) -> Self {
        Failure::Infrastructure { message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::DoesNotApply(failure) => failure.fmt(f),
            Failure::DoesNotConfigure(failure) => failure.fmt(f),
            Failure::DoesNotCompile(failure) => failure.fmt(f),
            Failure::Infrastructure { message } => write!(f, "failed to {message}"),
        }
    }
}

impl fmt::Display for PatchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "patch {} ({}) does not apply", self.patch + 1, self.name)?;
        if let Some(mail) = self.mail {
            write!(f, ", mail {mail}")?;
        }
        if let Some(subject) = &self.subject {
            write!(f, ": {subject}")?;
        }
        for reason in &self.reasons {
            write!(f, "\n{reason}")?;
        }
        for hunk in self.hunks.iter().take(SHOWN) {
            write!(f, "\n{hunk}")?;
        }
        more(f, self.hunks.len(), "rejected hunks")
    }
}

impl fmt::Display for RejectedHunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number.map(|number| format!("hunk {number} ")).unwrap_or_default();
        write!(f, "{number}of {}, line {}, finds no place:\n{}", self.file, self.line, self.hunk)?;
        if self.there.is_empty() { Ok(()) } else { write!(f, "\nthe tree has there:\n{}", self.there) }
    }
}

impl fmt::Display for ConfigFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigFailure::Refused { step, message } => write!(f, "{step}: {message}"),
            ConfigFailure::Lost { symbols } => {
                let lines = if symbols.len() == 1 { "one line".to_owned() } else { format!("{} lines", symbols.len()) };
                write!(f, "{lines} of the configuration did not survive `make olddefconfig`")?;
                symbols.iter().try_for_each(|symbol| write!(f, "\n{symbol}"))
            }
        }
    }
}

impl fmt::Display for LostSymbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LostSymbol { symbol, wanted, got, fragment, line, hint } = self;
        write!(f, "{fragment}:{line}: {symbol}={wanted} became {got}")?;
        if let Some(hint) = hint { write!(f, ": {hint}") } else { Ok(()) }
    }
}

impl fmt::Display for CompileFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} fails", self.step)?;
        for error in self.errors.iter().take(SHOWN) {
            write!(f, "\n{error}")?;
        }
        if !self.last_words.is_empty() {
            write!(f, "; the last lines of the log:\n{}", self.last_words)?;
        }
        more(f, self.errors.len() + self.more, "errors")
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: {}", self.message)?,
            (Some(file), None) => write!(f, "{file}: {}", self.message)?,
            (None, _) => f.write_str(&self.message)?,
        }
        if self.excerpt.is_empty() { Ok(()) } else { write!(f, "\n{}", self.excerpt) }
    }
}

fn more(f: &mut fmt::Formatter<'_>, count: usize, what: &str) -> fmt::Result {
    if count > SHOWN { write!(f, "\n... {count} {what} in all") } else { Ok(()) }
}
