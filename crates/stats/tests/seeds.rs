//! The published results that started the lab (S1-S5), judged: what the method says about tables as
//! they are really printed. Numbers and expected words from the method's own table of seed cases.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use blklab_stats::{
    Better, Cap, Comparison, Design, InvalidInput, Judgement, MeanSd, NoTest, Policy, SummaryComparison, Verdict, compare, compare_summary,
    judge, judge_means, judge_summary,
};

fn summary(base: (u64, f64, f64), patched: (u64, f64, f64)) -> (SummaryComparison, Judgement) {
    let arm = |(n, mean, sd)| MeanSd { n, mean, sd };
    let got = compare_summary(arm(base), arm(patched), 0.0).unwrap();
    let judgement = judge_summary(&got, Better::Lower, &Policy::default());
    (got, judgement)
}

fn raw(base: &[f64], patched: &[f64]) -> (Comparison, Judgement) {
    let policy = Policy::default();
    let got = compare(base, patched, Design::IMPORTED, policy.options()).unwrap();
    let judgement = judge(&got, Better::Higher, &policy);
    (got, judgement)
}

fn near(got: f64, want: f64, abs: f64) {
    assert!((got - want).abs() <= abs, "{got} is not {want} +- {abs}");
}

/// Ten runs of three tasks, beside a heavy writer, in seconds.
#[test]
fn s1_reading_a_tree_is_the_only_real_regression() {
    let (got, judgement) = summary((10, 4631.3, 784.6), (10, 6849.8, 731.6));
    assert_eq!(judgement.verdict, Verdict::SuspectRegression);
    assert_eq!(judgement.caps, [Cap::SummaryOnly, Cap::Order]);
    let delta = got.log_delta.unwrap();
    near(delta.p, 1.67e-5, 1e-7);
    let ci = delta.log_interval(0.05);
    near(ci.low_pct(), 29.2, 0.05);
    near(ci.high_pct(), 69.3, 0.05);
    near(got.hedges_g.unwrap(), 2.80, 0.005);
}

#[test]
fn s1_reading_a_large_file_needs_about_a_hundred_more_runs() {
    let (_, judgement) = summary((10, 215.1, 22.8), (10, 210.3, 18.5));
    let Verdict::Inconclusive { need_more: Some(k), .. } = judgement.verdict else {
        panic!("{:?}", judgement.verdict);
    };
    assert!((90..=110).contains(&k), "{k}");
}

#[test]
fn s1_overwriting_is_too_noisy_for_any_affordable_number_of_runs() {
    let (_, judgement) = summary((10, 147.7, 38.4), (10, 149.7, 38.4));
    let Verdict::Unstable { half_width_at_n_max_pct } = judgement.verdict else {
        panic!("{:?}", judgement.verdict);
    };
    near(half_width_at_n_max_pct, 15.0, 1.0);
}

/// Means of three runs without any spread.
#[test]
fn s2_means_alone_are_no_test_but_tell_the_noise_that_would_undo_them() {
    let cases = [
        (1_892_624.0, 932_938.0, -50.7, 0.31),
        (1_892_624.0, 1_470_659.0, -22.3, 0.111),
        (1_892_624.0, 1_643_430.0, -13.2, 0.062),
        (902_694.0, 876_588.0, -2.9, 0.013),
    ];
    for (base, patched, change, noise) in cases {
        let verdict = judge_means(3, base, patched).verdict;
        let Verdict::NoTest { reason: NoTest::MeansOnly { change_pct, break_even_cv: Some(cv) } } = verdict else {
            panic!("{verdict:?}");
        };
        near(change_pct, change, 0.05);
        near(cv, noise, 0.0025);
    }
}

#[test]
fn s3_a_reader_that_lost_half_its_rate_is_suspect_under_either_reading_of_the_labels() {
    let base = [82.4, 86.8, 85.7, 87.0];
    let (labelled, judgement) = raw(&base, &[45.0, 44.7, 45.1, 44.9]);
    assert_eq!(judgement.verdict, Verdict::SuspectRegression);
    assert_eq!(judgement.caps, [Cap::Order]);
    let welch = labelled.welch_log.unwrap();
    near(welch.p, 1.13e-5, 1e-7);
    near(welch.log_interval(0.05).low_pct(), -49.5, 0.05);
    near(welch.log_interval(0.05).high_pct(), -45.3, 0.05);
    near(labelled.p_rank, 0.0286, 5e-5);

    let (_, judgement) = raw(&base, &[53.4, 45.7, 66.0, 44.7]);
    assert_eq!(judgement.verdict, Verdict::SuspectRegression);
}

#[test]
fn s3_the_best_effort_reader_needs_about_19_more_runs() {
    let (_, judgement) = raw(&[44.2, 45.2, 45.2, 45.2], &[53.4, 45.7, 66.0, 44.7]);
    assert_need_more(&judgement, 19);
}

#[test]
fn s3_a_second_mode_in_the_patched_arm_is_reported_not_judged() {
    let (got, judgement) = raw(&[235.0, 238.0, 237.0, 237.0], &[236.0, 126.0, 231.0, 119.0]);
    assert_need_more(&judgement, 2);
    assert!(got.flags.bimodal_patched() && !got.flags.bimodal_base());
    near(got.flags.spread.f.unwrap(), 549.0, 1.0);
    near(got.flags.modes_patched.unwrap().r2, 0.9955, 5e-5);
}

#[test]
fn s3_four_runs_cannot_claim_equality() {
    let (got, judgement) = raw(&[121.0, 122.0, 121.0, 121.0], &[118.0; 4]);
    assert_need_more(&judgement, 1);
    near(got.change_pct(), -2.5, 0.05);
}

#[test]
fn s4_s5_one_run_each_is_no_test_at_all() {
    let error = compare(&[118.0], &[65.0], Design::IMPORTED, Policy::default().options());
    let judgement = Judgement::from(error.unwrap_err());
    let expected = InvalidInput::TooFew { arm: blklab_stats::Arm::Base, n: 1, needed: 2 };
    assert_eq!(judgement.verdict, Verdict::NoTest { reason: NoTest::TooFewRuns { error: expected } });
    let verdict = judge_means(1, 118.0, 65.0).verdict;
    let Verdict::NoTest { reason: NoTest::MeansOnly { break_even_cv, .. } } = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!(break_even_cv, None);
    // "... it would take 26 % of noise, had there been three runs."
    let hypothetical = blklab_stats::break_even_cv(3, 118.0, 65.0).unwrap().unwrap();
    near(hypothetical, 0.26, 0.005);
}

fn assert_need_more(judgement: &Judgement, runs: u64) {
    let Verdict::Inconclusive { need_more, .. } = judgement.verdict else {
        panic!("{:?}", judgement.verdict);
    };
    assert_eq!(need_more, Some(runs));
}
