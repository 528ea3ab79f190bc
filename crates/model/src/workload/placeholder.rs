//! `{name}` in texts of a workload. The set of names is closed and checked before anything runs; `{{` and `}}` are literal braces.

use std::collections::BTreeMap;

/// Names that only the agent can fill in, at run time.
pub const OF_THE_AGENT: [&str; 2] = ["dir", "disk"];

/// Names that the plan fills in: `{seed}` differs by round and is the same for all arms of a round.
pub const OF_THE_PLAN: [&str; 1] = ["seed"];

/// A text whose placeholders are wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPlaceholder {
    /// Not a parameter, not one of ours.
    #[error("unknown placeholder `{{{0}}}`")]
    Unknown(String),
    /// `{` without `}` or the reverse.
    #[error("unbalanced brace in `{0}`; write {{{{ or }}}} for a literal brace")]
    Unbalanced(String),
}

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// Replaces the names that `values` holds. Names of the agent stay as they are, escaped braces too, for [`fill_last`] to finish.
pub fn fill(text: &str, values: &BTreeMap<String, String>) -> Result<String, BadPlaceholder> {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text)? {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Name(name) if OF_THE_AGENT.contains(&name) => {
                out.push('{');
                out.push_str(name);
                out.push('}');
            }
            // A value with a brace in it must come out as it went in.
            Piece::Name(name) => match values.get(name) {
                Some(value) => out.push_str(&value.replace('{', "{{").replace('}', "}}")),
                None => return Err(BadPlaceholder::Unknown(name.to_owned())),
            },
        }
    }
    Ok(out)
}

/// Replaces the names of the agent and undoes the escapes: what is left is run as it is.
pub fn fill_last(text: &str, dir: &str, disk: &str) -> Result<String, BadPlaceholder> {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text)? {
        match piece {
            Piece::Text("{{") => out.push('{'),
            Piece::Text("}}") => out.push('}'),
            Piece::Text(text) => out.push_str(text),
            Piece::Name("dir") => out.push_str(dir),
            Piece::Name("disk") => out.push_str(disk),
            Piece::Name(name) => return Err(BadPlaceholder::Unknown(name.to_owned())),
        }
    }
    Ok(out)
}

fn pieces(text: &str) -> Result<Vec<Piece<'_>>, BadPlaceholder> {
    let unbalanced = || BadPlaceholder::Unbalanced(text.to_owned());
    let mut rest = text;
    let mut out = Vec::new();
    while let Some(at) = rest.find(['{', '}']) {
        let (before, tail) = rest.split_at(at);
        if !before.is_empty() {
            out.push(Piece::Text(before));
        }
        let len = if tail.starts_with("{{") || tail.starts_with("}}") {
            out.push(Piece::Text(&tail[..2]));
            2
        } else {
            let name = tail.strip_prefix('{').ok_or_else(unbalanced)?;
            let end = name.find(['{', '}']).filter(|end| name[*end..].starts_with('}')).ok_or_else(unbalanced)?;
            out.push(Piece::Name(&name[..end]));
            end + 2
        };
        rest = &tail[len..];
    }
    if !rest.is_empty() {
        out.push(Piece::Text(rest));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn filled_in_two_steps() {
        let once = fill("{dir}/a-{n}.{{x}}", &values(&[("n", "{7}")])).unwrap();
        assert_eq!(fill_last(&once, "/mnt", "/dev/loop9").unwrap(), "/mnt/a-{7}.{x}");
    }

    #[test]
    fn what_is_not_a_placeholder_is_an_error() {
        assert_eq!(fill("{nope}", &values(&[])), Err(BadPlaceholder::Unknown("nope".into())));
        for text in ["{", "}", "a{b", "a}b", "{a{b}}"] {
            assert!(fill(text, &values(&[("a", ""), ("b", "")])).is_err(), "{text}");
        }
    }
}
