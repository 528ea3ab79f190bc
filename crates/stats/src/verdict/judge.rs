//! The rules in their order. One function gathers the evidence of each kind of data, one turns it
//! into gates, one turns gates into the word.

use serde::{Deserialize, Serialize};

use super::gate::{Bound, Cap, Gate, GateName};
use super::policy::Policy;
use super::word::{Better, NoTest, Verdict, Why};
use crate::compare::{Comparison, Order};
use crate::flags::Spread;
use crate::input::InvalidInput;
use crate::interval::{LogInterval, pct_from_log};
use crate::modes::TwoModes;
use crate::summary::{SummaryComparison, break_even_cv};

/// Fewest runs an arm for the claim of a change.
const RUNS_FOR_CHANGE: u64 = 3;
/// Fewest runs for a claim at a level below [`DEEP_ALPHA`]: with two modes the real error at 1e-4 is
/// 8.6 times nominal at 5 runs and 121 times at 3.
const RUNS_FOR_DEEP_CHANGE: u64 = 7;
/// Levels below this one are deep.
const DEEP_ALPHA: f64 = 0.001;
/// Fewest runs an arm for the claim of no change.
const RUNS_FOR_EQUIVALENCE: u64 = 5;
/// Fewest runs an arm to call a cell unstable.
const RUNS_FOR_STABILITY: u64 = 10;
/// Reserve on the estimate of the runs still needed; with it about 80 % of the cells settle.
const NEED_MORE_RESERVE: f64 = 1.3;
/// Largest number of further runs that is worth printing.
const NEED_MORE_MAX: u64 = 1_000_000;

/// A verdict and how it came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The word.
    pub verdict: Verdict,
    /// Why it could not be more than a suspicion; empty for raw data in random order.
    pub caps: Vec<Cap>,
    /// Every rule with its value and limit, in the order of the method; empty without a test.
    pub reasons: Vec<Gate>,
}

/// Judges a comparison of raw data, as a single look at it.
#[must_use]
pub fn judge(comparison: &Comparison, better: Better, policy: &Policy) -> Judgement {
    let order_randomised = comparison.design.order == Order::Randomised;
    let mut caps = Vec::new();
    if !order_randomised {
        caps.push(Cap::Order);
        if comparison.flags.drifting() {
            caps.push(Cap::Drift);
        }
    }
    let evidence = Evidence {
        n: comparison.n() as u64,
        p: comparison.p_combined,
        shift: comparison.shift,
        ci95: comparison.ci95,
        ci90: comparison.ci90,
        order_randomised,
        spread: Some(comparison.flags.spread),
        modes_base: comparison.flags.modes_base,
    };
    conclude(&evidence, caps, better, policy)
}

/// Judges published means and standard deviations. Equivalence and noise are read off the t-based
/// intervals; the spread and the modes cannot be judged.
#[must_use]
pub fn judge_summary(comparison: &SummaryComparison, better: Better, policy: &Policy) -> Judgement {
    let test = comparison.log_delta;
    let evidence = Evidence {
        n: comparison.base.n.min(comparison.patched.n),
        p: test.map(|t| t.p),
        shift: comparison.log_ratio,
        ci95: test.map(|t| t.log_interval(0.05)),
        ci90: test.map(|t| t.log_interval(0.10)),
        order_randomised: false,
        spread: None,
        modes_base: None,
    };
    conclude(&evidence, vec![Cap::SummaryOnly, Cap::Order], better, policy)
}

/// Judges two published means of `n` runs each: never a test, but the noise that would undo it.
#[must_use]
pub fn judge_means(n: u64, base: f64, patched: f64) -> Judgement {
    let verdict = match break_even_cv(n, base, patched) {
        Ok(break_even_cv) => {
            Verdict::NoTest { reason: NoTest::MeansOnly { change_pct: pct_from_log(patched.ln() - base.ln()), break_even_cv } }
        }
        Err(error) => error.into(),
    };
    Judgement::untested(verdict)
}

impl Judgement {
    fn untested(verdict: Verdict) -> Judgement {
        Judgement { verdict, caps: Vec::new(), reasons: Vec::new() }
    }
}

/// Data that failed their checks still get a verdict for their cell.
impl From<InvalidInput> for Judgement {
    fn from(error: InvalidInput) -> Judgement {
        Judgement::untested(error.into())
    }
}

/// What the rules look at, from whatever kind of data.
struct Evidence {
    n: u64,
    p: Option<f64>,
    shift: f64,
    ci95: Option<LogInterval>,
    ci90: Option<LogInterval>,
    order_randomised: bool,
    spread: Option<Spread>,
    modes_base: Option<TwoModes>,
}

fn conclude(evidence: &Evidence, caps: Vec<Cap>, better: Better, policy: &Policy) -> Judgement {
    if let Err(error) = policy.check() {
        return error.into();
    }
    let reasons = gates(evidence, policy);
    Judgement { verdict: word(evidence, &reasons, better, policy), caps, reasons }
}

/// Every rule, in the order of the method.
fn gates(e: &Evidence, policy: &Policy) -> Vec<Gate> {
    use Bound::{AtLeast, AtMost};
    use GateName::*;
    let runs = Some(e.n as f64);
    let margin = policy.margin();
    let runs_for_change = if policy.alpha < DEEP_ALPHA { RUNS_FOR_DEEP_CHANGE } else { RUNS_FOR_CHANGE };
    let randomised = f64::from(u8::from(e.order_randomised));
    let reach = e.ci90.map(|ci| ci.reach());
    // Two modes closer than the least gap are no fault, however clean the split.
    let split = e.modes_base.filter(|modes| modes.bimodal);
    let split_limit = e.modes_base.map_or(1.0, |modes| modes.critical);
    vec![
        Gate::required(RunsForChange, runs, AtLeast, runs_for_change as f64),
        Gate::required(Significant, e.p, AtMost, policy.alpha),
        Gate::required(LargeEnough, Some(e.shift.abs()), AtLeast, margin),
        Gate::required(OrderRandomised, Some(randomised), AtLeast, 1.0),
        Gate::required(RunsForEquivalence, runs, AtLeast, RUNS_FOR_EQUIVALENCE as f64),
        Gate::required(WithinMargin, reach, AtMost, margin),
        Gate::required(FineEnough, Some(policy.resolution_pct), AtMost, policy.delta_pct),
        Gate::required(RunsForSpread, runs, AtLeast, policy.n_var_min as f64),
        Gate::required(SpreadSignificant, e.spread.and_then(|s| s.p), AtMost, policy.alpha_var),
        Gate::required(SpreadLargeEnough, e.spread.and_then(sd_ratio), AtLeast, policy.sd_ratio_gate),
        Gate::required(RunsForStability, runs, AtLeast, RUNS_FOR_STABILITY as f64),
        Gate::unless_broken(QuietEnough, half_width_at_n_max(e, policy), 2.0 * margin.max(e.shift.abs())),
        Gate::unless_broken(OneModeInBase, split.map(|modes| modes.r2), split_limit),
    ]
}

/// The rules as one decision. The order matters: the first rule that holds gives the word.
fn word(e: &Evidence, reasons: &[Gate], better: Better, policy: &Policy) -> Verdict {
    use GateName::*;
    let passed = |name: GateName| reasons.iter().any(|gate| gate.name == name && gate.passed);
    let all = |names: &[GateName]| names.iter().all(|name| passed(*name));

    if e.p.is_none() {
        return Verdict::Inconclusive { why: Why::ZeroVariance, need_more: None };
    }
    if all(&[RunsForChange, Significant, LargeEnough]) {
        let worse = match better {
            Better::Lower => e.shift > 0.0,
            Better::Higher => e.shift < 0.0,
        };
        return if worse { Verdict::SuspectRegression } else { Verdict::SuspectImprovement };
    }
    if all(&[RunsForSpread, SpreadSignificant, SpreadLargeEnough]) {
        return Verdict::VarianceRegression;
    }
    if all(&[RunsForEquivalence, WithinMargin, FineEnough]) {
        return Verdict::Equivalent;
    }
    if passed(RunsForStability) && !all(&[QuietEnough, OneModeInBase]) {
        return Verdict::Unstable { half_width_at_n_max_pct: half_width_at_n_max(e, policy).map_or(0.0, pct_from_log) };
    }
    let exhausted = e.n >= policy.n_max as u64;
    Verdict::Inconclusive {
        why: if exhausted { Why::AtMaxRuns } else { Why::NotYetClear },
        need_more: (!exhausted).then(|| need_more(e, policy.margin())),
    }
}

/// Patched over base; as good as infinite if only the patched arm varies.
fn sd_ratio(spread: Spread) -> Option<f64> {
    let only_patched_varies = spread.sd_log_base == 0.0 && spread.sd_log_patched > 0.0;
    spread.sd_ratio().or(only_patched_varies.then_some(f64::MAX))
}

/// The half-width of the 95 % interval shrinks with the root of the runs; what is left at `n_max`.
fn half_width_at_n_max(e: &Evidence, policy: &Policy) -> Option<f64> {
    let runs_then = (policy.n_max as f64).max(e.n as f64);
    e.ci95.map(|ci| ci.half_width() * (e.n as f64 / runs_then).sqrt())
}

/// Runs to add until the cell is likely to settle: until the interval clears zero if the shift is
/// large enough, else until it fits inside of the margin. The last fifth of the margin is not
/// worth chasing, hence the floor.
fn need_more(e: &Evidence, margin: f64) -> u64 {
    const MARGIN_FLOOR: f64 = 0.2;
    let size = e.shift.abs();
    let times_too_wide = if size >= margin {
        e.ci95.map(|ci| ci.half_width() / size)
    } else {
        let room = (margin - size).max(MARGIN_FLOOR * margin);
        e.ci90.map(|ci| ci.half_width() / room)
    };
    let least = RUNS_FOR_EQUIVALENCE.saturating_sub(e.n).max(1);
    times_too_wide.map_or(least, |times| {
        let need = (NEED_MORE_RESERVE * e.n as f64 * times * times).ceil() as u64;
        need.saturating_sub(e.n).clamp(least, NEED_MORE_MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Design, Layout, compare};

    const ALTERNATING: [f64; 10] = [100.0, 101.0, 100.5, 101.5, 100.2, 101.2, 100.7, 101.7, 100.4, 101.4];

    fn judged(base: &[f64], patched: &[f64], design: Design, policy: Policy) -> Judgement {
        let comparison = compare(base, patched, design, policy.options()).unwrap();
        judge(&comparison, Better::Lower, &policy)
    }

    fn scaled(arm: &[f64], factor: f64) -> Vec<f64> {
        arm.iter().map(|v| v * factor).collect()
    }

    fn word_of(base: &[f64], patched: &[f64], policy: Policy) -> Verdict {
        judged(base, patched, Design::FULLY_RANDOMISED, policy).verdict
    }

    #[test]
    fn direction_is_a_matter_of_the_metric() {
        let slower = scaled(&ALTERNATING, 1.2);
        let comparison = compare(&ALTERNATING, &slower, Design::FULLY_RANDOMISED, Policy::default().options()).unwrap();
        let word = |better| judge(&comparison, better, &Policy::default()).verdict;
        assert_eq!(word(Better::Lower), Verdict::SuspectRegression);
        assert_eq!(word(Better::Higher), Verdict::SuspectImprovement);
    }

    #[test]
    fn a_significant_change_below_the_margin_is_no_change() {
        let slower = scaled(&ALTERNATING, 1.02);
        let judgement = judged(&ALTERNATING, &slower, Design::FULLY_RANDOMISED, Policy::default());
        assert_eq!(judgement.verdict, Verdict::Equivalent);
        let passed = |name: GateName| {
            let gate = judgement.reasons.iter().find(|gate| gate.name == name);
            gate.unwrap().passed
        };
        assert!(passed(GateName::Significant) && !passed(GateName::LargeEnough));
        let strict = Policy { delta_pct: 1.0, ..Policy::default() };
        assert_eq!(word_of(&ALTERNATING, &slower, strict), Verdict::SuspectRegression);
    }

    #[test]
    fn deep_levels_need_seven_runs() {
        let deep = Policy { alpha: 1e-4, ..Policy::default() };
        let slower = scaled(&ALTERNATING, 1.5);
        let at = |n: usize| word_of(&ALTERNATING[..n], &slower[..n], deep);
        assert_ne!(at(6), Verdict::SuspectRegression);
        assert_eq!(at(7), Verdict::SuspectRegression);
    }

    #[test]
    fn runs_without_variance_are_judged_only_with_a_fine_enough_resolution() {
        let with = |resolution_pct: f64| Policy { resolution_pct, ..Policy::default() };
        let open = Verdict::Inconclusive { why: Why::ZeroVariance, need_more: None };
        assert_eq!(word_of(&[7.0; 6], &[7.0; 6], with(0.0)), open);
        assert_eq!(word_of(&[7.0; 6], &[7.0; 6], with(1.0)), Verdict::Equivalent);
        assert_eq!(word_of(&[7.0; 6], &[8.0; 6], with(1.0)), Verdict::SuspectRegression);
        let coarse = word_of(&[7.0; 6], &[7.0; 6], with(10.0));
        assert!(matches!(coarse, Verdict::Inconclusive { .. }), "{coarse:?}");
    }

    /// The patched arm spreads ten times wider around the same level.
    #[test]
    fn a_wider_spread_outranks_equality_but_needs_ten_runs() {
        let wide: Vec<f64> = ALTERNATING.iter().map(|v| 101.0 + (v - 101.0) * 4.0).collect();
        let at = |n: usize| word_of(&ALTERNATING[..n], &wide[..n], Policy::default());
        assert_eq!(at(10), Verdict::VarianceRegression);
        assert_eq!(at(9), Verdict::Equivalent);
        // The other way round the spread got better, which is no regression.
        let narrower = word_of(&wide, &ALTERNATING, Policy::default());
        assert_eq!(narrower, Verdict::Equivalent);
    }

    #[test]
    fn two_modes_in_the_base_arm_are_unstable() {
        let bimodal = [100.0, 200.0, 101.0, 202.0, 99.0, 198.0, 100.5, 201.0, 99.5, 99.0];
        let other_mix = [100.1, 200.1, 101.1, 202.1, 99.1, 198.1, 200.5, 201.1, 99.6, 199.1];
        let word = word_of(&bimodal, &other_mix, Policy::default());
        let Verdict::Unstable { half_width_at_n_max_pct } = word else {
            panic!("{word:?}");
        };
        assert!(half_width_at_n_max_pct > 5.0);
    }

    #[test]
    fn at_the_largest_number_of_runs_no_more_are_asked_for() {
        let noise = [100.0, 112.0, 95.0, 107.0, 103.0, 99.0];
        let slower = scaled(&noise, 1.04);
        let few = Policy { n_max: 6, ..Policy::default() };
        let exhausted = Verdict::Inconclusive { why: Why::AtMaxRuns, need_more: None };
        assert_eq!(word_of(&noise, &slower, few), exhausted);
        let open = word_of(&noise, &slower, Policy::default());
        assert!(matches!(open, Verdict::Inconclusive { why: Why::NotYetClear, need_more: Some(k) } if k > 0), "{open:?}");
    }

    #[test]
    fn only_random_order_is_free_of_caps() {
        let drifting: Vec<f64> = (0..10).map(|i| 100.0 + f64::from(i)).collect();
        let caps = |order: Order| {
            let layout = Layout::Independent;
            let design = Design { layout, order };
            judged(&drifting, &ALTERNATING, design, Policy::default()).caps
        };
        assert_eq!(caps(Order::Randomised), []);
        assert_eq!(caps(Order::Sequential), [Cap::Order, Cap::Drift]);
        assert_eq!(caps(Order::Interleaved), [Cap::Order, Cap::Drift]);
    }

    #[test]
    fn a_policy_out_of_range_judges_nothing() {
        let absurd = Policy { delta_pct: f64::NAN, ..Policy::default() };
        let word = word_of(&ALTERNATING, &ALTERNATING, absurd);
        assert!(matches!(&word, Verdict::Invalid { error } if error.code() == "bad_policy"), "{word:?}");
    }
}
