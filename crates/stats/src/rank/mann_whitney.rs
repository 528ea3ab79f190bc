//! The Mann-Whitney test (1947) with the right null distribution for each case: exact without ties,
//! exact given the ties, or normal. Symmetric under exchange of the arms.

use serde::{Deserialize, Serialize};

use super::null::null_u;
use super::ties::conditional_p;
use crate::dist::normal_sf;
use crate::input::{InvalidInput, check_arms};

/// How a rank p-value was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankMethod {
    /// Exact null distribution, no ties.
    Exact,
    /// Exact permutation distribution of the midranks, with ties.
    ConditionalExact,
    /// Normal approximation, tie-corrected variance, continuity correction of one half.
    Normal,
}

/// The result of a Mann-Whitney test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RankTest {
    /// Pairs in which the patched run exceeds the base run; a tie counts one half.
    pub u_patched: f64,
    /// How the p-value was found.
    pub method: RankMethod,
    /// Two-sided p-value.
    pub p: f64,
}

/// Tests whether the runs of one arm tend to exceed those of the other.
///
/// # Errors
/// [`InvalidInput::TooFew`] for an empty arm, [`InvalidInput::NonFinite`].
pub fn mann_whitney(base: &[f64], patched: &[f64]) -> Result<RankTest, InvalidInput> {
    Ok(Ranking::new(base, patched)?.test())
}

/// The pooled order of both arms; asks each null distribution by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    base_n: usize,
    patched_n: usize,
    /// Twice the midrank of each pooled value, ascending: whole numbers even with ties.
    doubled_ranks: Vec<usize>,
    /// Twice the midrank sum of the patched arm.
    doubled_patched_sum: usize,
    /// Sum of `t^3 - t` over groups of `t` tied values.
    tie_term: f64,
}

impl Ranking {
    /// Ranks two arms together.
    ///
    /// # Errors
    /// [`InvalidInput::TooFew`] for an empty arm, [`InvalidInput::NonFinite`].
    pub fn new(base: &[f64], patched: &[f64]) -> Result<Ranking, InvalidInput> {
        check_arms(base, patched, 1)?;
        let mut pooled: Vec<(f64, bool)> = Vec::with_capacity(base.len() + patched.len());
        pooled.extend(base.iter().map(|&v| (v, false)));
        pooled.extend(patched.iter().map(|&v| (v, true)));
        pooled.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));

        let mut ranking = Ranking {
            base_n: base.len(),
            patched_n: patched.len(),
            doubled_ranks: Vec::with_capacity(pooled.len()),
            doubled_patched_sum: 0,
            tie_term: 0.0,
        };
        // `==` and not total_cmp, so that -0 and 0 tie.
        for group in pooled.chunk_by(|a, b| a.0 == b.0) {
            let before = ranking.doubled_ranks.len();
            let doubled = 2 * before + group.len() + 1;
            ranking.doubled_ranks.resize(before + group.len(), doubled);
            let patched_here = group.iter().filter(|(_, is_patched)| *is_patched).count();
            ranking.doubled_patched_sum += doubled * patched_here;
            let t = group.len() as f64;
            ranking.tie_term += t * t * t - t;
        }
        Ok(ranking)
    }

    /// The test with the best null distribution for this case.
    #[must_use]
    pub fn test(&self) -> RankTest {
        let exact = if self.has_ties() {
            self.p_conditional().map(|p| (RankMethod::ConditionalExact, p))
        } else {
            self.p_exact().map(|p| (RankMethod::Exact, p))
        };
        let (method, p) = exact.unwrap_or_else(|| (RankMethod::Normal, self.p_normal()));
        RankTest { u_patched: self.u_patched(), method, p }
    }

    /// Pairs in which the patched run exceeds the base run; a tie counts one half.
    #[must_use]
    pub fn u_patched(&self) -> f64 {
        let smallest_sum = self.patched_n * (self.patched_n + 1);
        (self.doubled_patched_sum - smallest_sum) as f64 / 2.0
    }

    /// Whether any two values are equal, within or across the arms.
    #[must_use]
    pub fn has_ties(&self) -> bool {
        self.tie_term > 0.0
    }

    /// Sum of `t^3 - t` over groups of `t` tied values.
    #[must_use]
    pub fn tie_term(&self) -> f64 {
        self.tie_term
    }

    /// Exact p-value: `min(1, 2 P(U <= min(U, m n - U)))`. None with ties or very large arms.
    #[must_use]
    pub fn p_exact(&self) -> Option<f64> {
        if self.has_ties() {
            return None;
        }
        let null = null_u(self.base_n, self.patched_n)?;
        let u = self.u_patched();
        let smaller = u.min(self.pairs() - u);
        Some(null.two_sided(smaller as usize))
    }

    /// Exact p-value given the ties: `P(|R - E| >= |r - E|)` over all splits of the pooled
    /// midranks. None if there are more than 200,000 splits.
    #[must_use]
    pub fn p_conditional(&self) -> Option<f64> {
        let (k, sum) = if self.patched_n <= self.base_n {
            (self.patched_n, self.doubled_patched_sum)
        } else {
            let all: usize = self.doubled_ranks.iter().sum();
            (self.base_n, all - self.doubled_patched_sum)
        };
        conditional_p(&self.doubled_ranks, k, sum)
    }

    /// Normal approximation with tie-corrected variance and continuity correction. 1 if all tie.
    #[must_use]
    pub fn p_normal(&self) -> f64 {
        let n = (self.base_n + self.patched_n) as f64;
        let variance = self.pairs() / 12.0 * (n + 1.0 - self.tie_term / (n * (n - 1.0)));
        let distance = ((self.u_patched() - self.pairs() / 2.0).abs() - 0.5).max(0.0);
        let z = distance / variance.sqrt();
        if z.is_finite() { (2.0 * normal_sf(z)).min(1.0) } else { 1.0 }
    }

    fn pairs(&self) -> f64 {
        self.base_n as f64 * self.patched_n as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unequal_arms_give_the_same_p_in_either_order() {
        let (a, b) = ([1.0, 3.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(mann_whitney(&a, &b).unwrap().p, 0.25);
        assert_eq!(mann_whitney(&b, &a).unwrap().p, 0.25);
    }

    #[test]
    fn the_method_follows_the_ties_and_the_size() {
        let plain: Vec<f64> = (0..12).map(f64::from).collect();
        let method = |a: &[f64], b: &[f64]| mann_whitney(a, b).unwrap().method;
        assert_eq!(method(&plain[..6], &plain[6..]), RankMethod::Exact);
        assert_eq!(method(&[1.0, 1.0], &[2.0]), RankMethod::ConditionalExact);
        assert_eq!(method(&[1.0; 40], &[2.0; 40]), RankMethod::Normal);
        assert_eq!(mann_whitney(&[1.0; 40], &[1.0; 40]).unwrap().p, 1.0);
    }
}
