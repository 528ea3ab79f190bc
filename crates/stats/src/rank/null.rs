//! The exact distribution of the Mann-Whitney statistic without ties, tabulated once per pair of
//! arm sizes. Knows sizes, no data.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Most runs in both arms together: C(1000, 500) is 2.7e299, the last that fits an `f64` with room.
const MAX_RUNS: usize = 1_000;

/// Most additions for one table (arm x arm x smaller arm): 10 ms. 200 against 200 runs are 8e6.
const MAX_WORK: usize = 10_000_000;

/// Tables kept per thread. Experiments use few sizes; beyond this the cache starts anew.
const MAX_TABLES: usize = 32;

/// Null distribution of U for arms of `m` and `n` runs.
#[derive(Debug)]
pub(crate) struct NullU {
    /// `P(U <= u)` for `u` in `0..=m n / 2`; the distribution is symmetric around `m n / 2`.
    cumulative: Box<[f64]>,
}

/// The table for two arm sizes, or none where it would be too large and the normal approximation
/// is better than 1e-3 relative anyway.
pub(crate) fn null_u(m: usize, n: usize) -> Option<Rc<NullU>> {
    thread_local! {
        // A memo of a pure function; per thread, so that no reader ever waits for a lock.
        static TABLES: RefCell<HashMap<(usize, usize), Rc<NullU>>> = RefCell::default();
    }
    let (small, large) = (m.min(n), m.max(n));
    let affordable = small > 0 && small.saturating_add(large) <= MAX_RUNS && small * small * large <= MAX_WORK;
    if !affordable {
        return None;
    }
    TABLES.with_borrow_mut(|tables| {
        if tables.len() >= MAX_TABLES && !tables.contains_key(&(small, large)) {
            tables.clear();
        }
        let table = tables.entry((small, large)).or_insert_with(|| Rc::new(NullU::tabulate(small, large)));
        Some(Rc::clone(table))
    })
}

impl NullU {
    /// Numbers of arrangements by U: the coefficients of the Gaussian binomial
    /// `prod (1 - q^(large+i)) / (1 - q^i)`, one factor at a time (Harding 1984, Applied Statistics
    /// 33). Only the lower half is kept, where every step loses digits only against coefficients
    /// that are no larger than the result.
    fn tabulate(small: usize, large: usize) -> NullU {
        let half = small * large / 2;
        let mut counts = vec![0.0f64; half + 1];
        counts[0] = 1.0;
        for i in 1..=small {
            let up = large + i;
            for u in (up..=half).rev() {
                counts[u] -= counts[u - up];
            }
            for u in i..=half {
                counts[u] += counts[u - i];
            }
        }
        let below_half: f64 = counts[..half].iter().sum();
        let middle = counts[half];
        // An even product has one middle value, an odd one has two of which one is in the table.
        let total = if (small * large).is_multiple_of(2) { 2.0 * below_half + middle } else { 2.0 * (below_half + middle) };
        let mut sum = 0.0;
        for c in &mut counts {
            sum += *c;
            *c = sum / total;
        }
        NullU { cumulative: counts.into() }
    }

    /// Two-sided p-value of a smaller statistic `u = min(U, m n - U)`.
    pub(crate) fn two_sided(&self, u: usize) -> f64 {
        self.cumulative.get(u).map_or(1.0, |cdf| (2.0 * cdf).min(1.0))
    }

    /// The largest `u` with `2 P(U <= u) <= alpha`, and that probability; none if even `u = 0` is
    /// too likely.
    pub(crate) fn critical(&self, alpha: f64) -> Option<(usize, f64)> {
        // 2/20 must not exceed 0.1 by the rounding of either.
        let limit = alpha * (1.0 + 1e-12);
        let beyond = self.cumulative.partition_point(|cdf| 2.0 * cdf <= limit);
        let u = beyond.checked_sub(1)?;
        Some((u, 2.0 * self.cumulative[u]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Independent recurrence in whole numbers: the largest run belongs to one arm or the other.
    fn counts_by_recurrence(m: usize, n: usize) -> Vec<u128> {
        let mut table = vec![vec![Vec::<u128>::new(); n + 1]; m + 1];
        for i in 0..=m {
            for j in 0..=n {
                table[i][j] = vec![0; i * j + 1];
                if i == 0 || j == 0 {
                    table[i][j][0] = 1;
                    continue;
                }
                for u in 0..=i * j {
                    let without_first = u.checked_sub(j).and_then(|v| table[i - 1][j].get(v).copied());
                    let without_second = table[i][j - 1].get(u).copied();
                    table[i][j][u] = without_first.unwrap_or(0) + without_second.unwrap_or(0);
                }
            }
        }
        table[m][n].clone()
    }

    #[test]
    fn tables_match_whole_number_recurrence_in_both_tails() {
        for (m, n) in [(1, 1), (2, 3), (3, 8), (10, 10), (7, 24), (30, 30)] {
            let counts = counts_by_recurrence(m, n);
            let total: u128 = counts.iter().sum();
            let table = null_u(m, n).unwrap();
            let mut below = 0;
            for (u, count) in counts.iter().enumerate().take(m * n / 2 + 1) {
                below += count;
                let want = (2.0 * below as f64 / total as f64).min(1.0);
                let got = table.two_sided(u);
                assert!((got / want - 1.0).abs() < 1e-12, "{m}x{n} u={u}");
            }
        }
    }

    #[test]
    fn sizes_beyond_the_limits_have_no_table() {
        assert!(null_u(0, 5).is_none());
        assert!(null_u(600, 600).is_none());
        assert!(null_u(3, usize::MAX).is_none());
        assert!(null_u(200, 200).is_some());
    }

    #[test]
    fn a_rejection_region_may_touch_its_level() {
        // 3 against 3: 2 P(U <= 0) is 2/20, exactly the 10 % level and above the 5 % level.
        let table = null_u(3, 3).unwrap();
        assert_eq!(table.critical(0.1).map(|c| c.0), Some(0));
        assert_eq!(table.critical(0.05), None);
    }
}
