//! Two-sample t-tests: Welch for independent runs, the paired test for randomised pairs, and the
//! change such a test can detect. On whatever scale the values are given; verdicts give it logs.

use serde::{Deserialize, Serialize};

use crate::describe::Moments;
use crate::dist::{normal_isf, t_isf, t_sf};
use crate::input::{InvalidInput, check_arms};
use crate::interval::LogInterval;

/// The result of a t-test of "no difference".
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TTest {
    /// Mean of patched minus mean of base.
    pub difference: f64,
    /// Standard error of the difference.
    pub se: f64,
    /// Degrees of freedom, not necessarily whole.
    pub df: f64,
    /// difference / se.
    pub t: f64,
    /// Two-sided p-value.
    pub p: f64,
}

impl TTest {
    fn new(difference: f64, se: f64, df: f64) -> TTest {
        let t = (difference / se).clamp(f64::MIN, f64::MAX);
        TTest { difference, se, df, t, p: (2.0 * t_sf(t.abs(), df)).min(1.0) }
    }

    /// One-sided p-value; small means that patched exceeds base by more than `shift`.
    #[must_use]
    pub fn p_above(&self, shift: f64) -> f64 {
        t_sf((self.difference - shift) / self.se, self.df)
    }

    /// One-sided p-value; small means that patched exceeds base by less than `shift`.
    #[must_use]
    pub fn p_below(&self, shift: f64) -> f64 {
        t_sf((shift - self.difference) / self.se, self.df)
    }

    /// Confidence interval of the difference with two-sided error `alpha`.
    #[must_use]
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let half = t_isf(alpha / 2.0, self.df) * self.se;
        (self.difference - half, self.difference + half)
    }

    /// [`Self::interval`] of a test on logs.
    #[must_use]
    pub fn log_interval(&self, alpha: f64) -> LogInterval {
        let (low, high) = self.interval(alpha);
        LogInterval { low, high, level: 1.0 - alpha }
    }
}

/// Welch's test of two independent arms (Welch 1947; degrees of freedom after Satterthwaite 1946).
///
/// # Errors
/// [`InvalidInput::TooFew`] below 2 values an arm, [`InvalidInput::NonFinite`],
/// [`InvalidInput::ZeroVarianceBoth`].
pub fn welch(base: &[f64], patched: &[f64]) -> Result<TTest, InvalidInput> {
    check_arms(base, patched, 2)?;
    welch_of(Moments::of(base), Moments::of(patched))
}

/// Welch's test from moments; each arm needs at least 2 values.
///
/// # Errors
/// [`InvalidInput::ZeroVarianceBoth`] if the standard error is 0 or below the rounding of the means.
pub fn welch_of(base: Moments, patched: Moments) -> Result<TTest, InvalidInput> {
    let se = base.sem().hypot(patched.sem()).min(f64::MAX);
    reject_rounding_noise(se, base.mean.abs().max(patched.mean.abs()))?;
    // Shares of the squared standard error: no product of variances can overflow.
    let (b, p) = ((base.sem() / se).powi(2), (patched.sem() / se).powi(2));
    let df = 1.0 / (b * b / (base.n - 1.0) + p * p / (patched.n - 1.0));
    let difference = (patched.mean - base.mean).clamp(f64::MIN, f64::MAX);
    Ok(TTest::new(difference, se, df))
}

/// The paired t-test: `base[i]` and `patched[i]` are the two runs (or boot means) of round `i`.
/// `rounding` is the step to which each value was rounded, 0 if none; its variance counts twice.
///
/// # Errors
/// [`InvalidInput::TooFew`] below 2 pairs, [`InvalidInput::UnequalPairs`],
/// [`InvalidInput::NonFinite`], [`InvalidInput::ZeroVarianceBoth`] if the differences do not vary
/// beyond rounding.
pub fn paired(base: &[f64], patched: &[f64], rounding: f64) -> Result<TTest, InvalidInput> {
    if base.len() != patched.len() {
        return Err(InvalidInput::UnequalPairs { base: base.len(), patched: patched.len() });
    }
    check_arms(base, patched, 2)?;
    let largest = |v: &[f64]| v.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let differences: Vec<f64> = base.iter().zip(patched).map(|(b, p)| (p - b).clamp(f64::MIN, f64::MAX)).collect();
    let d = Moments::of(&differences).with_rounding(rounding * std::f64::consts::SQRT_2);
    reject_rounding_noise(d.sem(), largest(base).max(largest(patched)))?;
    Ok(TTest::new(d.mean, d.sem(), d.n - 1.0))
}

/// The smallest true difference that a two-sided t-test at `alpha` finds with probability `power`.
///
/// Solves the normal approximation of the noncentral t distribution for the noncentrality (Johnson and
/// Welch 1940; Abramowitz and Stegun 26.7.10): `c (1 - 1/(4 df)) + z sqrt(1 + c^2 / (2 df))` standard
/// errors, with `c = t_{1-alpha/2, df}` and `z` the normal quantile of `power`. The shorter
/// `t_{1-alpha/2} + t_{power}` (Bloom 1995) is a tenth too small at 2 degrees of freedom.
#[must_use]
pub fn smallest_detectable(se: f64, df: f64, alpha: f64, power: f64) -> f64 {
    let critical = t_isf(alpha / 2.0, df);
    let spread = (1.0 + critical * (critical / (2.0 * df))).sqrt();
    se * (critical * (1.0 - 1.0 / (4.0 * df)) + normal_isf(1.0 - power) * spread)
}

/// A standard error at the level of the rounding of its inputs measures the arithmetic, not the
/// machine: four units in the last place of the largest magnitude.
fn reject_rounding_noise(se: f64, magnitude: f64) -> Result<(), InvalidInput> {
    if se > 4.0 * f64::EPSILON * magnitude && se > 0.0 { Ok(()) } else { Err(InvalidInput::ZeroVarianceBoth) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_factor_between_the_arms_is_no_variance() {
        let base = [10.0f64, 11.3, 9.7, 10.4];
        let logs: Vec<f64> = base.iter().map(|v| v.ln()).collect();
        let slower: Vec<f64> = base.iter().map(|v| (v * 1.1).ln()).collect();
        assert_eq!(paired(&logs, &slower, 0.0), Err(InvalidInput::ZeroVarianceBoth));
        assert!(paired(&logs, &slower, 0.01).is_ok());
    }

    #[test]
    fn exchanged_arms_mirror_the_result() {
        let (a, b) = ([1.0, 2.0, 4.0], [3.0, 3.5, 9.0, 4.0]);
        let (ab, ba) = (welch(&a, &b).unwrap(), welch(&b, &a).unwrap());
        assert_eq!((ab.t, ab.p, ab.df), (-ba.t, ba.p, ba.df));
        assert_eq!(ab.p_above(0.0), ba.p_below(0.0));
    }
}
