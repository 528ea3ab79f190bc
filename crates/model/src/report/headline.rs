//! The verdict in one sentence, behind one about kernels that failed where there are any. A single look can only suspect; it says so.

use super::{KernelFaults, OrderComparison, OrderVerdict, Report};
use crate::experiment::state::ExperimentState;

/// The sentence that stands first on every rendering.
pub fn headline(report: &Report) -> String {
    let faults = kernel_faults(report);
    let sentences = [faults.clone(), Some(verdict(report)), finish_order(report)];
    let sentence = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let sentence = match report.state {
        ExperimentState::Finished => sentence,
        ExperimentState::Queued | ExperimentState::Running if report.counts.tested() == 0 && faults.is_none() => {
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

/// A title longer than this says no more; it may be a whole line of a console.
const MAX_TITLE: usize = 100;

/// The worst of the candidates under which the kernel failed, or failed no more.
fn kernel_faults(report: &Report) -> Option<String> {
    let worst = report.kernel_faults.first()?;
    let KernelFaults { label, ended, failed, base_ended, base_failed, .. } = worst;
    let (verb, base) = (worst.verb(), &report.baseline);
    let title: String = worst.title().chars().take(MAX_TITLE).collect();
    let sentence = if worst.is_regression() {
        let of_base = of(*base_failed, *base_ended, "");
        format!("Kernel regression: {} of {label} {verb} ({title}), {of_base} of {base}.", of(*failed, *ended, trials(*ended)))
    } else if worst.is_improvement() {
        let mine = of(*failed, *ended, trials(*ended));
        format!("The kernel fails less: {mine} of {label}, {} of {base} {verb} ({title}).", of(*base_failed, *base_ended, ""))
    } else {
        let (mine, of_base) = (of(*failed, *ended, trials(*ended)), of(*base_failed, *base_ended, ""));
        format!("The kernel {verb} in {mine} of {label}, and in {of_base} of {base} ({title}).")
    };
    let more = report.kernel_faults[1..].iter().filter(|faults| faults.is_regression()).count();
    Some(match more {
        0 => sentence,
        1 => format!("{sentence} It fails under 1 more candidate."),
        n => format!("{sentence} It fails under {n} more candidates."),
    })
}

/// The finish order that changed with the least help of chance.
fn finish_order(report: &Report) -> Option<String> {
    let changed = report.finish_orders.iter().filter(|order| order.verdict != OrderVerdict::NotTold);
    let order = changed.clone().next()?;
    let OrderComparison { first, then, candidate, inversions, trials, base_inversions, base_trials, .. } = order;
    let mine = of(*inversions, *trials, "trials");
    let sentence = format!(
        "Finish order: {then} before {first} in {mine} of {candidate}, {} of {}",
        of(*base_inversions, *base_trials, ""),
        report.baseline
    );
    Some(match changed.count() - 1 {
        0 => format!("{sentence}."),
        more => format!("{sentence}; and {more} more changed."),
    })
}

/// `3 of 5 trials`, `none of 5`.
fn of(failed: u32, ended: u32, what: &str) -> String {
    let failed = if failed == 0 { "none".to_owned() } else { failed.to_string() };
    format!("{failed} of {ended} {what}").trim_end().to_owned()
}

fn trials(n: u32) -> &'static str {
    if n == 1 { "trial" } else { "trials" }
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
