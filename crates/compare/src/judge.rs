//! What may be said of two sides of one metric. Every rule and every number comes from `blklab-stats`;
//! this file chooses the test that the data allow, and puts the answer into a [`Row`]'s words.

use blklab_parse::results::{Data, Repetition, Summary};
use blklab_stats::{
    Arm, Better, Comparison, Design, InvalidInput, Judgement, Layout, LogInterval, MeanSd, Moments, NoTest, Order, Policy, Why,
    break_even_cv, compare, compare_summary, fisher_exact, judge, judge_summary, median, pct_from_log, two_modes,
};

use crate::finish::EVENT;
use crate::row::{Basis, Count, Flag, Reason, Side, Stage, Verdict, Which};

/// Runs a side for which the break-even noise of a table without numbers of runs is given: the fewest
/// that can carry a suspicion.
const FEWEST_RUNS: u64 = 3;

/// Runs a side up to which it is worth saying how many more would settle a count.
const MOST_RUNS_OF_A_COUNT: u64 = 200;

/// The part of a row that follows from its data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judged {
    pub(crate) base: Side,
    pub(crate) candidate: Side,
    pub(crate) basis: Basis,
    pub(crate) shift: Option<f64>,
    pub(crate) ci95: Option<LogInterval>,
    pub(crate) p: Option<f64>,
    pub(crate) smallest_detectable_pct: Option<f64>,
    pub(crate) flags: Vec<Flag>,
    pub(crate) verdict: Verdict,
    pub(crate) reason: Reason,
    pub(crate) more_rounds: Option<u64>,
}

impl Judged {
    /// No verdict, for a reason that lies outside of the values.
    pub(crate) fn untested(base: &Data, candidate: &Data, verdict: Verdict, reason: Reason) -> Judged {
        let (base, candidate) = (side(base), side(candidate));
        let shift = match (base.mean, candidate.mean) {
            (Some(b), Some(c)) if b > 0.0 && c > 0.0 => Some(c.ln() - b.ln()),
            (_, _) => None,
        };
        Judged {
            base,
            candidate,
            basis: Basis::Nothing,
            shift,
            ci95: None,
            p: None,
            smallest_detectable_pct: None,
            flags: Vec::new(),
            verdict,
            reason,
            more_rounds: None,
        }
    }

    /// Only a change has a stage, and one look can only suspect.
    pub(crate) fn stage(&self) -> Option<Stage> {
        match self.verdict {
            Verdict::Regression | Verdict::VarianceRegression | Verdict::Improvement => Some(Stage::Suspected),
            Verdict::Invalid | Verdict::Unstable | Verdict::Inconclusive | Verdict::NoTest | Verdict::NoChange => None,
        }
    }
}

/// Judges a candidate against the base with the best test that their data allow.
pub(crate) fn judge_data(base: &Data, candidate: &Data, unit: &str, better: Better, policy: &Policy) -> Judged {
    if unit == EVENT
        && let (Some(b), Some(c)) = (count(base), count(candidate))
    {
        return judge_counts(b, c, better, policy);
    }
    match (base, candidate) {
        (Data::Values(b), Data::Values(c)) => judge_values(base, candidate, (b, c), better, policy),
        (Data::Values(_) | Data::Summary(_), Data::Values(_) | Data::Summary(_)) => judge_summaries(base, candidate, better, policy),
    }
}

fn judge_values(base: &Data, candidate: &Data, values: (&[Repetition], &[Repetition]), better: Better, policy: &Policy) -> Judged {
    let pairs = pairs(values.0, values.1);
    let (layout, incomplete, (b, c)) = match pairs {
        Some(pairs) => {
            let incomplete = pairs.len() < values.0.len().max(values.1.len());
            (Layout::Paired, incomplete, pairs.into_iter().unzip())
        }
        None => (Layout::Independent, false, (plain(values.0), plain(values.1))),
    };
    let (b, c): (Vec<f64>, Vec<f64>) = (b, c);
    if b.len().min(c.len()) < 2 {
        return too_few(base, candidate);
    }
    let design = Design { layout, order: Order::Unknown };
    let comparison = match compare(&b, &c, design, policy.options()) {
        Ok(comparison) => comparison,
        Err(error) => return Judged::untested(base, candidate, Verdict::Invalid, Reason::Invalid(error)),
    };
    let judgement = judge(&comparison, better, policy);
    let (mut verdict, mut reason, more_rounds) = in_words(&judgement);
    if matches!(verdict, Verdict::Inconclusive | Verdict::Unstable)
        && let Some(modes) = modes(&comparison, &b, &c)
    {
        // Runs of two kinds have no common level that more of them would show (workloads, "RT
        // against BE readers": two modes are unstable, not an average).
        (verdict, reason) = (Verdict::Unstable, modes);
    }
    Judged {
        base: side(base),
        candidate: side(candidate),
        basis: if layout == Layout::Paired { Basis::Pairs } else { Basis::Values },
        shift: Some(comparison.shift),
        ci95: comparison.ci95,
        p: comparison.p_combined,
        smallest_detectable_pct: comparison.smallest_detectable_pct(),
        flags: flags(&comparison, incomplete),
        verdict,
        reason,
        more_rounds,
    }
}

/// Base and candidate values of the rounds that both have, by round; none unless every value has a
/// round of its own and two rounds at least are shared.
fn pairs(base: &[Repetition], candidate: &[Repetition]) -> Option<Vec<(f64, f64)>> {
    use std::collections::BTreeMap;
    let by_round = |side: &[Repetition]| -> Option<BTreeMap<u64, f64>> {
        let rounds: BTreeMap<u64, f64> = side.iter().map(|one| Some((one.round?, one.value))).collect::<Option<_>>()?;
        (rounds.len() == side.len()).then_some(rounds)
    };
    let (base, candidate) = (by_round(base)?, by_round(candidate)?);
    let pairs: Vec<(f64, f64)> = base.iter().filter_map(|(round, b)| candidate.get(round).map(|c| (*b, *c))).collect();
    (pairs.len() > 1).then_some(pairs)
}

fn judge_summaries(base: &Data, candidate: &Data, better: Better, policy: &Policy) -> Judged {
    let runs = [base, candidate].map(|data| side(data).n);
    if runs.iter().flatten().any(|n| *n < 2) {
        return too_few(base, candidate);
    }
    let (Some(b), Some(c)) = (mean_sd(base), mean_sd(candidate)) else { return means_only(base, candidate, runs) };
    let comparison = match compare_summary(b, c, policy.resolution_pct) {
        Ok(comparison) => comparison,
        Err(error) => return Judged::untested(base, candidate, Verdict::Invalid, Reason::Invalid(error)),
    };
    let (verdict, reason, more_rounds) = in_words(&judge_summary(&comparison, better, policy));
    Judged {
        base: side(base),
        candidate: side(candidate),
        basis: Basis::Summaries,
        shift: Some(comparison.log_ratio),
        ci95: comparison.log_delta.map(|test| test.log_interval(0.05)),
        p: comparison.log_delta.map(|test| test.p),
        smallest_detectable_pct: comparison.smallest_detectable_log.map(pct_from_log),
        flags: vec![Flag::OrderUnknown, Flag::SummaryOnly],
        verdict,
        reason,
        more_rounds,
    }
}

fn means_only(base: &Data, candidate: &Data, runs: [Option<u64>; 2]) -> Judged {
    let runs = match runs {
        [Some(b), Some(c)] => Some(b.min(c)),
        [None, _] | [_, None] => None,
    };
    let reason = Reason::MeansOnly { runs, break_even_cv: undone_by(base, candidate, runs.unwrap_or(FEWEST_RUNS)) };
    let judged = Judged::untested(base, candidate, Verdict::NoTest, reason);
    Judged { basis: Basis::Means, flags: vec![Flag::MeansOnly], ..judged }
}

fn too_few(base: &Data, candidate: &Data) -> Judged {
    let runs = |data: &Data| side(data).n.unwrap_or(0);
    let reason = Reason::TooFewRuns { runs: (runs(base), runs(candidate)), break_even_cv: undone_by(base, candidate, FEWEST_RUNS) };
    let judged = Judged::untested(base, candidate, Verdict::NoTest, reason);
    let more_rounds = judged.base.n.zip(judged.candidate.n).map(|(b, c)| FEWEST_RUNS.saturating_sub(b.min(c)));
    Judged { more_rounds, ..judged }
}

/// The noise that would undo the change of the means in `runs` runs a side.
fn undone_by(base: &Data, candidate: &Data, runs: u64) -> Option<f64> {
    let (base, candidate) = (side(base).mean?, side(candidate).mean?);
    break_even_cv(runs, base, candidate).ok().flatten()
}

/// Judges how often something happened.
pub(crate) fn judge_counts(base: Count, candidate: Count, better: Better, policy: &Policy) -> Judged {
    let untested = |verdict, reason| {
        let nothing = Data::Values(Vec::new());
        let judged = Judged::untested(&nothing, &nothing, verdict, reason);
        Judged { base: side_of_count(base), candidate: side_of_count(candidate), ..judged }
    };
    let p = match fisher(base, candidate) {
        Ok(p) => p,
        Err(error) => return untested(Verdict::Invalid, Reason::Invalid(error)),
    };
    let difference = candidate.share() - base.share();
    let enough = base.of.min(candidate.of) >= FEWEST_RUNS;
    let changed = enough && p <= policy.alpha && 100.0 * difference.abs() >= policy.delta_pct;
    let worse = match better {
        Better::Lower => difference > 0.0,
        Better::Higher => difference < 0.0,
    };
    let verdict = match (changed, worse) {
        (true, true) => Verdict::Regression,
        (true, false) => Verdict::Improvement,
        (false, _) => Verdict::Inconclusive,
    };
    let judged = untested(verdict, Reason::Counted);
    let more_rounds = if changed { None } else { runs_to_settle(base, candidate, policy.alpha) };
    Judged { basis: Basis::Events, p: Some(p), flags: vec![Flag::OrderUnknown], more_rounds, ..judged }
}

fn fisher(base: Count, candidate: Count) -> Result<f64, InvalidInput> {
    let table = [base, candidate].map(|count| [count.happened, count.of - count.happened]);
    fisher_exact(table).map(|test| test.p_two_sided)
}

/// Further runs a side after which the same shares would be significant.
fn runs_to_settle(base: Count, candidate: Count, alpha: f64) -> Option<u64> {
    let now = base.of.min(candidate.of);
    let grown = |count: Count, of: u64| Count { happened: (count.share() * of as f64).round() as u64, of };
    let settled = |runs: &u64| fisher(grown(base, *runs), grown(candidate, *runs)).is_ok_and(|p| p <= alpha);
    (now + 1..=MOST_RUNS_OF_A_COUNT).find(settled).map(|runs| runs - now)
}

impl Count {
    pub(crate) fn share(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.happened as f64 / self.of as f64 }
    }
}

/// How often it happened: of values that are 0 or 1, or of a mean that is their share.
pub(crate) fn count(data: &Data) -> Option<Count> {
    match data {
        Data::Values(values) => {
            let all_events = !values.is_empty() && values.iter().all(|one| one.value == 0.0 || one.value == 1.0);
            let happened = values.iter().filter(|one| one.value == 1.0).count() as u64;
            all_events.then_some(Count { happened, of: values.len() as u64 })
        }
        Data::Summary(Summary { n, mean, .. }) => {
            let of = (*n)?;
            let happened = mean * of as f64;
            let whole = (0.0..=1.0).contains(mean) && (happened - happened.round()).abs() < 0.01;
            whole.then_some(Count { happened: happened.round() as u64, of })
        }
    }
}

fn in_words(judgement: &Judgement) -> (Verdict, Reason, Option<u64>) {
    use blklab_stats::Verdict as Word;
    let sd_ratio = || {
        let gate = judgement.reasons.iter().find(|gate| gate.name == blklab_stats::GateName::SpreadLargeEnough);
        gate.and_then(|gate| gate.value).filter(|ratio| *ratio < f64::MAX)
    };
    match &judgement.verdict {
        Word::Invalid { error } => (Verdict::Invalid, Reason::Invalid(error.clone()), None),
        Word::NoTest { reason: NoTest::TooFewRuns { error } } => (Verdict::NoTest, Reason::Invalid(error.clone()), None),
        Word::NoTest { reason: NoTest::MeansOnly { break_even_cv, .. } } => {
            (Verdict::NoTest, Reason::MeansOnly { runs: None, break_even_cv: *break_even_cv }, None)
        }
        Word::SuspectRegression | Word::Regression => (Verdict::Regression, Reason::Changed, None),
        Word::SuspectImprovement | Word::Improvement => (Verdict::Improvement, Reason::Changed, None),
        Word::Equivalent => (Verdict::NoChange, Reason::WithinMargin, None),
        Word::VarianceRegression => (Verdict::VarianceRegression, Reason::MoreSpread { sd_ratio: sd_ratio() }, None),
        Word::Unstable { half_width_at_n_max_pct } => {
            (Verdict::Unstable, Reason::TooNoisy { half_width_pct: *half_width_at_n_max_pct }, None)
        }
        Word::NotReproduced => (Verdict::Inconclusive, Reason::NotYetClear, None),
        Word::Inconclusive { why, need_more } => {
            let reason = match why {
                Why::NotYetClear => Reason::NotYetClear,
                Why::AtMaxRuns => Reason::AtMaxRuns,
                Why::ZeroVariance => Reason::ZeroVariance,
            };
            (Verdict::Inconclusive, reason, *need_more)
        }
    }
}

/// The two groups of the side that has some, the candidate's first: the base is what people know.
fn modes(comparison: &Comparison, base: &[f64], candidate: &[f64]) -> Option<Reason> {
    let sides = [(Which::Candidate, comparison.flags.bimodal_patched(), candidate), (Which::Base, comparison.flags.bimodal_base(), base)];
    sides.into_iter().find(|(_, bimodal, _)| *bimodal).and_then(|(which, _, values)| {
        let (low, high) = group_means(values)?;
        Some(Reason::TwoModes { which, low, high })
    })
}

/// Means of the two groups that [`two_modes`] found. It says how many are in the smaller one, not
/// which of the two that is: the split with the gap that it measured tells.
fn group_means(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let logs = blklab_stats::logs(Arm::Base, &sorted).ok()?;
    let modes = two_modes(Arm::Base, &logs).ok().flatten()?;
    let off = |at: &usize| ((logs[*at] - logs[at - 1]) - modes.gap_log).abs();
    let splits = [modes.minor_size, sorted.len() - modes.minor_size];
    let at = splits.into_iter().min_by(|a, b| off(a).total_cmp(&off(b)))?;
    let (low, high) = sorted.split_at(at);
    Some((Moments::of(low).mean, Moments::of(high).mean))
}

fn flags(comparison: &Comparison, incomplete_rounds: bool) -> Vec<Flag> {
    let of = &comparison.flags;
    let spread = of.spread;
    // What the rule of a variance regression asks, whatever the verdict became.
    let policy = Policy::default();
    let more_spread = comparison.n() >= policy.n_var_min
        && spread.p.is_some_and(|p| p <= policy.alpha_var)
        && spread.sd_ratio().is_none_or(|ratio| ratio >= policy.sd_ratio_gate);
    let all = [
        (Flag::OrderUnknown, true),
        (Flag::IncompleteRounds, incomplete_rounds),
        (Flag::TwoModesBase, of.bimodal_base()),
        (Flag::TwoModesCandidate, of.bimodal_patched()),
        (Flag::OutliersBase, !of.outliers_base.is_empty()),
        (Flag::OutliersCandidate, !of.outliers_patched.is_empty()),
        (Flag::Drift, of.drifting()),
        (Flag::NoisyBase, of.noisy),
        (Flag::MoreSpread, more_spread),
    ];
    all.into_iter().filter(|(_, up)| *up).map(|(flag, _)| flag).collect()
}

/// What is known of a side; its label comes later.
pub(crate) fn side(data: &Data) -> Side {
    match data {
        Data::Values(values) => side_of_values(plain(values)),
        Data::Summary(Summary { n, mean, sd, min, max }) => {
            let cv = sd.map(|sd| sd / mean).filter(|cv| cv.is_finite());
            Side { n: *n, min: *min, mean: Some(*mean), max: *max, sd: *sd, cv, ..Side::default() }
        }
    }
}

fn side_of_values(values: Vec<f64>) -> Side {
    let n = values.len();
    if n == 0 || values.iter().any(|v| !v.is_finite()) {
        return Side { n: Some(n as u64), values, ..Side::default() };
    }
    let moments = Moments::of(&values);
    let extreme = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
    let sd = (n > 1).then_some(moments.sd);
    Side {
        label: String::new(),
        n: Some(n as u64),
        min: extreme(f64::min),
        mean: Some(moments.mean),
        median: median(&values),
        max: extreme(f64::max),
        sd,
        cv: sd.map(|sd| sd / moments.mean).filter(|cv| cv.is_finite()),
        count: None,
        values,
    }
}

fn side_of_count(count: Count) -> Side {
    Side { n: Some(count.of), mean: Some(count.share()), count: Some(count), ..Side::default() }
}

fn mean_sd(data: &Data) -> Option<MeanSd> {
    let side = side(data);
    Some(MeanSd { n: side.n?, mean: side.mean?, sd: side.sd? })
}

fn plain(values: &[Repetition]) -> Vec<f64> {
    values.iter().map(|one| one.value).collect()
}

/// Are all values of both sides exactly 0? Then there is nothing that could be compared, and nothing
/// that went wrong.
pub(crate) fn both_zero(base: &Data, candidate: &Data) -> bool {
    let zero = |data: &Data| match data {
        Data::Values(values) => !values.is_empty() && values.iter().all(|one| one.value == 0.0),
        Data::Summary(summary) => summary.mean == 0.0,
    };
    zero(base) && zero(candidate)
}
