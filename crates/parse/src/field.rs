//! Names, units and directions of what tools measure, and the check of a name before anything runs.
//! Owns the pattern language of field names; knows no tool.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::tool::Parser;

/// One value that a tool offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name, or a pattern of names: `{read|write}` stands for one of the words, `{#}` for a
    /// percentile (`50`, `99_9`), `{*}` for any text.
    pub name: &'static str,
    /// Base unit of the value.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// One line for people.
    pub help: &'static str,
}

/// What a metric needs to know of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldInfo {
    /// Base unit of the value.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
}

/// Base unit of a value; printing picks a prefix later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
    /// Operations: what the tool counts (a system call, a request, a file).
    Operations,
    /// Operations per second.
    OperationsPerSecond,
    /// Per cent, 0 to 100.
    Percent,
    /// A plain number.
    Count,
}

/// Which way a value is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// More is better: rates.
    Higher,
    /// Less is better: times, errors.
    Lower,
    /// It describes the run and has no better side: amounts of work.
    Neither,
}

/// A name that is no field of the tool. Completes "failed to ...".
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("find field `{field}` of {tool}{}, there are: {}", did_you_mean(.close), .valid.join(", "))]
pub struct UnknownField {
    /// Name of the tool.
    pub tool: &'static str,
    /// The name as it was written.
    pub field: String,
    /// Names that differ little, the closest first.
    pub close: Vec<String>,
    /// All names and patterns, see [`Field::name`].
    pub valid: Vec<String>,
}

impl Unit {
    /// The symbol that follows a number.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Bytes => "B",
            Unit::BytesPerSecond => "B/s",
            Unit::Seconds => "s",
            Unit::Operations => "op",
            Unit::OperationsPerSecond => "op/s",
            Unit::Percent => "%",
            Unit::Count => "",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.symbol())
    }
}

impl From<&Field> for FieldInfo {
    fn from(field: &Field) -> FieldInfo {
        FieldInfo { unit: field.unit, better: field.better }
    }
}

impl UnknownField {
    pub(crate) fn new(parser: &Parser, field: &str) -> UnknownField {
        let mut close: Vec<(usize, String)> = names(parser)
            .flat_map(|pattern| expand(&pattern))
            .map(|name| (distance(field, &name), name))
            .filter(|(distance, name)| *distance <= name.len() / 3)
            .collect();
        close.sort();
        close.truncate(MAX_CLOSE);
        UnknownField {
            tool: parser.name,
            field: field.into(),
            close: close.into_iter().map(|(_, name)| name).collect(),
            valid: names(parser).collect(),
        }
    }
}

/// More suggestions than this help nobody.
const MAX_CLOSE: usize = 3;

/// The field that a name means, if any.
pub(crate) fn find<'a>(parser: &'a Parser, name: &str) -> Option<&'a Field> {
    let named = |field: &&Field| {
        let scopes = parser.scopes.iter();
        scopes.copied().any(|scope| matches(&format!("{scope}{}", field.name), name))
    };
    parser.fields.iter().find(named)
}

fn names(parser: &Parser) -> impl Iterator<Item = String> {
    let scopes = parser.scopes.iter();
    scopes.flat_map(|scope| parser.fields.iter().map(move |field| format!("{scope}{}", field.name)))
}

fn did_you_mean(close: &[String]) -> String {
    if close.is_empty() {
        return String::new();
    }
    format!(" (did you mean {}?)", close.join(" or "))
}

/// Whether a name fits a pattern as a whole.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((literal, hole, rest)) = split_hole(pattern) else {
        return pattern == name;
    };
    let Some(name) = name.strip_prefix(literal) else {
        return false;
    };
    match hole {
        "*" => name.char_indices().skip(1).any(|(end, _)| matches(rest, &name[end..])),
        "#" => {
            let end = name.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(name.len());
            // A percentile ends in a digit; the underscore after it belongs to what follows.
            let end = name[..end].trim_end_matches('_').len();
            is_percentile(&name[..end]) && matches(rest, &name[end..])
        }
        words => words.split('|').any(|word| name.strip_prefix(word).is_some_and(|name| matches(rest, name))),
    }
}

/// `50`, `99_9`: above 0 and at most 100, `_` for the decimal point.
fn is_percentile(text: &str) -> bool {
    let number: Result<f64, _> = text.replacen('_', ".", 1).parse();
    number.is_ok_and(|percent| percent > 0.0 && percent <= 100.0)
}

/// All names of a pattern, with an example in the place of numbers and free text.
fn expand(pattern: &str) -> Vec<String> {
    let Some((literal, hole, rest)) = split_hole(pattern) else {
        return vec![pattern.into()];
    };
    let words = match hole {
        "*" => vec!["NAME"],
        "#" => vec!["50", "99"],
        words => words.split('|').collect(),
    };
    let tails = expand(rest);
    let join = |word: &str| tails.iter().map(move |tail| format!("{literal}{word}{tail}")).collect::<Vec<_>>();
    words.into_iter().flat_map(join).collect()
}

/// `("read.p", "#", "_s")` of `read.p{#}_s`.
fn split_hole(pattern: &str) -> Option<(&str, &str, &str)> {
    let (literal, rest) = pattern.split_once('{')?;
    let (hole, rest) = rest.split_once('}')?;
    Some((literal, hole, rest))
}

/// Number of letters to insert, delete or replace (Levenshtein 1966), case ignored.
fn distance(a: &str, b: &str) -> usize {
    // A name that long is no slip of the pen; the limit bounds the work.
    const MAX_CHARS: usize = 80;
    let letters = |text: &str| text.to_lowercase().chars().take(MAX_CHARS).collect::<Vec<_>>();
    let (a, b) = (letters(a), letters(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tool, check_field};

    #[test]
    fn patterns_stand_for_whole_names() {
        let pattern = "job.{*}.{read|write}.clat_p{#}_s";
        assert!(matches(pattern, "job.a.b.read.clat_p99_9_s"));
        assert!(matches(pattern, "job.é.write.clat_p50_s"));
        for wrong in [
            "job..read.clat_p50_s",
            "job.a.erase.clat_p50_s",
            "job.a.read.clat_p_s",
            "job.a.read.clat_p101_s",
            "job.a.read.clat_p9_9_9_s",
            "job.a.read.clat_p50_s.more",
        ] {
            assert!(!matches(pattern, wrong), "{wrong}");
        }
    }

    #[test]
    fn a_field_knows_its_unit_and_direction() {
        let info = check_field(Tool::Fio, "job.reader.read.clat_p99_99_s").unwrap();
        assert_eq!((info.unit, info.better), (Unit::Seconds, Better::Lower));
        let info = check_field(Tool::Dd, "bytes_per_second").unwrap();
        assert_eq!((info.unit, info.better), (Unit::BytesPerSecond, Better::Higher));
    }

    #[test]
    fn a_slip_of_the_pen_is_answered_with_the_close_names() {
        let error = check_field(Tool::Dd, "byte_per_sec").unwrap_err();
        assert_eq!(error.close, ["bytes_per_second"]);
        insta::assert_snapshot!(error);

        let error = check_field(Tool::Fio, "read.iosp").unwrap_err();
        assert_eq!(error.close[0], "read.iops");

        let error = check_field(Tool::Builtin, "colour").unwrap_err();
        assert_eq!(error.close, Vec::<String>::new());
    }

    #[test]
    fn distances() {
        assert_eq!(distance("kitten", "Sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
