//! `/experiments/ID/cells/N`: everything about one cell: numbers, the decision trace, plots, every trial.

mod metric;
mod trials;

use std::collections::BTreeSet;

use askama::Template;
use blklab_model::matrix::CellKind;
use blklab_model::report::{CellReport, Report};
use blklab_model::time::TimestampMs;

use crate::render::environment::{self, Environment};
use crate::render::html::orders::{self, OrderRow};
use metric::MetricSection;
use trials::{PhaseRow, TrialTable};

/// The page of a cell.
#[derive(Template)]
#[template(path = "cell/page.html")]
pub struct CellPage<'a> {
    report: &'a Report,
    cell: &'a CellReport,
    title: String,
    is_aa: bool,
    /// What each arm sets, where arms differ; and what all set alike.
    differing: Vec<SettingRow>,
    alike: Vec<(String, String)>,
    metrics: Vec<MetricSection>,
    orders: Vec<OrderRow>,
    environment: Environment,
    phases: Vec<PhaseRow>,
    trials: TrialTable,
    previous: Option<u32>,
    next: Option<u32>,
}

/// One setting with its value in each arm.
struct SettingRow {
    name: String,
    values: Vec<String>,
}

impl<'a> CellPage<'a> {
    /// The page of cell `number`; none when there is no such cell.
    pub fn new(report: &'a Report, number: u32, now: TimestampMs) -> Option<CellPage<'a>> {
        let at = report.cells.iter().position(|cell| cell.id.cell == number)?;
        let cell = &report.cells[at];
        let mut words = vec![cell.workload.to_string(), cell.disk_class.to_string()];
        words.extend(cell.labels.iter().map(|(axis, value)| format!("{} {value}", axis.trim_start_matches("parameters."))));
        let series = cell.arms.first().map_or(0, |arm| arm.series.len());
        Some(CellPage {
            report,
            cell,
            title: words.join(", "),
            is_aa: cell.kind == CellKind::Aa,
            differing: settings(cell).into_iter().filter(|row| differs(&row.values)).collect(),
            alike: settings(cell)
                .into_iter()
                .filter(|row| !differs(&row.values))
                .filter_map(|row| Some((row.name, row.values.into_iter().next().filter(|value| !value.is_empty())?)))
                .collect(),
            metrics: (0..series).map(|metric| MetricSection::new(cell, metric, report.imported.is_some())).collect(),
            orders: orders::rows(&cell.finish_orders, false),
            environment: environment::of_cell(cell),
            phases: trials::phases(cell),
            trials: TrialTable::new(report.runs_per_boot, cell, now),
            previous: at.checked_sub(1).map(|at| report.cells[at].id.cell),
            next: report.cells.get(at + 1).map(|cell| cell.id.cell),
        })
    }
}

/// The place of a metric on the page of a cell. Metric names come from workload files, so only letters, digits, - and _ pass.
pub(super) fn anchor(metric: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' };
    format!("m-{}", metric.chars().map(safe).collect::<String>())
}

/// Every setting of any arm, in the order of the first arm that has it.
fn settings(cell: &CellReport) -> Vec<SettingRow> {
    let mut names: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    for (name, _) in cell.arms.iter().flat_map(|arm| &arm.setting) {
        if seen.insert(name) {
            names.push(name);
        }
    }
    let value = |name: &str, arm: &blklab_model::report::ArmReport| {
        arm.setting.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let row = |name: &str| SettingRow { name: name.to_owned(), values: cell.arms.iter().map(|arm| value(name, arm)).collect() };
    names.into_iter().map(row).collect()
}

fn differs(values: &[String]) -> bool {
    values.windows(2).any(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::{self, NOW};

    #[test]
    fn the_published_readers_on_ssd() {
        insta::assert_snapshot!(CellPage::new(&testing::classic(), 2, NOW).unwrap().render().unwrap());
    }

    #[test]
    fn four_schedulers_and_a_failed_trial() {
        insta::assert_snapshot!(CellPage::new(&testing::schedulers(), 0, NOW).unwrap().render().unwrap());
    }

    #[test]
    fn every_cell_of_every_sample_has_a_page_in_which_texts_stay_text() {
        for report in testing::all() {
            for cell in &report.cells {
                let page = CellPage::new(&report, cell.id.cell, NOW).unwrap().render().unwrap();
                for forbidden in ["<script>", "<b>", "<img", "<svg/", "onerror=\"", " style=", "NaN", "../<x>"] {
                    assert!(!page.contains(forbidden), "{forbidden} in {page}");
                }
            }
            assert!(CellPage::new(&report, 9999, NOW).is_none());
        }
    }

    #[test]
    fn settings_that_differ_stand_apart() {
        let report = testing::schedulers();
        let page = CellPage::new(&report, 0, NOW).unwrap();
        assert_eq!(page.differing.len(), 1);
        assert_eq!(page.differing[0].values, ["none", "mq-deadline", "kyber", "bfq"]);
        assert!(page.alike.contains(&("filesystem".into(), "ext4".into())));
    }
}
