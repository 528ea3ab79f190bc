//! One answer for each class of disks: a patch may be right for one and wrong for another.

use std::collections::BTreeMap;

use super::compared::Compared;
use super::word::Tone;

/// `worse on sata-hdd, better on fc-array, no change on nvme-ssd`; none where all classes say the same, and where nothing changed.
pub(crate) fn sentence(rows: &[Compared<'_>]) -> Option<String> {
    let mut classes: BTreeMap<&str, Answer> = BTreeMap::new();
    for row in rows {
        let answer = classes.entry(row.cell.disk_class.as_str()).or_default();
        match row.word().tone {
            Tone::Worse => answer.worse = true,
            Tone::Better => answer.better = true,
            Tone::Same => {}
            Tone::Failed | Tone::Unstable | Tone::Open | Tone::Untested | Tone::Waiting => answer.open = true,
        }
    }
    // What could not be told beside a change does not make another answer of it.
    for answer in classes.values_mut() {
        answer.open &= !answer.worse && !answer.better;
    }
    let mut answers: Vec<Answer> = classes.values().copied().collect();
    answers.sort_unstable();
    answers.dedup();
    if answers.len() < 2 || answers.iter().all(|answer| !answer.worse && !answer.better) {
        return None;
    }
    // What needs action first.
    let words: Vec<String> = [(true, true), (true, false), (false, true), (false, false)]
        .into_iter()
        .flat_map(|(worse, better)| [true, false].map(|open| Answer { worse, better, open }))
        .filter_map(|answer| {
            let of: Vec<&str> = classes.iter().filter(|(_, found)| **found == answer).map(|(class, _)| *class).collect();
            (!of.is_empty()).then(|| format!("{} on {}", answer.word(), of.join(" and ")))
        })
        .collect();
    Some(words.join(", "))
}

/// What the comparisons of one class say together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Answer {
    worse: bool,
    better: bool,
    open: bool,
}

impl Answer {
    fn word(self) -> &'static str {
        match (self.worse, self.better, self.open) {
            (true, true, _) => "worse and better",
            (true, false, _) => "worse",
            (false, true, _) => "better",
            (false, false, true) => "not told",
            (false, false, false) => "no change",
        }
    }
}

#[cfg(test)]
mod tests {
    use blklab_model::matrix::CellKind;
    use blklab_model::testing::{Story, experiment, host, noise, workloads};

    use super::*;
    use crate::render::compared::counted;

    /// The candidate multiplies the rate by so much, class by class.
    fn said(factors: &[(&str, f64)]) -> Option<String> {
        let classes: Vec<&str> = factors.iter().map(|(class, _)| *class).collect();
        let asked = experiment(&[("rounds = 6", "rounds = 10"), ("[\"sata-hdd\"]", &format!("{classes:?}"))]);
        let report = Story::finished(asked, workloads(&["reader"]), vec![host("a", &classes)], |cell, arm, run, metric| {
            let factor = factors.iter().find(|(class, _)| *class == cell.disk_class.as_str()).map_or(1.0, |(_, factor)| *factor);
            let change = if arm == 1 { factor } else { 1.0 };
            let value = 1e6 * noise(arm, run);
            if metric == "rate" { value * change } else { value / change }
        })
        .report();
        let rows: Vec<Compared<'_>> = counted(&report, CellKind::Compare).collect();
        sentence(&rows)
    }

    #[test]
    fn classes_that_differ_are_told_apart() {
        let text = said(&[("array", 2.0), ("hdd", 0.1), ("ssd", 1.0)]).unwrap();
        assert_eq!(text, "worse on hdd, better on array, no change on ssd");
        assert_eq!(said(&[("a", 0.5), ("b", 0.5), ("c", 1.0)]).unwrap(), "worse on a and b, no change on c");
    }

    #[test]
    fn classes_that_agree_need_no_sentence() {
        assert_eq!(said(&[("a", 0.5), ("b", 0.4)]), None);
        assert_eq!(said(&[("a", 1.0), ("b", 1.0)]), None);
        assert_eq!(said(&[("a", 0.5)]), None);
    }
}
