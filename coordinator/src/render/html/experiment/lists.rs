//! The lists of an experiment's page: what got worse, what got better, what could not be judged, what failed.

use std::collections::BTreeMap;

use blklab_model::id::TrialId;
use blklab_model::report::{KernelFaults, Report, TrialReport};

use crate::render::compared::Compared;
use crate::render::html::Badge;
use crate::render::kernel;
use crate::render::number::{change, percent};
use crate::render::reading::{remedy, why_open};
use crate::render::word::Tone;

/// Rows of a list; the CSV has them all.
const MAX_ROWS: usize = 30;

/// Trials named for each kind of failure.
const MAX_EXAMPLES: usize = 6;

/// A list that may be cut.
pub(super) struct Listed<T> {
    pub(super) rows: Vec<T>,
    pub(super) hidden: usize,
}

/// A change with everything needed to believe it.
pub(super) struct ChangeRow {
    pub(super) place: String,
    pub(super) class: String,
    pub(super) candidate: String,
    pub(super) metric: String,
    /// `21.17 → 11.13 MB/s`, medians.
    pub(super) values: String,
    /// The change on its colour.
    pub(super) badge: Badge,
    /// `suspected`; `more spread, suspected`.
    pub(super) word: String,
    pub(super) interval: String,
    pub(super) detectable: String,
    pub(super) url: String,
}

/// A comparison without a clear verdict.
pub(super) struct OpenRow {
    pub(super) what: String,
    pub(super) badge: Badge,
    pub(super) why: String,
    pub(super) remedy: String,
    pub(super) url: String,
}

/// A kind of failure: the same fault at the same step with the same message, whatever a console said beside it.
pub(super) struct FailureRow {
    pub(super) times: usize,
    pub(super) fault: &'static str,
    pub(super) step: String,
    pub(super) message: String,
    /// What the console of the first one said.
    pub(super) console: Option<String>,
    /// Trial and the page of its cell.
    pub(super) examples: Vec<(TrialId, String)>,
    pub(super) more: usize,
}

/// The changes of one tone, worst first as `rows` are.
pub(super) fn changes(rows: &[Compared<'_>], tone: Tone) -> Listed<ChangeRow> {
    listed(rows.iter().filter(|row| row.word().tone == tone).map(|row| {
        let (word, scale) = (row.word(), row.scale());
        let values = row.medians().map(|(b, c)| format!("{} → {}", scale.number(b), scale.quantity(c)));
        ChangeRow {
            place: row.place(),
            class: row.cell.disk_class.to_string(),
            candidate: row.of.candidate.clone(),
            metric: row.of.metric.clone(),
            values: values.unwrap_or_default(),
            badge: Badge::of(tone, row.change_pct().map(change).unwrap_or_default()),
            word: if word.short == tone.word() { word.certainty.to_owned() } else { format!("{}, {}", word.short, word.certainty) },
            interval: row.interval_text(),
            detectable: row.smallest_detectable_pct().map(|pct| format!("±{}", percent(pct))).unwrap_or_default(),
            url: url(row),
        }
    }))
}

/// What could not be judged. While an experiment runs all of it is open, which is no news.
pub(super) fn open(report: &Report, rows: &[Compared<'_>]) -> Listed<OpenRow> {
    let is_open = |row: &&Compared<'_>| match row.word().tone {
        Tone::Open | Tone::Unstable | Tone::Untested | Tone::Failed => report.state.is_over(),
        Tone::Worse | Tone::Better | Tone::Same | Tone::Waiting => false,
    };
    listed(rows.iter().filter(is_open).map(|row| OpenRow {
        what: format!("{}, {}, {}: {}", row.cell.disk_class, row.place(), row.of.candidate, row.of.metric),
        badge: Badge::long(&row.word()),
        why: why_open(row),
        remedy: remedy(row),
        url: url(row),
    }))
}

/// Failed trials by kind, the most frequent first.
pub(super) fn failures(report: &Report) -> Vec<FailureRow> {
    let mut kinds: Vec<FailureRow> = Vec::new();
    for trial in report.cells.iter().flat_map(|cell| &cell.trials) {
        let Some(failure) = &trial.failure else { continue };
        let same = |kind: &FailureRow| kind.fault == failure.fault.word() && kind.step == failure.step && kind.message == failure.title();
        let at = kinds.iter().position(same).unwrap_or_else(|| {
            kinds.push(FailureRow {
                times: 0,
                fault: failure.fault.word(),
                step: failure.step.clone(),
                message: failure.title().to_owned(),
                console: failure.console().map(str::to_owned),
                examples: Vec::new(),
                more: 0,
            });
            kinds.len() - 1
        });
        let kind = &mut kinds[at];
        kind.times += 1;
        if kind.examples.len() < MAX_EXAMPLES {
            kind.examples.push((trial.id, trial_url(trial.id)));
        } else {
            kind.more += 1;
        }
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.times));
    kinds
}

/// A candidate under which the kernel failed.
pub(super) struct FaultRow {
    pub(super) candidate: String,
    pub(super) badge: Badge,
    /// `0 of 6`, of the baseline.
    pub(super) base: String,
    /// What was said, with how often.
    pub(super) titles: Vec<(String, u32)>,
    /// A trial with the most frequent one, with its page and what its console said.
    pub(super) example: Option<(TrialId, String, Option<String>)>,
}

/// Kernel faults by candidate, worst first.
pub(super) fn kernel_faults(report: &Report) -> Vec<FaultRow> {
    let trials: BTreeMap<TrialId, &TrialReport> =
        report.cells.iter().flat_map(|cell| &cell.trials).map(|trial| (trial.id, trial)).collect();
    let row = |faults: &KernelFaults| {
        let tone = if faults.is_regression() { Tone::Worse } else { Tone::Failed };
        let console = |trial: &TrialId| trials.get(trial)?.failure.as_ref()?.console().map(str::to_owned);
        FaultRow {
            candidate: faults.label.clone(),
            badge: Badge::of(if faults.is_improvement() { Tone::Better } else { tone }, kernel::failed(faults)),
            base: format!("{} of {}", faults.base_failed, faults.base_ended),
            titles: faults.titles.clone(),
            example: faults.example.map(|trial| (trial, trial_url(trial), console(&trial))),
        }
    };
    report.kernel_faults.iter().map(row).collect()
}

fn trial_url(trial: TrialId) -> String {
    format!("/experiments/{}/cells/{}#{trial}", trial.cell.experiment, trial.cell.cell)
}

fn url(row: &Compared<'_>) -> String {
    format!("/experiments/{}/cells/{}#{}", row.cell.id.experiment, row.cell.id.cell, super::super::cell::anchor(&row.of.metric))
}

fn listed<T>(rows: impl Iterator<Item = T>) -> Listed<T> {
    let mut rows: Vec<T> = rows.collect();
    let hidden = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    Listed { rows, hidden }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing;

    #[test]
    fn equal_failures_are_one_row() {
        let rows = failures(&testing::schedulers());
        let kinds: Vec<(usize, &str, usize)> = rows.iter().map(|row| (row.times, row.fault, row.examples.len() + row.more)).collect();
        assert_eq!(kinds, [(20, "kernel", 20), (1, "lab", 1)]);
    }
}
