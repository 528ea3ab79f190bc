//! What was read back from the hosts during the trials: the facts all of them share, and those that differ. Pure bookkeeping.

use std::collections::{BTreeMap, BTreeSet};

use blklab_model::report::{CellReport, Report, TrialReport};

/// A fact with the trials that saw each value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Differing {
    /// The fact.
    pub(crate) name: String,
    /// Each value with the labels of the arms that saw it.
    pub(crate) values: Vec<(String, Vec<String>)>,
}

/// The environment of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Environment {
    /// Facts with one value in all trials that recorded them.
    pub(crate) same: Vec<(String, String)>,
    /// Facts with several.
    pub(crate) differing: Vec<Differing>,
}

/// Sorts the facts of the trials of a cell.
pub(crate) fn of_cell(cell: &CellReport) -> Environment {
    let mut seen: BTreeMap<&str, BTreeMap<&str, BTreeSet<u32>>> = BTreeMap::new();
    for trial in &cell.trials {
        for (name, value) in &trial.environment {
            seen.entry(name).or_default().entry(value).or_default().insert(trial.arm);
        }
    }
    let label = |arm: &u32| match cell.arms.get(*arm as usize) {
        Some(arm) => arm.label.clone(),
        None => format!("arm {arm}"),
    };
    let mut environment = Environment::default();
    for (name, values) in seen {
        let mut values = values.into_iter();
        match (values.next(), values.len()) {
            (Some((value, _)), 0) => environment.same.push((name.to_owned(), value.to_owned())),
            (first, _) => environment.differing.push(Differing {
                name: name.to_owned(),
                values: first.into_iter().chain(values).map(|(v, arms)| (v.to_owned(), arms.iter().map(label).collect())).collect(),
            }),
        }
    }
    environment
}

/// `environment identical`, or the facts that differ inside of cells; what was compared on purpose is among them.
pub(crate) fn in_a_phrase(report: &Report) -> String {
    let recorded = |trial: &TrialReport| !trial.environment.is_empty();
    if !report.cells.iter().flat_map(|cell| &cell.trials).any(recorded) {
        return "environment not recorded".to_owned();
    }
    let differing: BTreeSet<String> = report.cells.iter().flat_map(|cell| of_cell(cell).differing).map(|fact| fact.name).collect();
    match differing.len() {
        0 => "environment identical".to_owned(),
        _ => format!("environment identical but for {}", differing.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing;

    #[test]
    fn facts_are_shared_or_told_by_arm() {
        let report = testing::schedulers();
        let environment = of_cell(&report.cells[0]);
        assert!(environment.same.contains(&("kernel release".into(), "6.18.1".into())), "{environment:?}");
        let scheduler = environment.differing.iter().find(|fact| fact.name == "scheduler").unwrap();
        assert!(scheduler.values.contains(&("bfq".into(), vec!["bfq".into()])), "{scheduler:?}");
        assert_eq!(in_a_phrase(&report), "environment identical but for scheduler");
    }
}
