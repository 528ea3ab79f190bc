//! What file names say: which files are runs of one cell, and which are cells of their own. Knows
//! names alone; a file's content may tell cells apart further.
//!
//! `run-1.json`, `run-2.json` are runs; `randread.json`, `randwrite.json` are cells; `depth-1.json`,
//! `depth-32.json` are cells, since 1 and 32 do not count anything. A name counts if its numbers are
//! 0, 1, 2... or 1, 2, 3... without a gap, over both sides together.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How names are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Names {
    /// By the rule above.
    #[default]
    Auto,
    /// Each name is a cell.
    Cells,
    /// All files of a side are runs of the same cells.
    Runs,
}

/// A file's place below the folder that was named, folder by folder; a file that was named itself has
/// its name alone.
pub type Place = Vec<String>;

/// Columns that names add to the cells of a file.
pub type Columns = BTreeMap<String, String>;

/// The columns of each file of both sides, in their order.
///
/// Where no name of one side is found on the other, names say nothing: then all files are runs.
pub fn columns(base: &[Place], candidate: &[Place], names: Names) -> (Vec<Columns>, Vec<Columns>) {
    let keys = match names {
        Names::Runs => return (vec![Columns::new(); base.len()], vec![Columns::new(); candidate.len()]),
        Names::Cells => [base, candidate].map(|side| side.iter().map(plain).collect::<Vec<Place>>()),
        Names::Auto => without_counters(base, candidate),
    };
    let [base_keys, candidate_keys] = keys;
    let on_base: BTreeSet<&Place> = base_keys.iter().collect();
    let shared = candidate_keys.iter().any(|key| on_base.contains(key));
    if names == Names::Auto && !shared {
        return columns(base, candidate, Names::Runs);
    }
    let all = || base_keys.iter().chain(&candidate_keys);
    let folders = all().map(folder).collect::<BTreeSet<_>>().len() > 1;
    let files = all().map(|key| key.last()).collect::<BTreeSet<_>>().len() > 1;
    let columns = |key: &Place| {
        let mut columns = Columns::new();
        if folders {
            columns.insert("folder".to_owned(), folder(key));
        }
        if let Some(file) = key.last().filter(|_| files) {
            columns.insert("file".to_owned(), file.clone());
        }
        columns
    };
    (base_keys.iter().map(columns).collect(), candidate_keys.iter().map(columns).collect())
}

/// The order of a person: `run-2` before `run-10`.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (text_a, number_a, rest_a) = split(a);
        let (text_b, number_b, rest_b) = split(b);
        let by_number = match (number_a, number_b) {
            (Some(x), Some(y)) => x.trim_start_matches('0').len().cmp(&y.trim_start_matches('0').len()).then_with(|| {
                let (x, y) = (x.trim_start_matches('0'), y.trim_start_matches('0'));
                x.cmp(y)
            }),
            (x, y) => x.is_some().cmp(&y.is_some()),
        };
        let order = text_a.cmp(text_b).then(by_number);
        if order.is_ne() || (number_a.is_none() && number_b.is_none()) {
            return order.then_with(|| rest_a.cmp(rest_b));
        }
        (a, b) = (rest_a, rest_b);
    }
}

/// Text up to the first number, the number, and what follows.
fn split(text: &str) -> (&str, Option<&str>, &str) {
    let Some(from) = text.find(|c: char| c.is_ascii_digit()) else { return (text, None, "") };
    let number = &text[from..];
    let to = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    (&text[..from], Some(&number[..to]), &number[to..])
}

fn folder(place: &Place) -> String {
    place[..place.len().saturating_sub(1)].join("/")
}

/// The place with the extension of its file cut off.
fn plain(place: &Place) -> Place {
    let mut place = place.clone();
    if let Some(file) = place.last_mut() {
        let (stem, _) = stem_and_extension(file);
        *file = stem.to_owned();
    }
    place
}

/// The places of both sides without the numbers that count runs, folder by folder.
fn without_counters(base: &[Place], candidate: &[Place]) -> [Vec<Place>; 2] {
    let places: Vec<&Place> = base.iter().chain(candidate).collect();
    let mut keys = vec![Place::new(); places.len()];
    let deepest = places.iter().map(|place| place.len()).max().unwrap_or(0);
    for level in 0..deepest {
        // Numbers that follow the same words at the same place; folders and files apart.
        let mut numbers: HashMap<(Place, &str, bool), BTreeSet<u64>> = HashMap::new();
        for (place, key) in places.iter().zip(&keys) {
            if let Some(part) = part(place, level)
                && let (stem, Some(number)) = counter(part.name)
            {
                numbers.entry((key.clone(), stem, part.is_file)).or_default().insert(number);
            }
        }
        for (place, key) in places.iter().zip(&mut keys) {
            let Some(part) = part(place, level) else { continue };
            let (stem, number) = counter(part.name);
            let counts = number.is_some() && numbers.get(&(key.clone(), stem, part.is_file)).is_some_and(counts_something);
            key.push(if counts { stem } else { part.name }.to_owned());
        }
    }
    let candidate_keys = keys.split_off(base.len());
    [keys, candidate_keys]
}

struct Part<'a> {
    name: &'a str,
    is_file: bool,
}

fn part(place: &Place, level: usize) -> Option<Part<'_>> {
    let name = place.get(level)?;
    let is_file = level + 1 == place.len();
    Some(Part { name: if is_file { stem_and_extension(name).0 } else { name }, is_file })
}

/// 0, 1, 2... or 1, 2, 3..., at least two of them.
fn counts_something(numbers: &BTreeSet<u64>) -> bool {
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return false };
    *first <= 1 && numbers.len() > 1 && last - first + 1 == numbers.len() as u64
}

/// `run` and 3 of `run-3`, `run_03`, `run.3`, `run3` and `3-run`.
fn counter(name: &str) -> (&str, Option<u64>) {
    let separators = ['-', '_', '.', ' ', '#'];
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if let Ok(number) = name[stem.len()..].parse() {
        return (stem.trim_end_matches(separators), Some(number));
    }
    let stem = name.trim_start_matches(|c: char| c.is_ascii_digit());
    match name[..name.len() - stem.len()].parse() {
        Ok(number) if stem.starts_with(separators) => (stem.trim_start_matches(separators), Some(number)),
        Ok(_) | Err(_) => (name, None),
    }
}

/// The extension is letters after the last dot; `bw.1` has none.
fn stem_and_extension(name: &str) -> (&str, &str) {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && extension.starts_with(|c: char| c.is_ascii_alphabetic()) => (stem, extension),
        Some(_) | None => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn places(names: &[&str]) -> Vec<Place> {
        names.iter().map(|name| name.split('/').map(str::to_owned).collect()).collect()
    }

    /// The columns of both sides as text.
    fn read(base: &[&str], candidate: &[&str], names: Names) -> [Vec<String>; 2] {
        let text = |columns: Columns| columns.into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ");
        let (base, candidate) = columns(&places(base), &places(candidate), names);
        [base, candidate].map(|side| side.into_iter().map(text).collect())
    }

    #[test]
    fn numbers_that_count_are_runs() {
        let runs = ["run-1.json", "run-2.json", "run-3.json"];
        assert_eq!(read(&runs, &runs, Names::Auto), [vec![""; 3], vec![""; 3]]);
        let mixed = ["read_01.txt", "read_02.txt", "write_01.txt", "write_02.txt"];
        let [base, _] = read(&mixed, &mixed, Names::Auto);
        assert_eq!(base, ["file=read", "file=read", "file=write", "file=write"]);
        let [base, _] = read(&["run1/read.json", "run2/read.json"], &["run1/read.json", "run2/read.json"], Names::Auto);
        assert_eq!(base, ["", ""]);
        let [base, candidate] = read(&["1-read.log", "2-read.log", "3-read.log"], &["1-read.log"], Names::Auto);
        assert_eq!((base, candidate), (vec![String::new(); 3], vec![String::new()]));
    }

    #[test]
    fn numbers_that_measure_are_cells() {
        let depths = ["depth-1.json", "depth-4.json", "depth-32.json"];
        let [base, candidate] = read(&depths, &depths, Names::Auto);
        assert_eq!(base, ["file=depth-1", "file=depth-4", "file=depth-32"]);
        assert_eq!(base, candidate);
    }

    #[test]
    fn folders_are_cells_too() {
        let files = ["ssd/read/1.txt", "ssd/read/2.txt", "hdd/read/1.txt", "hdd/read/2.txt"];
        let [base, _] = read(&files, &files, Names::Auto);
        assert_eq!(base, ["folder=ssd/read", "folder=ssd/read", "folder=hdd/read", "folder=hdd/read"]);
    }

    #[test]
    fn names_that_nobody_shares_say_nothing() {
        assert_eq!(read(&["base.json"], &["patched.json"], Names::Auto), [[""], [""]]);
        let stamps = read(&["x-1204.json", "x-1311.json"], &["x-1502.json", "x-1640.json"], Names::Auto);
        assert_eq!(stamps, [["", ""], ["", ""]]);
    }

    #[test]
    fn a_person_can_say_what_names_mean() {
        let runs = ["threads-1.json", "threads-2.json"];
        let [base, _] = read(&runs, &runs, Names::Cells);
        assert_eq!(base, ["file=threads-1", "file=threads-2"]);
        assert_eq!(read(&["a.json", "b.json"], &["a.json", "b.json"], Names::Runs), [["", ""], ["", ""]]);
    }

    #[test]
    fn two_comes_before_ten() {
        let mut names = ["run-10", "run-2", "run-2b", "a", "run-02", "run"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names[..2], ["a", "run"]);
        assert_eq!(names[5], "run-10");
        assert_eq!(natural("x99999999999999999999999", "x100000000000000000000000"), Ordering::Less);
    }

    proptest! {
        #[test]
        fn any_names_give_columns(names in prop::collection::vec("[a-z0-9./_é-]{0,12}", 0..12), cut in 0usize..12) {
            let all = places(&names.iter().map(String::as_str).collect::<Vec<_>>());
            let (base, candidate) = all.split_at(cut.min(all.len()));
            for mode in [Names::Auto, Names::Cells, Names::Runs] {
                let (a, b) = columns(base, candidate, mode);
                prop_assert_eq!((a.len(), b.len()), (base.len(), candidate.len()));
            }
        }
    }
}
