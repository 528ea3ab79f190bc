//! Does an arm have two modes, such as a fast and a slow path taken by whole runs? The best split
//! into two clusters, measured against what normal noise would show.

use serde::{Deserialize, Serialize};

use crate::describe::Moments;
use crate::input::{Arm, InvalidInput, check_finite};

/// 99 % quantile of the best split's R2 under normality, by n (500,000 simulations for each n).
/// Below the first size the test has no power; above the last its value is used.
const CRITICAL_R2: [(usize, f64); 12] = [
    (4, 0.9933),
    (5, 0.9827),
    (6, 0.9676),
    (7, 0.9516),
    (8, 0.9354),
    (9, 0.9217),
    (10, 0.9083),
    (12, 0.8869),
    (15, 0.8605),
    (20, 0.8308),
    (25, 0.8096),
    (30, 0.7942),
];

/// Modes closer than this factor are no finding, however clean the split.
const LEAST_GAP: f64 = 1.1;

/// The best split of an arm into two clusters of at least two runs each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TwoModes {
    /// Share of the variance of the logs that the split explains, 0 to 1.
    pub r2: f64,
    /// What normal noise exceeds in 1 % of arms of this size.
    pub critical: f64,
    /// Distance on the log scale between the two runs at the split.
    pub gap_log: f64,
    /// Runs in the smaller cluster.
    pub minor_size: usize,
    /// Whether the arm counts as bimodal: `r2 > critical` and a gap of more than 10 %.
    pub bimodal: bool,
}

/// Looks for two modes in the logs of an arm. None below 4 runs or without variance.
///
/// # Errors
/// [`InvalidInput::NonFinite`].
pub fn two_modes(arm: Arm, logs: &[f64]) -> Result<Option<TwoModes>, InvalidInput> {
    const CLUSTER: usize = 2;
    check_finite(arm, logs)?;
    let n = logs.len();
    if n < 2 * CLUSTER {
        return Ok(None);
    }
    let mut sorted = logs.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let moments = Moments::of(&sorted);
    // In units of the range, so that squares of any input are harmless.
    let range = sorted[n - 1] - sorted[0];
    let total = (moments.n - 1.0) * (moments.sd / range).powi(2);
    if total.is_nan() || total == 0.0 {
        return Ok(None);
    }
    // With deviations from the mean, a split of k runs with sum s explains s^2 (1/k + 1/(n-k)).
    let (mut sum, mut best, mut at) = (0.0, f64::NEG_INFINITY, 0);
    for k in 1..=n - CLUSTER {
        sum += (sorted[k - 1] - moments.mean) / range;
        let explained = sum * sum * (1.0 / k as f64 + 1.0 / (n - k) as f64);
        if k >= CLUSTER && explained > best {
            (best, at) = (explained, k);
        }
    }
    let r2 = (best / total).min(1.0);
    let critical = critical_r2(n);
    let gap_log = sorted[at] - sorted[at - 1];
    Ok(Some(TwoModes { r2, critical, gap_log, minor_size: at.min(n - at), bimodal: r2 > critical && gap_log > LEAST_GAP.ln() }))
}

/// Linear interpolation in [`CRITICAL_R2`], constant beyond its ends.
fn critical_r2(n: usize) -> f64 {
    let above = CRITICAL_R2.partition_point(|(size, _)| *size < n);
    match (above.checked_sub(1), CRITICAL_R2.get(above)) {
        (None, _) => CRITICAL_R2[0].1,
        (Some(last), None) => CRITICAL_R2[last].1,
        (Some(below), Some(&(size1, r1))) => {
            let (size0, r0) = CRITICAL_R2[below];
            r0 + (r1 - r0) * (n - size0) as f64 / (size1 - size0) as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_values_are_interpolated_and_held() {
        assert_eq!(critical_r2(4), 0.9933);
        assert_eq!(critical_r2(12), 0.8869);
        assert!((critical_r2(11) - (0.9083 + 0.8869) / 2.0).abs() < 1e-12);
        assert_eq!(critical_r2(1_000), 0.7942);
    }
}
