//! The verdict in one sentence. A single look can only suspect; it says so.

use super::Report;
use crate::experiment::state::ExperimentState;

/// The sentence that stands first on every rendering.
pub fn headline(report: &Report) -> String {
    let sentence = verdict(report);
    let sentence = match report.state {
        ExperimentState::Finished => sentence,
        ExperimentState::Queued | ExperimentState::Running if report.counts.tested() == 0 => {
            let over = report.trials.completed + report.trials.failed;
            return format!("No verdict yet: {over} of {} trials are over.", report.trials.planned);
        }
        ExperimentState::Queued | ExperimentState::Running => format!("So far: {}", lower_first(&sentence)),
        ExperimentState::Cancelled => format!("Cancelled; until then: {}", lower_first(&sentence)),
    };
    let false_alarms = report.aa_counts.regressions + report.aa_counts.improvements;
    match false_alarms {
        0 => sentence,
        n => format!(
            "{sentence} Caution: {n} of {} A/A comparisons changed, so this lab sees changes where there are none.",
            report.aa_counts.tested()
        ),
    }
}

fn verdict(report: &Report) -> String {
    let counts = &report.counts;
    let all = counts.total();
    let open = counts.inconclusive + counts.unstable + counts.no_test;
    let against = format!("{} against {}", list(&report.candidates), report.baseline);
    let rest = if open == 0 { String::new() } else { format!("; {open} cannot be told") };
    match (counts.regressions, counts.improvements) {
        (0, 0) if counts.tested() == 0 && report.aa_counts.tested() > 0 => "Nothing but A/A cells was compared.".to_owned(),
        (0, 0) if counts.tested() == 0 => "No verdict: no comparison has enough values.".to_owned(),
        (0, 0) if open == 0 => format!("No change in {all} {}: {against}.", comparisons(all)),
        (0, 0) => format!("No change shown: {against}, {} unchanged of {all} {}{rest}.", counts.no_change, comparisons(all)),
        (0, i) => format!("Improvement suspected in {i} of {all} {}, no regression: {against}{rest}.", comparisons(all)),
        (r, 0) => format!("Regression suspected in {r} of {all} {}: {against}{rest}.", comparisons(all)),
        (r, i) => format!("Regression suspected in {r} of {all} {}, improvement in {i}: {against}{rest}.", comparisons(all)),
    }
}

fn comparisons(n: u32) -> &'static str {
    if n == 1 { "comparison" } else { "comparisons" }
}

/// `a`, `a and b`, `a, b and c`, `a, b and 5 more`.
fn list(labels: &[String]) -> String {
    match labels {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, second, third] => format!("{first}, {second} and {third}"),
        [first, second, rest @ ..] => format!("{first}, {second} and {} more", rest.len()),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}
