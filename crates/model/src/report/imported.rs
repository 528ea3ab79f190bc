//! Comparisons of imported values: nobody recorded their order, so the claim is capped (statistics.md 1.3), and of some only a summary
//! is known. Chooses the test that the data allow; the tests are those of `blklab-stats`.

use blklab_stats::{
    Comparison, Design, Judgement, Layout, MeanSd, Order, Policy, SummaryComparison, compare, compare_summary, describe, judge,
    judge_means, judge_summary,
};

use super::Series;
use crate::imported::PublishedSummary;
use crate::workload::metric::Metric;

/// Runs a side for which the break-even noise of means without a number of runs is given: the fewest that can carry a suspicion.
const FEWEST_RUNS: u64 = 3;

/// Judges a candidate against the baseline in one metric.
pub(super) fn judge_series(
    policy: &Policy,
    metric: &Metric,
    is_paired: bool,
    (base, candidate): (&Series, &Series),
) -> (Option<Comparison>, Option<SummaryComparison>, Judgement) {
    if base.summary.is_none() && candidate.summary.is_none() {
        let (comparison, judgement) = judge_values(policy, metric, is_paired, base, candidate);
        return (comparison, None, judgement);
    }
    let (Some(base), Some(candidate)) = (published(base), published(candidate)) else {
        return (None, None, judge_means(0, 1.0, 1.0));
    };
    match (mean_sd(base), mean_sd(candidate)) {
        (Some(b), Some(c)) => match compare_summary(b, c, policy.resolution_pct) {
            Ok(comparison) => {
                let judgement = judge_summary(&comparison, metric.better, policy);
                (None, Some(comparison), judgement)
            }
            Err(error) => (None, None, error.into()),
        },
        (_, _) => {
            let runs = base.n.min(candidate.n).unwrap_or(FEWEST_RUNS);
            (None, None, judge_means(runs, base.mean, candidate.mean))
        }
    }
}

fn judge_values(policy: &Policy, metric: &Metric, is_paired: bool, base: &Series, candidate: &Series) -> (Option<Comparison>, Judgement) {
    let (base, candidate): (Vec<f64>, Vec<f64>) = if is_paired {
        let of_round = |round: u32| candidate.points.iter().find(|point| point.round == round);
        base.points.iter().filter_map(|point| of_round(point.round).map(|other| (point.value, other.value))).unzip()
    } else {
        let values = |series: &Series| series.points.iter().map(|point| point.value).collect();
        (values(base), values(candidate))
    };
    let layout = if is_paired { Layout::Paired } else { Layout::Independent };
    match compare(&base, &candidate, Design { layout, order: Order::Unknown }, policy.options()) {
        Ok(comparison) => {
            let judgement = judge(&comparison, metric.better, policy);
            (Some(comparison), judgement)
        }
        Err(error) => (None, error.into()),
    }
}

/// The summary of a series: as it was published, or of its values where only the other side has one.
pub fn published(series: &Series) -> Option<PublishedSummary> {
    series.summary.or_else(|| {
        let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
        let of = describe(blklab_stats::Arm::Base, &values).ok()?;
        let sd = (of.n > 1).then_some(of.sd);
        Some(PublishedSummary { n: Some(of.n as u64), mean: of.mean, sd, min: Some(of.min), max: Some(of.max) })
    })
}

fn mean_sd(of: PublishedSummary) -> Option<MeanSd> {
    Some(MeanSd { n: of.n?, mean: of.mean, sd: of.sd? })
}
