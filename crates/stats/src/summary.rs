//! Published tables: number, mean and standard deviation of each arm, or means alone. No ranks, no
//! modes, no order, hence never more than a suspicion.

use serde::{Deserialize, Serialize};

use crate::describe::Moments;
use crate::dist::{f_sf, t_isf};
use crate::effect::hedges_g;
use crate::input::{Arm, InvalidInput, check_resolution};
use crate::ttest::{TTest, smallest_detectable, welch_of};

/// One arm of a published table, in the unit of the metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeanSd {
    /// Number of runs.
    pub n: u64,
    /// Arithmetic mean, positive.
    pub mean: f64,
    /// Standard deviation with divisor n-1, not negative.
    pub sd: f64,
}

/// Two published arms compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryComparison {
    /// The arm compared against.
    pub base: MeanSd,
    /// The arm under test.
    pub patched: MeanSd,
    /// Welch test of the means, in the unit of the metric; none without variance.
    pub welch: Option<TTest>,
    /// Log-delta test of the ratio of the means: `ln(mean ratio)` with the squared coefficients of
    /// variation as variances. Its [`TTest::log_interval`] is the interval to print. None without
    /// variance.
    pub log_delta: Option<TTest>,
    /// `ln` of the ratio of the means.
    pub log_ratio: f64,
    /// Hedges' g; none without variance.
    pub hedges_g: Option<f64>,
    /// Smallest change, as a log shift, that the log-delta test at 5 % finds with 80 % probability.
    pub smallest_detectable_log: Option<f64>,
}

/// Compares two published arms. `resolution_pct` is the rounding step of the tool in percent of
/// the value, 0 if none.
///
/// # Errors
/// [`InvalidInput::TooFew`] below 2 runs, [`InvalidInput::BadSummary`], [`InvalidInput::BadPolicy`]
/// for a resolution below 0.
pub fn compare_summary(base: MeanSd, patched: MeanSd, resolution_pct: f64) -> Result<SummaryComparison, InvalidInput> {
    const ALPHA: f64 = 0.05;
    const POWER: f64 = 0.8;
    check(Arm::Base, base)?;
    check(Arm::Patched, patched)?;
    let resolution = check_resolution(resolution_pct)?;
    let log_ratio = patched.mean.ln() - base.mean.ln();
    let relative = |arm: MeanSd, mean: f64| {
        let (n, sd) = (arm.n as f64, arm.sd / arm.mean);
        Moments { n, mean, sd }.with_rounding(resolution)
    };
    let log_delta = welch_of(relative(base, 0.0), relative(patched, log_ratio)).ok();
    Ok(SummaryComparison {
        base,
        patched,
        welch: welch_of(base.moments(), patched.moments()).ok(),
        log_delta,
        log_ratio,
        hedges_g: hedges_g(base.moments(), patched.moments()),
        smallest_detectable_log: log_delta.map(|test| smallest_detectable(test.se, test.df, ALPHA, POWER)),
    })
}

impl MeanSd {
    /// The same numbers as the tests want them.
    #[must_use]
    pub fn moments(&self) -> Moments {
        Moments { n: self.n as f64, mean: self.mean, sd: self.sd }
    }
}

/// Exact confidence interval of the ratio of two means (Fieller 1954), as a ratio, with two-sided
/// error `alpha` and the degrees of freedom of the Welch test. None if the base mean is not clearly
/// different from 0 at that level.
#[must_use]
pub fn fieller_interval(base: MeanSd, patched: MeanSd, alpha: f64) -> Option<(f64, f64)> {
    let df = welch_of(base.moments(), patched.moments()).ok()?.df;
    let t = t_isf(alpha / 2.0, df);
    // Relative standard errors, so that the unit of the metric drops out.
    let square = |arm: MeanSd| (arm.sd / arm.mean).powi(2) / arm.n as f64 * t * t;
    let (g, h) = (square(base), square(patched));
    let ratio = patched.mean / base.mean;
    let root = (g + h - g * h).sqrt();
    let ends = (ratio * (1.0 - root) / (1.0 - g), ratio * (1.0 + root) / (1.0 - g));
    (g < 1.0 && ends.0.is_finite() && ends.1.is_finite()).then_some(ends)
}

/// The F ratio of two variances, patched over base. Not robust: at 5 % outliers it raises 36-52 %
/// false alarms at 1 %. It is printed for summaries, which allow no other check; it decides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VarianceRatio {
    /// Variance of patched over variance of base.
    pub f: f64,
    /// Degrees of freedom of patched.
    pub df1: f64,
    /// Degrees of freedom of base.
    pub df2: f64,
    /// Two-sided p-value.
    pub p: f64,
}

/// Tests equal variances from summaries. None if the base arm has no variance, or above the 20,000
/// degrees of freedom of [`f_sf`].
#[must_use]
pub fn variance_ratio(base: MeanSd, patched: MeanSd) -> Option<VarianceRatio> {
    let f = (patched.sd / base.sd).powi(2);
    if !f.is_finite() || base.n < 2 || patched.n < 2 {
        return None;
    }
    let (df1, df2) = (patched.n as f64 - 1.0, base.n as f64 - 1.0);
    let smaller_tail = f_sf(f, df1, df2).min(f_sf(1.0 / f, df2, df1));
    let p = (2.0 * smaller_tail).min(1.0);
    p.is_finite().then_some(VarianceRatio { f, df1, df2, p })
}

/// For tables of means alone: the coefficient of variation in each arm of `n` runs above which the
/// difference would not be significant at 5 %, `|ln(patched/base)| / (t_{0.975, 2n-2} sqrt(2/n))`.
/// None for a single run, which no assumption about noise can rescue.
///
/// # Errors
/// [`InvalidInput::BadSummary`] for a mean that is not positive.
pub fn break_even_cv(n: u64, base: f64, patched: f64) -> Result<Option<f64>, InvalidInput> {
    for (arm, mean) in [(Arm::Base, base), (Arm::Patched, patched)] {
        if !(mean.is_finite() && mean > 0.0) {
            return Err(InvalidInput::BadSummary { arm });
        }
    }
    let runs = n as f64;
    let shift = (patched.ln() - base.ln()).abs();
    Ok((n >= 2).then(|| shift / (t_isf(0.025, 2.0 * runs - 2.0) * (2.0 / runs).sqrt())))
}

fn check(arm: Arm, summary: MeanSd) -> Result<(), InvalidInput> {
    let MeanSd { n, mean, sd } = summary;
    // n values that are not negative vary most when all but one are 0, and then by sqrt(n) means.
    let largest_sd = (n as f64).sqrt() * (1.0 + 1e-9) * mean;
    if !(mean.is_finite() && mean > 0.0 && (0.0..=largest_sd).contains(&sd) && sd.is_finite()) {
        return Err(InvalidInput::BadSummary { arm });
    }
    if n < 2 {
        let n = n as usize;
        return Err(InvalidInput::TooFew { arm, n, needed: 2 });
    }
    Ok(())
}
