//! Which runs stand apart from their own arm. Flags only: a flagged run stays in every test.

use crate::describe::{median, median_deviation};
use crate::input::{Arm, InvalidInput, check_finite};

/// 0.75 quantile of the standard normal distribution: makes the MAD comparable to an sd.
const NORMAL_MAD: f64 = 0.674_489_750_196_081_7;

/// Flag from this modified z-score on (Iglewicz and Hoaglin 1993).
const FLAG_ABOVE: f64 = 3.5;

/// Modified z-scores `0.6745 (x - median) / MAD`. None if at least half of the values are equal, so
/// that the MAD is 0. Meant for logs, on which slow and fast outliers weigh the same.
///
/// # Errors
/// [`InvalidInput::TooFew`] when empty, [`InvalidInput::NonFinite`].
pub fn modified_z(arm: Arm, values: &[f64]) -> Result<Option<Vec<f64>>, InvalidInput> {
    let (centre, mad) = centre_and_mad(arm, values)?;
    let score = |v: &f64| (NORMAL_MAD * (v - centre) / mad).clamp(f64::MIN, f64::MAX);
    Ok((mad > 0.0).then(|| values.iter().map(score).collect()))
}

/// Indexes of the outliers: modified z-score beyond 3.5, or, where the MAD is 0, every value that
/// differs from the median.
///
/// # Errors
/// Those of [`modified_z`].
pub fn outliers(arm: Arm, values: &[f64]) -> Result<Vec<usize>, InvalidInput> {
    let (centre, mad) = centre_and_mad(arm, values)?;
    let stands_apart = |v: f64| NORMAL_MAD * (v - centre).abs() > FLAG_ABOVE * mad;
    let indexed = values.iter().enumerate();
    Ok(indexed.filter(|(_, v)| stands_apart(**v)).map(|(index, _)| index).collect())
}

fn centre_and_mad(arm: Arm, values: &[f64]) -> Result<(f64, f64), InvalidInput> {
    check_finite(arm, values)?;
    let centre = median(values);
    let mad = centre.and_then(|centre| median_deviation(values, centre));
    let (n, needed) = (values.len(), 1);
    centre.zip(mad).ok_or(InvalidInput::TooFew { arm, n, needed })
}
