//! The exact distribution of the rank sum given the ties: every way to split the pooled midranks
//! is equally likely. Counts splits by their sum instead of walking through them.

/// Most splits for which the conditional distribution is used; beyond, the tie-corrected normal
/// approximation takes over.
pub(super) const MAX_SPLITS: u64 = 200_000;

/// Two-sided p-value `P(|R - E| >= |r - E|)` of the doubled rank sum `r` of `k` of the pooled
/// midranks. `doubled` holds twice the midrank of every run, a whole number. None if there are
/// more than [`MAX_SPLITS`] splits.
pub(super) fn conditional_p(doubled: &[usize], k: usize, r: usize) -> Option<f64> {
    let splits = binomial_up_to(doubled.len(), k, MAX_SPLITS)?;
    let counts = counts_by_sum(doubled, k);
    // E = k/N of the total; comparing N-fold values keeps everything in whole numbers.
    let runs = doubled.len() as i128;
    let centre = k as i128 * doubled.iter().map(|&d| d as i128).sum::<i128>();
    let distance = |sum: usize| (runs * sum as i128 - centre).abs();
    let extreme: u64 =
        counts.iter().enumerate().filter(|(sum, count)| **count > 0 && distance(*sum) >= distance(r)).map(|(_, count)| count).sum();
    Some(extreme as f64 / splits as f64)
}

/// Number of `k`-subsets of `values` by their sum.
fn counts_by_sum(values: &[usize], k: usize) -> Vec<u64> {
    let mut descending = values.to_vec();
    descending.sort_unstable_by(|a, b| b.cmp(a));
    let width = descending[..k].iter().sum::<usize>() + 1;
    // by_size[j * width + s]: subsets of j of the values so far with sum s.
    let mut by_size = vec![0u64; (k + 1) * width];
    by_size[0] = 1;
    for (seen, &v) in values.iter().enumerate() {
        for j in (1..=k.min(seen + 1)).rev() {
            let (smaller, this) = by_size.split_at_mut(j * width);
            let smaller = &smaller[(j - 1) * width..];
            for s in v..width {
                this[s] += smaller[s - v];
            }
        }
    }
    by_size.split_off(k * width)
}

/// `C(n, k)` if it does not exceed `limit`.
fn binomial_up_to(n: usize, k: usize, limit: u64) -> Option<u64> {
    let k = k.min(n - k);
    let mut c: u64 = 1;
    for i in 0..k {
        // Exact at every step: the product of i+1 consecutive numbers is divisible by (i+1)!.
        c = c.checked_mul((n - i) as u64)? / (i as u64 + 1);
        if c > limit {
            return None;
        }
    }
    Some(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_counted_up_to_the_limit() {
        assert_eq!(binomial_up_to(20, 10, MAX_SPLITS), Some(184_756));
        assert_eq!(binomial_up_to(21, 10, MAX_SPLITS), None);
        assert_eq!(binomial_up_to(600, 598, MAX_SPLITS), Some(179_700));
        assert_eq!(binomial_up_to(4_000, 2_000, MAX_SPLITS), None);
    }

    #[test]
    fn without_ties_the_conditional_distribution_is_the_plain_one() {
        // Ranks 1..6, arm of 3 holding 1, 2, 3: the most extreme of 20 splits, twice.
        let doubled = [2, 4, 6, 8, 10, 12];
        assert_eq!(conditional_p(&doubled, 3, 12), Some(0.1));
        // All runs tied: nothing is less extreme.
        assert_eq!(conditional_p(&[7; 6], 3, 21), Some(1.0));
    }
}
