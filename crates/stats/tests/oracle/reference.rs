//! Brute force that is too slow for the crate but right by construction.

/// Exact two-sample permutation test of the difference of means: all splits of the pooled values.
pub(crate) struct Permutation {
    pub(crate) splits: u64,
    pub(crate) p_two_sided: f64,
    pub(crate) p_greater: f64,
    pub(crate) p_less: f64,
}

pub(crate) fn permutation(base: &[f64], patched: &[f64]) -> Permutation {
    let pooled: Vec<f64> = base.iter().chain(patched).copied().collect();
    let centre = pooled.iter().sum::<f64>() / pooled.len() as f64;
    // With the pooled mean removed, the sum of the patched arm orders the splits as the means do.
    let centred: Vec<f64> = pooled.iter().map(|v| v - centre).collect();
    let observed: f64 = centred[base.len()..].iter().sum();
    let slack = 1e-9 * observed.abs().max(1e-12 * centre.abs());
    let mut counts = [0u64; 4];
    each_subset_sum(&centred, patched.len(), 0.0, &mut |sum| {
        counts[0] += 1;
        counts[1] += u64::from(sum.abs() >= observed.abs() - slack);
        counts[2] += u64::from(sum >= observed - slack);
        counts[3] += u64::from(sum <= observed + slack);
    });
    let share = |count: u64| count as f64 / counts[0] as f64;
    Permutation { splits: counts[0], p_two_sided: share(counts[1]), p_greater: share(counts[2]), p_less: share(counts[3]) }
}

fn each_subset_sum(values: &[f64], size: usize, sum: f64, visit: &mut impl FnMut(f64)) {
    if size == 0 {
        return visit(sum);
    }
    for i in 0..=values.len() - size {
        each_subset_sum(&values[i + 1..], size - 1, sum + values[i], visit);
    }
}

/// Bartlett's test of equal variances, statistic only: the reference that Brown-Forsythe replaces.
pub(crate) fn bartlett(sd_base: f64, n_base: f64, sd_patched: f64, n_patched: f64) -> f64 {
    let (db, dp) = (n_base - 1.0, n_patched - 1.0);
    let (vb, vp) = (sd_base.powi(2), sd_patched.powi(2));
    let pooled = (db * vb + dp * vp) / (db + dp);
    let correction = 1.0 + (1.0 / db + 1.0 / dp - 1.0 / (db + dp)) / 3.0;
    ((db + dp) * pooled.ln() - db * vb.ln() - dp * vp.ln()) / correction
}
