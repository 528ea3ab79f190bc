//! The sections that pin the method: single-look verdicts of raw data, and inputs that no door may
//! let through.

use blklab_stats::{Better, Comparison, Design, InvalidInput, Layout, MeanSd, Order, Policy, Verdict, compare, compare_summary, judge};
use serde_json::{Value, json};

use crate::harness::{Case, each_case, floats};

#[test]
fn single_look_verdicts() {
    each_case("verdict", "verdict exact; p rel 1e-8; pct rel 1e-9", |case| {
        let policy: Policy = serde_json::from_value(case.value["options"].clone()).unwrap();
        let better: Better = serde_json::from_value(case.value["better"].clone()).unwrap();
        let (base, patched) = case.arms();
        let got = compare(&base, &patched, design(case), policy.options()).unwrap();
        let judgement = judge(&got, better, &policy);

        case.same("verdict", judgement.verdict.name());
        case.close("hl_pct", got.change_pct(), 1e-9);
        case.same("flags", json!(flags(&got)));
        if case.expects("reason") {
            assert_eq!(case.take("reason"), "zero_variance");
            let want = json!({"name": "INCONCLUSIVE", "why": "zero_variance", "need_more": null});
            assert_eq!(serde_json::to_value(&judgement.verdict).unwrap(), want);
            assert_eq!(got.p_combined, None);
            return;
        }
        case.close("p_combined", got.p_combined, 1e-8);
        case.close("p_t", got.t.map(|t| t.test.p), 1e-8);
        case.close("p_mwu", got.p_rank, 1e-8);
        case.close("bf_p", got.flags.spread.p, 1e-8);
        case.close("sd_log_ratio", got.flags.spread.sd_ratio(), 1e-8);
        match got.ci95 {
            Some(ci) => case.all_close("hl_pct_ci95", &[ci.low_pct(), ci.high_pct()], 1e-9),
            None => case.same("hl_pct_ci95", json!([null, null])),
        }
        case.same("need_more_per_arm", json!(need_more(&judgement.verdict)));
    });
}

fn design(case: &Case) -> Design {
    let paired = case.value["blocked"].as_bool().unwrap();
    Design { layout: if paired { Layout::Paired } else { Layout::Independent }, order: Order::Randomised }
}

/// The flags that the vectors know, in their notation.
fn flags(comparison: &Comparison) -> Vec<String> {
    let flags = &comparison.flags;
    let outliers = |arm: &str, indexes: &[usize]| (!indexes.is_empty()).then(|| format!("outliers_{arm}:{}", indexes.len()));
    let when = |flag: bool, name: &str| flag.then(|| name.to_owned());
    [
        when(flags.zero_variance, "zero_variance"),
        outliers("base", &flags.outliers_base),
        outliers("patched", &flags.outliers_patched),
        when(flags.bimodal_base(), "bimodal_base"),
        when(flags.bimodal_patched(), "bimodal_patched"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn need_more(verdict: &Verdict) -> Option<u64> {
    match verdict {
        Verdict::Inconclusive { need_more, .. } => *need_more,
        Verdict::Invalid { .. }
        | Verdict::NoTest { .. }
        | Verdict::SuspectRegression
        | Verdict::SuspectImprovement
        | Verdict::Regression
        | Verdict::Improvement
        | Verdict::NotReproduced
        | Verdict::Equivalent
        | Verdict::VarianceRegression
        | Verdict::Unstable { .. } => None,
    }
}

#[test]
fn inputs_that_must_be_rejected() {
    each_case("invalid_input", "n/a", |case| {
        if case.value["id"] == "overflow" {
            let got = compare_arms(case.value).unwrap();
            let text = serde_json::to_string(&got).unwrap();
            let back: Comparison = serde_json::from_str(&text).unwrap();
            assert_eq!(got, back, "a number that is not finite would not survive JSON");
            let text = case.take("").as_str().unwrap();
            assert!(text.starts_with("finite results on the log scale"));
        } else if case.value["base_summary"].is_object() {
            let arm = |key: &str| -> MeanSd { serde_json::from_value(case.value[key].clone()).unwrap() };
            let got = compare_summary(arm("base_summary"), arm("patched_summary"), 0.0);
            case.outcome(got);
        } else {
            case.outcome(compare_arms(case.value));
        }
    });
}

fn compare_arms(case: &Value) -> Result<Comparison, InvalidInput> {
    let (base, patched) = (floats(&case["base"]), floats(&case["patched"]));
    compare(&base, &patched, Design::FULLY_RANDOMISED, Policy::default().options())
}
