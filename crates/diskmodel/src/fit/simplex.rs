//! Minimisation without derivatives: Nelder and Mead, "A simplex method for function minimization", The Computer Journal 7, 1965, with
//! the coefficients given there.

/// Steps from the start, in the units of the parameters (natural logarithms here): 15 per cent.
const FIRST_STEP: f64 = 0.15;

/// The best point found from `start` with at most `evaluations` values of `cost`.
pub(super) fn minimise(start: &[f64], evaluations: usize, mut cost: impl FnMut(&[f64]) -> f64) -> Vec<f64> {
    if start.is_empty() {
        return Vec::new();
    }
    let mut corners: Vec<(f64, Vec<f64>)> = vec![(cost(start), start.to_vec())];
    for index in 0..start.len() {
        let mut corner = start.to_vec();
        corner[index] += FIRST_STEP;
        corners.push((cost(&corner), corner));
    }
    let mut used = corners.len();
    while used < evaluations {
        corners.sort_by(|a, b| a.0.total_cmp(&b.0));
        let worst = corners.len() - 1;
        let centre: Vec<f64> = (0..start.len()).map(|i| corners[..worst].iter().map(|c| c.1[i]).sum::<f64>() / worst as f64).collect();
        let away = |factor: f64| -> Vec<f64> { centre.iter().zip(&corners[worst].1).map(|(c, w)| c + factor * (c - w)).collect() };
        let (reflected, expanded, contracted) = (away(1.0), away(2.0), away(-0.5));
        let value = cost(&reflected);
        used += 1;
        if value < corners[0].0 {
            let further = cost(&expanded);
            used += 1;
            corners[worst] = if further < value { (further, expanded) } else { (value, reflected) };
        } else if value < corners[worst - 1].0 {
            corners[worst] = (value, reflected);
        } else {
            let inside = cost(&contracted);
            used += 1;
            if inside < corners[worst].0 {
                corners[worst] = (inside, contracted);
            } else {
                let best = corners[0].1.clone();
                for (value, corner) in &mut corners[1..] {
                    corner.iter_mut().zip(&best).for_each(|(x, b)| *x = (*x + b) / 2.0);
                    *value = cost(corner);
                    used += 1;
                }
            }
        }
    }
    corners.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, corner)| corner).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_the_bottom_of_a_crooked_valley() {
        // Rosenbrock's function, the usual test; its minimum is at (1, 1).
        let valley = |x: &[f64]| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2);
        let found = minimise(&[-1.2, 1.0], 400, valley);
        assert!(found.iter().all(|x| (x - 1.0).abs() < 1e-3), "{found:?}");
        assert_eq!(minimise(&[], 10, |_| 0.0), Vec::<f64>::new());
    }
}
