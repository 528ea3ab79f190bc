//! What one arm looks like: moments without overflow or cancellation, order statistics, and the
//! summary of a report row. Knows nothing of a second arm.

use serde::{Deserialize, Serialize};

use crate::input::{Arm, InvalidInput, check_finite};

/// Number, mean and standard deviation of an arm: all that a t-test needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// Number of values.
    pub n: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation with divisor n-1; 0 for one value.
    pub sd: f64,
}

impl Moments {
    /// Moments of finite values by the two-pass algorithm with corrected variance (Chan, Golub,
    /// LeVeque 1983), in a scale where neither sums nor squares overflow or underflow. Equal values
    /// have exactly that mean and an sd of exactly 0. An empty slice has mean 0.
    #[must_use]
    pub fn of(values: &[f64]) -> Moments {
        let n = values.len() as f64;
        let first = values.first().copied().unwrap_or(0.0);
        if values.iter().all(|v| *v == first) {
            return Moments { n, mean: first, sd: 0.0 };
        }
        let scale = safe_scale(values);
        let mean = values.iter().map(|v| v * scale).sum::<f64>() / n;
        let (mut sum, mut squares) = (0.0, 0.0);
        for v in values {
            let d = v * scale - mean;
            sum += d;
            squares += d * d;
        }
        let variance = (squares - sum * sum / n).max(0.0) / (n - 1.0);
        Moments { n, mean: mean / scale, sd: (variance.sqrt() / scale).min(f64::MAX) }
    }

    /// The same arm with the variance of rounding to a step added: `step^2 / 12`, the variance of
    /// a uniform error.
    #[must_use]
    pub fn with_rounding(self, step: f64) -> Moments {
        Moments { sd: self.sd.hypot(step / 12f64.sqrt()), ..self }
    }

    /// Standard error of the mean.
    #[must_use]
    pub fn sem(&self) -> f64 {
        self.sd / self.n.sqrt()
    }
}

/// One arm as a report row shows it. Values are in the unit of the metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Smallest value.
    pub min: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Largest value.
    pub max: f64,
    /// Standard deviation with divisor n-1.
    pub sd: f64,
    /// Median.
    pub median: f64,
    /// Median absolute deviation from the median, not scaled.
    pub mad: f64,
    /// Coefficient of variation, sd / mean; none when the mean is 0.
    pub cv: Option<f64>,
    /// Standard error of the mean.
    pub sem: f64,
    /// Autocorrelation at lag 1 in the given order; none without variance.
    pub lag1: Option<f64>,
    /// Geometric mean; none unless all values are positive.
    pub geometric_mean: Option<f64>,
}

/// Summarises one arm.
///
/// # Errors
/// [`InvalidInput::TooFew`] when empty, [`InvalidInput::NonFinite`].
pub fn describe(arm: Arm, values: &[f64]) -> Result<Summary, InvalidInput> {
    check_finite(arm, values)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (Some(&min), Some(&max), Some(median)) = (sorted.first(), sorted.last(), quantile(&sorted, 0.5)) else {
        let (n, needed) = (0, 1);
        return Err(InvalidInput::TooFew { arm, n, needed });
    };
    let moments = Moments::of(values);
    let cv = moments.sd / moments.mean;
    let mean_log = || values.iter().map(|v| v.ln()).sum::<f64>() / moments.n;
    Ok(Summary {
        n: values.len(),
        min,
        mean: moments.mean,
        max,
        sd: moments.sd,
        median,
        mad: median_deviation(values, median).unwrap_or(0.0),
        cv: cv.is_finite().then_some(cv),
        sem: moments.sem(),
        lag1: lag1(values),
        geometric_mean: (min > 0.0).then(|| mean_log().exp().min(f64::MAX)),
    })
}

/// Quantile of type 7 (Hyndman and Fan 1996; the default of R and numpy) of ascending values:
/// linear interpolation at `(n-1) p`. None of nothing, or for `p` outside of 0 to 1.
#[must_use]
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    let h = last as f64 * p;
    let (low, high) = (sorted[h.floor() as usize], sorted[h.ceil() as usize]);
    if low == high {
        return Some(low); // exact: equal neighbours must not differ by rounding
    }
    let fraction = h.fract();
    Some(low * (1.0 - fraction) + high * fraction)
}

/// Median of values in any order. None of nothing.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// Autocorrelation at lag 1: `sum (x_i - m)(x_{i+1} - m) / sum (x_i - m)^2` (the definition of the
/// NIST reference sets). None without variance.
#[must_use]
pub fn lag1(values: &[f64]) -> Option<f64> {
    let scale = safe_scale(values);
    let mean = Moments::of(values).mean * scale;
    let deviation = |v: &f64| v * scale - mean;
    let total: f64 = values.iter().map(|v| deviation(v).powi(2)).sum();
    let lagged: f64 = values.windows(2).map(|w| deviation(&w[0]) * deviation(&w[1])).sum();
    let r = lagged / total;
    r.is_finite().then_some(r)
}

/// Median of the absolute deviations from `centre`. None of nothing.
pub(crate) fn median_deviation(values: &[f64], centre: f64) -> Option<f64> {
    let deviation = |v: &f64| (v - centre).abs().min(f64::MAX);
    median(&values.iter().map(deviation).collect::<Vec<f64>>())
}

/// A power of two that brings the largest value to where its square and sums of squares are safe.
/// 1 for ordinary magnitudes, so that ordinary data are not touched.
fn safe_scale(values: &[f64]) -> f64 {
    const ORDINARY: std::ops::RangeInclusive<f64> = 1e-100..=1e100;
    let largest = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if ORDINARY.contains(&largest) || largest == 0.0 {
        1.0
    } else if largest > 1.0 {
        2f64.powi(-600)
    } else {
        2f64.powi(600)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_no_spread_at_all() {
        for v in [0.1, 1e300, 1e-300, 5e-324, 123.456, -0.3] {
            let m = Moments::of(&[v; 7]);
            assert_eq!((m.mean, m.sd), (v, 0.0), "{v:e}");
            assert_eq!(lag1(&[v; 7]), None);
        }
    }

    #[test]
    fn extreme_magnitudes_neither_overflow_nor_vanish() {
        let huge = Moments::of(&[1e308, 1.5e308, 1.2e308]);
        let unit = Moments::of(&[1.0, 1.5, 1.2]);
        assert!((huge.mean / 1e308 - unit.mean).abs() < 1e-15);
        assert!((huge.sd / 1e308 - unit.sd).abs() < 1e-15);
        let tiny = Moments::of(&[1e-308, 1.5e-308, 1.2e-308]);
        assert!((tiny.sd / 1e-308 - unit.sd).abs() < 1e-12);
    }

    #[test]
    fn rounding_adds_the_variance_of_a_uniform_error() {
        let m = Moments::of(&[7.0, 7.0]).with_rounding(0.5);
        assert!((m.sd * m.sd - 0.25 / 12.0).abs() < 1e-16);
    }
}
