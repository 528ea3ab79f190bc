//! The verdict words and what each of them carries.

use serde::{Deserialize, Serialize};

use crate::input::InvalidInput;

/// Which direction of a metric is an improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Times, latencies.
    Lower,
    /// Rates, counts of work done.
    Higher,
}

/// The word for one cell and metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// The data or the policy are unfit; fix and rerun.
    Invalid {
        /// What is wrong.
        error: InvalidInput,
    },
    /// The data are what they are, but carry no information about noise.
    NoTest {
        /// What is missing.
        reason: NoTest,
    },
    /// Significant and large enough in the bad direction; to be confirmed on fresh pairs.
    SuspectRegression,
    /// Significant and large enough in the good direction; to be confirmed on fresh pairs.
    SuspectImprovement,
    /// A suspected regression that fresh randomised pairs on fresh boots confirmed.
    Regression,
    /// A suspected improvement that fresh randomised pairs on fresh boots confirmed.
    Improvement,
    /// A suspicion that fresh pairs did not confirm.
    NotReproduced,
    /// No change within the margin of the policy.
    Equivalent,
    /// The level did not change demonstrably, but the patched arm varies much more.
    VarianceRegression,
    /// Too noisy: even the largest number of runs would leave the change open.
    Unstable {
        /// Half-width in percent of the 95 % interval that `n_max` runs would leave.
        half_width_at_n_max_pct: f64,
    },
    /// Open.
    Inconclusive {
        /// Why it is open.
        why: Why,
        /// Estimate of the runs to add to each arm; none where more runs are no remedy.
        need_more: Option<u64>,
    },
}

/// Why a cell cannot be tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "missing", rename_all = "snake_case")]
pub enum NoTest {
    /// Too few runs in an arm.
    TooFewRuns {
        /// The detail.
        error: InvalidInput,
    },
    /// Means without standard deviations.
    MeansOnly {
        /// Change of the mean in percent.
        change_pct: f64,
        /// Noise (coefficient of variation) above which the change would not be significant; none
        /// for a single run.
        break_even_cv: Option<f64>,
    },
}

/// Why a cell is inconclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Neither a change nor its absence is shown yet.
    NotYetClear,
    /// As above, and the largest number of runs is reached.
    AtMaxRuns,
    /// No arm varies and the resolution of the metric is not known.
    ZeroVariance,
}

impl Verdict {
    /// The word, as it stands in reports and test vectors.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Invalid { .. } => "INVALID",
            Verdict::NoTest { .. } => "NO_TEST",
            Verdict::SuspectRegression => "SUSPECT_REGRESSION",
            Verdict::SuspectImprovement => "SUSPECT_IMPROVEMENT",
            Verdict::Regression => "REGRESSION",
            Verdict::Improvement => "IMPROVEMENT",
            Verdict::NotReproduced => "NOT_REPRODUCED",
            Verdict::Equivalent => "EQUIVALENT",
            Verdict::VarianceRegression => "VARIANCE_REGRESSION",
            Verdict::Unstable { .. } => "UNSTABLE",
            Verdict::Inconclusive { .. } => "INCONCLUSIVE",
        }
    }
}

/// Too few runs are a fact about the experiment (no test), anything else a fault (invalid).
impl From<InvalidInput> for Verdict {
    fn from(error: InvalidInput) -> Verdict {
        match error {
            InvalidInput::TooFew { .. } => Verdict::NoTest { reason: NoTest::TooFewRuns { error } },
            InvalidInput::TooMany { .. }
            | InvalidInput::NonFinite { .. }
            | InvalidInput::NonPositive { .. }
            | InvalidInput::UnequalPairs { .. }
            | InvalidInput::ZeroVarianceBoth
            | InvalidInput::ZeroSpreadBoth
            | InvalidInput::BadSummary { .. }
            | InvalidInput::NotAProbability { .. }
            | InvalidInput::TableTooLarge { .. }
            | InvalidInput::BadPolicy { .. } => Verdict::Invalid { error },
        }
    }
}
