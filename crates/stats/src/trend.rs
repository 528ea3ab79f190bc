//! Does a series drift in run order? Mann-Kendall with the exact null, and the slope that belongs
//! to it. Knows an order, not what the runs were.

use serde::{Deserialize, Serialize};

use crate::describe::median;
use crate::dist::normal_sf;
use crate::input::{Arm, InvalidInput, check_finite};

/// Longest series with an exact null; beyond, the normal approximation agrees to three digits.
const MAX_EXACT: usize = 60;

/// Longest series whose pairs are compared.
const MAX_LENGTH: usize = 5_000;

/// The Mann-Kendall test (Mann 1945) for a monotone trend.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MannKendall {
    /// Length of the series.
    pub n: usize,
    /// Rising minus falling pairs.
    pub s: i64,
    /// Variance of `s` without trend, corrected for ties.
    pub variance: f64,
    /// Normal deviate with continuity correction; 0 for `s = 0`.
    pub z: f64,
    /// Two-sided p-value by the normal approximation.
    pub p_normal: f64,
    /// Two-sided exact p-value; none with ties or more than 60 runs.
    pub p_exact: Option<f64>,
    /// Kendall's tau-b against the run index; none if all values tie.
    pub tau_b: Option<f64>,
}

impl MannKendall {
    /// The exact p-value where there is one, else the normal one.
    #[must_use]
    pub fn p(&self) -> f64 {
        self.p_exact.unwrap_or(self.p_normal)
    }
}

/// Tests a series in run order. `arm` names it in errors.
///
/// # Errors
/// [`InvalidInput::TooFew`] below 2 values, [`InvalidInput::NonFinite`], [`InvalidInput::TooMany`]
/// above 5,000.
pub fn mann_kendall(arm: Arm, series: &[f64]) -> Result<MannKendall, InvalidInput> {
    check_series(arm, series)?;
    let n = series.len();
    let (mut s, mut equal_pairs) = (0i64, 0i64);
    for (i, x) in series.iter().enumerate() {
        for y in &series[i + 1..] {
            s += i64::from(y > x) - i64::from(y < x);
            equal_pairs += i64::from(y == x);
        }
    }
    let weight = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
    let variance = (weight(n as f64) - tie_sizes(series).map(weight).sum::<f64>()) / 18.0;
    let z = match s {
        0 => 0.0,
        s => s.signum() as f64 * (s.abs() - 1) as f64 / variance.sqrt(),
    };
    let pairs = (n * (n - 1) / 2) as f64;
    let untied = pairs - equal_pairs as f64;
    Ok(MannKendall {
        n,
        s,
        variance,
        z,
        p_normal: (2.0 * normal_sf(z.abs())).min(1.0),
        p_exact: (equal_pairs == 0 && n <= MAX_EXACT).then(|| exact_p(n, s)),
        tau_b: (untied > 0.0).then(|| s as f64 / (pairs * untied).sqrt()),
    })
}

/// Sen's slope (1968): the median of the slopes of all pairs, per run.
///
/// # Errors
/// Those of [`mann_kendall`].
pub fn sen_slope(arm: Arm, series: &[f64]) -> Result<f64, InvalidInput> {
    check_series(arm, series)?;
    let mut slopes = Vec::with_capacity(series.len() * (series.len() - 1) / 2);
    for (i, x) in series.iter().enumerate() {
        let later = series[i + 1..].iter().enumerate();
        slopes.extend(later.map(|(gap, y)| ((y - x) / (gap + 1) as f64).clamp(f64::MIN, f64::MAX)));
    }
    Ok(median(&slopes).unwrap_or(0.0))
}

/// `min(1, 2 P(S >= |s|))` from the numbers of permutations by their inversions: a run inserted as
/// the k-th adds 0 to k-1 of them, each equally likely.
fn exact_p(n: usize, s: i64) -> f64 {
    let mut share = vec![1.0f64];
    for k in 2..=n {
        let mut next = vec![0.0; share.len() + k - 1];
        for (inversions, p) in share.iter().enumerate() {
            for more in &mut next[inversions..inversions + k] {
                *more += p / k as f64;
            }
        }
        share = next;
    }
    // s = pairs - 2 inversions, so a steeply rising series has few inversions.
    let pairs = share.len() - 1;
    let inversions = (pairs - s.unsigned_abs() as usize) / 2;
    (2.0 * share[..=inversions].iter().sum::<f64>()).min(1.0)
}

/// Sizes of the groups of equal values.
fn tie_sizes(series: &[f64]) -> impl Iterator<Item = f64> {
    let mut sorted = series.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let sizes: Vec<f64> = sorted.chunk_by(|a, b| a == b).map(|group| group.len() as f64).collect();
    sizes.into_iter()
}

fn check_series(arm: Arm, series: &[f64]) -> Result<(), InvalidInput> {
    let n = series.len();
    if n < 2 {
        return Err(InvalidInput::TooFew { arm, n, needed: 2 });
    }
    if n > MAX_LENGTH {
        let limit = MAX_LENGTH;
        return Err(InvalidInput::TooMany { arm, n, limit });
    }
    check_finite(arm, series)
}
