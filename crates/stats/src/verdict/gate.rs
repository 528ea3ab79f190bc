//! The decision trace: each rule with its value, its limit and whether the value is on the right
//! side of it.

use serde::{Deserialize, Serialize};

/// A rule of the method. The unit of value and limit stands with each name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateName {
    /// Runs in the smaller arm, for the claim of a change.
    RunsForChange,
    /// p-value of the cell, for the claim of a change.
    Significant,
    /// Size of the change as |log shift|, for the claim of a change.
    LargeEnough,
    /// 1 if the run order was randomised; else a suspicion cannot be confirmed.
    OrderRandomised,
    /// Runs in the smaller arm, for the claim of no change.
    RunsForEquivalence,
    /// Larger end of the 90 % interval as |log shift|, for the claim of no change.
    WithinMargin,
    /// Rounding step of the metric in percent, for the claim of no change.
    FineEnough,
    /// Runs in the smaller arm, for the claim of a changed spread.
    RunsForSpread,
    /// p-value of the Brown-Forsythe test, for the claim of a changed spread.
    SpreadSignificant,
    /// Ratio of the standard deviations of the logs, for the claim of a changed spread.
    SpreadLargeEnough,
    /// Runs in the smaller arm, for the claim of an unstable cell.
    RunsForStability,
    /// Half-width of the 95 % interval on the log scale that `n_max` runs would leave; a cell that
    /// fails it is unstable.
    QuietEnough,
    /// Variance explained by two clusters in the base arm; a cell that fails it is unstable.
    OneModeInBase,
}

/// Which side of the limit passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The value must be at most the limit.
    AtMost,
    /// The value must be at least the limit.
    AtLeast,
}

/// One rule applied to one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Which rule.
    pub name: GateName,
    /// The value; none where the data allow none, and then the rule is not passed (except
    /// [`GateName::QuietEnough`] and [`GateName::OneModeInBase`], which then find nothing wrong).
    pub value: Option<f64>,
    /// Which side of the limit passes.
    pub bound: Bound,
    /// The limit.
    pub limit: f64,
    /// Whether the rule is passed.
    pub passed: bool,
}

impl Gate {
    /// A rule that needs its value to be passed.
    pub(super) fn required(name: GateName, value: Option<f64>, bound: Bound, limit: f64) -> Gate {
        let passed = value.is_some_and(|v| bound.holds(v, limit));
        Gate { name, value, bound, limit, passed }
    }

    /// A rule that only a value can break.
    pub(super) fn unless_broken(name: GateName, value: Option<f64>, limit: f64) -> Gate {
        let bound = Bound::AtMost;
        Gate { name, value, bound, limit, passed: value.is_none_or(|v| bound.holds(v, limit)) }
    }
}

impl Bound {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Bound::AtMost => value <= limit,
            Bound::AtLeast => value >= limit,
        }
    }
}

/// Why a suspicion could not become a confirmed verdict, however often it is repeated like this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cap {
    /// The run order was not randomised, or is not known.
    Order,
    /// The series drifts, and its order was not randomised.
    Drift,
    /// Only summaries were given: no ranks, no modes, no order.
    SummaryOnly,
}
