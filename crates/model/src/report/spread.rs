//! How much runs of one boot differ, how much boots do, and how many runs a boot should have (statistics.md 1.1).

use std::collections::BTreeMap;

use blklab_stats::{Nested, runs_per_boot};
use serde::{Deserialize, Serialize};

use super::build::Inputs;
use super::time;
use crate::experiment::file::RUNS_PER_BOOT;
use crate::kernel::Clock;
use crate::trial::TrialState;
use crate::workload::metric::Role;

/// Spread within and between boots, over all arms and primary metrics of an experiment, and what follows for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BootSpread {
    /// Coefficient of variation of the runs of one boot, per cent.
    pub run_cv_pct: f64,
    /// Coefficient of variation that boots add to that, per cent.
    pub boot_cv_pct: f64,
    /// What a boot costs over what one run of all its cells costs.
    pub cost_ratio: f64,
    /// Runs per boot that give the least spread for the time.
    pub advised: u32,
}

/// None as long as no boot has run anything twice.
pub fn of(inputs: &Inputs<'_>) -> Option<BootSpread> {
    let runs = inputs.experiment.definition.runs_per_boot();
    // Virtual time has next to no spread, and is no measure of what a boot costs.
    if runs < 2 || inputs.experiment.definition.clock == Clock::Virtual {
        return None;
    }
    let is_primary = |workload, metric: &str| {
        let metrics = inputs.experiment.workloads.get(workload).map_or(&[][..], |workload| &workload.metrics);
        metrics.iter().any(|known| known.name == metric && known.role == Role::Primary)
    };
    let completed: std::collections::HashSet<_> =
        inputs.trials.iter().filter(|trial| trial.state == TrialState::Completed).map(|trial| trial.id).collect();
    let mut arms: BTreeMap<_, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for measurement in inputs.measurements.iter().filter(|m| m.value > 0.0 && completed.contains(&m.trial)) {
        let Some(cell) = inputs.cells.get(measurement.trial.cell.cell as usize) else { continue };
        if is_primary(&cell.workload, &measurement.metric) {
            let boots = arms.entry((measurement.trial.cell, measurement.trial.arm, &measurement.metric)).or_default();
            boots.entry(measurement.trial.run / runs).or_default().push(measurement.value.ln());
        }
    }
    let nested = arms.into_values().filter_map(|boots| Nested::of(&boots.into_values().collect::<Vec<_>>()));
    // Each arm speaks for its spread with as many voices as it has degrees of freedom.
    let (mut run, mut between, mut weights) = (0.0, 0.0, (0.0, 0.0));
    for arm in nested {
        let (within, boots) = ((arm.runs - arm.boots) as f64, arm.boots as f64 - 1.0);
        run += within * arm.var_run;
        between += boots * arm.ms_between;
        weights = (weights.0 + within, weights.1 + boots);
    }
    if weights.1 == 0.0 {
        return None;
    }
    let var_run = run / weights.0;
    let var_boot = ((between / weights.1 - var_run) / f64::from(runs)).max(0.0);
    let spent = time::spent(inputs.trials);
    let others = spent.total_ms().saturating_sub(spent.boot_ms());
    let cost_ratio = if others == 0 { 0.0 } else { spent.boot_ms() as f64 * f64::from(runs) / others as f64 };
    let most = *RUNS_PER_BOOT.end();
    Some(BootSpread {
        run_cv_pct: cv_pct(var_run),
        boot_cv_pct: cv_pct(var_boot),
        cost_ratio,
        // Boots that add nothing: every further run pays, as far as boots cost anything.
        advised: runs_per_boot(cost_ratio, var_run, var_boot).unwrap_or(if cost_ratio > 0.0 { most } else { 1 }).min(most),
    })
}

/// Coefficient of variation of values whose logs have this variance, if they are log-normal.
fn cv_pct(variance: f64) -> f64 {
    variance.exp_m1().sqrt() * 100.0
}

#[cfg(test)]
mod tests {
    use crate::crash::BOOT_STEP;
    use crate::testing::{Story, booting_host, experiment, noise, workloads};

    /// Twelve rounds of four runs; each boot is faster or slower by `boot`, each run by about one per cent.
    fn story(boot: f64, boot_ms: u64) -> Story {
        let kernels = ("[matrix]", "[matrix]\nkernel = [\"base\", \"patched\"]");
        let asked = experiment(&[("\"scheduler\"", "\"kernel\""), kernels, ("rounds = 6", "rounds = 12\nruns_per_boot = 4")]);
        let value = |_: &_, arm, run: u32, _: &str| 100.0 * noise(arm, run) * (1.0 + boot * (noise(arm + 7, run / 4) - 1.0) * 100.0);
        let mut story = Story::finished(asked, workloads(&["reader"]), vec![booting_host("a", &["sata-hdd"])], value);
        for trial in &mut story.trials {
            let mut phases = vec![("mkfs".to_owned(), 400), ("workload".to_owned(), 600)];
            if trial.position == 0 {
                phases.insert(0, (BOOT_STEP.to_owned(), boot_ms));
            }
            trial.details.as_mut().unwrap().phases = phases;
        }
        story
    }

    #[test]
    fn spread_and_cost_say_how_many_runs_pay() {
        let quiet = story(0.0, 8_000).report().spread.unwrap();
        assert!((0.5..1.5).contains(&quiet.run_cv_pct), "{quiet:?}");
        assert!(quiet.boot_cv_pct < 0.5 && quiet.advised >= 5, "{quiet:?}");
        let restless = story(0.05, 8_000).report().spread.unwrap();
        assert!((2.0..8.0).contains(&restless.boot_cv_pct) && restless.advised == 1, "{restless:?}");
        assert!((restless.cost_ratio - 4.0).abs() < 1e-9, "two cells of a second each against eight of boot: {restless:?}");
        assert_eq!(story(0.0, 0).report().spread.unwrap().advised, 1, "a boot that costs nothing");
    }

    #[test]
    fn runs_of_one_boot_are_one_replicate() {
        let report = story(0.05, 8_000).report();
        for series in report.cells.iter().flat_map(|cell| &cell.arms).flat_map(|arm| &arm.series) {
            assert_eq!(series.points.len(), 12);
            assert!(series.points.iter().all(|point| point.runs == 4));
            assert_eq!(series.points.iter().map(|point| point.round).collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
        }
        assert_eq!(report.cells[0].trials.len(), 2 * 12 * 4);
        let comparison = report.cells[0].comparisons[0].comparison.as_ref().unwrap();
        assert_eq!(comparison.base.n, 12);
    }

    #[test]
    fn one_run_a_boot_tells_nothing_of_it() {
        let kernels = ("[matrix]", "[matrix]\nkernel = [\"base\", \"patched\"]");
        let asked = experiment(&[("\"scheduler\"", "\"kernel\""), kernels]);
        let story = Story::finished(asked, workloads(&["reader"]), vec![booting_host("a", &["sata-hdd"])], |_, _, _, _| 1.0);
        assert_eq!(story.report().spread, None);
    }
}
