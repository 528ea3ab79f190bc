//! Runs within boots: how much of the spread is there within a boot, how much between boots, and how
//! many runs of a boot pay off. After Kalibera and Jones, "Rigorous benchmarking in reasonable time"
//! (ISMM 2013), with two levels. On logs, like all spreads here.

use serde::{Deserialize, Serialize};

use crate::describe::Moments;
use crate::dist::t_isf;

/// The variance components of one arm: its boots, each with its runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Nested {
    /// Boots with at least one run.
    pub boots: usize,
    /// Runs of all boots.
    pub runs: usize,
    /// Mean of the means of boots.
    pub grand_mean: f64,
    /// Mean square between boots, with `boots - 1` degrees of freedom.
    pub ms_between: f64,
    /// Mean square within boots, with `runs - boots` degrees of freedom.
    pub ms_within: f64,
    /// Variance that boots add: never below 0.
    pub var_boot: f64,
    /// Variance of runs in one boot.
    pub var_run: f64,
}

impl Nested {
    /// The components of `boots`, each with the values of its runs. Boots may differ in their number of runs: a failed run
    /// is no value. None with fewer than two boots, without a boot of two runs, or if a value is not finite.
    #[must_use]
    pub fn of(boots: &[Vec<f64>]) -> Option<Nested> {
        let moments: Vec<Moments> = boots.iter().filter(|boot| !boot.is_empty()).map(|boot| Moments::of(boot)).collect();
        let k = moments.len() as f64;
        let n: f64 = moments.iter().map(|boot| boot.n).sum();
        if k < 2.0 || n <= k || boots.iter().flatten().any(|value| !value.is_finite()) {
            return None;
        }
        let weighted = moments.iter().map(|boot| boot.n * boot.mean).sum::<f64>() / n;
        let between: f64 = moments.iter().map(|boot| boot.n * (boot.mean - weighted).powi(2)).sum();
        let within: f64 = moments.iter().map(|boot| (boot.n - 1.0) * boot.sd * boot.sd).sum();
        let (ms_between, ms_within) = (between / (k - 1.0), within / (n - k));
        // The size that unequal groups stand for in the expectation of the mean square between them; their size if all are equal.
        let size = (n - moments.iter().map(|boot| boot.n * boot.n).sum::<f64>() / n) / (k - 1.0);
        Some(Nested {
            boots: moments.len(),
            runs: boots.iter().map(Vec::len).sum(),
            grand_mean: moments.iter().map(|boot| boot.mean).sum::<f64>() / k,
            ms_between,
            ms_within,
            var_boot: ((ms_between - ms_within) / size).max(0.0),
            var_run: ms_within,
        })
    }

    /// Standard error of the grand mean, from the means of boots: runs of one boot are no replicates.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        (self.ms_between / self.runs as f64).sqrt()
    }

    /// Interval of the grand mean with this level, with `boots - 1` degrees of freedom; exact when all boots have as many runs.
    #[must_use]
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let half = t_isf((1.0 - level) / 2.0, self.boots as f64 - 1.0) * self.standard_error();
        (self.grand_mean - half, self.grand_mean + half)
    }

    /// Share of the variance of a run that its boot explains, 0 to 1; 0 when nothing varies.
    #[must_use]
    pub fn intraclass(&self) -> f64 {
        let total = self.var_boot + self.var_run;
        if total > 0.0 { self.var_boot / total } else { 0.0 }
    }
}

/// Runs of a boot for the least spread of the mean at a given cost: `ceil(sqrt(cost_ratio * var_run / var_boot))`, at least 1.
/// `cost_ratio` is what a boot costs over what a run costs. None if boots add no spread, when every further run pays; and for what
/// is no cost and no variance.
#[must_use]
pub fn runs_per_boot(cost_ratio: f64, var_run: f64, var_boot: f64) -> Option<u32> {
    let exact = (cost_ratio * var_run / var_boot).sqrt();
    let is_sound = exact.is_finite() && var_boot > 0.0 && exact < f64::from(u32::MAX);
    is_sound.then(|| (exact.ceil() as u32).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boots_of_different_size_keep_their_components() {
        // Two boots of three runs and one of one, that of a boot whose other runs failed.
        let nested = Nested::of(&[vec![1.0, 2.0, 3.0], vec![5.0, 6.0, 7.0], vec![4.0]]).unwrap();
        assert_eq!((nested.boots, nested.runs), (3, 7));
        assert!((nested.ms_within - 1.0).abs() < 1e-12);
        // Mean square between: 3(2-4)^2 + 3(6-4)^2 + 0 = 24 over 2; size (7 - 19/7) / 2 = 15/7.
        assert!((nested.ms_between - 12.0).abs() < 1e-12);
        assert!((nested.var_boot - 11.0 * 7.0 / 15.0).abs() < 1e-12);
    }

    #[test]
    fn what_tells_no_components_apart_gives_none() {
        for boots in [vec![], vec![vec![1.0, 2.0]], vec![vec![1.0], vec![2.0]], vec![vec![1.0, f64::NAN], vec![1.0, 2.0]]] {
            assert_eq!(Nested::of(&boots), None, "{boots:?}");
        }
    }

    #[test]
    fn equal_values_have_no_spread() {
        let nested = Nested::of(&[vec![3.0, 3.0], vec![3.0, 3.0]]).unwrap();
        assert_eq!((nested.var_boot, nested.var_run, nested.intraclass(), nested.interval(0.95)), (0.0, 0.0, 0.0, (3.0, 3.0)));
        assert_eq!(runs_per_boot(4.0, nested.var_run, nested.var_boot), None);
    }

    #[test]
    fn a_dear_boot_wants_more_runs() {
        assert_eq!(runs_per_boot(4.0, 1.0, 1.0), Some(2));
        assert_eq!(runs_per_boot(16.0, 1.0, 1.0), Some(4));
        assert_eq!(runs_per_boot(0.1, 1.0, 1.0), Some(1));
        assert_eq!(runs_per_boot(4.0, 1.0, 100.0), Some(1));
        for (cost, run, boot) in [(f64::NAN, 1.0, 1.0), (4.0, -1.0, 1.0), (4.0, 1.0, -1.0), (4.0, 1.0, 1e-300)] {
            assert_eq!(runs_per_boot(cost, run, boot), None);
        }
    }
}
