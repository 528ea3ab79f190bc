//! Fisher's exact test of a 2x2 table of counts: failed runs against finished runs, or who finished
//! first. Knows counts, not what was counted.

use serde::{Deserialize, Serialize};

use crate::input::InvalidInput;

/// Largest sum of counts; the tables with the same margins are walked through one by one.
const MAX_TOTAL: u64 = 1_000_000;

/// The result of Fisher's exact test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FisherExact {
    /// Sum of the probabilities of all tables that are no more likely than the observed one.
    pub p_two_sided: f64,
    /// Probability of a first count as small as the observed one or smaller.
    pub p_less: f64,
    /// Probability of a first count as large as the observed one or larger.
    pub p_greater: f64,
}

/// Tests independence in `[[a, b], [c, d]]` with fixed margins, for example
/// `[[base failed, base finished], [patched failed, patched finished]]`.
///
/// # Errors
/// [`InvalidInput::TableTooLarge`] above a million counts.
pub fn fisher_exact([[a, b], [c, d]]: [[u64; 2]; 2]) -> Result<FisherExact, InvalidInput> {
    let total = a.saturating_add(b).saturating_add(c).saturating_add(d);
    if total > MAX_TOTAL {
        let limit = MAX_TOTAL;
        return Err(InvalidInput::TableTooLarge { total, limit });
    }
    let (row, column) = (a + b, a + c);
    let lowest = (row + column).saturating_sub(total);
    let weights = hypergeometric_weights(row, column, total);
    let observed = (a - lowest) as usize;

    // Equal probabilities may differ in their last digits; R uses the same margin.
    let as_likely = weights[observed] * (1.0 + 1e-7);
    let all: f64 = weights.iter().sum();
    let share = |part: f64| (part / all).min(1.0);
    Ok(FisherExact {
        p_two_sided: share(weights.iter().filter(|w| **w <= as_likely).sum()),
        p_less: share(weights[..=observed].iter().sum()),
        p_greater: share(weights[observed..].iter().sum()),
    })
}

/// Relative probabilities of every possible first count, ascending. They start from 1 at the mode
/// and go outwards by the ratio of neighbours, so nothing overflows and small tails stay exact.
fn hypergeometric_weights(row: u64, column: u64, total: u64) -> Vec<f64> {
    let lowest = (row + column).saturating_sub(total);
    let highest = row.min(column);
    let mode = (row + 1) * (column + 1) / (total + 2);
    let mode = mode.clamp(lowest, highest);
    // weight(x+1) / weight(x)
    let ratio = |x: u64| {
        let up = (row - x) as f64 * (column - x) as f64;
        up / ((x + 1) as f64 * (total + x + 1 - row - column) as f64)
    };
    let at = |x: u64| (x - lowest) as usize;
    let mut weights = vec![1.0; at(highest) + 1];
    for x in mode..highest {
        weights[at(x + 1)] = weights[at(x)] * ratio(x);
    }
    for x in (lowest..mode).rev() {
        weights[at(x)] = weights[at(x + 1)] / ratio(x);
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-12, "got {got}, want {want}");
    }

    /// Fisher's own example (The Design of Experiments, 1935): eight cups of tea, three of four
    /// guessed right. 17/70 one-sided, 34/70 two-sided.
    #[test]
    fn the_lady_tasting_tea() {
        let tea = fisher_exact([[3, 1], [1, 3]]).unwrap();
        close(tea.p_greater, 17.0 / 70.0);
        close(tea.p_less, 69.0 / 70.0);
        close(tea.p_two_sided, 34.0 / 70.0);
    }

    /// No failures in 10 runs against 3 in 10: C(17,10)/C(20,10), and its mirror.
    #[test]
    fn three_failures_in_ten_are_no_proof() {
        let failures = fisher_exact([[0, 10], [3, 7]]).unwrap();
        close(failures.p_less, 2.0 / 19.0);
        close(failures.p_two_sided, 4.0 / 19.0);
    }

    #[test]
    fn empty_margins_and_large_tables_have_answers() {
        assert_eq!(fisher_exact([[0, 0], [0, 0]]).unwrap().p_two_sided, 1.0);
        assert_eq!(fisher_exact([[5, 0], [9, 0]]).unwrap().p_two_sided, 1.0);
        let deep = fisher_exact([[500, 0], [0, 500]]).unwrap();
        assert!(deep.p_two_sided > 0.0 && deep.p_two_sided < 1e-298);
        let huge = fisher_exact([[u64::MAX, 1], [1, 1]]);
        assert!(matches!(huge, Err(InvalidInput::TableTooLarge { .. })));
    }
}
