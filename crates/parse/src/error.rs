//! The one way in which reading an output fails: it is not what the tool prints.
//! Owns the wording; everything less than that is a warning.

use thiserror::Error;

use crate::{text, tool::Parser};

/// The output is not what the tool prints. Completes "failed to ...".
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// There is nothing but white space.
    #[error("read {tool} output: it is empty, expected {expected}")]
    Empty {
        /// Name of the tool whose parser was asked.
        tool: &'static str,
        /// What the parser reads, and how to make the tool print it.
        expected: &'static str,
    },
    /// There is text, but no part of it is known.
    #[error("read {tool} output: line {line} reads `{met}`, expected {expected}")]
    Unrecognised {
        /// Name of the tool whose parser was asked.
        tool: &'static str,
        /// What the parser reads, and how to make the tool print it.
        expected: &'static str,
        /// First line with text, counted from 1.
        line: usize,
        /// That line, shortened.
        met: String,
    },
}

impl ParseError {
    pub(crate) fn new(parser: &Parser, output: &str) -> ParseError {
        let (tool, expected) = (parser.name, parser.expected);
        match text::lines(output).find(|(_, line)| !line.trim().is_empty()) {
            None => ParseError::Empty { tool, expected },
            Some((line, met)) => ParseError::Unrecognised { tool, expected, line, met: text::clip(met.trim()) },
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Tool, parse};

    #[test]
    fn an_empty_output_says_what_was_expected() {
        let error = parse(Tool::Fio, b" \n\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "read fio output: it is empty, expected a JSON object with \"jobs\": run fio with \
             --output-format=json or json+"
        );
    }

    #[test]
    fn a_wrong_output_shows_its_first_line() {
        let error = parse(Tool::Dd, b"\nbash: dd: command not found\n").unwrap_err();
        assert!(error.to_string().starts_with("read dd output: line 2 reads `bash: dd: command not found`, expected "), "{error}");
    }
}
