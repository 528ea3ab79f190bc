//! Finish orders: in how many trials did the task that should be second end first? Counts are compared exactly (Fisher), never as means
//! of times: a reader that wins by a hair and one that wins by a minute both won.

use std::collections::BTreeMap;

use blklab_stats::fisher_exact;
use serde::{Deserialize, Serialize};

use super::CellReport;
use crate::id::WorkloadName;
use crate::matrix::{Cell, CellKind};
use crate::record::TrialRecord;
use crate::trial::TrialState;
use crate::workload::order::FinishOrder;

/// Inversions of one expected order under a candidate, beside those of the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrderComparison {
    /// The workload that expects it.
    pub workload: WorkloadName,
    /// Its name there.
    pub name: String,
    /// The task that should end first.
    pub first: String,
    /// The task that should end after it.
    pub then: String,
    /// Value on the compared axis.
    pub candidate: String,
    /// Trials of the baseline in which `then` ended first.
    pub base_inversions: u32,
    /// Trials of the baseline in which both ended.
    pub base_trials: u32,
    /// Trials of the candidate in which `then` ended first.
    pub inversions: u32,
    /// Trials of the candidate in which both ended.
    pub trials: u32,
    /// Two-sided p of Fisher's exact test of the four counts; 1 when nothing was counted.
    pub p: f64,
    /// What the counts say.
    pub verdict: OrderVerdict,
}

/// What counts of inversions say at the level of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderVerdict {
    /// More inversions than under the baseline, beyond chance.
    SuspectRegression,
    /// Fewer, beyond chance.
    SuspectImprovement,
    /// Chance may have done it.
    NotTold,
}

impl OrderComparison {
    fn new(workload: &WorkloadName, order: &FinishOrder, candidate: &str, base: Count, of_candidate: Count, alpha: f64) -> Self {
        let row = |count: Count| [u64::from(count.inversions), u64::from(count.trials - count.inversions)];
        let p = fisher_exact([row(base), row(of_candidate)]).map_or(1.0, |test| test.p_two_sided);
        let verdict = match of_candidate.share().total_cmp(&base.share()) {
            std::cmp::Ordering::Greater if p <= alpha => OrderVerdict::SuspectRegression,
            std::cmp::Ordering::Less if p <= alpha => OrderVerdict::SuspectImprovement,
            std::cmp::Ordering::Greater | std::cmp::Ordering::Less | std::cmp::Ordering::Equal => OrderVerdict::NotTold,
        };
        OrderComparison {
            workload: workload.clone(),
            name: order.name.clone(),
            first: order.first.clone(),
            then: order.then.clone(),
            candidate: candidate.to_owned(),
            base_inversions: base.inversions,
            base_trials: base.trials,
            inversions: of_candidate.inversions,
            trials: of_candidate.trials,
            p,
            verdict,
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    inversions: u32,
    trials: u32,
}

impl Count {
    /// A task that reached its end together with the other one did not come before it.
    fn of(order: &FinishOrder, arm: u32, trials: &[&TrialRecord]) -> Count {
        let mut count = Count::default();
        for trial in trials.iter().filter(|trial| trial.id.arm == arm && trial.state == TrialState::Completed) {
            let Some(elapsed) = trial.details.as_ref().map(|details| &details.elapsed_s) else { continue };
            if let (Some(first), Some(then)) = (elapsed.get(&order.first), elapsed.get(&order.then)) {
                count.trials += 1;
                count.inversions += u32::from(then < first);
            }
        }
        count
    }

    fn share(self) -> f64 {
        f64::from(self.inversions) / f64::from(self.trials.max(1))
    }
}

/// The orders of one cell, candidate by candidate.
pub(super) fn of_cell(cell: &Cell, orders: &[FinishOrder], trials: &[&TrialRecord], alpha: f64) -> Vec<OrderComparison> {
    let mut found = Vec::new();
    for order in orders {
        let base = Count::of(order, 0, trials);
        for (number, arm) in (0u32..).zip(&cell.arms).skip(1) {
            found.push(OrderComparison::new(&cell.workload, order, &arm.label, base, Count::of(order, number, trials), alpha));
        }
    }
    found.retain(|of| of.trials + of.base_trials > 0);
    found
}

/// The orders of all cells together: four trials of a cell say little, twelve of three cells more. A/A cells are left out.
pub(super) fn of_all(cells: &[CellReport], alpha: f64) -> Vec<OrderComparison> {
    let mut sums: BTreeMap<(&WorkloadName, &str, &str), (FinishOrder, Count, Count)> = BTreeMap::new();
    for of in cells.iter().filter(|cell| cell.kind == CellKind::Compare).flat_map(|cell| &cell.finish_orders) {
        let order = FinishOrder { name: of.name.clone(), first: of.first.clone(), then: of.then.clone() };
        let (_, base, candidate) =
            sums.entry((&of.workload, &of.name, &of.candidate)).or_insert((order, Count::default(), Count::default()));
        *base = Count { inversions: base.inversions + of.base_inversions, trials: base.trials + of.base_trials };
        *candidate = Count { inversions: candidate.inversions + of.inversions, trials: candidate.trials + of.trials };
    }
    let together = sums
        .into_iter()
        .map(|((workload, _, label), (order, base, candidate))| OrderComparison::new(workload, &order, label, base, candidate, alpha));
    let mut all: Vec<OrderComparison> = together.collect();
    all.sort_by(|one, other| one.p.total_cmp(&other.p));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Story, experiment, host, workloads};

    /// `rt` is first on the baseline; under the candidate `be` is, in so many of the six rounds of each cell.
    fn story(inversions: u32) -> Story {
        let mut workloads = workloads(&["reader"]);
        for workload in workloads.values_mut() {
            workload.finish_orders = vec![FinishOrder { name: "rt_first".into(), first: "rt".into(), then: "be".into() }];
        }
        let asked = experiment(&[("[\"sata-hdd\"]", "[\"sata-hdd\", \"ssd\"]")]);
        let mut story = Story::finished(asked, workloads, vec![host("a", &["sata-hdd", "ssd"])], |_, _, _, _| 1.0);
        for trial in &mut story.trials {
            let inverted = trial.id.arm == 1 && trial.id.run < inversions;
            let (rt, be) = if inverted { (2.0, 1.0) } else { (1.0, 2.0) };
            trial.details.as_mut().unwrap().elapsed_s = [("rt".to_owned(), rt), ("be".to_owned(), be)].into();
        }
        story
    }

    #[test]
    fn inversions_are_counted_in_cells_and_together() {
        let report = story(3).report();
        assert_eq!(report.cells.len(), 2);
        for cell in &report.cells {
            let order = &cell.finish_orders[0];
            assert_eq!((order.base_inversions, order.base_trials, order.inversions, order.trials), (0, 6, 3, 6));
            assert_eq!(order.verdict, OrderVerdict::NotTold, "3 of 6 against 0 of 6 is p = 0.18");
        }
        let together = &report.finish_orders[0];
        assert_eq!((together.base_inversions, together.base_trials, together.inversions, together.trials), (0, 12, 6, 12));
        assert!((together.p - 0.013_729_9).abs() < 1e-6, "{}", together.p);
        assert_eq!(together.verdict, OrderVerdict::SuspectRegression);
        assert!(report.headline.contains("be before rt in 6 of 12"), "{}", report.headline);
    }

    /// The published readers, all disks together: 5 of 12 against none of 12 is beyond chance at 5 %, 4 of 12 is not.
    #[test]
    fn few_inversions_are_not_told() {
        let order = FinishOrder { name: "rt_first".into(), first: "rt".into(), then: "be".into() };
        let count = |inversions| Count { inversions, trials: 12 };
        let judge = |base, candidate| OrderComparison::new(&"w".parse().unwrap(), &order, "patched", count(base), count(candidate), 0.05);
        assert!((judge(0, 5).p - 0.037_267).abs() < 1e-5);
        assert_eq!(judge(0, 5).verdict, OrderVerdict::SuspectRegression);
        assert_eq!(judge(5, 0).verdict, OrderVerdict::SuspectImprovement);
        assert_eq!(judge(0, 4).verdict, OrderVerdict::NotTold);
    }

    #[test]
    fn a_tie_is_no_inversion_and_a_failed_trial_is_no_trial() {
        let mut story = story(0);
        for trial in &mut story.trials {
            let details = trial.details.as_mut().unwrap();
            details.elapsed_s = [("rt".to_owned(), 1.0), ("be".to_owned(), 1.0)].into();
            if trial.id.run == 0 {
                details.elapsed_s.remove("be");
            }
        }
        let report = story.report();
        assert_eq!((report.finish_orders[0].inversions, report.finish_orders[0].trials), (0, 10));
        assert_eq!(report.headline, Story::report(&self::story(0)).headline);
    }
}
