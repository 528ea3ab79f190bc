//! Whatever goes in, no door panics and nothing that is not a finite number comes out.

use blklab_stats::{
    Arm, Better, Comparison, Design, Judgement, Layout, MeanSd, Order, Policy, Shifts, SummaryComparison, bh, brown_forsythe, compare,
    compare_summary, describe, dist, fisher_exact, judge, judge_means, judge_summary, mann_kendall, mann_whitney, oneway_f, outliers,
    paired, sen_slope, two_modes, welch,
};
use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};

/// JSON has no NaN and no infinity: serde_json writes null, which a number cannot be read from.
/// So a value that survives the round trip holds finite numbers only.
fn survives_json<T>(value: &T)
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let text = serde_json::to_string(value).expect("serialises");
    let back: T = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e} in {text}"));
    assert_eq!(&back, value);
}

/// Mostly plausible measurements with ties and quantisation, some of every other kind of `f64`.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => (90u32..110).prop_map(f64::from),
        8 => 0.5f64..2.0,
        4 => any::<f64>().prop_map(f64::abs),
        1 => any::<f64>(),
        1 => prop::sample::select(vec![
            f64::NAN, f64::INFINITY, 0.0, -0.0, -1.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e308, 1e-308,
            1.0 + f64::EPSILON, 1.0,
        ]),
    ]
}

/// Values that the door lets in, so that the rooms behind it are exercised too.
fn positive() -> impl Strategy<Value = f64> {
    value().prop_map(|v| if v.is_finite() && v > 0.0 { v } else { 1.0 })
}

fn arm() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![
        3 => prop::collection::vec(positive(), 2..24),
        1 => prop::collection::vec(value(), 0..8),
        1 => (positive(), 2usize..24).prop_map(|(v, n)| vec![v; n]),
    ]
}

/// Both arms; half of the time of equal length, as pairs need.
fn arms() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    (arm(), arm(), any::<bool>()).prop_map(|(mut base, mut patched, cut)| {
        if cut {
            let n = base.len().min(patched.len());
            base.truncate(n);
            patched.truncate(n);
        }
        (base, patched)
    })
}

fn design() -> impl Strategy<Value = Design> {
    let layout = prop::sample::select(vec![Layout::Paired, Layout::Independent]);
    let order = prop::sample::select(vec![Order::Randomised, Order::Interleaved, Order::Sequential, Order::Unknown]);
    (layout, order).prop_map(|(layout, order)| Design { layout, order })
}

/// Sensible policies, and policies of any bits.
fn policy() -> impl Strategy<Value = Policy> {
    let sensible = (0.1f64..30.0, 1e-6f64..0.2, 0.0f64..5.0, 2usize..40);
    let sensible = sensible.prop_map(|(delta_pct, alpha, resolution_pct, n_max)| Policy {
        delta_pct,
        alpha,
        resolution_pct,
        n_max,
        ..Policy::default()
    });
    let any_bits = (any::<[f64; 5]>(), any::<[usize; 2]>()).prop_map(|(f, n)| Policy {
        delta_pct: f[0],
        alpha: f[1],
        alpha_var: f[2],
        sd_ratio_gate: f[3],
        resolution_pct: f[4],
        n_var_min: n[0],
        n_max: n[1],
    });
    prop_oneof![4 => sensible, 1 => any_bits]
}

fn better() -> impl Strategy<Value = Better> {
    prop::sample::select(vec![Better::Lower, Better::Higher])
}

fn assert_judged(judgement: &Judgement) {
    survives_json(judgement);
    assert!(!judgement.verdict.name().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn any_arms_are_compared_and_judged_or_refused(
        (base, patched) in arms(),
        design in design(),
        policy in policy(),
        better in better(),
    ) {
        match compare(&base, &patched, design, policy.options()) {
            Err(error) => {
                survives_json(&error);
                prop_assert!(!error.to_string().is_empty());
                assert_judged(&Judgement::from(error));
            }
            Ok(comparison) => {
                survives_json::<Comparison>(&comparison);
                prop_assert!((0.0..=1.0).contains(&comparison.p_rank));
                prop_assert!(comparison.p_combined.is_none_or(|p| (0.0..=1.0).contains(&p)));
                prop_assert!(comparison.change_pct().is_finite());
                prop_assert!(comparison.smallest_detectable_pct().is_none_or(f64::is_finite));
                if let (Some(wide), Some(narrow)) = (comparison.ci95, comparison.ci90) {
                    prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
                    prop_assert!(wide.low <= comparison.shift && comparison.shift <= wide.high);
                }
                assert_judged(&judge(&comparison, better, &policy));
            }
        }
    }

    #[test]
    fn any_summary_is_judged_or_refused(
        n in any::<[u64; 2]>(),
        small in any::<bool>(),
        (mean, sd) in ([value(), value()], [value(), value()]),
        policy in policy(),
        better in better(),
    ) {
        let arm = |i: usize| MeanSd {
            n: if small { n[i] % 20 } else { n[i] },
            mean: mean[i],
            sd: sd[i],
        };
        match compare_summary(arm(0), arm(1), policy.resolution_pct) {
            Err(error) => assert_judged(&Judgement::from(error)),
            Ok(comparison) => {
                survives_json::<SummaryComparison>(&comparison);
                assert_judged(&judge_summary(&comparison, better, &policy));
            }
        }
        assert_judged(&judge_means(n[0], mean[0], mean[1]));
    }

    /// Values of any sign and size, since most functions need no logarithm.
    #[test]
    fn any_values_are_described_and_tested_or_refused(
        (base, patched) in (
            prop::collection::vec(value(), 0..12),
            prop::collection::vec(prop_oneof![value(), any::<f64>()], 0..12),
        ),
    ) {
        let finite = |what: &str, got: f64| assert!(got.is_finite(), "{what} is {got}");
        for values in [&base, &patched] {
            let _ = describe(Arm::Base, values).map(|got| survives_json(&got));
            let _ = outliers(Arm::Base, values).map(|got| assert!(got.len() <= values.len()));
            let _ = two_modes(Arm::Base, values).map(|got| survives_json(&got));
            let _ = mann_kendall(Arm::Base, values).map(|got| survives_json(&got));
            let _ = sen_slope(Arm::Base, values).map(|got| finite("slope", got));
        }
        let _ = welch(&base, &patched).map(|got| survives_json(&got));
        let _ = paired(&base, &patched, 0.0).map(|got| survives_json(&got));
        let _ = mann_whitney(&base, &patched).map(|got| survives_json(&got));
        let _ = Shifts::new(&base, &patched).map(|got| finite("shift", got.estimate()));
        let _ = brown_forsythe(&base, &patched).map(|got| finite("p", got.p));
        let _ = oneway_f(&[&base, &patched, &base]).map(|got| finite("p", got.p));
    }

    #[test]
    fn small_doors_are_as_tight(
        x in any::<f64>(),
        a in any::<f64>(),
        b in any::<f64>(),
        p in prop::collection::vec(0.0f64..=1.0, 0..50),
        table in prop::array::uniform2(prop::array::uniform2(0u64..3_000)),
    ) {
        for tail in [dist::t_sf(x, a.abs()), dist::f_sf(x, a, b), dist::chi2_sf(x, a)] {
            prop_assert!(tail.is_nan() || (0.0..=1.0).contains(&tail));
        }
        let _ = (dist::t_isf(x, a), dist::normal_isf(x), dist::normal_sf(x));
        let adjusted = bh(&p).expect("these are probabilities");
        prop_assert!(adjusted.iter().zip(&p).all(|(adjusted, p)| (*p..=1.0).contains(adjusted)));
        let fisher = fisher_exact(table).expect("few counts");
        survives_json(&fisher);
        prop_assert!(fisher.p_two_sided <= 1.0 && fisher.p_two_sided > -1e-300);
    }
}
