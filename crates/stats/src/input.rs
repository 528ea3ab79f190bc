//! What makes data unfit, and the checks at every door. Knows the arms; knows no test.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Largest number of runs in an arm for which all pairs of runs are formed. Pairs grow with the
/// square: 2,000 against 2,000 runs are 32 MB of differences, far beyond any real experiment.
pub(crate) const MAX_RUNS_PER_ARM: usize = 2_000;

/// One side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// The arm compared against.
    Base,
    /// The arm under test.
    Patched,
}

impl std::fmt::Display for Arm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Arm::Base => "base",
            Arm::Patched => "patched",
        })
    }
}

/// Why no number can be computed. A failed run is no value at all: count it as a failure (and
/// compare counts with [`crate::fisher_exact`]) instead of passing NaN, zero or a sentinel.
#[derive(Debug, Clone, PartialEq, Error, Serialize, Deserialize)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum InvalidInput {
    /// An arm has fewer values than the method needs.
    #[error("use the {arm} arm: {n} value(s) where at least {needed} are needed; run more rounds")]
    TooFew {
        /// The arm that is short.
        arm: Arm,
        /// Values given.
        n: usize,
        /// Values needed.
        needed: usize,
    },
    /// An arm is too large for methods that form all pairs of runs.
    #[error("use the {arm} arm: {n} values, the limit is {limit}; pass one value per trial, not samples")]
    TooMany {
        /// The arm that is too large.
        arm: Arm,
        /// Values given.
        n: usize,
        /// Values allowed.
        limit: usize,
    },
    /// A value is NaN or infinite.
    #[error("use {arm} value {index}: it is not finite; record the run as failed instead")]
    NonFinite {
        /// The arm of the value.
        arm: Arm,
        /// Index of the value in its arm, from 0.
        index: usize,
    },
    /// A value is zero or negative where a logarithm is needed.
    #[error("take the logarithm of {arm} value {index}: {value} is not positive; a metric must be > 0")]
    NonPositive {
        /// The arm of the value.
        arm: Arm,
        /// Index of the value in its arm, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
    /// The arms of a paired design differ in length.
    #[error("pair the arms: {base} base and {patched} patched values; drop incomplete rounds")]
    UnequalPairs {
        /// Values in the base arm.
        base: usize,
        /// Values in the patched arm.
        patched: usize,
    },
    /// No arm varies (beyond rounding), so there is no noise to measure a difference against.
    #[error("test a difference: no variance in either arm; state the resolution of the metric")]
    ZeroVarianceBoth,
    /// The deviations from the centre do not vary within the groups, so spreads cannot be compared.
    #[error("compare spreads: the deviations within the groups are all equal")]
    ZeroSpreadBoth,
    /// A published summary contradicts itself: mean not positive, sd negative, or sd larger than
    /// positive values with this mean can have.
    #[error("use the summary of the {arm} arm: it needs a finite mean > 0 and an sd from 0 to sqrt(n) means")]
    BadSummary {
        /// The arm of the summary.
        arm: Arm,
    },
    /// A p-value outside of 0 to 1.
    #[error("correct p-values: number {index} is not between 0 and 1; leave out untested cells")]
    NotAProbability {
        /// Index of the p-value, from 0.
        index: usize,
    },
    /// Counts beyond what the exact 2x2 test enumerates.
    #[error("test a table of {total} counts: the limit is {limit}")]
    TableTooLarge {
        /// Sum of the four counts, saturated.
        total: u64,
        /// Largest sum allowed.
        limit: u64,
    },
    /// A policy or option outside of its domain.
    #[error("use the policy: {field} is out of range; {remedy}")]
    BadPolicy {
        /// Name of the field.
        field: String,
        /// What the field must be.
        remedy: String,
    },
}

impl InvalidInput {
    /// The stable name of the error, as it stands in reports and test vectors.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            InvalidInput::TooFew { .. } => "too_few",
            InvalidInput::TooMany { .. } => "too_many",
            InvalidInput::NonFinite { .. } => "non_finite",
            InvalidInput::NonPositive { .. } => "non_positive",
            InvalidInput::UnequalPairs { .. } => "unequal_pairs",
            InvalidInput::ZeroVarianceBoth => "zero_variance_both",
            InvalidInput::ZeroSpreadBoth => "zero_spread_both",
            InvalidInput::BadSummary { .. } => "bad_summary",
            InvalidInput::NotAProbability { .. } => "not_a_probability",
            InvalidInput::TableTooLarge { .. } => "table_too_large",
            InvalidInput::BadPolicy { .. } => "bad_policy",
        }
    }
}

/// Natural logarithms of an arm: the scale on which a change is a shift. Rejects values that are
/// not finite or not positive.
///
/// # Errors
/// [`InvalidInput::NonFinite`], [`InvalidInput::NonPositive`].
pub fn logs(arm: Arm, values: &[f64]) -> Result<Vec<f64>, InvalidInput> {
    check_finite(arm, values)?;
    match values.iter().position(|&v| v <= 0.0) {
        Some(index) => Err(InvalidInput::NonPositive { arm, index, value: values[index] }),
        None => Ok(values.iter().map(|v| v.ln()).collect()),
    }
}

pub(crate) fn check_finite(arm: Arm, values: &[f64]) -> Result<(), InvalidInput> {
    match values.iter().position(|v| !v.is_finite()) {
        Some(index) => Err(InvalidInput::NonFinite { arm, index }),
        None => Ok(()),
    }
}

/// At least `needed` finite values in each arm.
pub(crate) fn check_arms(base: &[f64], patched: &[f64], needed: usize) -> Result<(), InvalidInput> {
    for (arm, values) in [(Arm::Base, base), (Arm::Patched, patched)] {
        if values.len() < needed {
            return Err(InvalidInput::TooFew { arm, n: values.len(), needed });
        }
        check_finite(arm, values)?;
    }
    Ok(())
}

/// Few enough values in each arm to form all pairs.
pub(crate) fn check_pairs_affordable(base: &[f64], patched: &[f64]) -> Result<(), InvalidInput> {
    for (arm, values) in [(Arm::Base, base), (Arm::Patched, patched)] {
        if values.len() > MAX_RUNS_PER_ARM {
            return Err(InvalidInput::TooMany { arm, n: values.len(), limit: MAX_RUNS_PER_ARM });
        }
    }
    Ok(())
}

/// A level of significance that a test can work with: far enough from 0 that its quantiles are
/// finite, and at most one half.
pub(crate) fn check_level(field: &str, level: f64) -> Result<(), InvalidInput> {
    if (1e-12..=0.5).contains(&level) {
        return Ok(());
    }
    Err(InvalidInput::BadPolicy { field: field.to_owned(), remedy: "give a level between 1e-12 and 0.5".to_owned() })
}

/// The rounding step on the log scale of a resolution in percent of the value.
pub(crate) fn check_resolution(pct: f64) -> Result<f64, InvalidInput> {
    if (0.0..=100.0).contains(&pct) {
        return Ok(pct / 100.0);
    }
    Err(InvalidInput::BadPolicy {
        field: "resolution_pct".to_owned(),
        remedy: "give the rounding step in percent of the value, 0 to 100".to_owned(),
    })
}
