//! One metric of a cell: the comparisons with their decision traces, the summary in the classic layout, the plots.

use blklab_model::imported::PublishedSummary;
use blklab_model::report::imported::published;
use blklab_model::report::{ArmReport, CellReport};
use blklab_model::workload::metric::{Better, Role};
use blklab_stats::TKind;

use super::anchor;
use crate::render::compared::{Compared, of_cell};
use crate::render::html::Badge;
use crate::render::number::{self, Scale, change, p_value, percent};
use crate::render::reading;
use crate::render::svg::{Numbered, Svg, run_order, strip};

/// A metric on the page of a cell.
pub(super) struct MetricSection {
    pub(super) anchor: String,
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) about: String,
    pub(super) comparisons: Vec<ComparisonRow>,
    pub(super) summary: Vec<SummaryRow>,
    /// Strip plot and run-order plot; none before there is a value.
    pub(super) plots: Option<(Svg, Option<Svg>)>,
    /// Why there is no plot.
    pub(super) no_plot: &'static str,
}

/// A candidate against the baseline.
pub(super) struct ComparisonRow {
    pub(super) candidate: String,
    pub(super) badge: Badge,
    /// Medians.
    pub(super) base: String,
    pub(super) value: String,
    pub(super) change: String,
    pub(super) interval: String,
    pub(super) n: String,
    /// Coefficients of variation, base and candidate.
    pub(super) cv: String,
    pub(super) detectable: String,
    pub(super) p: String,
    pub(super) adjusted_p: String,
    pub(super) notes: Vec<String>,
    pub(super) gates: Vec<GateRow>,
    /// Further estimates, by name.
    pub(super) more: Vec<(&'static str, String)>,
}

/// A rule of the method as it was applied.
pub(super) struct GateRow {
    pub(super) claim: &'static str,
    pub(super) rule: &'static str,
    pub(super) value: String,
    pub(super) limit: String,
    pub(super) passed: bool,
}

/// An arm in the classic layout.
pub(super) struct SummaryRow {
    pub(super) arm: usize,
    pub(super) label: String,
    pub(super) n: u32,
    pub(super) failed: u32,
    /// min, avg, max, std dev; empty without values.
    pub(super) values: [String; 4],
    /// %user, %system, %iowait.
    pub(super) cpu: [String; 3],
}

impl MetricSection {
    /// The metric with that place in the workload; nobody knows the run order of what was imported.
    pub(super) fn new(cell: &CellReport, metric: usize, is_imported: bool) -> MetricSection {
        let series = cell.arms.first().and_then(|arm| arm.series.get(metric));
        let (name, unit) = series.map_or(("", ""), |series| (&series.metric, &series.unit));
        let rows: Vec<Compared<'_>> = of_cell(cell).filter(|row| row.of.metric == name).collect();
        let summaries: Vec<Option<PublishedSummary>> = cell.arms.iter().map(|arm| arm.series.get(metric).and_then(published)).collect();
        let ends = |summary: &PublishedSummary| [summary.min, summary.max, Some(summary.mean)];
        let scale = Scale::of(unit, summaries.iter().flatten().flat_map(ends).flatten());
        let has_values = cell.arms.iter().filter_map(|arm| arm.series.get(metric)).any(|series| !series.points.is_empty());
        MetricSection {
            anchor: anchor(name),
            name: name.to_owned(),
            unit: scale.unit().to_owned(),
            about: rows.first().map(about).unwrap_or_default(),
            comparisons: rows.iter().map(|row| ComparisonRow::new(row, &scale)).collect(),
            summary: cell.arms.iter().zip(&summaries).enumerate().map(|(at, (arm, s))| SummaryRow::new(at, arm, *s, &scale)).collect(),
            plots: has_values.then(|| match is_imported {
                true => (strip(cell, metric, Numbered::Runs), None),
                false => (strip(cell, metric, Numbered::Rounds), Some(run_order(cell, metric))),
            }),
            no_plot: if summaries.iter().any(Option::is_some) { "Only a summary is known." } else { "No value yet." },
        }
    }
}

impl ComparisonRow {
    fn new(row: &Compared<'_>, scale: &Scale) -> ComparisonRow {
        let numbers = row.numbers();
        let cv = |cv: Option<f64>| cv.map_or_else(|| "-".to_owned(), |cv| percent(cv * 100.0));
        let mut notes = Vec::new();
        match (reading::why_open(row), reading::remedy(row)) {
            (why, _) if why.is_empty() => {}
            (why, remedy) if remedy.is_empty() => notes.push(format!("Why: {why}.")),
            (why, remedy) => notes.push(format!("Why: {why}. What would settle it: {remedy}.")),
        }
        notes.extend(reading::cautions(row).into_iter().map(|caution| format!("Caution: {caution}.")));
        let gates = row.of.judgement.reasons.iter().map(|gate| GateRow {
            claim: reading::claim(gate.name),
            rule: reading::rule(gate.name),
            value: gate.value.map_or_else(|| "none".to_owned(), |value| reading::gate_value(gate.name, value)),
            limit: reading::gate_limit(gate),
            passed: gate.passed,
        });
        ComparisonRow {
            candidate: row.of.candidate.clone(),
            badge: Badge::long(&row.word()),
            base: row.medians().map(|(base, _)| scale.number(base)).unwrap_or_default(),
            value: row.medians().map(|(_, value)| scale.number(value)).unwrap_or_default(),
            change: row.change_pct().map(change).unwrap_or_default(),
            interval: row.p().map(|_| row.interval_text()).unwrap_or_default(),
            n: row.n().map(|n| n.to_string()).unwrap_or_default(),
            cv: numbers.map(|c| format!("{} / {}", cv(c.base.cv), cv(c.patched.cv))).unwrap_or_default(),
            detectable: row.smallest_detectable_pct().map(|pct| format!("±{}", percent(pct))).unwrap_or_default(),
            p: row.p().map(p_value).unwrap_or_default(),
            adjusted_p: row.of.adjusted_p.map(p_value).unwrap_or_default(),
            notes,
            gates: gates.collect(),
            more: numbers.map(further).unwrap_or_default(),
        }
    }
}

/// Estimates beside the one that is judged: they should tell the same story.
fn further(c: &blklab_stats::Comparison) -> Vec<(&'static str, String)> {
    let ratio = |ratio: f64| change((ratio - 1.0) * 100.0);
    let mut more = vec![("change of the means", ratio(c.ratio_of_means)), ("change of the medians", ratio(c.ratio_of_medians))];
    if let Some(t) = c.t {
        let name = match t.kind {
            TKind::PairedLog => "p of the paired t-test on logs",
            TKind::WelchLog => "p of Welch's t-test on logs",
        };
        more.push((name, p_value(t.test.p)));
    }
    more.push(("p of the Mann-Whitney test", p_value(c.p_rank)));
    more.push(("chance that a candidate's value is the larger one", percent(c.a12 * 100.0)));
    if let Some(g) = c.hedges_g {
        more.push(("Hedges' g", format!("{g:.2}")));
    }
    more
}

impl SummaryRow {
    fn new(arm: usize, report: &ArmReport, summary: Option<PublishedSummary>, scale: &Scale) -> SummaryRow {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| scale.number(value));
        let cpu =
            |pct: fn(&blklab_model::record::CpuUse) -> f64| report.cpu.as_ref().map(|cpu| format!("{:.1}", pct(cpu))).unwrap_or_default();
        SummaryRow {
            arm,
            label: report.label.clone(),
            n: summary.and_then(|s| s.n).map_or(0, |n| u32::try_from(n).unwrap_or(u32::MAX)),
            failed: report.failed,
            values: summary.map(|s| [s.min, Some(s.mean), s.max, s.sd].map(number)).unwrap_or_default(),
            cpu: [cpu(|cpu| cpu.user_pct), cpu(|cpu| cpu.system_pct), cpu(|cpu| cpu.iowait_pct)],
        }
    }
}

/// `primary metric; higher is better; changes below 10 % do not matter`.
fn about(row: &Compared<'_>) -> String {
    let role = match row.of.role {
        Role::Primary => "primary metric",
        Role::Background => "background metric",
        Role::Explaining => "explains, does not count",
    };
    let better = match row.of.better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
    };
    format!("{role}; {better}; changes below {} do not matter", number::percent(row.of.smallest_effect_pct))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing;

    #[test]
    fn the_summary_has_the_published_numbers() {
        let section = MetricSection::new(&testing::classic().cells[2], 0, false);
        assert_eq!(section.unit, "MB/s");
        assert_eq!(section.summary[0].values, ["235.0", "236.8", "238.0", "1.3"]);
        assert_eq!(section.summary[1].values, ["119.0", "178.0", "236.0", "64.2"]);
        assert_eq!(section.about, "primary metric; higher is better; changes below 10\u{a0}% do not matter");
    }

    #[test]
    fn two_modes_are_a_caution() {
        let section = MetricSection::new(&testing::classic().cells[2], 0, false);
        assert!(section.comparisons[0].notes.iter().any(|note| note.contains("has two modes")), "{:?}", section.comparisons[0].notes);
    }

    #[test]
    fn the_trace_names_every_gate() {
        let section = MetricSection::new(&testing::schedulers().cells[0], 0, false);
        assert_eq!(section.comparisons[2].gates.len(), 13);
        let size = section.comparisons[2].gates.iter().find(|gate| gate.rule == "size of the change").unwrap();
        assert_eq!((size.limit.as_str(), size.passed), ("at least 10\u{a0}%", true));
    }
}
