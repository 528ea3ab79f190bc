//! How large a difference is, apart from whether it is real: overlap and standardised mean
//! difference. Ratios and the Hodges-Lehmann shift live with the comparison and the ranks.

use crate::describe::Moments;
use crate::dist::gamma_half_ratio;
use crate::input::InvalidInput;
use crate::rank::mann_whitney;

/// Vargha-Delaney A12 (2000): the probability that a patched run exceeds a base run, ties counted
/// half. 0.5 means no tendency.
///
/// # Errors
/// Those of [`mann_whitney`].
pub fn a12(base: &[f64], patched: &[f64]) -> Result<f64, InvalidInput> {
    let test = mann_whitney(base, patched)?;
    Ok(test.u_patched / (base.len() as f64 * patched.len() as f64))
}

/// Cohen's d: difference of the means in pooled standard deviations. None without variance.
#[must_use]
pub fn cohen_d(base: Moments, patched: Moments) -> Option<f64> {
    let df = base.n + patched.n - 2.0;
    let share = |arm: Moments| arm.sd * ((arm.n - 1.0) / df).sqrt();
    let pooled = share(base).hypot(share(patched));
    let d = (patched.mean - base.mean) / pooled;
    d.is_finite().then_some(d)
}

/// Hedges' g (1981): Cohen's d without its small-sample bias, by the exact correction.
#[must_use]
pub fn hedges_g(base: Moments, patched: Moments) -> Option<f64> {
    cohen_d(base, patched).map(|d| d * hedges_correction(base.n + patched.n - 2.0))
}

/// The exact correction `J(df) = Gamma(df/2) / (sqrt(df/2) Gamma((df-1)/2))` of Hedges (1981), for
/// `df > 1`.
#[must_use]
pub fn hedges_correction(df: f64) -> f64 {
    gamma_half_ratio((df - 1.0) / 2.0) / (df / 2.0).sqrt()
}
