//! Finish orders in words. Knows the report; knows no markup.

use blklab_model::report::{OrderComparison, OrderVerdict};

use super::number::p_value;
use super::word::Tone;

/// `be before rt`.
pub(crate) fn inversion(order: &OrderComparison) -> String {
    format!("{} before {}", order.then, order.first)
}

/// `5 of 12`, of the candidate and of the baseline.
pub(crate) fn counts(order: &OrderComparison) -> (String, String) {
    (format!("{} of {}", order.inversions, order.trials), format!("{} of {}", order.base_inversions, order.base_trials))
}

/// What the counts say, and in which tone.
pub(crate) fn verdict(order: &OrderComparison) -> (&'static str, Tone) {
    match order.verdict {
        OrderVerdict::SuspectRegression => ("worse, suspected", Tone::Worse),
        OrderVerdict::SuspectImprovement => ("better, suspected", Tone::Better),
        OrderVerdict::NotTold => ("cannot tell", Tone::Open),
    }
}

/// `p = 0.037`.
pub(crate) fn p(order: &OrderComparison) -> String {
    format!("p = {}", p_value(order.p))
}
