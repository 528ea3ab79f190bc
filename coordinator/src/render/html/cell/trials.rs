//! The trials of a cell in the order in which they ran.

use blklab_model::report::{CellReport, TrialReport};
use blklab_model::time::TimestampMs;

use crate::render::number::Scale;
use crate::render::when::{When, span};

/// Trials with a column for each metric.
pub(super) struct TrialTable {
    /// `rt_rate, MB/s`.
    pub(super) metrics: Vec<String>,
    pub(super) rows: Vec<TrialRow>,
}

/// A trial.
pub(super) struct TrialRow {
    pub(super) id: String,
    pub(super) order: String,
    /// `3`, or `3.2` for the second of several runs.
    pub(super) round: String,
    pub(super) arm: u32,
    pub(super) label: String,
    pub(super) state: String,
    pub(super) failure: Option<String>,
    /// What the console said around the crash of a kernel.
    pub(super) console: Option<String>,
    pub(super) attempt: u32,
    pub(super) started: Option<When>,
    pub(super) values: Vec<String>,
    /// `mkfs 0.2 s · prepare 0.6 s`.
    pub(super) phases: String,
    pub(super) outputs: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// A phase with its mean duration in each arm.
pub(super) struct PhaseRow {
    pub(super) name: String,
    pub(super) means: Vec<String>,
}

impl TrialTable {
    pub(super) fn new(runs_per_boot: u32, cell: &CellReport, now: TimestampMs) -> TrialTable {
        let series = cell.arms.first().map_or(&[][..], |arm| &arm.series);
        let values = |metric: &str| cell.trials.iter().filter_map(|trial| trial.values.get(metric).copied()).collect::<Vec<_>>();
        let scales: Vec<(&str, Scale)> = series.iter().map(|s| (s.metric.as_str(), Scale::of(&s.unit, values(&s.metric)))).collect();
        let heading = |(metric, scale): &(&str, Scale)| match scale.unit() {
            "" => (*metric).to_owned(),
            unit => format!("{metric}, {unit}"),
        };
        TrialTable {
            metrics: scales.iter().map(heading).collect(),
            rows: cell.trials.iter().map(|trial| TrialRow::new(runs_per_boot, cell, trial, &scales, now)).collect(),
        }
    }
}

impl TrialRow {
    fn new(runs_per_boot: u32, cell: &CellReport, trial: &TrialReport, scales: &[(&str, Scale)], now: TimestampMs) -> TrialRow {
        let value = |(metric, scale): &(&str, Scale)| trial.values.get(*metric).map(|value| scale.number(*value)).unwrap_or_default();
        let phases: Vec<String> = trial.phases.iter().map(|(phase, ms)| format!("{phase} {}", span(*ms))).collect();
        TrialRow {
            id: trial.id.to_string(),
            order: trial.order.map(|order| (order + 1).to_string()).unwrap_or_default(),
            round: if runs_per_boot > 1 { format!("{}.{}", trial.round + 1, trial.run + 1) } else { (trial.round + 1).to_string() },
            arm: trial.arm,
            label: cell.arms.get(trial.arm as usize).map(|arm| arm.label.clone()).unwrap_or_default(),
            state: trial.state.clone(),
            failure: trial.failure.as_ref().map(|f| format!("by the {}, at {}: {}", f.fault.word(), f.step, f.title())),
            console: trial.failure.as_ref().and_then(|f| f.console()).map(str::to_owned),
            attempt: trial.attempt,
            started: trial.started.map(|started| When::new(started, now)),
            values: scales.iter().map(value).collect(),
            phases: phases.join(" · "),
            outputs: trial.outputs.clone(),
            warnings: trial.warnings.clone(),
        }
    }
}

/// Mean duration of each phase by arm: a phase that takes longer in one arm is a hint of its own.
pub(super) fn phases(cell: &CellReport) -> Vec<PhaseRow> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in cell.trials.iter().flat_map(|trial| &trial.phases) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mean = |name: &str, arm: usize| {
        let took = cell.trials.iter().filter(|trial| trial.arm as usize == arm && trial.failure.is_none()).flat_map(|trial| &trial.phases);
        let took: Vec<u64> = took.filter(|(phase, _)| phase == name).map(|(_, ms)| *ms).collect();
        let sum: u64 = took.iter().sum();
        sum.checked_div(took.len() as u64).map(span).unwrap_or_default()
    };
    let row = |name: &str| PhaseRow { name: name.to_owned(), means: (0..cell.arms.len()).map(|arm| mean(name, arm)).collect() };
    names.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::{self, NOW};

    #[test]
    fn trials_share_units_and_failures_say_whose_fault() {
        let report = testing::schedulers();
        let table = TrialTable::new(report.runs_per_boot, &report.cells[0], NOW);
        assert_eq!(table.metrics, ["rt_rate, MB/s", "be_rate, MB/s", "rt_over_be"]);
        let failed = table.rows.iter().find_map(|row| row.failure.as_ref()).unwrap();
        assert!(failed.starts_with("by the lab, at mkfs: "), "{failed}");
    }

    #[test]
    fn phases_are_means_by_arm() {
        let rows = phases(&testing::classic().cells[0]);
        assert_eq!((rows[0].name.as_str(), rows[0].means.as_slice()), ("mkfs", &["0.2 s".to_owned(), "0.2 s".to_owned()][..]));
    }
}
