//! What numbers mean, in sentences: why a comparison stays open, what would settle it, and what each rule of the method asks.

use blklab_stats::{Bound, Cap, Gate, GateName, InvalidInput, NoTest, Verdict, Why, log_from_pct, pct_from_log};

use super::compared::{Compared, interval};
use super::number::{NBSP, p_value, percent};

/// Why a comparison got no clear verdict; empty when it did.
pub(crate) fn why_open(row: &Compared<'_>) -> String {
    match &row.of.judgement.verdict {
        Verdict::Inconclusive { why: Why::ZeroVariance, .. } => {
            "all values are equal, so there is no noise to judge a difference by".to_owned()
        }
        Verdict::Inconclusive { why: Why::NotYetClear, .. } => not_yet_clear(row),
        Verdict::Inconclusive { why: Why::AtMaxRuns, .. } => "still open after as many rounds as the lab spends on a cell".to_owned(),
        Verdict::NotReproduced => "suspected, but fresh rounds did not show it again".to_owned(),
        Verdict::Unstable { half_width_at_n_max_pct } => {
            if row.numbers().is_some_and(|c| c.flags.bimodal_base()) {
                "the baseline has two modes: its values form two separate groups".to_owned()
            } else {
                format!("too noisy: even the most rounds would leave ±{}", percent(*half_width_at_n_max_pct))
            }
        }
        Verdict::NoTest { reason: NoTest::TooFewRuns { error } } | Verdict::Invalid { error } => invalid(error, &row.of.unit),
        Verdict::NoTest { reason: NoTest::MeansOnly { break_even_cv: Some(cv), .. } } => {
            format!("only means are known; noise of {} or more would undo the change", percent(cv * 100.0))
        }
        Verdict::NoTest { reason: NoTest::MeansOnly { break_even_cv: None, .. } } => "a single value of each side says nothing".to_owned(),
        Verdict::SuspectRegression
        | Verdict::SuspectImprovement
        | Verdict::Regression
        | Verdict::Improvement
        | Verdict::Equivalent
        | Verdict::VarianceRegression => String::new(),
    }
}

/// Neither a change nor its absence is shown: what the interval still holds.
fn not_yet_clear(row: &Compared<'_>) -> String {
    let (Some(n), Some(ci)) = (row.n(), row.interval()) else { return "too few values for an interval".to_owned() };
    let floor = percent(row.of.smallest_effect_pct);
    let margin = log_from_pct(row.of.smallest_effect_pct);
    let interval = format!("{}{NBSP}%", interval(&ci));
    let holds_zero = ci.low <= 0.0 && ci.high >= 0.0;
    let clears_margin = ci.low >= margin || ci.high <= -margin;
    match row.p() {
        _ if ci.reach() <= margin => {
            format!("the interval {interval} lies within ±{floor}, but {n} values are too few to rely on it")
        }
        _ if holds_zero => format!("the interval {interval} holds both no change and one of {floor} or more"),
        Some(p) if clears_margin => {
            format!("the interval {interval} lies beyond {floor}, but chance explains it too well (p {})", p_value(p))
        }
        Some(_) | None => format!("the interval {interval} holds changes both smaller and larger than {floor}"),
    }
}

/// What would settle it; empty when nothing is open.
pub(crate) fn remedy(row: &Compared<'_>) -> String {
    match &row.of.judgement.verdict {
        Verdict::Inconclusive { need_more: Some(1), .. } => "about 1 more round".to_owned(),
        Verdict::Inconclusive { need_more: Some(n), .. } => format!("about {n} more rounds"),
        Verdict::Inconclusive { why: Why::ZeroVariance, .. } => "a metric with finer steps".to_owned(),
        Verdict::Inconclusive { .. } | Verdict::Unstable { .. } => "a quieter disk or a longer workload, not more rounds".to_owned(),
        Verdict::NotReproduced => "nothing to do, unless it comes back".to_owned(),
        Verdict::NoTest { .. } if row.failed_trials() > 0 => "see why the trials failed".to_owned(),
        Verdict::NoTest { reason: NoTest::TooFewRuns { .. } } => "more rounds".to_owned(),
        Verdict::NoTest { reason: NoTest::MeansOnly { .. } } => "the single values".to_owned(),
        Verdict::Invalid { .. } => "see the values of the trials".to_owned(),
        Verdict::SuspectRegression
        | Verdict::SuspectImprovement
        | Verdict::Regression
        | Verdict::Improvement
        | Verdict::Equivalent
        | Verdict::VarianceRegression => String::new(),
    }
}

/// What a reader should know before trusting a comparison: the flags that are up.
pub(crate) fn cautions(row: &Compared<'_>) -> Vec<String> {
    let caps = || row.of.judgement.caps.iter().map(|cap| cap_text(*cap).to_owned());
    let Some(numbers) = row.numbers() else { return caps().collect() };
    let flags = &numbers.flags;
    let base = row.base().map_or("baseline", |arm| arm.label.as_str());
    let mut cautions = Vec::new();
    for (bimodal, arm) in [(flags.bimodal_base(), base), (flags.bimodal_patched(), row.of.candidate.as_str())] {
        if bimodal {
            cautions.push(format!("arm {arm} has two modes: its values form two separate groups, so a mean or median stands for neither"));
        }
    }
    for (outliers, arm) in [(flags.outliers_base.len(), base), (flags.outliers_patched.len(), row.of.candidate.as_str())] {
        if outliers > 0 {
            cautions.push(format!(
                "arm {arm} has {outliers} outlying value{}; they stay in the analysis",
                if outliers == 1 { "" } else { "s" }
            ));
        }
    }
    if flags.drifting() {
        let fair = row.of.judgement.caps.is_empty();
        let and = if fair { "; the random order inside rounds keeps the comparison fair" } else { "" };
        cautions.push(format!("values drift in run order{and}"));
    }
    if flags.noisy {
        cautions.push(format!("arm {base} varies by {}", percent(100.0 * flags.spread.sd_log_base.exp_m1())));
    }
    cautions.extend(caps());
    cautions
}

/// Which claim a rule belongs to.
pub(crate) fn claim(name: GateName) -> &'static str {
    use GateName as G;
    match name {
        G::RunsForChange | G::Significant | G::LargeEnough => "a change",
        G::OrderRandomised => "confirmation",
        G::RunsForEquivalence | G::WithinMargin | G::FineEnough => "no change",
        G::RunsForSpread | G::SpreadSignificant | G::SpreadLargeEnough => "more spread",
        G::RunsForStability | G::QuietEnough | G::OneModeInBase => "a stable cell",
    }
}

/// What a rule looks at.
pub(crate) fn rule(name: GateName) -> &'static str {
    use GateName as G;
    match name {
        G::RunsForChange | G::RunsForEquivalence | G::RunsForSpread | G::RunsForStability => "values in the smaller arm",
        G::Significant => "p-value of the comparison",
        G::LargeEnough => "size of the change",
        G::OrderRandomised => "run order was random",
        G::WithinMargin => "far end of the 90 % interval",
        G::FineEnough => "rounding step of the metric",
        G::SpreadSignificant => "p-value of the spreads",
        G::SpreadLargeEnough => "ratio of the spreads",
        G::QuietEnough => "half-width that the most rounds would leave",
        G::OneModeInBase => "share of the noise that two modes explain in the baseline",
    }
}

/// A value or limit of a rule, in the unit a person expects.
pub(crate) fn gate_value(name: GateName, value: f64) -> String {
    use GateName as G;
    match name {
        G::RunsForChange | G::RunsForEquivalence | G::RunsForSpread | G::RunsForStability => format!("{value:.0}"),
        G::Significant | G::SpreadSignificant => p_value(value),
        G::LargeEnough | G::WithinMargin | G::QuietEnough => percent(pct_from_log(value)),
        G::OrderRandomised => (if value >= 1.0 { "yes" } else { "no" }).to_owned(),
        G::FineEnough => percent(value),
        G::SpreadLargeEnough if value > 1e6 => "endless".to_owned(),
        G::SpreadLargeEnough => format!("{value:.2}"),
        G::OneModeInBase => percent(value * 100.0),
    }
}

/// `at least 5 %`.
pub(crate) fn gate_limit(gate: &Gate) -> String {
    // A level is a round number that somebody chose.
    let is_level = matches!(gate.name, GateName::Significant | GateName::SpreadSignificant);
    let limit = if is_level { gate.limit.to_string() } else { gate_value(gate.name, gate.limit) };
    match (gate.name, gate.bound) {
        (GateName::OrderRandomised, _) => limit,
        (_, Bound::AtLeast) => format!("at least {limit}"),
        (_, Bound::AtMost) => format!("at most {limit}"),
    }
}

fn cap_text(cap: Cap) -> &'static str {
    match cap {
        Cap::Order => "the run order was not random or is not known, so this cannot be more than a suspicion",
        Cap::Drift => "values drift and the run order was not random, so this cannot be more than a suspicion",
        Cap::SummaryOnly => "only means and deviations are known, so this cannot be more than a suspicion",
    }
}

fn invalid(error: &InvalidInput, unit: &str) -> String {
    match error {
        InvalidInput::TooFew { n: 1, needed, .. } => format!("1 complete round where {needed} are needed"),
        InvalidInput::TooFew { n, needed, .. } => format!("{n} complete rounds where {needed} are needed"),
        InvalidInput::NonPositive { value, .. } => {
            format!("a value of {} is not above zero, which every metric must be", super::number::quantity(*value, unit))
        }
        InvalidInput::NonFinite { .. } => "a value is not a finite number".to_owned(),
        InvalidInput::TooMany { .. }
        | InvalidInput::UnequalPairs { .. }
        | InvalidInput::ZeroVarianceBoth
        | InvalidInput::ZeroSpreadBoth
        | InvalidInput::BadSummary { .. }
        | InvalidInput::NotAProbability { .. }
        | InvalidInput::TableTooLarge { .. }
        | InvalidInput::BadPolicy { .. } => format!("failed to {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{compared, testing};

    #[test]
    fn each_open_comparison_has_a_reason_and_a_remedy_and_no_other_has() {
        for report in testing::all() {
            for row in report.cells.iter().flat_map(compared::of_cell) {
                let settled = matches!(
                    row.of.judgement.verdict,
                    Verdict::SuspectRegression | Verdict::SuspectImprovement | Verdict::Equivalent | Verdict::VarianceRegression
                );
                assert_eq!(why_open(&row).is_empty(), settled, "{:?}", row.of.judgement.verdict);
                assert_eq!(remedy(&row).is_empty(), settled);
            }
        }
    }

    #[test]
    fn an_open_comparison_says_what_its_interval_holds() {
        let report = testing::classic();
        let why = |cell: usize, metric: &str| {
            why_open(&compared::of_cell(&report.cells[cell]).find(|row| row.of.metric == metric).unwrap()).replace(NBSP, " ")
        };
        assert_eq!(why(0, "be_rate"), "the interval [-1.1, +49.3] % holds both no change and one of 10 % or more");
        assert_eq!(why(2, "be_rate"), "the interval [-3.3, -2.5] % lies within ±10 %, but 4 values are too few to rely on it");
    }

    #[test]
    fn limits_read_as_people_say_them() {
        let gate = |name, bound, limit| gate_limit(&Gate { name, value: None, bound, limit, passed: false });
        assert_eq!(gate(GateName::LargeEnough, Bound::AtLeast, 1.05f64.ln()), "at least 5\u{a0}%");
        assert_eq!(gate(GateName::Significant, Bound::AtMost, 0.05), "at most 0.05");
        assert_eq!(gate(GateName::RunsForChange, Bound::AtLeast, 3.0), "at least 3");
        assert_eq!(gate(GateName::OrderRandomised, Bound::AtLeast, 1.0), "yes");
    }
}
