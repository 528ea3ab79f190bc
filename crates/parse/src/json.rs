//! JSON objects inside other text: before, between and after them tools and kernels talk.
//! Owns the search and the rescue of an object that breaks off; knows no tool.

use serde_json::{Deserializer, Value};

use crate::text;

/// What a text holds.
#[derive(Default)]
pub(crate) struct Scan<'a> {
    /// The last object that is whole.
    pub(crate) last: Option<Object>,
    /// How many whole objects there are.
    pub(crate) count: usize,
    /// The last object that breaks off, if it stands after `last`: its complete part.
    pub(crate) torn: Option<Object>,
    /// Lines outside the objects, with their numbers; blank ones are left out.
    pub(crate) prose: Vec<(usize, &'a str)>,
}

pub(crate) struct Object {
    pub(crate) value: Value,
    /// Line of the opening brace.
    pub(crate) line: usize,
    /// Line where it ends or breaks off.
    pub(crate) end_line: usize,
}

/// Finds the objects that begin a line and that `wanted` accepts. Linear in the length of the text.
pub(crate) fn scan<'a>(source: &'a str, wanted: impl Fn(&Value) -> bool) -> Scan<'a> {
    let mut scan = Scan::default();
    let (mut at, mut line) = (0, 1);
    while at < source.len() {
        let rest = &source[at..];
        let consumed = match read_object(rest) {
            Reading::Whole(value, length) if wanted(&value) => {
                let end_line = line + newlines(&rest[..length]);
                scan.last = Some(Object { value, line, end_line });
                scan.count += 1;
                scan.torn = None;
                length
            }
            Reading::Broken(value, length) if wanted(&value) => {
                let end_line = line + newlines(&rest[..length]);
                scan.torn = Some(Object { value, line, end_line });
                length
            }
            Reading::Whole(..) | Reading::Broken(..) | Reading::Nothing => {
                let length = line_length(rest);
                let prose = rest[..length].trim();
                if !prose.is_empty() {
                    scan.prose.push((line, prose));
                }
                length
            }
        };
        line += newlines(&rest[..consumed]);
        at += consumed;
    }
    scan
}

enum Reading {
    /// An object and its length in bytes.
    Whole(Value, usize),
    /// The complete part of an object, and the length in bytes to where it breaks off.
    Broken(Value, usize),
    Nothing,
}

/// Reads the object that the first line of `text` opens.
fn read_object(text: &str) -> Reading {
    let Some(indent) = opening(text) else {
        return Reading::Nothing;
    };
    let mut stream = Deserializer::from_str(&text[indent..]).into_iter::<Value>();
    match stream.next() {
        Some(Ok(value)) => Reading::Whole(value, indent + stream.byte_offset()),
        Some(Err(error)) => {
            let end = if error.is_eof() { text.len() } else { break_off(&text[indent..], &error) + indent };
            match rescue(&text[indent..end]) {
                Some(value) => Reading::Broken(value, end.max(1)),
                None => Reading::Nothing,
            }
        }
        None => Reading::Nothing,
    }
}

/// Where the brace stands that is the first thing on the first line.
fn opening(text: &str) -> Option<usize> {
    let indent = text.len() - text.trim_start_matches([' ', '\t', '\r']).len();
    text[indent..].starts_with('{').then_some(indent)
}

/// The start of the line in which reading failed, so that this line is looked at again: another
/// object may begin there. Within the first line: the place itself.
fn break_off(text: &str, error: &serde_json::Error) -> usize {
    let before: usize = text.split_inclusive('\n').take(error.line() - 1).map(str::len).sum();
    let within = if error.line() == 1 { error.column() } else { 0 };
    let mut end = (before + within).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// Cuts an object after its last complete member and closes what is open.
fn rescue(fragment: &str) -> Option<Value> {
    let mut open = Vec::new();
    let mut complete = 0;
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in fragment.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                open.push(if byte == b'{' { '}' } else { ']' });
                complete = at + 1;
            }
            b'}' | b']' => {
                open.pop().filter(|&close| close == char::from(byte))?;
                complete = at + 1;
            }
            b',' => complete = at,
            _ => {}
        }
    }
    // Nothing was opened or closed since the last complete member, so `open` is what it needs.
    let closed = fragment[..complete].chars().chain(open.into_iter().rev());
    serde_json::from_str(&closed.collect::<String>()).ok()
}

fn line_length(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |end| end + 1)
}

fn newlines(text: &str) -> usize {
    text::line_at(text, text.len()) - 1
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn any(source: &str) -> Scan<'_> {
        scan(source, Value::is_object)
    }

    #[test]
    fn objects_stand_between_other_lines() {
        let scan = any("note: one\n{\"a\": 1}\nbetween {\n  {\n\"a\": 2}\nafter\n");
        let last = scan.last.unwrap();
        assert_eq!((last.value, last.line, last.end_line), (json!({"a": 2}), 4, 5));
        assert_eq!(scan.count, 2);
        assert_eq!(scan.prose, [(1, "note: one"), (3, "between {"), (6, "after")]);
        assert!(scan.torn.is_none());
    }

    #[test]
    fn a_torn_object_keeps_its_complete_members() {
        let cut = "{\"a\": [1, 2, {\"b\": \"x}\", \"c\": 12";
        let torn = any(cut).torn.unwrap();
        assert_eq!(torn.value, json!({"a": [1, 2, {"b": "x}"}]}));
        assert_eq!(torn.line, 1);
    }

    #[test]
    fn the_line_that_breaks_an_object_may_open_the_next() {
        let scan = any("{\"a\": 1,\n\"b\": 2,\n{\"c\": 3}\n");
        assert_eq!(scan.last.unwrap().value, json!({"c": 3}));
        assert!(scan.torn.is_none(), "an earlier torn object is of no interest");

        let scan = any("{\"a\": 1,\n\"b\": 2,\nKilled\n");
        let torn = scan.torn.unwrap();
        assert_eq!((torn.value, torn.end_line), (json!({"a": 1, "b": 2}), 3));
        assert_eq!(scan.prose, [(3, "Killed")]);
    }

    #[test]
    fn unwanted_objects_are_prose() {
        let scan = scan("{\"a\": 1}\n", |value| value.get("jobs").is_some());
        assert!(scan.last.is_none());
        assert_eq!(scan.prose, [(1, "{\"a\": 1}")]);
    }

    #[test]
    fn deep_and_wide_nonsense_ends_soon() {
        let deep = "{\"a\":".repeat(100_000);
        assert!(any(&deep).last.is_none());
        let wide = "{\n".repeat(100_000);
        assert!(any(&wide).last.is_none());
    }
}
