//! Why a row has its word, what would settle it, and what its flags mean, in sentences.

use blklab_compare::{Flag, Reason, Side, Verdict, Which};
use blklab_stats::InvalidInput;

use super::row::View;
use crate::render::number::{NBSP, p_value, percent, quantity};

/// Why the row has its word.
pub(crate) fn reason(view: &View<'_>) -> String {
    let row = view.row;
    let floor = percent(view.of.policy.delta_pct);
    let interval = view.interval_text();
    match &row.reason {
        Reason::Changed => {
            format!("the change of {}{NBSP}% is significant (p{NBSP}{}) and larger than {floor}", bare(&view.change()), p(row.p))
        }
        Reason::MoreSpread { sd_ratio: Some(ratio) } => format!("the spread is {ratio:.1} times that of {}", row.base.label),
        Reason::MoreSpread { sd_ratio: None } => format!("the values vary, those of {} do not", row.base.label),
        Reason::WithinMargin => format!("the change lies within ±{floor} with 95{NBSP}% certainty"),
        Reason::NotYetClear => not_yet_clear(view, &floor, &interval),
        Reason::AtMaxRuns => format!("the interval {interval} is still open after as many runs as make sense"),
        Reason::ZeroVariance => "all values of a side are equal, so there is no noise to judge a difference by".to_owned(),
        Reason::TooNoisy { half_width_pct } => format!("too noisy: even 30 runs would leave ±{}", percent(*half_width_pct)),
        Reason::TwoModes { which, low, high } => {
            let side = side(view, *which);
            let [low, high] = [low, high].map(|value| quantity(*value, &row.unit));
            format!("two modes: the values of {} form two groups, at {low} and {high}, and no average stands for both", side.label)
        }
        Reason::TooFewRuns { runs: (1, 1), break_even_cv } => {
            format!("one run on each side says nothing about noise{}", undone(*break_even_cv, Some(3), true))
        }
        Reason::TooFewRuns { runs: (base, candidate), break_even_cv } => {
            format!("{base} and {candidate} runs are too few{}", undone(*break_even_cv, Some(3), true))
        }
        Reason::MeansOnly { runs, break_even_cv } => format!("only means are known{}", undone(*break_even_cv, *runs, false)),
        Reason::Counted => counted(view),
        Reason::DirectionUnknown => format!("which way is better is not known; give --better '{}=higher' or =lower", row.metric),
        Reason::DirectionsDiffer => {
            format!("the two sides contradict each other on which way is better; give --better '{}=higher' or =lower", row.metric)
        }
        Reason::UnitsDiffer { candidate } => format!("{} is in {}, {} in {candidate}", row.base.label, row.unit, row.candidate.label),
        Reason::Invalid(error) => invalid(error, &row.unit),
    }
}

/// What would settle it; empty when nothing is open.
pub(crate) fn remedy(view: &View<'_>) -> String {
    let row = view.row;
    match (row.verdict, row.more_rounds) {
        (Verdict::NoTest, _) if matches!(row.reason, Reason::DirectionUnknown) => String::new(),
        (Verdict::NoTest, Some(n)) => format!("at least {n} more {} a side", runs(n)),
        (Verdict::NoTest, None) => "the single values, or their standard deviations".to_owned(),
        (Verdict::Unstable, _) if matches!(row.reason, Reason::TwoModes { .. }) => "finding what makes runs fast or slow".to_owned(),
        (Verdict::Inconclusive | Verdict::Unstable, Some(n)) => format!("about {n} more {} a side", runs(n)),
        (Verdict::Inconclusive, None) if matches!(row.reason, Reason::ZeroVariance) => "a metric with finer steps".to_owned(),
        (Verdict::Inconclusive, None) if matches!(row.reason, Reason::Counted) => "many more runs".to_owned(),
        (Verdict::Inconclusive | Verdict::Unstable, None) => "quieter or longer runs, not more of them".to_owned(),
        (Verdict::Regression | Verdict::VarianceRegression | Verdict::Improvement, _) => String::new(),
        (Verdict::NoChange | Verdict::Invalid, _) => String::new(),
    }
}

/// What a flag means.
pub(crate) fn flag(flag: Flag) -> &'static str {
    match flag {
        Flag::OrderUnknown => "the run order is not known: suspected at most",
        Flag::SummaryOnly => "only means and deviations are known: suspected at most",
        Flag::MeansOnly => "only means are known",
        Flag::AveragedInFiles => "several values of a file count as one run, their mean",
        Flag::IncompleteRounds => "rounds with a value on one side only are left out",
        Flag::TwoModesBase => "two modes in the base: no average stands for both",
        Flag::TwoModesCandidate => "two modes in the candidate: no average stands for both",
        Flag::OutliersBase => "outliers in the base; they stay in",
        Flag::OutliersCandidate => "outliers in the candidate; they stay in",
        Flag::Drift => "values drift in their order",
        Flag::NoisyBase => "the base varies by more than 30 %",
        Flag::MoreSpread => "the candidate varies much more than the base",
    }
}

fn not_yet_clear(view: &View<'_>, floor: &str, interval: &str) -> String {
    let margin = blklab_stats::log_from_pct(view.of.policy.delta_pct);
    let Some(ci) = view.row.ci95 else { return "too few runs for an interval".to_owned() };
    if ci.reach() <= margin {
        format!("the interval {interval} lies within ±{floor}, but {} runs are too few to rely on it", view.runs())
    } else if ci.low <= 0.0 && ci.high >= 0.0 {
        format!("the interval {interval} holds both no change and one of {floor} or more")
    } else if ci.low >= margin || ci.high <= -margin {
        format!("the interval {interval} lies beyond {floor}, but chance explains it too well (p{NBSP}{})", p(view.row.p))
    } else {
        format!("the interval {interval} holds changes both smaller and larger than {floor}")
    }
}

/// ` (noise of 31 % or more would undo the change of 3 runs)`.
fn undone(break_even_cv: Option<f64>, runs: Option<u64>, supposed: bool) -> String {
    let Some(cv) = break_even_cv else { return String::new() };
    let noise = percent(cv * 100.0);
    match runs {
        Some(n) if supposed => format!("; were it the mean of {n} runs, noise of {noise} or more would undo the change"),
        Some(n) => format!("; in {n} runs noise of {noise} or more would undo the change"),
        None => format!("; in 3 runs noise of {noise} or more would undo the change"),
    }
}

fn counted(view: &View<'_>) -> String {
    let of = |side: &Side| side.count.map_or_else(String::new, |count| format!("{} of {}", count.happened, count.of));
    let row = view.row;
    format!("{} against {} (p{NBSP}{} by Fisher's exact test)", of(&row.candidate), of(&row.base), p(row.p))
}

fn invalid(error: &InvalidInput, unit: &str) -> String {
    match error {
        InvalidInput::NonPositive { value, .. } => {
            format!("a value of {} is not above zero, which every metric must be", quantity(*value, unit))
        }
        InvalidInput::NonFinite { .. } => "a value is not a number, or is in another unit than the others".to_owned(),
        InvalidInput::TooFew { .. }
        | InvalidInput::TooMany { .. }
        | InvalidInput::UnequalPairs { .. }
        | InvalidInput::ZeroVarianceBoth
        | InvalidInput::ZeroSpreadBoth
        | InvalidInput::BadSummary { .. }
        | InvalidInput::NotAProbability { .. }
        | InvalidInput::TableTooLarge { .. }
        | InvalidInput::BadPolicy { .. } => format!("failed to {error}"),
    }
}

fn side<'a>(view: &View<'a>, which: Which) -> &'a Side {
    match which {
        Which::Base => &view.row.base,
        Which::Candidate => &view.row.candidate,
    }
}

fn p(p: Option<f64>) -> String {
    p.map_or_else(|| "-".to_owned(), p_value)
}

fn bare(change: &str) -> &str {
    change.trim_end_matches('%')
}

fn runs(n: u64) -> &'static str {
    if n == 1 { "run" } else { "runs" }
}
