//! From what the lab remembers to a report. Pure: the same records give the same report.

use std::collections::{BTreeMap, HashMap};

use blklab_stats::{Comparison, Design, Judgement, Policy, SummaryComparison, Verdict, bh, compare, judge};

use super::headline::headline;
use super::{ArmReport, CellReport, ComparisonReport, Counts, Point, Report, ReportDisk, ReportHost, Series, TrialCounts, TrialReport};
use super::{ImportedFrom, imported, kernel, order, spread, time};
use crate::host::{Host, HostFacts};
use crate::id::{CellId, TrialId};
use crate::matrix::{Cell, CellKind, Setting, memory};
use crate::record::{CpuUse, ExperimentRecord, Measurement, TrialRecord};
use crate::trial::TrialState;
use crate::workload::metric::{Metric, Role};

/// Everything a report is made of.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The experiment.
    pub experiment: &'a ExperimentRecord,
    /// Its cells in order.
    pub cells: &'a [Cell],
    /// Its trials.
    pub trials: &'a [TrialRecord],
    /// Their values.
    pub measurements: &'a [Measurement],
    /// Hosts of the lab, those that measured among them.
    pub hosts: &'a [Host],
}

/// Makes the report.
pub fn build(inputs: Inputs<'_>) -> Report {
    let experiment = inputs.experiment;
    let index = Index::new(&inputs);
    let mut cells: Vec<CellReport> = inputs.cells.iter().map(|cell| build_cell(experiment, cell, &index)).collect();
    adjust(&mut cells);
    let labels = experiment.definition.matrix.labels(&experiment.definition.compare);
    let counts = count(&cells, CellKind::Compare);
    let mut report = Report {
        id: experiment.id,
        name: experiment.definition.name.clone(),
        title: experiment.definition.title.clone(),
        question: experiment.definition.question.clone(),
        source: experiment.definition.source.clone(),
        submitter: experiment.submitter.clone(),
        state: experiment.state,
        created: experiment.created,
        started: experiment.started,
        finished: experiment.finished,
        seed: experiment.seed,
        rounds: experiment.definition.rounds,
        axis: experiment.definition.compare.to_string(),
        baseline: experiment.definition.baseline.clone(),
        candidates: labels.into_iter().filter(|label| *label != experiment.definition.baseline).collect(),
        clock: experiment.definition.clock,
        kernels: kernel::kernels(&inputs),
        kernel_faults: kernel::faults(&cells),
        finish_orders: order::of_all(&cells, experiment.definition.alpha),
        cautions: memory::warnings(&experiment.definition, &experiment.workloads, inputs.cells, inputs.hosts),
        time: time::spent(inputs.trials),
        runs_per_boot: experiment.definition.runs_per_boot(),
        spread: spread::of(&inputs),
        alpha: experiment.definition.alpha,
        headline: String::new(),
        counts,
        aa_counts: count(&cells, CellKind::Aa),
        expected_false_alarms: f64::from(counts.tested()) * experiment.definition.alpha,
        trials: count_trials(inputs.trials),
        hosts: hosts(&inputs),
        disks: disks(&inputs),
        imported: experiment
            .imported
            .as_ref()
            .map(|imported| ImportedFrom { sources: imported.sources.clone(), warnings: imported.warnings.clone() }),
        cells,
        impossible: experiment.impossible.clone(),
    };
    report.headline = headline(&report);
    report
}

/// Records by what they belong to.
struct Index<'a> {
    trials: HashMap<CellId, Vec<&'a TrialRecord>>,
    values: HashMap<TrialId, BTreeMap<&'a str, f64>>,
}

impl<'a> Index<'a> {
    fn new(inputs: &Inputs<'a>) -> Self {
        let mut trials: HashMap<CellId, Vec<&TrialRecord>> = HashMap::new();
        for trial in inputs.trials {
            trials.entry(trial.id.cell).or_default().push(trial);
        }
        for trials in trials.values_mut() {
            // The order in which they ran; those that have not come last, in the order of the plan.
            trials.sort_by_key(|trial| (trial.started.is_none(), trial.started, trial.id.run, trial.position));
        }
        let mut values: HashMap<TrialId, BTreeMap<&str, f64>> = HashMap::new();
        for measurement in inputs.measurements {
            values.entry(measurement.trial).or_default().insert(&measurement.metric, measurement.value);
        }
        Index { trials, values }
    }
}

fn build_cell(experiment: &ExperimentRecord, cell: &Cell, index: &Index<'_>) -> CellReport {
    let id = CellId { experiment: experiment.id, cell: cell.number };
    let empty = Vec::new();
    let trials = index.trials.get(&id).unwrap_or(&empty);
    let workload = experiment.workloads.get(&cell.workload);
    let metrics: &[Metric] = workload.map_or(&[], |workload| &workload.metrics);
    let orders = workload.map_or(&[][..], |workload| &workload.finish_orders);
    let runs_per_boot = experiment.definition.runs_per_boot();
    let arms: Vec<ArmReport> = (0u32..)
        .zip(&cell.arms)
        .map(|(number, arm)| {
            let summary = |metric: &Metric| experiment.imported.as_ref()?.summary(cell.number, number, &metric.name);
            let series =
                metrics.iter().map(|metric| Series { summary: summary(metric), ..series(metric, runs_per_boot, number, trials, index) });
            let series = series.collect();
            let setting = match &experiment.imported {
                None => in_words(&arm.setting),
                // Nobody told the lab what else was set.
                Some(_) => vec![("label".to_owned(), arm.label.clone())],
            };
            build_arm(number, &arm.label, setting, trials, series)
        })
        .collect();
    CellReport {
        id,
        kind: cell.kind,
        workload: cell.workload.clone(),
        workload_title: workload.map(|workload| workload.title.clone()).unwrap_or_default(),
        disk_class: cell.disk_class.clone(),
        host: cell.host.clone(),
        disks: cell.disks.clone(),
        labels: cell.labels.clone(),
        comparisons: comparisons(experiment, cell, metrics, &arms),
        finish_orders: order::of_cell(cell, orders, trials, experiment.definition.alpha),
        trials: trials.iter().enumerate().map(|(order, trial)| build_trial(runs_per_boot, order, trial, index)).collect(),
        arms,
    }
}

fn series(metric: &Metric, runs_per_boot: u32, arm: u32, trials: &[&TrialRecord], index: &Index<'_>) -> Series {
    let point = |(order, trial): (usize, &&TrialRecord)| {
        let value = *index.values.get(&trial.id)?.get(metric.name.as_str())?;
        let counts = trial.id.arm == arm && trial.state == TrialState::Completed;
        let (round, order) = (trial.id.run / runs_per_boot, u32::try_from(order).unwrap_or(u32::MAX));
        counts.then_some(Point { trial: trial.id, runs: 1, round, order, value })
    };
    let mut points: Vec<Point> = trials.iter().enumerate().filter_map(point).collect();
    points.sort_by_key(|point| point.round);
    let points = points.chunk_by(|one, other| one.round == other.round).map(replicate).collect();
    Series { metric: metric.name.clone(), unit: metric.unit.clone(), points, summary: None }
}

/// Runs of one boot are no replicates of each other (statistics.md 0.2): the mean of their logs is one. Where there is no logarithm,
/// the plain mean stands for them, and is not compared.
fn replicate(runs: &[Point]) -> Point {
    let n = runs.len() as f64;
    let mean = |of: fn(f64) -> f64| runs.iter().map(|point| of(point.value)).sum::<f64>() / n;
    let value = match runs {
        [one] => one.value,
        several if several.iter().all(|point| point.value > 0.0) => mean(f64::ln).exp(),
        _ => mean(|value| value),
    };
    let mut point = runs[0];
    for other in runs {
        if other.order < point.order {
            point = *other;
        }
    }
    Point { value, runs: u32::try_from(runs.len()).unwrap_or(u32::MAX), ..point }
}

fn build_arm(number: u32, label: &str, setting: Vec<(String, String)>, trials: &[&TrialRecord], series: Vec<Series>) -> ArmReport {
    let mine = || trials.iter().filter(|trial| trial.id.arm == number);
    let count = |wanted: fn(&TrialState) -> bool| u32::try_from(mine().filter(|trial| wanted(&trial.state)).count()).unwrap_or(u32::MAX);
    let used: Vec<CpuUse> = mine()
        .filter(|trial| trial.state == TrialState::Completed)
        .filter_map(|trial| trial.details.as_ref().and_then(|details| details.cpu))
        .collect();
    ArmReport {
        label: label.to_owned(),
        setting,
        completed: count(|state| *state == TrialState::Completed),
        failed: count(|state| matches!(state, TrialState::Failed(_))),
        cpu: mean_cpu(&used),
        series,
    }
}

fn in_words(setting: &Setting) -> Vec<(String, String)> {
    let mut words = vec![
        ("kernel".to_owned(), setting.kernel.label().to_owned()),
        ("scheduler".to_owned(), setting.scheduler.label.clone()),
        ("tunables".to_owned(), setting.tunables.label.clone()),
        ("filesystem".to_owned(), setting.filesystem.label.clone()),
    ];
    words.extend(setting.parameters.iter().map(|(name, value)| (name.clone(), value.clone())));
    words
}

fn mean_cpu(used: &[CpuUse]) -> Option<CpuUse> {
    let n = used.len() as f64;
    let mean = |of: fn(&CpuUse) -> f64| used.iter().map(of).sum::<f64>() / n;
    (!used.is_empty()).then(|| CpuUse {
        user_pct: mean(|cpu| cpu.user_pct),
        system_pct: mean(|cpu| cpu.system_pct),
        iowait_pct: mean(|cpu| cpu.iowait_pct),
    })
}

fn comparisons(experiment: &ExperimentRecord, cell: &Cell, metrics: &[Metric], arms: &[ArmReport]) -> Vec<ComparisonReport> {
    let Some((baseline, candidates)) = arms.split_first() else { return Vec::new() };
    let mut comparisons = Vec::new();
    for (number, candidate) in (1u32..).zip(candidates) {
        for (at, metric) in metrics.iter().enumerate() {
            let sides = (&baseline.series[at], &candidate.series[at]);
            let (comparison, summary, judgement) = judge_metric(experiment, cell, metric, sides);
            comparisons.push(ComparisonReport {
                arm: number,
                candidate: candidate.label.clone(),
                metric: metric.name.clone(),
                unit: metric.unit.clone(),
                better: metric.better,
                role: metric.role,
                smallest_effect_pct: metric.smallest_effect_pct,
                comparison,
                summary,
                judgement,
                adjusted_p: None,
            });
        }
    }
    comparisons
}

fn judge_metric(
    experiment: &ExperimentRecord,
    cell: &Cell,
    metric: &Metric,
    sides: (&Series, &Series),
) -> (Option<Comparison>, Option<SummaryComparison>, Judgement) {
    let policy = Policy { delta_pct: metric.smallest_effect_pct, alpha: experiment.definition.alpha, ..Policy::default() };
    match &experiment.imported {
        None => {
            let (comparison, judgement) = judge_series(&policy, metric, sides.0, sides.1);
            (comparison, None, judgement)
        }
        Some(imported) => {
            let is_paired = imported.paired.contains(&(cell.number, metric.name.clone()));
            imported::judge_series(&policy, metric, is_paired, sides)
        }
    }
}

/// Compares the rounds that have a value in both arms: they are the blocks of the design, in random order by the plan.
fn judge_series(policy: &Policy, metric: &Metric, base: &Series, candidate: &Series) -> (Option<Comparison>, Judgement) {
    let by_round: BTreeMap<u32, f64> = candidate.points.iter().map(|point| (point.round, point.value)).collect();
    let pairs = base.points.iter().filter_map(|point| by_round.get(&point.round).map(|value| (point.value, *value)));
    let (base, candidate): (Vec<f64>, Vec<f64>) = pairs.unzip();
    match compare(&base, &candidate, Design::RANDOMISED_PAIRS, policy.options()) {
        Ok(comparison) => {
            let judgement = judge(&comparison, metric.better, policy);
            (Some(comparison), judgement)
        }
        Err(error) => (None, error.into()),
    }
}

fn build_trial(runs_per_boot: u32, order: usize, trial: &TrialRecord, index: &Index<'_>) -> TrialReport {
    let details = trial.details.clone().unwrap_or_default();
    let values = index.values.get(&trial.id).into_iter().flatten().map(|(metric, value)| ((*metric).to_owned(), *value));
    let failure = match &trial.state {
        TrialState::Failed(failure) => Some(failure.clone()),
        TrialState::Queued | TrialState::Running | TrialState::Completed | TrialState::Cancelled => None,
    };
    TrialReport {
        id: trial.id,
        round: trial.id.run / runs_per_boot,
        run: trial.id.run % runs_per_boot,
        arm: trial.id.arm,
        order: trial.started.and_then(|_| u32::try_from(order).ok()),
        state: trial.state.word().to_owned(),
        failure,
        started: trial.started,
        attempt: trial.attempt,
        values: values.collect(),
        outputs: details.outputs.into_iter().map(|output| output.name).collect(),
        warnings: details.warnings,
        phases: details.phases,
        environment: details.environment,
        boot: details.boot,
    }
}

/// Benjamini-Hochberg over all comparisons that count; they are oriented by "worse", so positively dependent (statistics.md 1.6).
fn adjust(cells: &mut [CellReport]) {
    let mut counting: Vec<(&mut Option<f64>, f64)> = cells
        .iter_mut()
        .filter(|cell| cell.kind == CellKind::Compare)
        .flat_map(|cell| &mut cell.comparisons)
        .filter(|comparison| comparison.role.counts())
        .filter_map(|report| {
            let of_values = report.comparison.as_ref().and_then(|comparison| comparison.p_combined);
            let p = of_values.or_else(|| Some(report.summary.as_ref()?.log_delta?.p))?;
            Some((&mut report.adjusted_p, p))
        })
        .collect();
    let raw: Vec<f64> = counting.iter().map(|(_, p)| *p).collect();
    let adjusted = bh(&raw).expect("p-values of comparisons lie between 0 and 1");
    for ((slot, _), p) in counting.iter_mut().zip(adjusted) {
        **slot = Some(p);
    }
}

fn count(cells: &[CellReport], kind: CellKind) -> Counts {
    let mut counts = Counts::default();
    let comparisons = cells.iter().filter(|cell| cell.kind == kind).flat_map(|cell| &cell.comparisons);
    for comparison in comparisons.filter(|comparison| comparison.role.counts()) {
        *counts.slot(&comparison.judgement.verdict) += 1;
    }
    counts
}

impl Counts {
    fn slot(&mut self, verdict: &Verdict) -> &mut u32 {
        match verdict {
            Verdict::SuspectRegression | Verdict::Regression | Verdict::VarianceRegression => &mut self.regressions,
            Verdict::SuspectImprovement | Verdict::Improvement => &mut self.improvements,
            Verdict::Equivalent => &mut self.no_change,
            Verdict::Inconclusive { .. } | Verdict::NotReproduced => &mut self.inconclusive,
            Verdict::Unstable { .. } => &mut self.unstable,
            Verdict::Invalid { .. } | Verdict::NoTest { .. } => &mut self.no_test,
        }
    }

    /// Comparisons that had something to test.
    pub fn tested(&self) -> u32 {
        self.regressions + self.improvements + self.no_change + self.inconclusive + self.unstable
    }

    /// All comparisons.
    pub fn total(&self) -> u32 {
        self.tested() + self.no_test
    }
}

impl Role {
    /// Is it counted in the verdict of the report?
    pub fn counts(self) -> bool {
        match self {
            Role::Primary | Role::Background => true,
            Role::Explaining => false,
        }
    }
}

fn count_trials(trials: &[TrialRecord]) -> TrialCounts {
    let mut counts = TrialCounts::default();
    for trial in trials {
        counts.planned += 1;
        match trial.state {
            TrialState::Queued | TrialState::Running => {}
            TrialState::Completed => counts.completed += 1,
            TrialState::Failed(_) => counts.failed += 1,
            TrialState::Cancelled => counts.cancelled += 1,
        }
    }
    counts
}

fn hosts(inputs: &Inputs<'_>) -> Vec<ReportHost> {
    let measures = |host: &&Host| inputs.cells.iter().any(|cell| cell.host == host.name);
    // Programs that lie about on a host say nothing about its trials.
    let facts = |host: &Host| HostFacts { tools: Vec::new(), ..host.facts.clone() };
    inputs.hosts.iter().filter(measures).map(|host| ReportHost { name: host.name.clone(), facts: facts(host) }).collect()
}

fn disks(inputs: &Inputs<'_>) -> Vec<ReportDisk> {
    let all = inputs.hosts.iter().flat_map(|host| host.disks.iter().map(move |disk| (host, disk)));
    all.filter(|(host, disk)| inputs.cells.iter().any(|cell| cell.host == host.name && cell.disks.contains(&disk.id)))
        .map(|(host, disk)| ReportDisk {
            host: host.name.clone(),
            id: disk.id.clone(),
            class: disk.class.clone(),
            facts: disk.facts.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::state::ExperimentState;
    use crate::outcome::{Failure, Fault};
    use crate::testing::{Story, experiment, host, noise, workloads};

    /// bfq reads at `factor` times the rate of none.
    fn story(factor: f64) -> Story {
        let asked = experiment(&[("rounds = 6", "rounds = 6\naa_cells = 1")]);
        Story::finished(asked, workloads(&["reader"]), vec![host("a", &["sata-hdd"])], |cell, arm, round, metric| {
            let candidate = cell.kind == CellKind::Compare && arm == 1;
            let rate = 100e6 * if candidate { factor } else { 1.0 } * noise(arm, round);
            if metric == "rate" { rate } else { 8e6 / rate }
        })
    }

    #[test]
    fn a_slower_candidate_is_suspected() {
        let report = story(0.7).report();
        assert_eq!((report.counts.regressions, report.counts.total()), (1, 1), "explaining metrics do not count");
        assert_eq!(report.aa_counts.regressions + report.aa_counts.improvements, 0);
        assert_eq!(report.headline, "Regression suspected in 1 of 1 comparison: bfq against none.");
        let rate = &report.cells[0].comparisons[0];
        assert_eq!(rate.judgement.verdict, Verdict::SuspectRegression);
        assert!(rate.adjusted_p.is_some() && report.cells[0].comparisons[1].adjusted_p.is_none());
        assert_eq!(report.expected_false_alarms, 0.05);
    }

    #[test]
    fn a_faster_and_an_equal_candidate() {
        assert_eq!(story(1.4).report().headline, "Improvement suspected in 1 of 1 comparison, no regression: bfq against none.");
        assert_eq!(story(1.0).report().headline, "No change in 1 comparison: bfq against none.");
    }

    #[test]
    fn a_failed_trial_takes_its_round_out_of_the_pairs_and_is_counted() {
        let mut story = story(0.7);
        let failed = story.trials.iter_mut().find(|trial| trial.id.cell.cell == 0 && trial.id.arm == 1).unwrap();
        failed.state = TrialState::Failed(Failure { fault: Fault::Workload, step: "task reader".into(), message: "exit 1".into() });
        let report = story.report();
        assert_eq!(report.trials.failed, 1);
        assert_eq!(report.cells[0].arms[1].failed, 1);
        assert_eq!(report.cells[0].comparisons[0].comparison.as_ref().unwrap().n(), 5);
    }

    #[test]
    fn an_experiment_under_way_says_so_far() {
        let mut story = story(0.7);
        story.experiment.state = ExperimentState::Running;
        assert_eq!(story.report().headline, "So far: regression suspected in 1 of 1 comparison: bfq against none.");
        story.measurements.clear();
        assert_eq!(story.report().headline, "No verdict yet: 24 of 24 trials are over.");
    }

    #[test]
    fn a_value_that_cannot_be_is_named_and_does_not_spoil_the_others() {
        let mut story = story(0.7);
        let cell = story.cells[0].number;
        let spoilt = story.measurements.iter_mut().find(|m| m.trial.cell.cell == cell && m.metric == "time").unwrap();
        spoilt.value = 0.0;
        let report = story.report();
        assert!(matches!(report.cells[0].comparisons[1].judgement.verdict, Verdict::Invalid { .. }));
        assert_eq!(report.cells[0].comparisons[0].judgement.verdict, Verdict::SuspectRegression);
    }

    #[test]
    fn a_report_survives_json() {
        let report = story(0.7).report();
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }
}
