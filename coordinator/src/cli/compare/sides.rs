//! What the two sides are called, and what labels inside of their files mean. Knows paths as names only.

use std::path::{Component, Path, PathBuf};

use blklab_compare::{Arm, Gathered};

/// Column of a cell for the labels of files that hold several on both sides.
const LABEL: &str = "label";

/// The baseline and the candidates.
///
/// Files without labels are one arm, called by its path. Where the base has one label, each label of the candidate side is a candidate;
/// where it has several, a label is a part of the cell: the same system before and after.
pub(super) fn arms(base: Gathered, candidate: Gathered, base_paths: &[PathBuf], candidate_paths: &[PathBuf]) -> (Arm, Vec<Arm>) {
    let (base_name, candidate_name) = labels(base_paths, candidate_paths);
    if base.arms.len() > 1 {
        return (flattened(base, base_name), vec![flattened(candidate, candidate_name)]);
    }
    let mut base = base.arms.into_iter().next().unwrap_or_else(|| Arm { label: String::new(), series: Vec::new() });
    let mut candidates = candidate.arms;
    let clash = candidates.iter().any(|arm| arm.label == base.label);
    for (arm, name) in std::iter::once((&mut base, &base_name)).chain(candidates.iter_mut().map(|arm| (arm, &candidate_name))) {
        if arm.label.is_empty() {
            arm.label.clone_from(name);
        } else if clash {
            arm.label = format!("{name} {}", arm.label);
        }
    }
    (base, candidates)
}

fn flattened(gathered: Gathered, name: String) -> Arm {
    let mut series = Vec::new();
    for arm in gathered.arms {
        for mut one in arm.series {
            if !arm.label.is_empty() {
                one.cell.insert(LABEL.to_owned(), arm.label.clone());
            }
            series.push(one);
        }
    }
    Arm { label: name, series }
}

/// Short names that tell the sides apart: as many of the last parts of the paths as that takes.
fn labels(base: &[PathBuf], candidate: &[PathBuf]) -> (String, String) {
    let (base_parts, candidate_parts) = (common(base), common(candidate));
    let longest = base_parts.len().max(candidate_parts.len());
    let last = |parts: &[String], n: usize| parts[parts.len().saturating_sub(n)..].join("/");
    let pairs = (1..=longest).map(|n| (last(&base_parts, n), last(&candidate_parts, n)));
    let differ = |(a, b): &(String, String)| a != b && !a.is_empty() && !b.is_empty();
    pairs.into_iter().find(differ).unwrap_or_else(|| ("base".to_owned(), "candidate".to_owned()))
}

/// The parts that all paths of a side begin with.
fn common(paths: &[PathBuf]) -> Vec<String> {
    let parts = |path: &Path| -> Vec<String> {
        let parts = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        });
        parts.collect()
    };
    let mut all = paths.iter().map(|path| parts(path));
    let first = all.next().unwrap_or_default();
    all.fold(first, |common, next| common.into_iter().zip(next).take_while(|(a, b)| a == b).map(|(a, _)| a).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(base: &[&str], candidate: &[&str]) -> (String, String) {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        labels(&paths(base), &paths(candidate))
    }

    #[test]
    fn sides_are_called_by_what_tells_their_paths_apart() {
        let both = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(called(&["old/"], &["new/"]), both("old", "new"));
        assert_eq!(called(&["v1/fio"], &["v2/fio"]), both("v1/fio", "v2/fio"));
        assert_eq!(called(&["v1/a.json", "v1/b.json"], &["v2/a.json"]), both("v1", "a.json"));
        assert_eq!(called(&["a.json", "b.json"], &["c.json", "d.json"]), both("base", "candidate"));
        assert_eq!(called(&["same"], &["same"]), both("base", "candidate"));
    }

    #[test]
    fn labels_of_many_systems_on_both_sides_are_cells() {
        let arm = |label: &str| Arm {
            label: label.to_owned(),
            series: vec![blklab_parse::results::Series {
                label: None,
                cell: std::collections::BTreeMap::new(),
                metric: "m".into(),
                unit: "s".into(),
                better: None,
                data: blklab_parse::results::Data::Values(Vec::new()),
            }],
        };
        let many = || Gathered { arms: vec![arm("a"), arm("b")], ..Gathered::default() };
        let (base, candidates) = arms(many(), many(), &["x".into()], &["y".into()]);
        assert_eq!((base.label.as_str(), candidates.len()), ("x", 1));
        assert_eq!(base.series[1].cell["label"], "b");
        let one = Gathered { arms: vec![arm("a")], ..Gathered::default() };
        let (base, candidates) = arms(one, many(), &["x".into()], &["y".into()]);
        assert_eq!(base.label, "x a", "the label is on both sides");
        assert_eq!(candidates.iter().map(|arm| arm.label.as_str()).collect::<Vec<_>>(), ["y a", "y b"]);
    }
}
