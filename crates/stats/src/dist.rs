//! Tails and quantiles of the distributions behind the tests, accurate far into the tail. Knows no
//! data. Always the upper tail (`sf`), never `1 - cdf`, which is 0 below 1e-16.
//!
//! statrs 0.19 supplies the incomplete beta and gamma functions. Where it is weak it is replaced:
//! normal tails (9e-11 relative) by `erfc`, Student tails for many degrees of freedom (9e-10 at 1e6)
//! by Hill's transform, near zero by a series, and Student quantiles (97 % off at df 1, p 1e-10) by
//! Newton steps on the tail. Arguments outside of the domain give NaN, never a panic and never an
//! endless loop.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI};

use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor, Normal, StudentsT};

/// From here on Hill's transform is the better one: below 1e-12 relative for every tail above
/// 1e-300 (checked against 40-digit arithmetic), while the incomplete beta loses digits with df.
const HILL_FROM_DF: f64 = 1e4;

/// Below this `|t|` the tail is one half minus a series: the beta argument would cancel.
const SERIES_BELOW_T: f64 = 0.1;

/// Beyond this multiple of `sqrt(df)` the tail is a pure power of `t` to the last digit, and the
/// square of `t` would soon overflow.
const POWER_LAW_FROM: f64 = 1e9;

/// Fewest degrees of freedom; Welch's formula gives no less than 1, short of rounding.
const MIN_DF: f64 = 0.5;

/// Most degrees of freedom of F and chi-squared: the loops of statrs converge within their limits.
const MAX_DF: f64 = 2e4;

/// `P(Z > z)` of the standard normal distribution.
#[must_use]
pub fn normal_sf(z: f64) -> f64 {
    0.5 * libm::erfc(z * FRAC_1_SQRT_2)
}

/// The `z` with `P(Z > z) = p` of the standard normal distribution, `p` in 0 to 1.
#[must_use]
pub fn normal_isf(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    // The negation is the reflection of the lower quantile; it keeps tiny p exact.
    -Normal::standard().inverse_cdf(p)
}

/// `P(T > t)` of Student's t distribution with `df >= 0.5` degrees of freedom, not necessarily whole.
#[must_use]
pub fn t_sf(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df < MIN_DF {
        return f64::NAN;
    }
    if t < 0.0 {
        return 1.0 - t_sf(-t, df);
    }
    if t.is_infinite() {
        return 0.0;
    }
    if t < SERIES_BELOW_T {
        return 0.5 - t_central(t, df);
    }
    if df >= HILL_FROM_DF {
        return normal_sf(hill(t, df));
    }
    if t > POWER_LAW_FROM * df.sqrt() {
        return t_slope(t, df) / df;
    }
    StudentsT::new(0.0, 1.0, df).map_or(f64::NAN, |d| d.sf(t))
}

/// The `t` with `P(T > t) = p` of Student's t distribution with `df >= 0.5`, `p` in 0 to 1.
#[must_use]
pub fn t_isf(p: f64, df: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) || df.is_nan() || df < MIN_DF {
        return f64::NAN;
    }
    if p > 0.5 {
        return -t_isf(1.0 - p, df);
    }
    if p == 0.5 {
        return 0.0;
    }
    if p == 0.0 {
        return f64::INFINITY;
    }
    refine_t(p, df)
}

/// `P(F > f)` of Fisher's F distribution with `df1` and `df2` degrees of freedom, each 0.5 to 2e4
/// (`df2` without limit for `df1 = 1`).
#[must_use]
pub fn f_sf(f: f64, df1: f64, df2: f64) -> f64 {
    if f.is_nan() {
        return f64::NAN;
    }
    if df1 == 1.0 {
        // F(1, df) is t squared, and the t tail keeps its digits where F is huge.
        return 2.0 * t_sf(f.max(0.0).sqrt(), df2);
    }
    if [df1, df2].iter().any(|df| !(MIN_DF..=MAX_DF).contains(df)) {
        return f64::NAN;
    }
    FisherSnedecor::new(df1, df2).map_or(f64::NAN, |d| d.sf(f))
}

/// `P(X > x)` of the chi-squared distribution with `df` degrees of freedom, 0.5 to 2e4.
#[must_use]
pub fn chi2_sf(x: f64, df: f64) -> f64 {
    if x.is_nan() || !(MIN_DF..=MAX_DF).contains(&df) {
        return f64::NAN;
    }
    ChiSquared::new(df).map_or(f64::NAN, |d| d.sf(x))
}

/// `Gamma(x + 1/2) / Gamma(x)` for `x >= 0`, without the cancellation of two log-gammas.
/// Asymptotic series in 1/x (DLMF 5.11.13) after lifting the argument by the recurrence.
#[must_use]
pub fn gamma_half_ratio(x: f64) -> f64 {
    const SERIES_FROM: f64 = 30.0;
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    let mut lift = 1.0;
    let mut x = x;
    while x < SERIES_FROM {
        lift *= x / (x + 0.5);
        x += 1.0;
    }
    let r = 1.0 / x;
    let series = 1.0
        + r * (-1.0 / 8.0
            + r * (1.0 / 128.0
                + r * (5.0 / 1024.0
                    + r * (-21.0 / 32_768.0 + r * (-399.0 / 262_144.0 + r * (869.0 / 4_194_304.0 + r * (39_325.0 / 33_554_432.0)))))));
    lift * x.sqrt() * series
}

/// Density of Student's t distribution at 0.
fn t_peak(df: f64) -> f64 {
    gamma_half_ratio(df / 2.0) / (df * PI).sqrt()
}

/// `t` times the density of Student's t distribution at `t > 0`: minus the slope of the tail over
/// `ln t`. Through logarithms, since the density alone underflows where the product does not.
fn t_slope(t: f64, df: f64) -> f64 {
    let ratio = t / df.sqrt();
    let log_kernel = if ratio > POWER_LAW_FROM { 2.0 * ratio.ln() } else { (ratio * ratio).ln_1p() };
    t_peak(df) * (t.ln() - (df + 1.0) / 2.0 * log_kernel).exp()
}

/// `P(0 < T < t)` for small `t`: the power series of the density, integrated term by term.
fn t_central(t: f64, df: f64) -> f64 {
    let mut term = 1.0f64;
    let mut sum = 0.0;
    let mut k = 0.0;
    while term.abs() > f64::EPSILON * 1e-2 {
        sum += term / (2.0 * k + 1.0);
        term *= -(df + 1.0 + 2.0 * k) / 2.0 / (k + 1.0) * t * (t / df);
        k += 1.0;
    }
    t * t_peak(df) * sum
}

/// The standard normal deviate with the same tail as `t` (Hill 1970, CACM Algorithm 395).
fn hill(t: f64, df: f64) -> f64 {
    let a = df - 0.5;
    let b = 48.0 * a * a;
    // t * (t / df) does not overflow where t * t would.
    let y = a * (t * (t / df)).ln_1p();
    let head = ((-0.4 * y - 3.3) * y - 24.0) * y - 85.5;
    ((head / (0.8 * y * y + 100.0 + b) + y + 3.0) / b + 1.0) * y.sqrt()
}

/// Newton's method for `ln P(T > t) = ln p` in the variable `ln t`, `0 < p < 1/2`. The log tail is
/// concave in `ln t`, nearly straight in the far tail, so the iteration converges from any start;
/// the normal quantile is one from below.
fn refine_t(p: f64, df: f64) -> f64 {
    const MAX_STEPS: usize = 100;
    let mut t = normal_isf(p);
    let mut below = t;
    for _ in 0..MAX_STEPS {
        let tail = t_sf(t, df);
        if tail <= 0.0 {
            // An overshoot into underflow: come back half way on the log scale.
            t = (t.ln() / 2.0 + below.ln() / 2.0).exp();
            continue;
        }
        if tail > p {
            below = t;
        }
        let slope = t_slope(t, df);
        // ln(tail/p) through ln_1p: the two agree to many digits near the end.
        let error = if (0.5..2.0).contains(&(tail / p)) { ((tail - p) / p).ln_1p() } else { tail.ln() - p.ln() };
        let step = error * tail / slope;
        if !step.is_finite() {
            break;
        }
        let next = (t.ln() + step).min(f64::MAX.ln() - LN_2).exp();
        let settled = (next - t).abs() <= 4.0 * f64::EPSILON * t;
        t = next;
        if settled {
            break;
        }
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64, rel: f64) {
        assert!((got - want).abs() <= rel * want.abs(), "got {got:e}, want {want:e}");
    }

    /// Closed forms: df 1 is Cauchy, df 2 is algebraic.
    #[test]
    fn quantiles_match_closed_forms_far_into_the_tail() {
        for p in [0.49, 0.25, 1e-3, 1e-10, 1e-100, 1e-300] {
            close(t_isf(p, 1.0), 1.0 / (PI * p).tan(), 1e-13);
            let a = 4.0 * p * (1.0 - p);
            close(t_isf(p, 2.0), 2.0 * (0.5 - p) * (2.0 / a).sqrt(), 1e-13);
        }
    }

    #[test]
    fn quantile_and_tail_are_inverse() {
        for df in [1.0, 1.3, 3.0, 7.7, 30.0, 999.0, 9_999.0, 10_001.0, 1e6, 1e12] {
            for p in [0.499_999, 0.4, 0.1, 0.025, 1e-4, 1e-10, 1e-50, 1e-250] {
                close(t_sf(t_isf(p, df), df), p, 1e-10);
            }
        }
    }

    /// 40-digit arithmetic: 0.5 I_x(df/2, 1/2) at x = df/(df + t^2).
    #[test]
    fn many_degrees_of_freedom_keep_their_digits() {
        close(t_isf(0.025, 1e6), 1.959_966_356_814_107, 1e-13);
        for t in [0.1, 0.5, 2.0, 6.0, 20.0] {
            close(t_sf(t, HILL_FROM_DF - 1e-9), t_sf(t, HILL_FROM_DF), 1e-10);
        }
    }

    #[test]
    fn the_series_meets_the_beta_function() {
        for df in [1.0, 2.5, 18.0, 400.0] {
            let at = SERIES_BELOW_T;
            close(t_sf(at - 1e-15, df), t_sf(at, df), 1e-12);
        }
    }

    #[test]
    fn half_ratio_matches_known_gammas() {
        close(gamma_half_ratio(0.5), 1.0 / PI.sqrt(), 1e-14);
        close(gamma_half_ratio(1.0), PI.sqrt() / 2.0, 1e-14);
        close(gamma_half_ratio(1e12), 1e6, 1e-12);
    }

    #[test]
    fn nothing_outside_of_the_domain_panics() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0] {
            for other in [f64::NAN, -1.0, 0.0, 3.0, f64::INFINITY] {
                let _ = (t_sf(bad, other), t_isf(bad, other), chi2_sf(bad, other));
                let _ = (f_sf(bad, other, other), f_sf(2.0, bad, other));
                let _ = (normal_sf(bad), normal_isf(bad));
            }
        }
        assert!(t_sf(f64::MAX, 3.0) >= 0.0);
    }
}
