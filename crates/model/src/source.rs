//! Errors in files that people write: they name the file, the line, what is wrong and what to do about it.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The longest experiment or workload file taken, in bytes: a thousand times the size of a long one.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceError {
    /// As the user named it.
    pub file: String,
    /// From 1; none when the whole file is meant.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)?;
        if !self.help.is_empty() {
            write!(f, "\n  help: {}", self.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for SourceError {}

/// A file's name and text, to turn byte offsets into lines.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// As the user named it.
    pub file: &'a str,
    /// The whole text.
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// Deserialises TOML strictly; the error carries the line.
    pub fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, SourceError> {
        if self.text.len() > MAX_FILE_BYTES {
            return Err(self.whole(format!("longer than {MAX_FILE_BYTES} bytes"), "split it"));
        }
        toml::from_str(self.text).map_err(|error| {
            let message = error.message().trim();
            let (message, help) = match message.split_once(", expected ") {
                Some((message, expected)) if message.starts_with("unknown ") => (message, format!("expected {expected}")),
                Some(_) | None => (message, String::new()),
            };
            SourceError { file: self.file.to_owned(), line: error.span().map(|span| self.line(span)), message: message.to_owned(), help }
        })
    }

    /// An error at a place of the text.
    pub fn at(&self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> SourceError {
        SourceError { file: self.file.to_owned(), line: Some(self.line(span)), message: message.into(), help: help.into() }
    }

    /// An error of the file as a whole.
    pub fn whole(&self, message: impl Into<String>, help: impl Into<String>) -> SourceError {
        SourceError { file: self.file.to_owned(), line: None, message: message.into(), help: help.into() }
    }

    fn line(&self, span: Range<usize>) -> usize {
        let start = span.start.min(self.text.len());
        self.text.as_bytes()[..start].iter().filter(|b| **b == b'\n').count() + 1
    }
}

/// `did you mean X? known: A, B, C` for a word that is not among `known`.
pub fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let nearest = known.iter().map(|k| (strsim::damerau_levenshtein(word, k), k)).min().filter(|(distance, _)| *distance <= 2);
    let list = if known.is_empty() { "there are none".to_owned() } else { format!("known: {}", known.join(", ")) };
    match nearest {
        Some((_, nearest)) => format!("did you mean `{nearest}`? {list}"),
        None => list,
    }
}
