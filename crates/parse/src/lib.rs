//! Tool output in, values out: every parser of the lab, as pure functions.
//! Owns the names, units and directions of what a tool can measure. Knows no files, no processes,
//! no clock, no jobs and no disks: raw output is the truth and can be parsed again at any time.
//!
//! To add a parser: one file with a `PARSER` (copy `builtin.rs`), one folder under `fixtures/` with
//! outputs of the real tool, one arm in [`Tool`].

mod bonnie;
pub mod builtin;
mod dbench;
mod dd;
mod error;
mod field;
mod fio;
mod fs_mark;
mod hdparm;
mod iozone;
mod json;
pub mod monitor;
mod parsed;
mod pgbench;
mod postmark;
pub mod results;
mod text;
mod tool;

pub use builtin::BuiltinResult;
pub use error::ParseError;
pub use field::{Better, Field, FieldInfo, Unit, UnknownField};
pub use parsed::{Parsed, Warning};
pub use tool::{Tool, UnknownTool};

/// Reads the output of one run of `tool`: standard output and standard error, in any mixture.
///
/// Values are finite, not negative and in base units (bytes, seconds, operations). Output that
/// stops in the middle gives what is there, with a warning that names the line. Bytes that are not
/// UTF-8 are replaced, never refused. No input makes it panic.
///
/// # Errors
/// [`ParseError`] when nothing of what the tool prints can be recognised.
pub fn parse(tool: Tool, output: &[u8]) -> Result<Parsed, ParseError> {
    let text = String::from_utf8_lossy(output);
    let parser = tool.parser();
    let parsed = (parser.read)(&text);
    if parsed.values.is_empty() {
        return Err(ParseError::new(parser, &text));
    }
    Ok(parsed)
}

/// What `field` of `tool` means, before anything runs: its unit and which way is better.
///
/// # Errors
/// [`UnknownField`] with the closest names and all names that there are.
pub fn check_field(tool: Tool, field: &str) -> Result<FieldInfo, UnknownField> {
    let parser = tool.parser();
    field::find(parser, field).map(FieldInfo::from).ok_or_else(|| UnknownField::new(parser, field))
}
