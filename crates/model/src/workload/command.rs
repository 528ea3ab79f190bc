//! What a workload can run: a program, a shell line, or a built-in task of the agent.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::MAX_DISKS;
use super::placeholder::{self, BadPlaceholder};
use super::size::{self, BadSize};

/// A command whose placeholders are open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Template {
    /// A program with its arguments, no shell in between.
    Argv(Vec<String>),
    /// A line for `sh -c`, an explicit choice of the author.
    Shell(String),
    /// A task of the agent with named arguments.
    Builtin {
        /// Its name, see [`Builtin`].
        name: String,
        /// Its arguments.
        with: BTreeMap<String, String>,
    },
}

/// A command ready to run, but for `{dir}` and `{disk}`, which only the agent knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// A program with its arguments.
    Argv(Vec<String>),
    /// A line for `sh -c`.
    Shell(String),
    /// A task of the agent.
    Builtin(Builtin),
}

/// Tasks that the agent carries out itself: no tool to install, no start-up cost, the same on every host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum Builtin {
    /// Writes a file of pseudo-random bytes (incompressible, so that no layer cheats) and syncs it.
    WriteFile {
        /// Where.
        path: String,
        /// How long.
        bytes: u64,
    },
    /// Makes a tree of pseudo-random files, 100 to a folder, and syncs it.
    MakeTree {
        /// Where.
        path: String,
        /// How many files.
        files: u64,
        /// How long each.
        file_bytes: u64,
    },
    /// Reads a file or disk from its start.
    LinearRead {
        /// What.
        path: String,
        /// Bytes a read.
        block_bytes: u64,
        /// Stop after this many bytes; none reads to the end.
        limit_bytes: Option<u64>,
        /// Past the page cache (O_DIRECT).
        direct: bool,
    },
    /// Reads every file of a tree, in the order of readdir(3).
    TreeRead {
        /// Which.
        path: String,
        /// Bytes a read.
        block_bytes: u64,
    },
    /// Copies a tree again and again until stopped, or once.
    TreeCopy {
        /// Source.
        from: String,
        /// Target; replaced by each copy.
        to: String,
        /// Until stopped (a background load), or once (a task).
        forever: bool,
    },
    /// Overwrites blocks of an existing file at random places with O_DIRECT, each read before it is written when `read_first`.
    RandomOverwrite {
        /// Which file or disk.
        path: String,
        /// Bytes a block.
        block_bytes: u64,
        /// How many blocks.
        operations: u64,
        /// Read each block before it is written.
        read_first: bool,
        /// Of the places; the same for all arms of a round.
        seed: u64,
    },
}

/// Names of the built-in tasks with their arguments; a trailing `?` marks an optional one.
pub const BUILTINS: [(&str, &[&str]); 6] = [
    ("write-file", &["path", "size"]),
    ("make-tree", &["path", "files", "file_size"]),
    ("linear-read", &["path", "block", "limit?", "direct?"]),
    ("tree-read", &["path", "block?"]),
    ("tree-copy", &["from", "to", "forever?"]),
    ("random-overwrite", &["path", "block", "operations", "read_first?", "seed?"]),
];

/// A command that cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCommand {
    /// See [`BadPlaceholder`].
    #[error(transparent)]
    Placeholder(#[from] BadPlaceholder),
    /// See [`BadSize`].
    #[error(transparent)]
    Size(#[from] BadSize),
    /// Not one of [`BUILTINS`].
    #[error("unknown built-in task `{0}`")]
    UnknownBuiltin(String),
    /// An argument that the task does not take.
    #[error("built-in `{builtin}` takes no `{argument}`; it takes {takes}")]
    UnknownArgument {
        /// The task.
        builtin: String,
        /// The argument.
        argument: String,
        /// What it takes.
        takes: String,
    },
    /// An argument that the task needs.
    #[error("built-in `{builtin}` needs `{argument}`")]
    MissingArgument {
        /// The task.
        builtin: String,
        /// The argument.
        argument: String,
    },
    /// Not a number of disks.
    #[error("`{0}` disks; a trial has 1 to {MAX_DISKS}")]
    BadDisks(String),
    /// `{dir3}` with two disks.
    #[error("disk {disk} of {disks}; say in needs.disks how many there are")]
    NoSuchDisk {
        /// Its number.
        disk: u32,
        /// How many there are.
        disks: u32,
    },
    /// A number or a yes/no that is neither.
    #[error("`{argument}` of built-in `{builtin}` is `{value}`; expected {expected}")]
    BadArgument {
        /// The task.
        builtin: String,
        /// The argument.
        argument: String,
        /// What was given.
        value: String,
        /// What is taken.
        expected: &'static str,
    },
}

impl Template {
    /// Every text in which there may be placeholders.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (words, line, with) = match self {
            Template::Argv(words) => (Some(words), None, None),
            Template::Shell(line) => (None, Some(line), None),
            Template::Builtin { with, .. } => (None, None, Some(with)),
        };
        let values = with.into_iter().flat_map(BTreeMap::values);
        words.into_iter().flatten().chain(line).chain(values).map(String::as_str)
    }

    /// Fills in parameters and checks the result.
    pub fn resolve(&self, values: &BTreeMap<String, String>) -> Result<Command, BadCommand> {
        match self {
            Template::Argv(argv) => {
                let argv: Result<Vec<_>, _> = argv.iter().map(|word| placeholder::fill(word, values)).collect();
                Ok(Command::Argv(argv?))
            }
            Template::Shell(line) => Ok(Command::Shell(placeholder::fill(line, values)?)),
            Template::Builtin { name, with } => Arguments::new(name, with, values)?.builtin().map(Command::Builtin),
        }
    }
}

/// Arguments of a built-in, filled in and known to be those it takes.
struct Arguments<'a> {
    builtin: &'a str,
    values: BTreeMap<&'a str, String>,
}

impl<'a> Arguments<'a> {
    fn new(builtin: &'a str, with: &'a BTreeMap<String, String>, values: &BTreeMap<String, String>) -> Result<Self, BadCommand> {
        let (_, takes) =
            BUILTINS.iter().find(|(name, _)| *name == builtin).ok_or_else(|| BadCommand::UnknownBuiltin(builtin.to_owned()))?;
        if let Some(argument) = with.keys().find(|key| !takes.iter().any(|t| t.trim_end_matches('?') == key.as_str())) {
            return Err(BadCommand::UnknownArgument { builtin: builtin.to_owned(), argument: argument.clone(), takes: takes.join(", ") });
        }
        let mut filled = BTreeMap::new();
        for (key, value) in with {
            filled.insert(key.as_str(), placeholder::fill(value, values)?);
        }
        Ok(Arguments { builtin, values: filled })
    }

    fn builtin(&self) -> Result<Builtin, BadCommand> {
        Ok(match self.builtin {
            "write-file" => Builtin::WriteFile { path: self.text("path")?, bytes: self.size("size")? },
            "make-tree" => {
                Builtin::MakeTree { path: self.text("path")?, files: self.number("files")?, file_bytes: self.size("file_size")? }
            }
            "linear-read" => Builtin::LinearRead {
                path: self.text("path")?,
                block_bytes: self.block("block")?,
                limit_bytes: if self.values.contains_key("limit") { Some(self.size("limit")?) } else { None },
                direct: self.yes_no("direct")?,
            },
            "tree-read" => Builtin::TreeRead {
                path: self.text("path")?,
                block_bytes: if self.values.contains_key("block") { self.block("block")? } else { 64 << 10 },
            },
            "tree-copy" => Builtin::TreeCopy { from: self.text("from")?, to: self.text("to")?, forever: self.yes_no("forever")? },
            "random-overwrite" => Builtin::RandomOverwrite {
                path: self.text("path")?,
                block_bytes: self.block("block")?,
                operations: self.number("operations")?,
                read_first: self.yes_no("read_first")?,
                seed: if self.values.contains_key("seed") { self.number("seed")? } else { 0 },
            },
            other => return Err(BadCommand::UnknownBuiltin(other.to_owned())),
        })
    }

    fn text(&self, argument: &str) -> Result<String, BadCommand> {
        let missing = || BadCommand::MissingArgument { builtin: self.builtin.to_owned(), argument: argument.to_owned() };
        self.values.get(argument).cloned().ok_or_else(missing)
    }

    fn size(&self, argument: &str) -> Result<u64, BadCommand> {
        Ok(size::parse(&self.text(argument)?)?)
    }

    /// A block size: at most 64 MiB, since each reader holds one in memory, and never zero.
    fn block(&self, argument: &str) -> Result<u64, BadCommand> {
        let bytes = self.size(argument)?;
        if (1..=64 << 20).contains(&bytes) { Ok(bytes) } else { Err(self.bad(argument, "1 byte to 64 MiB")) }
    }

    fn number(&self, argument: &str) -> Result<u64, BadCommand> {
        self.text(argument)?.trim().parse().map_err(|_| self.bad(argument, "a whole number"))
    }

    fn yes_no(&self, argument: &str) -> Result<bool, BadCommand> {
        match self.values.get(argument).map(String::as_str) {
            None | Some("no") => Ok(false),
            Some("yes") => Ok(true),
            Some(_) => Err(self.bad(argument, "`yes` or `no`")),
        }
    }

    fn bad(&self, argument: &str, expected: &'static str) -> BadCommand {
        let value = self.values.get(argument).cloned().unwrap_or_default();
        BadCommand::BadArgument { builtin: self.builtin.to_owned(), argument: argument.to_owned(), value, expected }
    }
}

/// Class and level of ioprio_set(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IoPriority {
    /// Level 0 (highest) to 7; needs CAP_SYS_ADMIN or CAP_SYS_NICE.
    Realtime(u8),
    /// Level 0 (highest) to 7.
    BestEffort(u8),
    /// Only when nobody else wants the disk.
    Idle,
}

impl FromStr for IoPriority {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let bad =
            || format!("`{text}` is no I/O priority; write `realtime:0` to `realtime:7`, `best-effort:0` to `best-effort:7`, or `idle`");
        let level = |digits: &str| digits.parse::<u8>().ok().filter(|level| *level <= 7).ok_or_else(bad);
        match text.split_once(':') {
            Some(("realtime", digits)) => level(digits).map(IoPriority::Realtime),
            Some(("best-effort", digits)) => level(digits).map(IoPriority::BestEffort),
            None if text == "idle" => Ok(IoPriority::Idle),
            Some(_) | None => Err(bad()),
        }
    }
}

impl fmt::Display for IoPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IoPriority::Realtime(level) => write!(f, "realtime:{level}"),
            IoPriority::BestEffort(level) => write!(f, "best-effort:{level}"),
            IoPriority::Idle => f.write_str("idle"),
        }
    }
}

impl Serialize for IoPriority {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for IoPriority {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    fn builtin(name: &str, with: &[(&str, &str)]) -> Result<Command, BadCommand> {
        Template::Builtin { name: name.into(), with: map(with) }.resolve(&map(&[("n", "16")]))
    }

    #[test]
    fn builtins_are_filled_and_typed() {
        let got = builtin("write-file", &[("path", "{dir}/x"), ("size", "{n} MiB")]).unwrap();
        assert_eq!(got, Command::Builtin(Builtin::WriteFile { path: "{dir}/x".into(), bytes: 16 << 20 }));
    }

    #[test]
    fn each_wrong_argument_has_its_own_words() {
        let texts = [
            builtin("linear-raed", &[]),
            builtin("write-file", &[("path", "x")]),
            builtin("write-file", &[("path", "x"), ("size", "1"), ("colour", "red")]),
            builtin("write-file", &[("path", "{z}"), ("size", "1")]),
            builtin("linear-read", &[("path", "x"), ("block", "0")]),
            builtin("linear-read", &[("path", "x"), ("block", "1k"), ("direct", "maybe")]),
        ]
        .map(|result| result.unwrap_err().to_string());
        insta::assert_snapshot!(texts.join("\n"), @r"
        unknown built-in task `linear-raed`
        built-in `write-file` needs `size`
        built-in `write-file` takes no `colour`; it takes path, size
        unknown placeholder `{z}`
        `block` of built-in `linear-read` is `0`; expected 1 byte to 64 MiB
        `direct` of built-in `linear-read` is `maybe`; expected `yes` or `no`
        ");
    }

    #[test]
    fn every_builtin_in_the_table_can_be_made() {
        for (name, takes) in BUILTINS {
            let with: BTreeMap<String, String> =
                takes.iter().filter(|t| !t.ends_with('?')).map(|t| ((*t).to_owned(), "1".to_owned())).collect();
            let template = Template::Builtin { name: name.into(), with };
            assert!(template.resolve(&BTreeMap::new()).is_ok(), "{name}");
        }
    }

    #[test]
    fn io_priorities() {
        for text in ["realtime:0", "best-effort:7", "idle"] {
            assert_eq!(text.parse::<IoPriority>().unwrap().to_string(), text);
        }
        for text in ["realtime", "realtime:8", "be:1", "idle:1", ""] {
            assert!(text.parse::<IoPriority>().is_err(), "{text}");
        }
    }
}
