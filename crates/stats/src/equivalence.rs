//! Equality within a margin by two one-sided t-tests. The rank interval decides on raw data; this
//! is the fallback for summaries and the cross-check of reports.

use serde::{Deserialize, Serialize};

use crate::interval::log_from_pct;
use crate::ttest::TTest;

/// Two one-sided tests of "the shift is outside of the margin" (Schuirmann 1987).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tost {
    /// p-value of "the shift is at or below minus the margin".
    pub p_lower: f64,
    /// p-value of "the shift is at or above the margin".
    pub p_upper: f64,
    /// The larger of both: small means equal within the margin.
    pub p: f64,
}

/// TOST of a t-test on logs against the margin `+-ln(1 + margin_pct/100)`, symmetric on that scale.
/// `p <= alpha` exactly when the interval with error `2 alpha` lies inside of the margin.
#[must_use]
pub fn tost(test: &TTest, margin_pct: f64) -> Tost {
    let margin = log_from_pct(margin_pct);
    let (p_lower, p_upper) = (test.p_above(-margin), test.p_below(margin));
    Tost { p_lower, p_upper, p: p_lower.max(p_upper) }
}
