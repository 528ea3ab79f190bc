//! A row in words: what stands in every list, plot and table. Decides nothing that the comparison has not decided.

use std::collections::BTreeSet;

use blklab_compare::{Basis, Comparison, Count, Reason, Row, Side, Verdict};
use blklab_stats::{InvalidInput, NoTest, Verdict as Judged, Why};

use crate::render::compared::{interval, interval_text};
use crate::render::number::{NBSP, Scale, p_value, percent, signed};
use crate::render::word::Word;

/// A row with what its words depend on.
#[derive(Debug, Clone)]
pub(crate) struct View<'a> {
    /// The row.
    pub(crate) row: &'a Row,
    /// The comparison that it belongs to.
    pub(crate) of: &'a Comparison,
    /// Its cell in words: `read-tree, disks 16`.
    pub(crate) place: String,
}

impl<'a> View<'a> {
    pub(super) fn new(row: &'a Row, of: &'a Comparison, columns: &BTreeSet<String>) -> View<'a> {
        // A bare number says nothing without its column.
        let word = |column: &String, value: &String| match value.parse::<f64>() {
            Ok(_) => format!("{column} {value}"),
            Err(_) => value.clone(),
        };
        let words: Vec<String> = columns
            .iter()
            .filter_map(|column| row.cell.get(column).map(|value| word(column, value)))
            .filter(|word| !word.is_empty())
            .collect();
        View { row, of, place: words.join(", ") }
    }

    /// The verdict in words.
    pub(crate) fn word(&self) -> Word {
        // The words belong to the verdicts of the method; the payloads do not show.
        let error = InvalidInput::ZeroVarianceBoth;
        let judged = match self.row.verdict {
            Verdict::Regression => Judged::SuspectRegression,
            Verdict::VarianceRegression => Judged::VarianceRegression,
            Verdict::Improvement => Judged::SuspectImprovement,
            Verdict::NoChange => Judged::Equivalent,
            Verdict::Inconclusive => Judged::Inconclusive { why: Why::NotYetClear, need_more: None },
            Verdict::Unstable => Judged::Unstable { half_width_at_n_max_pct: 0.0 },
            Verdict::NoTest => Judged::NoTest { reason: NoTest::TooFewRuns { error } },
            Verdict::Invalid => Judged::Invalid { error },
        };
        Word::of(&judged, self.of.policy.delta_pct)
    }

    /// The typical value of a side: its median, or its mean where there is no median.
    pub(crate) fn typical(side: &Side) -> Option<f64> {
        side.median.or(side.mean)
    }

    /// How the values of the row are written.
    pub(crate) fn scale(&self) -> Scale {
        let Row { unit, base, candidate, .. } = self.row;
        Scale::of(unit, [base, candidate].into_iter().filter_map(View::typical))
    }

    /// The typical values of both sides, without their unit; `3 of 4` of events.
    pub(crate) fn values(&self, scale: &Scale) -> [String; 2] {
        [&self.row.base, &self.row.candidate].map(|side| match side.count {
            Some(Count { happened, of }) => format!("{happened} of {of}"),
            None => View::typical(side).map_or_else(|| "-".to_owned(), |value| scale.number(value)),
        })
    }

    /// `+47.9%`, or `-`.
    pub(crate) fn change(&self) -> String {
        self.row.change_pct().map_or_else(|| "-".to_owned(), |pct| format!("{}%", signed(pct)))
    }

    /// `[-9.1, -5.6]`; of means the noise that would undo the change; of counts their p-value.
    pub(crate) fn certainty(&self) -> String {
        match (&self.row.ci95, &self.row.reason, self.row.p) {
            (Some(ci), _, _) => interval(ci),
            (None, Reason::MeansOnly { break_even_cv: Some(cv), .. } | Reason::TooFewRuns { break_even_cv: Some(cv), .. }, _) => {
                format!("CV {}", percent(cv * 100.0).replace(NBSP, ""))
            }
            (None, _, Some(p)) if self.row.basis == Basis::Events => p_value(p),
            (None, _, _) => "-".to_owned(),
        }
    }

    /// `[-9.1, -5.6] %`, or a word.
    pub(crate) fn interval_text(&self) -> String {
        interval_text(self.row.ci95.as_ref())
    }

    /// Number of runs: `10`, `10 and 8`, `not known`.
    pub(crate) fn runs(&self) -> String {
        match (self.row.base.n, self.row.candidate.n) {
            (Some(b), Some(c)) if b == c => b.to_string(),
            (Some(b), Some(c)) => format!("{b} and {c}"),
            (_, _) => "not known".to_owned(),
        }
    }
}
