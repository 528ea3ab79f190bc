//! The tools that the lab can read, and what a parser is made of.
//! Owns the list of tools; knows nothing of any one output.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Field, Parsed, bonnie, builtin, dbench, dd, fio, fs_mark, hdparm, iozone, pgbench, postmark};

/// A tool whose output the lab turns into values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// `dd` of GNU coreutils, busybox or uutils.
    Dd,
    /// `fio` 2.x and 3.x with `--output-format=json` or `json+`.
    Fio,
    /// The agent's own tasks: linear read, tree read, tree copy, random overwrite.
    Builtin,
    /// `fs_mark` 3.x.
    FsMark,
    /// `dbench` 3 and 4.
    Dbench,
    /// `postmark` 1.5.
    Postmark,
    /// `bonnie++` 1.03 to 2.00.
    Bonnie,
    /// `hdparm -t`, `-T`, `--direct`.
    Hdparm,
    /// `pgbench` 9 to 17.
    Pgbench,
    /// `iozone` 3.x.
    Iozone,
}

impl Tool {
    /// Every tool, in the order of the enum.
    pub const ALL: [Tool; 10] = [
        Tool::Dd,
        Tool::Fio,
        Tool::Builtin,
        Tool::FsMark,
        Tool::Dbench,
        Tool::Postmark,
        Tool::Bonnie,
        Tool::Hdparm,
        Tool::Pgbench,
        Tool::Iozone,
    ];

    /// The name in workload files and in JSON.
    pub fn name(self) -> &'static str {
        self.parser().name
    }

    /// The fields that the tool offers, for documentation and completion. A name may be a pattern:
    /// see [`Field::name`]. fio offers each of them once more under `job.NAME.`.
    pub fn fields(self) -> &'static [Field] {
        self.parser().fields
    }

    pub(crate) fn parser(self) -> &'static Parser {
        match self {
            Tool::Dd => &dd::PARSER,
            Tool::Fio => &fio::PARSER,
            Tool::Builtin => &builtin::PARSER,
            Tool::FsMark => &fs_mark::PARSER,
            Tool::Dbench => &dbench::PARSER,
            Tool::Postmark => &postmark::PARSER,
            Tool::Bonnie => &bonnie::PARSER,
            Tool::Hdparm => &hdparm::PARSER,
            Tool::Pgbench => &pgbench::PARSER,
            Tool::Iozone => &iozone::PARSER,
        }
    }
}

/// Everything the frame needs to know of one tool.
pub(crate) struct Parser {
    pub(crate) name: &'static str,
    /// Completes "expected ..." when the output is something else; says how to get the right one.
    pub(crate) expected: &'static str,
    pub(crate) fields: &'static [Field],
    /// Prefixes under which all the fields exist; `""` for most tools.
    pub(crate) scopes: &'static [&'static str],
    /// Total: unrecognisable text gives no values.
    pub(crate) read: fn(&str) -> Parsed,
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Tool {
    type Err = UnknownTool;

    fn from_str(name: &str) -> Result<Tool, UnknownTool> {
        let known = Tool::ALL.into_iter().find(|tool| tool.name() == name);
        known.ok_or_else(|| UnknownTool { name: name.into() })
    }
}

/// A name that is no [`Tool`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("find a parser for `{name}`; there are {}", Tool::ALL.map(Tool::name).join(", "))]
pub struct UnknownTool {
    /// The name as it was written.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_has_one_name_everywhere() {
        for tool in Tool::ALL {
            assert_eq!(serde_json::to_value(tool).unwrap(), tool.name());
            assert_eq!(tool.name().parse(), Ok(tool));
        }
    }

    #[test]
    fn an_unknown_tool_lists_the_known_ones() {
        let error = "iozone2".parse::<Tool>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "find a parser for `iozone2`; there are dd, fio, builtin, fs-mark, dbench, postmark, bonnie, hdparm, pgbench, iozone"
        );
    }
}
