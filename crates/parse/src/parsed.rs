//! What comes out of a parser: values by field name, and warnings with their line.
//! Owns the promise that values are finite and not negative; knows no tool.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// More warnings than this about one output are counted, not kept: a reader has understood by then,
/// and a hostile output cannot grow the report.
const MAX_WARNINGS: usize = 50;

/// The values of one output, and what was odd about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parsed {
    /// Field name to value, in base units: bytes, seconds, operations. Always finite, never negative.
    pub values: BTreeMap<String, f64>,
    /// In order of discovery; at most fifty, the last one then says how many were left out.
    pub warnings: Vec<Warning>,
}

/// Something a reader of the values should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Line of the output, counted from 1.
    pub line: usize,
    /// A sentence for people, without the line.
    pub message: String,
}

impl Parsed {
    /// Keeps a value; one that no tool could have measured is left out.
    pub(crate) fn set(&mut self, field: impl Into<String>, value: f64) {
        if value.is_finite() && value >= 0.0 {
            self.values.insert(field.into(), value);
        }
    }

    pub(crate) fn warn(&mut self, line: usize, message: impl Into<String>) {
        warn(&mut self.warnings, line, message);
    }
}

/// Adds a warning to a list that stays short.
pub(crate) fn warn(warnings: &mut Vec<Warning>, line: usize, message: impl Into<String>) {
    if warnings.len() < MAX_WARNINGS {
        let message = message.into();
        warnings.push(Warning { line, message });
        return;
    }
    let last = warnings.last_mut().expect("the list is full");
    let left_out = last.message.strip_prefix(LEFT_OUT).and_then(|count| count.parse::<usize>().ok());
    // The first surplus takes the place of the last kept warning, so two are missing then.
    let count = left_out.map_or(2, |count| count + 1);
    last.message = format!("{LEFT_OUT}{count}");
}

const LEFT_OUT: &str = "further warnings left out: ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_measurable_values_are_kept() {
        let mut parsed = Parsed::default();
        for (name, value) in [("a", f64::NAN), ("b", f64::INFINITY), ("c", -1.0), ("d", 0.0)] {
            parsed.set(name, value);
        }
        assert_eq!(parsed.values.into_keys().collect::<Vec<_>>(), ["d"]);
    }

    #[test]
    fn a_flood_of_warnings_is_counted() {
        let mut warnings = Vec::new();
        for line in 1..=60 {
            warn(&mut warnings, line, "odd");
        }
        assert_eq!(warnings.len(), MAX_WARNINGS);
        assert_eq!(warnings[48].line, 49);
        assert_eq!(warnings[49].message, "further warnings left out: 11");
    }
}
