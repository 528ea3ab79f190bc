//! Tables for spreadsheets and scripts: numbers in base units with all their digits. Knows the report; rounds nothing.

use std::collections::BTreeSet;

use blklab_model::id::DiskId;
use blklab_model::matrix::CellKind;
use blklab_model::report::{CellReport, Report};
use blklab_stats::{Better, Comparison, SummaryComparison};

use super::compared::of_cell;
use super::number::NBSP;
use super::when;

/// One row for each comparison, explaining metrics and A/A cells included.
pub fn experiment(report: &Report) -> String {
    let axes: BTreeSet<&str> = report.cells.iter().flat_map(|cell| cell.labels.keys()).map(String::as_str).collect();
    let mut table = Table::default();
    table.row(
        ["experiment", "cell", "kind", "workload", "disk_class", "host", "disk"]
            .into_iter()
            .chain(axes.iter().copied())
            .chain([
                "axis",
                "baseline",
                "candidate",
                "metric",
                "unit",
                "better",
                "role",
                "verdict",
                "n",
                "median_base",
                "median_candidate",
                "mean_base",
                "mean_candidate",
                "sd_base",
                "sd_candidate",
                "change_pct",
                "ci95_low_pct",
                "ci95_high_pct",
                "smallest_detectable_pct",
                "smallest_effect_pct",
                "p",
                "adjusted_p",
                "failed_trials",
            ])
            .map(Field::from),
    );
    for row in report.cells.iter().flat_map(of_cell) {
        let cell = row.cell;
        let number = |of: fn(&Comparison) -> f64| Field::number(row.numbers().map(of));
        let summary = |values: fn(&Comparison) -> f64, summaries: fn(&SummaryComparison) -> f64| {
            Field::number(row.numbers().map(values).or_else(|| row.of.summary.as_ref().map(summaries)))
        };
        let disks = cell.disks.iter().map(DiskId::as_str).collect::<Vec<_>>().join(" ");
        let mut fields = vec![
            Field::from(report.id.to_string()),
            Field::from(cell.id.to_string()),
            Field::from(match cell.kind {
                CellKind::Compare => "compare",
                CellKind::Aa => "a/a",
            }),
            Field::from(cell.workload.as_str()),
            Field::from(cell.disk_class.as_str()),
            Field::from(cell.host.as_str()),
            Field::from(disks.as_str()),
        ];
        fields.extend(axes.iter().map(|axis| Field::from(cell.labels.get(*axis).map_or("", String::as_str))));
        fields.extend([
            Field::from(report.axis.as_str()),
            Field::from(row.base().map_or("", |arm| arm.label.as_str())),
            Field::from(row.of.candidate.as_str()),
            Field::from(row.of.metric.as_str()),
            Field::from(row.of.unit.as_str()),
            Field::from(match row.of.better {
                Better::Lower => "lower",
                Better::Higher => "higher",
            }),
            Field::from(format!("{:?}", row.of.role).to_lowercase()),
            Field::from(row.word().long.replace(NBSP, " ")),
            Field::number(row.n().map(|n| n as f64)),
            number(|c| c.base.median),
            number(|c| c.patched.median),
            summary(|c| c.base.mean, |s| s.base.mean),
            summary(|c| c.patched.mean, |s| s.patched.mean),
            summary(|c| c.base.sd, |s| s.base.sd),
            summary(|c| c.patched.sd, |s| s.patched.sd),
            Field::number(row.change_pct()),
            Field::number(row.interval().map(|ci| ci.low_pct())),
            Field::number(row.interval().map(|ci| ci.high_pct())),
            Field::number(row.smallest_detectable_pct()),
            Field::number(Some(row.of.smallest_effect_pct)),
            Field::number(row.p()),
            Field::number(row.of.adjusted_p),
            Field::number(Some(f64::from(row.failed_trials()))),
        ]);
        table.row(fields);
    }
    table.text
}

/// One row for each trial, in run order; a column for each metric (its unit behind the name) and each phase.
pub fn cell(cell: &CellReport) -> String {
    let series = cell.arms.first().map_or(&[][..], |arm| &arm.series);
    let mut phases: Vec<&str> = Vec::new();
    for (phase, _) in cell.trials.iter().flat_map(|trial| &trial.phases) {
        if !phases.contains(&phase.as_str()) {
            phases.push(phase);
        }
    }
    let mut table = Table::default();
    let fixed = ["trial", "round", "run", "order", "arm", "label", "state", "attempt", "started", "boot"].map(Field::from).into_iter();
    let metrics = series.iter().map(|series| Field::from(format!("{} [{}]", series.metric, series.unit)));
    let times = phases.iter().map(|phase| Field::from(format!("phase {phase} [ms]")));
    table.row(fixed.chain(metrics).chain(times).chain(["fault", "step", "message"].map(Field::from)));
    for trial in &cell.trials {
        let count = |n: u32| Field::number(Some(f64::from(n)));
        let label = cell.arms.get(trial.arm as usize).map_or("", |arm| arm.label.as_str());
        let mut fields = vec![
            Field::from(trial.id.to_string()),
            count(trial.round + 1),
            count(trial.run + 1),
            Field::number(trial.order.map(|order| f64::from(order) + 1.0)),
            count(trial.arm),
            Field::from(label),
            Field::from(trial.state.as_str()),
            count(trial.attempt),
            Field::from(trial.started.map(when::iso).unwrap_or_default()),
            Field::from(trial.boot.as_ref().map_or("", |boot| boot.id.as_str())),
        ];
        fields.extend(series.iter().map(|series| Field::number(trial.values.get(&series.metric).copied())));
        let took = |phase: &str| trial.phases.iter().find(|(name, _)| name == phase).map(|(_, ms)| *ms as f64);
        fields.extend(phases.iter().map(|phase| Field::number(took(phase))));
        let failure = trial.failure.as_ref();
        fields.extend([
            Field::from(failure.map_or("", |failure| failure.fault.word())),
            Field::from(failure.map_or("", |failure| failure.step.as_str())),
            Field::from(failure.map_or("", |failure| failure.message.as_str())),
        ]);
        table.row(fields);
    }
    table.text
}

/// A field, already quoted.
pub(super) struct Field(String);

impl Field {
    /// Empty when there is none.
    pub(super) fn number(value: Option<f64>) -> Field {
        Field(value.filter(|v| v.is_finite()).map(|v| v.to_string()).unwrap_or_default())
    }
}

impl From<String> for Field {
    fn from(text: String) -> Field {
        Field::from(text.as_str())
    }
}

impl From<&str> for Field {
    /// Quotes as RFC 4180 says. A text that a spreadsheet would run as a formula gets an apostrophe in front
    /// (OWASP, "CSV Injection").
    fn from(text: &str) -> Field {
        let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
        let text = if formula { format!("'{text}") } else { text.to_owned() };
        let special = text.contains(['"', ',', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ');
        Field(if special { format!("\"{}\"", text.replace('"', "\"\"")) } else { text })
    }
}

/// Rows that end in CR LF, as RFC 4180 says.
#[derive(Default)]
pub(super) struct Table {
    pub(super) text: String,
}

impl Table {
    pub(super) fn row(&mut self, fields: impl IntoIterator<Item = Field>) {
        let fields: Vec<String> = fields.into_iter().map(|Field(text)| text).collect();
        self.text.push_str(&fields.join(","));
        self.text.push_str("\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing;

    #[test]
    fn one_row_for_each_comparison() {
        let report = testing::schedulers();
        let text = experiment(&report);
        let comparisons: usize = report.cells.iter().map(|cell| cell.comparisons.len()).sum();
        assert_eq!(text.lines().count(), comparisons + 1);
        let columns: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(columns.iter().all(|n| *n == columns[0]), "{columns:?}");
    }

    #[test]
    fn comparisons_of_the_published_readers() {
        insta::assert_snapshot!(experiment(&testing::classic()).replace('\r', ""));
    }

    #[test]
    fn trials_of_the_published_readers() {
        insta::assert_snapshot!(cell(&testing::classic().cells[2]).replace('\r', ""));
    }

    #[test]
    fn texts_are_quoted_and_never_formulas() {
        let quoted = |text: &str| Field::from(text).0;
        assert_eq!(quoted("a\"b,c"), "\"a\"\"b,c\"");
        assert_eq!(quoted("=1+1"), "'=1+1");
        assert_eq!(quoted("=A,B"), "\"'=A,B\"");
        assert_eq!(quoted("@x\ny"), "\"'@x\ny\"");
        assert_eq!(Field::number(Some(-7.4)).0, "-7.4");
        let text = experiment(&testing::hostile());
        assert!(text.contains(",'=cmd|' /C calc'!A1,"), "{text}");
    }
}
