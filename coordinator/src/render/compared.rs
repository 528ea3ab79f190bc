//! One comparison with the cell it belongs to: the row of every list, plot and table. Knows where to find things in a report; decides
//! nothing that the report has not decided.

use std::cmp::Ordering;

use blklab_model::experiment::axis::in_words;
use blklab_model::matrix::CellKind;
use blklab_model::report::imported::published;
use blklab_model::report::{ArmReport, CellReport, ComparisonReport, Report};
use blklab_stats::{Comparison, LogInterval, Verdict, pct_from_log};

use super::number::{self, Scale};
use super::word::{Tone, Word};

/// A comparison in its cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared<'a> {
    /// The cell.
    pub(crate) cell: &'a CellReport,
    /// The comparison.
    pub(crate) of: &'a ComparisonReport,
}

/// The comparisons that count towards the verdict, in the order of the report: primary and background metrics of cells of `kind`.
pub(crate) fn counted(report: &Report, kind: CellKind) -> impl Iterator<Item = Compared<'_>> {
    let cells = report.cells.iter().filter(move |cell| cell.kind == kind);
    cells.flat_map(of_cell).filter(|row| row.of.role.counts())
}

/// All comparisons of a cell.
pub(crate) fn of_cell(cell: &CellReport) -> impl Iterator<Item = Compared<'_>> {
    cell.comparisons.iter().map(move |of| Compared { cell, of })
}

impl<'a> Compared<'a> {
    /// The verdict in words. Without a verdict it says why: trials failed, or have not run yet.
    pub(crate) fn word(&self) -> Word {
        let word = Word::of(&self.of.judgement.verdict, self.of.smallest_effect_pct);
        if word.tone != Tone::Untested {
            return word;
        }
        match self.failed_trials() {
            0 if self.is_waiting() => Word::waiting(),
            0 => word,
            failed => Word::failed(failed),
        }
    }

    /// The statistics, if there was something to compare.
    pub(crate) fn numbers(&self) -> Option<&'a Comparison> {
        self.of.comparison.as_ref()
    }

    /// The arm that the candidate is compared with.
    pub(crate) fn base(&self) -> Option<&'a ArmReport> {
        self.cell.arms.first()
    }

    /// The arm of the candidate.
    pub(crate) fn candidate(&self) -> Option<&'a ArmReport> {
        self.cell.arms.get(usize::try_from(self.of.arm).ok()?)
    }

    /// Medians of base and candidate, in the unit of the metric; means where an import knows no values.
    pub(crate) fn medians(&self) -> Option<(f64, f64)> {
        self.numbers().map(|c| (c.base.median, c.patched.median)).or_else(|| self.published_means())
    }

    /// Means of an imported comparison of which a side is known as a summary only.
    fn published_means(&self) -> Option<(f64, f64)> {
        let series = |arm: &'a ArmReport| arm.series.iter().find(|series| series.metric == self.of.metric);
        let (base, candidate) = (series(self.base()?)?, series(self.candidate()?)?);
        let is_summary = base.summary.is_some() || candidate.summary.is_some();
        is_summary.then(|| Some((published(base)?.mean, published(candidate)?.mean))).flatten()
    }

    /// The change on the log scale.
    pub(crate) fn shift(&self) -> Option<f64> {
        let of_means = || self.published_means().filter(|(base, candidate)| *base > 0.0 && *candidate > 0.0);
        self.numbers().map(|c| c.shift).or_else(|| of_means().map(|(base, candidate)| candidate.ln() - base.ln()))
    }

    /// p-value of the comparison.
    pub(crate) fn p(&self) -> Option<f64> {
        let of_summary = || self.of.summary.as_ref().and_then(|summary| summary.log_delta).map(|test| test.p);
        self.numbers().and_then(|c| c.p_combined).or_else(of_summary)
    }

    /// Values in the smaller arm.
    pub(crate) fn n(&self) -> Option<u64> {
        let of_summary = || self.of.summary.as_ref().map(|summary| summary.base.n.min(summary.patched.n));
        self.numbers().map(|c| c.n() as u64).or_else(of_summary)
    }

    /// How the medians are written.
    pub(crate) fn scale(&self) -> Scale {
        let (base, candidate) = self.medians().unwrap_or((0.0, 0.0));
        Scale::of(&self.of.unit, [base, candidate])
    }

    /// The change in per cent.
    pub(crate) fn change_pct(&self) -> Option<f64> {
        self.shift().map(pct_from_log)
    }

    /// Its 95 % interval; none below four values an arm.
    pub(crate) fn interval(&self) -> Option<LogInterval> {
        let of_summary = || self.of.summary.as_ref().and_then(|summary| summary.log_delta).map(|test| test.log_interval(0.05));
        self.numbers().map_or_else(of_summary, |c| c.ci95)
    }

    /// `[-9.1, -5.6] %`, or a word where there is none.
    pub(crate) fn interval_text(&self) -> String {
        interval_text(self.interval().as_ref())
    }

    /// Smallest change that these data could have shown, in per cent.
    pub(crate) fn smallest_detectable_pct(&self) -> Option<f64> {
        let of_summary = || self.of.summary.as_ref().and_then(|summary| summary.smallest_detectable_log).map(pct_from_log);
        self.numbers().map_or_else(of_summary, Comparison::smallest_detectable_pct)
    }

    /// Workload and what else tells the cell from others, without the disk class: `rt-be-readers, bfq`.
    pub(crate) fn place(&self) -> String {
        let labels = self.cell.labels.iter().map(|(axis, value)| in_words(axis, value));
        let words: Vec<String> = std::iter::once(self.cell.workload.to_string()).chain(labels).collect();
        words.join(", ")
    }

    /// What needs action first: regressions by their size in units of the smallest effect that matters, then failures, improvements,
    /// what could not be judged, and what did not change.
    pub(crate) fn by_severity(&self, other: &Compared<'_>) -> Ordering {
        let key = |row: &Compared<'_>| (row.word().tone, -row.times_the_smallest_effect());
        let ((tone, size), (other_tone, other_size)) = (key(self), key(other));
        tone.cmp(&other_tone).then(size.total_cmp(&other_size))
    }

    /// Size of the change on the log scale, in smallest effects that matter.
    pub(crate) fn times_the_smallest_effect(&self) -> f64 {
        self.shift().map_or(0.0, |shift| shift.abs() / blklab_stats::log_from_pct(self.of.smallest_effect_pct))
    }

    /// Failed trials of the two arms.
    pub(crate) fn failed_trials(&self) -> u32 {
        [self.base(), self.candidate()].into_iter().flatten().map(|arm| arm.failed).sum()
    }

    fn is_waiting(&self) -> bool {
        let open = |arm: u32| self.cell.trials.iter().any(|t| t.arm == arm && matches!(t.state.as_str(), "queued" | "running"));
        matches!(self.of.judgement.verdict, Verdict::NoTest { .. }) && (open(0) || open(self.of.arm))
    }
}

/// `[-9.1, -5.6] %`, or a word where there is none.
pub(crate) fn interval_text(ci: Option<&LogInterval>) -> String {
    ci.map_or_else(|| "no interval".to_owned(), |ci| format!("{}{}%", interval(ci), number::NBSP))
}

/// `[-9.1, -5.6]`: the ends of an interval in per cent.
pub(crate) fn interval(ci: &LogInterval) -> String {
    format!("[{}, {}]", number::signed(ci.low_pct()), number::signed(ci.high_pct()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing;

    #[test]
    fn what_got_worse_comes_first_and_the_worst_before_the_rest() {
        let report = testing::schedulers();
        let mut rows: Vec<_> = counted(&report, CellKind::Compare).collect();
        rows.sort_by(Compared::by_severity);
        let tones: Vec<Tone> = rows.iter().map(|row| row.word().tone).collect();
        assert!(tones.is_sorted(), "{tones:?}");
        assert_eq!(tones[0], Tone::Worse);
        let worse: Vec<f64> = rows.iter().filter(|r| r.word().tone == Tone::Worse).map(Compared::times_the_smallest_effect).collect();
        assert!(worse.len() > 1 && worse.is_sorted_by(|a, b| a >= b), "{worse:?}");
    }

    #[test]
    fn a_cell_whose_trials_failed_says_failed_and_one_that_waits_says_so() {
        let report = testing::schedulers();
        let words: Vec<String> = counted(&report, CellKind::Compare).map(|row| row.word().long).collect();
        assert!(words.iter().any(|word| word.starts_with("failed (")), "{words:?}");
        let report = testing::under_way();
        assert!(counted(&report, CellKind::Compare).any(|row| row.word() == Word::waiting()));
    }
}
