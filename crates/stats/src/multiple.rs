//! p-values of many tests: the two tests of one cell, and the cells of one report. Knows numbers
//! between 0 and 1, nothing else; an untested cell has no p-value and is left out by the caller.

use crate::input::InvalidInput;

/// The p-value of a cell: Bonferroni over a t-test and a rank test. The pair keeps its power where
/// each test alone collapses: outliers blind the t-test, three runs an arm blind the rank test.
#[must_use]
pub fn combined_p(p_t: f64, p_rank: f64) -> f64 {
    (2.0 * p_t.min(p_rank)).min(1.0)
}

/// Benjamini-Hochberg (1995) adjusted p-values, in input order: at most a share `q` of the cells
/// with a value of `q` or less is false on average, if the tests are independent or positively
/// dependent.
///
/// # Errors
/// [`InvalidInput::NotAProbability`].
pub fn bh(p: &[f64]) -> Result<Vec<f64>, InvalidInput> {
    step_up(p, 1.0)
}

/// Benjamini-Yekutieli (2001) adjusted p-values, in input order: as [`bh`] under any dependence.
///
/// # Errors
/// [`InvalidInput::NotAProbability`].
pub fn by(p: &[f64]) -> Result<Vec<f64>, InvalidInput> {
    let harmonic: f64 = (1..=p.len()).map(|i| 1.0 / i as f64).sum();
    step_up(p, harmonic)
}

/// Holm (1979) adjusted p-values, in input order: the chance of any false one is held.
///
/// # Errors
/// [`InvalidInput::NotAProbability`].
pub fn holm(p: &[f64]) -> Result<Vec<f64>, InvalidInput> {
    let order = ascending(p)?;
    let mut adjusted = vec![0.0; p.len()];
    let mut largest = 0.0f64;
    for (rank, &i) in order.iter().enumerate() {
        largest = largest.max(p[i] * (p.len() - rank) as f64);
        adjusted[i] = largest.min(1.0);
    }
    Ok(adjusted)
}

/// Bonferroni adjusted p-values, in input order.
///
/// # Errors
/// [`InvalidInput::NotAProbability`].
pub fn bonferroni(p: &[f64]) -> Result<Vec<f64>, InvalidInput> {
    check(p)?;
    Ok(p.iter().map(|v| (v * p.len() as f64).min(1.0)).collect())
}

/// From the largest p-value down: the smallest of `p m c / rank` so far.
fn step_up(p: &[f64], c: f64) -> Result<Vec<f64>, InvalidInput> {
    let order = ascending(p)?;
    let mut adjusted = vec![0.0; p.len()];
    let mut smallest = 1.0f64;
    for (rank, &i) in order.iter().enumerate().rev() {
        smallest = smallest.min(p[i] * (c * p.len() as f64 / (rank + 1) as f64));
        adjusted[i] = smallest;
    }
    Ok(adjusted)
}

fn ascending(p: &[f64]) -> Result<Vec<usize>, InvalidInput> {
    check(p)?;
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    Ok(order)
}

fn check(p: &[f64]) -> Result<(), InvalidInput> {
    match p.iter().position(|v| !(0.0..=1.0).contains(v)) {
        Some(index) => Err(InvalidInput::NotAProbability { index }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cells_are_no_error_and_nonsense_is() {
        assert_eq!(bh(&[]), Ok(vec![]));
        let nan = [0.1, f64::NAN];
        let error = Err(InvalidInput::NotAProbability { index: 1 });
        assert_eq!(bh(&nan), error);
        assert_eq!(holm(&nan), error);
        assert_eq!(bonferroni(&[0.1, 1.5]), error);
    }
}
