//! `{name}` in texts of a workload. The set of names is closed and checked before anything runs; `{{` and `}}` are literal braces.

use std::collections::BTreeMap;

use super::MAX_DISKS;

/// Names that only the agent can fill in, at run time: folder and device of the load's own disk. With a number behind they are those of
/// that disk, counted from 1: `{dir2}`.
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
            Piece::Name(name) if of_the_agent(name).is_some() => {
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

/// Where a disk is during a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where its file system is mounted.
    pub dir: String,
    /// Its device.
    pub disk: String,
}

/// Replaces the names of the agent and undoes the escapes: what is left is run as it is. `own` is the index of the load's disk in `places`.
pub fn fill_last(text: &str, own: usize, places: &[Place]) -> Result<String, BadPlaceholder> {
    let mut out = String::with_capacity(text.len());
    let unknown = |name: &str| BadPlaceholder::Unknown(name.to_owned());
    for piece in pieces(text)? {
        match piece {
            Piece::Text("{{") => out.push('{'),
            Piece::Text("}}") => out.push('}'),
            Piece::Text(text) => out.push_str(text),
            Piece::Name(name) => {
                let (what, number) = of_the_agent(name).ok_or_else(|| unknown(name))?;
                let place = places.get(number.map_or(own, |number| number as usize - 1)).ok_or_else(|| unknown(name))?;
                out.push_str(match what {
                    OfTheAgent::Dir => &place.dir,
                    OfTheAgent::Disk => &place.disk,
                });
            }
        }
    }
    Ok(out)
}

/// The highest number of a disk that the text names.
pub fn highest_disk(text: &str) -> Option<u32> {
    let number = |piece| match piece {
        Piece::Name(name) => of_the_agent(name)?.1,
        Piece::Text(_) => None,
    };
    pieces(text).ok()?.into_iter().filter_map(number).max()
}

/// Is the name filled in by the agent?
pub fn is_of_the_agent(name: &str) -> bool {
    of_the_agent(name).is_some()
}

enum OfTheAgent {
    Dir,
    Disk,
}

/// What a name of the agent means, and of which disk if it says so.
fn of_the_agent(name: &str) -> Option<(OfTheAgent, Option<u32>)> {
    let (what, number) = match (name.strip_prefix("disk"), name.strip_prefix("dir")) {
        (Some(number), _) => (OfTheAgent::Disk, number),
        (None, Some(number)) => (OfTheAgent::Dir, number),
        (None, None) => return None,
    };
    if number.is_empty() {
        return Some((what, None));
    }
    let parsed: u32 = number.parse().ok().filter(|parsed: &u32| parsed.to_string() == number)?;
    (1..=MAX_DISKS).contains(&parsed).then_some((what, Some(parsed)))
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

    fn places() -> [Place; 2] {
        let place = |dir: &str, disk: &str| Place { dir: dir.into(), disk: disk.into() };
        [place("/mnt", "/dev/loop9"), place("/mnt-2", "/dev/loop8")]
    }

    #[test]
    fn filled_in_two_steps() {
        let once = fill("{dir}/a-{n}.{{x}}", &values(&[("n", "{7}")])).unwrap();
        assert_eq!(fill_last(&once, 0, &places()).unwrap(), "/mnt/a-{7}.{x}");
    }

    #[test]
    fn disks_have_numbers() {
        let text = fill("{dir}/a {dir2}/a {disk1} {disk2}", &values(&[])).unwrap();
        assert_eq!(fill_last(&text, 1, &places()).unwrap(), "/mnt-2/a /mnt-2/a /dev/loop9 /dev/loop8");
        assert_eq!((highest_disk(&text), highest_disk("{dir}")), (Some(2), None));
        assert_eq!(fill_last("{dir3}", 0, &places()), Err(BadPlaceholder::Unknown("dir3".into())));
        for name in ["dir0", "dir17", "disk01", "disk+1", "dirs"] {
            assert!(!is_of_the_agent(name), "{name}");
        }
    }

    #[test]
    fn what_is_not_a_placeholder_is_an_error() {
        assert_eq!(fill("{nope}", &values(&[])), Err(BadPlaceholder::Unknown("nope".into())));
        for text in ["{", "}", "a{b", "a}b", "{a{b}}"] {
            assert!(fill(text, &values(&[("a", ""), ("b", "")])).is_err(), "{text}");
        }
    }
}
