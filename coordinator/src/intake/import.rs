//! Values that somebody else measured, as a finished experiment: cells, arms, trials and measurements like those of the lab, marked as
//! imported, so that pages and reports are the same and claims are capped.

mod race;

use std::collections::{BTreeMap, BTreeSet};

use blklab_model::experiment::axis::Axis;
use blklab_model::experiment::state::{ExperimentEvent, ExperimentState};
use blklab_model::experiment::{Experiment, Matrix, RunsPerBoot, state};
use blklab_model::filesystem::{Filesystem, Format};
use blklab_model::id::{CellId, DiskClass, DiskId, ExperimentId, HostName, JobId, TrialId, WorkloadName};
use blklab_model::imported::{Imported, ImportedSummary};
use blklab_model::job::{self, JobEvent, JobState};
use blklab_model::kernel::{Clock, Kernel};
use blklab_model::matrix::{Arm, Cell, CellKind, MAX_ARMS, Setting};
use blklab_model::outcome::Outcome;
use blklab_model::plan::{PlannedJob, PlannedTrial};
use blklab_model::record::{Measurement, TrialDetails};
use blklab_model::scheduler::{QueueTunables, Scheduler};
use blklab_model::time::TimestampMs;
use blklab_model::trial::{self, TrialEvent, TrialState};
use blklab_model::workload::metric::{Metric, MetricSource, Role};
use blklab_model::workload::order::FinishOrder;
use blklab_model::workload::{Needs, Target, Workload};
use blklab_wire::people::{Import, ImportCell, ImportData, ImportMetric, Submitted};

use super::IntakeError;
use crate::lab::Lab;
use crate::store::{self, Attempt, NewExperiment, StoreError, Tx};

/// Trials of one import: each is a row, and all of them are written in one transaction.
pub const MAX_TRIALS: usize = 100_000;

/// Name of the host, the disk, the disk class and the workload that stand for those which nobody named.
const IMPORTED: &str = "imported";

/// Name of a workload of which only the finish order is known.
const RACE: &str = "finish-order";

/// The axis on which labels are compared.
const AXIS: &str = "label";

/// Columns that may hold a disk class.
const DISK_CLASS_COLUMNS: [&str; 2] = ["disk_class", "disk"];

/// Stores an import as a finished experiment, or says why not.
pub async fn accept(lab: &Lab, import: Import) -> Result<Submitted, IntakeError> {
    let now = lab.now();
    let plan = tokio::task::spawn_blocking(move || plan(import, now)).await.map_err(|_| IntakeError::Lost)??;
    let mut tx = lab.store.write().await?;
    let id = store::experiment_insert(&mut tx, &plan.new, &plan.cells, &plan.jobs).await?;
    let trials = finish(&mut tx, id, &plan, now).await?;
    tx.commit().await?;
    lab.changed();
    tracing::info!(experiment = %id, cells = plan.cells.len(), trials, "results imported");
    Ok(Submitted {
        id,
        path: format!("/experiments/{id}"),
        cells: super::count(plan.cells.len()),
        trials: super::count(trials),
        impossible: Vec::new(),
        cautions: Vec::new(),
        boots: 0,
        eta_ms: None,
    })
}

/// An import as rows.
#[derive(Debug)]
struct Plan {
    new: NewExperiment,
    cells: Vec<Cell>,
    jobs: Vec<PlannedJob>,
    values: Values,
}

/// What is known of each run, by cell, arm and run.
type Values = BTreeMap<(u32, u32, u32), Run>;

/// One run.
#[derive(Debug, Default)]
struct Run {
    metrics: Vec<(String, f64)>,
    /// What stands for the end of each task, where they raced.
    ends: BTreeMap<String, f64>,
}

fn plan(mut import: Import, now: TimestampMs) -> Result<Plan, IntakeError> {
    check(&import)?;
    let races = race::take(&mut import.cells);
    let mut workloads: BTreeMap<WorkloadName, Workload> = BTreeMap::new();
    let mut imported = Imported { sources: import.sources.clone(), warnings: import.warnings.clone(), ..Imported::default() };
    let (mut cells, mut values) = (Vec::new(), Values::new());
    for (number, cell) in (0u32..).zip(&import.cells) {
        keep_values(number, cell, &mut imported, &mut values);
        let metrics = metrics(cell, import.smallest_effect_pct);
        cells.push(planned_cell(number, cell, workload(cell, (metrics, Vec::new()), &mut workloads), &import.arms));
    }
    for (number, race) in (super::count(cells.len())..).zip(&races) {
        for ((arm, run), ends) in race.places() {
            values.entry((number, arm, run)).or_default().ends = ends;
        }
        let workload = workload(&race.cell, (Vec::new(), race.orders()), &mut workloads);
        cells.push(planned_cell(number, &race.cell, workload, &import.arms));
    }
    if values.len() > MAX_TRIALS {
        return Err(IntakeError::BadImport { what: format!("{} runs, more than {MAX_TRIALS}; import a part of them", values.len()) });
    }
    let jobs = jobs(&word(IMPORTED), values.keys());
    let rounds = super::count(jobs.len()).max(1);
    let new = NewExperiment {
        definition: definition(&import, &cells, rounds),
        workloads,
        kernels: BTreeMap::new(),
        seed: 0,
        submitter: import.submitter,
        created: now,
        impossible: Vec::new(),
        file_name: "imported.toml".to_owned(),
        file_text: remark(&import.sources),
        imported: Some(imported),
    };
    Ok(Plan { new, cells, jobs, values })
}

fn planned_cell(number: u32, cell: &ImportCell, workload: WorkloadName, arms: &[String]) -> Cell {
    Cell {
        number,
        kind: CellKind::Compare,
        workload,
        disk_class: disk_class(cell).map_or_else(|| word(IMPORTED), |(_, class)| class),
        host: word(IMPORTED),
        disks: vec![word::<DiskId>(IMPORTED)],
        labels: labels(cell),
        arms: arms.iter().map(|label| arm(label)).collect(),
    }
}

fn check(import: &Import) -> Result<(), IntakeError> {
    let bad = |what: String| Err(IntakeError::BadImport { what });
    let distinct: BTreeSet<&String> = import.arms.iter().collect();
    if import.arms.len() < 2 || distinct.len() < import.arms.len() {
        return bad("an import needs two arms at least, with labels of their own".to_owned());
    }
    if import.cells.is_empty() {
        return bad("there is no cell with a metric that two arms have".to_owned());
    }
    let arms = import.cells.len().saturating_mul(import.arms.len());
    if arms > MAX_ARMS {
        return bad(format!("{arms} arms in all cells, more than {MAX_ARMS}; import a part of them"));
    }
    if !(1e-3..=1e3).contains(&import.smallest_effect_pct) {
        return bad(format!("a smallest effect of {} %; give one between 0.001 and 1000", import.smallest_effect_pct));
    }
    for metric in import.cells.iter().flat_map(|cell| &cell.metrics) {
        if metric.arms.len() != import.arms.len() {
            return bad(format!("metric `{}` has {} arms, the import {}", metric.name, metric.arms.len(), import.arms.len()));
        }
        let numbers = metric.arms.iter().flatten().flat_map(|data| match data {
            ImportData::Values(values) => values.iter().map(|one| one.value).collect(),
            ImportData::Summary(summary) => vec![summary.mean, summary.sd.unwrap_or(0.0)],
        });
        if numbers.into_iter().any(|number: f64| !number.is_finite()) {
            return bad(format!("metric `{}` has a value that is not finite", metric.name));
        }
    }
    Ok(())
}

/// Sorts the values of a cell into runs: by their round where all have one, else by their place.
fn keep_values(number: u32, cell: &ImportCell, imported: &mut Imported, values: &mut Values) {
    let all = || cell.metrics.iter().flat_map(|metric| metric.arms.iter().flatten());
    let rounds: BTreeSet<u64> = all().flat_map(rounds).collect();
    let place: BTreeMap<u64, u32> = rounds.into_iter().zip(0..).collect();
    for metric in &cell.metrics {
        let is_paired = metric.arms.iter().flatten().all(is_numbered);
        if is_paired {
            imported.paired.insert((number, metric.name.clone()));
        }
        for (arm, data) in (0u32..).zip(&metric.arms) {
            match data {
                None => {}
                Some(ImportData::Summary(of)) => {
                    imported.summaries.push(ImportedSummary { cell: number, arm, metric: metric.name.clone(), of: *of });
                }
                Some(ImportData::Values(of)) => {
                    for (at, one) in (0u32..).zip(of) {
                        let run = one.round.filter(|_| is_paired).and_then(|round| place.get(&round).copied()).unwrap_or(at);
                        values.entry((number, arm, run)).or_default().metrics.push((metric.name.clone(), one.value));
                    }
                }
            }
        }
    }
}

fn rounds(data: &ImportData) -> Vec<u64> {
    match data {
        ImportData::Values(values) => values.iter().filter_map(|one| one.round).collect(),
        ImportData::Summary(_) => Vec::new(),
    }
}

/// Does each value have a round of its own?
fn is_numbered(data: &ImportData) -> bool {
    match data {
        ImportData::Values(values) => {
            let rounds = rounds(data);
            rounds.len() == values.len() && rounds.iter().collect::<BTreeSet<_>>().len() == rounds.len()
        }
        ImportData::Summary(_) => false,
    }
}

/// The workload that measures these: that of a column `workload` where there is one.
fn workload(
    cell: &ImportCell,
    (metrics, orders): (Vec<Metric>, Vec<FinishOrder>),
    workloads: &mut BTreeMap<WorkloadName, Workload>,
) -> WorkloadName {
    let named = cell.cell.get("workload").and_then(|name| name.parse::<WorkloadName>().ok());
    let unnamed = if metrics.is_empty() { RACE } else { IMPORTED };
    let base = named.map_or_else(|| unnamed.to_owned(), |name| name.to_string());
    // The same name with other metrics is another workload.
    let names = std::iter::once(base.clone()).chain((2..).map(|number| format!("{base}-{number}")));
    for name in names.filter_map(|name| name.parse::<WorkloadName>().ok()) {
        match workloads.get(&name) {
            Some(known) if known.metrics == metrics && known.finish_orders == orders => return name,
            Some(_) => {}
            None => {
                let described = described(name.clone(), metrics, orders);
                workloads.insert(name.clone(), described);
                return name;
            }
        }
    }
    word(IMPORTED)
}

fn metrics(cell: &ImportCell, smallest_effect_pct: f64) -> Vec<Metric> {
    let metric = |metric: &ImportMetric| Metric {
        name: metric.name.clone(),
        source: MetricSource::Parsed { load: IMPORTED.to_owned(), parser: IMPORTED.to_owned(), field: metric.name.clone() },
        combine: None,
        unit: metric.unit.clone(),
        better: metric.better,
        smallest_effect_pct,
        role: Role::Primary,
    };
    cell.metrics.iter().map(metric).collect()
}

fn described(name: WorkloadName, metrics: Vec<Metric>, finish_orders: Vec<FinishOrder>) -> Workload {
    Workload {
        name,
        version: 1,
        title: "measured elsewhere".to_owned(),
        description: String::new(),
        needs: Needs { tools: Vec::new(), target: Target::Raw, space: Vec::new(), working_set: Vec::new(), disks: "1".to_owned() },
        parameters: BTreeMap::new(),
        prepare: Vec::new(),
        background: Vec::new(),
        tasks: Vec::new(),
        finish_orders,
        metrics,
    }
}

fn disk_class(cell: &ImportCell) -> Option<(&'static str, DiskClass)> {
    DISK_CLASS_COLUMNS.into_iter().find_map(|column| Some((column, cell.cell.get(column)?.parse().ok()?)))
}

/// What tells the cell from others, beside its disk class and its workload.
fn labels(cell: &ImportCell) -> BTreeMap<String, String> {
    let class = disk_class(cell).map(|(column, _)| column);
    let is_workload = |column: &str| column == "workload" && cell.cell.get(column).is_some_and(|name| name.parse::<WorkloadName>().is_ok());
    let told = |column: &String| Some(column.as_str()) != class && !is_workload(column);
    cell.cell.iter().filter(|(column, value)| told(column) && !value.is_empty()).map(|(c, v)| (c.clone(), v.clone())).collect()
}

fn arm(label: &str) -> Arm {
    let unknown = || "unknown".to_owned();
    Arm {
        label: label.to_owned(),
        setting: Setting {
            kernel: Kernel::AsBooted,
            scheduler: Scheduler { name: unknown(), tunables: BTreeMap::new(), label: unknown() },
            tunables: QueueTunables { values: BTreeMap::new(), label: unknown() },
            filesystem: Filesystem { label: unknown(), format: Format::Raw },
            parameters: BTreeMap::from([(AXIS.to_owned(), label.to_owned())]),
        },
    }
}

/// A job for each run, with its trials in the order of cells and arms.
fn jobs<'a>(host: &HostName, runs: impl Iterator<Item = &'a (u32, u32, u32)>) -> Vec<PlannedJob> {
    let mut by_run: BTreeMap<u32, Vec<PlannedTrial>> = BTreeMap::new();
    for (cell, arm, run) in runs {
        by_run.entry(*run).or_default().push(PlannedTrial { cell: *cell, arm: *arm, run: *run, seed: 0 });
    }
    by_run.into_iter().map(|(round, trials)| PlannedJob { host: host.clone(), kernel: Kernel::AsBooted, round, trials }).collect()
}

fn definition(import: &Import, cells: &[Cell], rounds: u32) -> Experiment {
    let setting = arm("").setting;
    let distinct = |of: fn(&Cell) -> String| cells.iter().map(of).collect::<BTreeSet<_>>();
    Experiment {
        name: import.name.clone(),
        title: import.title.clone(),
        question: import.question.clone(),
        source: import.source.clone(),
        compare: Axis::Parameter(AXIS.to_owned()),
        baseline: import.arms[0].clone(),
        rounds,
        runs_per_boot: RunsPerBoot::Fixed(1),
        memory_cap_bytes: None,
        seed: None,
        aa_cells: 0,
        matrix: Matrix {
            kernels: vec![setting.kernel],
            schedulers: vec![setting.scheduler],
            tunables: vec![setting.tunables],
            filesystems: vec![setting.filesystem],
            disk_classes: distinct(|cell| cell.disk_class.to_string()).iter().map(|class| word(class)).collect(),
            workloads: distinct(|cell| cell.workload.to_string()).iter().map(|name| word(name)).collect(),
            parameters: BTreeMap::from([(AXIS.to_owned(), import.arms.clone())]),
        },
        parameters: BTreeMap::new(),
        parameters_by_disk_class: BTreeMap::new(),
        alpha: blklab_stats::Policy::default().alpha,
        clock: Clock::default(),
    }
}

/// What stands in the place of the experiment's file.
fn remark(sources: &[String]) -> String {
    // A name may hold a line break, and a remark is one line each.
    let lines: Vec<String> = sources.iter().map(|source| format!("# {}", source.replace(['\n', '\r'], " "))).collect();
    format!("# Imported; it cannot be run. Read from:\n{}\n", lines.join("\n"))
}

/// Everything of an import is over at once; the states take the same way as those of what the lab measures.
async fn finish(tx: &mut Tx, id: ExperimentId, plan: &Plan, now: TimestampMs) -> Result<usize, StoreError> {
    let completed = trial::step(&TrialState::Queued, TrialEvent::Reported(Outcome::Completed), 1).expect("a queued trial takes a report");
    let mut measurements = Vec::new();
    for ((cell, arm, run), of) in &plan.values {
        let trial = TrialId { cell: CellId { experiment: id, cell: *cell }, run: *run, arm: *arm };
        let details = TrialDetails { elapsed_s: of.ends.clone(), ..TrialDetails::default() };
        let report = Attempt { trial, attempt: 1, outcome: Outcome::Completed, started: now, ended: now, details };
        store::trial_report_put(tx, &report, &completed).await?;
        measurements.extend(of.metrics.iter().map(|(metric, value)| Measurement { trial, metric: metric.clone(), value: *value }));
    }
    store::measurement_put(tx, &measurements).await?;
    let done = job::step(&JobState::Queued, JobEvent::AllOver, now).expect("a queued job may be over");
    for number in 0..super::count(plan.jobs.len()) {
        store::job_state_set(tx, JobId { experiment: id, job: number }, &JobState::Queued, &done).await?;
    }
    let finished = state::step(ExperimentState::Queued, ExperimentEvent::AllOver).expect("a queued experiment may be over");
    store::experiment_state_set(tx, id, ExperimentState::Queued, finished, now).await?;
    Ok(plan.values.len())
}

/// A word of this file, or one that was read before, as an identifier.
fn word<T: std::str::FromStr>(text: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    text.parse().expect("a good identifier")
}

#[cfg(test)]
mod tests {
    use blklab_model::imported::PublishedSummary;
    use blklab_stats::Verdict;
    use blklab_wire::people::ImportValue;

    use super::*;
    use crate::clock::Clock;

    const NOW: TimestampMs = TimestampMs(1_000_000);

    fn values(values: &[f64], is_paired: bool) -> Option<ImportData> {
        let of = (1u64..).zip(values).map(|(round, value)| ImportValue { value: *value, round: is_paired.then_some(round) });
        Some(ImportData::Values(of.collect()))
    }

    fn summary(mean: f64, sd: Option<f64>) -> Option<ImportData> {
        Some(ImportData::Summary(PublishedSummary { n: Some(10), mean, sd, min: None, max: None }))
    }

    fn metric(name: &str, base: Option<ImportData>, candidate: Option<ImportData>) -> ImportMetric {
        let better = blklab_model::workload::metric::Better::Lower;
        ImportMetric { name: name.into(), unit: "s".into(), better, arms: vec![base, candidate] }
    }

    fn cell(columns: &[(&str, &str)], metrics: Vec<ImportMetric>) -> ImportCell {
        ImportCell { cell: columns.iter().map(|(column, value)| ((*column).to_owned(), (*value).to_owned())).collect(), metrics }
    }

    fn import(cells: Vec<ImportCell>) -> Import {
        Import {
            name: "import".into(),
            title: "Old results".into(),
            question: String::new(),
            source: "a thread of 2007".into(),
            submitter: "someone".into(),
            arms: vec!["2.6.24-rc2".into(), "2.6.24-rc2 + patch <1>".into()],
            cells,
            smallest_effect_pct: 5.0,
            sources: vec!["t.csv (1 file)".into()],
            warnings: vec!["odd".into()],
        }
    }

    /// The three foreground loads of the kjournald thread (LKML 2007), and ten raw values of a fourth.
    fn published() -> Import {
        let raw: Vec<f64> = (0..10).map(|at| 100.0 + f64::from(at % 3)).collect();
        let slower: Vec<f64> = raw.iter().map(|value| value * 1.3).collect();
        import(vec![
            cell(
                &[("workload", "read-tree"), ("disk", "fc")],
                vec![metric("elapsed", summary(4631.3, Some(784.6)), summary(6849.8, Some(731.6)))],
            ),
            cell(
                &[("workload", "read-large-file"), ("disk", "fc")],
                vec![metric("elapsed", summary(215.1, Some(22.8)), summary(210.3, Some(18.5)))],
            ),
            cell(&[("workload", "means only")], vec![metric("elapsed", summary(46.8, None), summary(39.6, None))]),
            cell(&[("disks", "16")], vec![metric("elapsed", values(&raw, false), values(&slower, false))]),
            cell(&[("disks", "8")], vec![metric("elapsed", values(&raw, true), values(&slower[..6], true))]),
        ])
    }

    #[tokio::test]
    async fn an_import_is_a_finished_experiment_with_capped_verdicts() {
        let folder = tempfile::tempdir().unwrap();
        let lab = Lab::open(folder.path(), None, Clock::fixed(NOW)).await.unwrap();
        let done = accept(&lab, published()).await.unwrap();
        assert_eq!((done.id, done.cells, done.trials), (ExperimentId(1), 5, 36));

        let report = lab.report(done.id).await.unwrap().unwrap();
        assert_eq!(report.state, ExperimentState::Finished);
        assert_eq!(report.imported.as_ref().unwrap().sources, ["t.csv (1 file)"]);
        assert_eq!(report.candidates, ["2.6.24-rc2 + patch <1>"]);
        let of = |cell: usize| &report.cells[cell].comparisons[0];
        let words: Vec<&str> = (0..5).map(|cell| of(cell).judgement.verdict.name()).collect();
        assert_eq!(words, ["SUSPECT_REGRESSION", "INCONCLUSIVE", "NO_TEST", "SUSPECT_REGRESSION", "SUSPECT_REGRESSION"]);
        assert!((0..5).all(|cell| cell == 2 || !of(cell).judgement.caps.is_empty()), "a claim is capped");
        assert!(matches!(&of(2).judgement.verdict, Verdict::NoTest { .. }));
        let shape = |cell: usize| of(cell).comparison.as_ref().map(|c| (c.n(), c.design.layout));
        assert_eq!(shape(3), Some((10, blklab_stats::Layout::Independent)));
        assert_eq!(shape(4), Some((6, blklab_stats::Layout::Paired)), "rounds that both sides have");
        assert!(of(0).adjusted_p.is_some(), "a summary has a p-value too");

        let lines = lab.experiments(10, None).await.unwrap();
        assert!(lines[0].imported && lines[0].headline.starts_with("Regression suspected in 3 of 5"), "{}", lines[0].headline);
        assert!(lab.queue().await.unwrap().is_empty());
    }

    #[test]
    fn cells_keep_what_the_columns_said() {
        let plan = plan(published(), NOW).unwrap();
        let [first, .., last] = plan.cells.as_slice() else { panic!() };
        assert_eq!((first.workload.as_str(), first.disk_class.as_str()), ("read-tree", "fc"));
        assert!(first.labels.is_empty(), "{:?}", first.labels);
        assert_eq!((last.workload.as_str(), last.disk_class.as_str()), ("imported", "imported"));
        assert_eq!(last.labels, BTreeMap::from([("disks".to_owned(), "8".to_owned())]));
        let means = &plan.cells[2];
        assert_eq!(means.labels["workload"], "means only", "no name of a workload, so a label");
    }

    /// Who finished first of the readers of 2009, on one of their disks: 0 of 4 inversions against 3 of 4.
    #[tokio::test]
    async fn finish_orders_are_counted_as_those_of_the_lab_are() {
        let places = |places: &[f64]| values(places, true);
        let order = |base: &[f64], candidate: &[f64]| metric("finish_order", places(base), places(candidate));
        let readers = import(vec![
            cell(&[("disk", "sata-ncq"), ("io_class", "BE")], vec![order(&[2.0; 4], &[1.0, 1.0, 1.0, 2.0])]),
            cell(&[("disk", "sata-ncq"), ("io_class", "RT")], vec![order(&[1.0; 4], &[2.0, 2.0, 2.0, 1.0])]),
        ]);
        let folder = tempfile::tempdir().unwrap();
        let lab = Lab::open(folder.path(), None, Clock::fixed(NOW)).await.unwrap();
        let done = accept(&lab, readers).await.unwrap();
        assert_eq!((done.cells, done.trials), (1, 8));
        let report = lab.report(done.id).await.unwrap().unwrap();
        let counted = &report.cells[0].finish_orders[0];
        assert_eq!((counted.first.as_str(), counted.then.as_str()), ("RT", "BE"));
        assert_eq!((counted.base_inversions, counted.base_trials, counted.inversions, counted.trials), (0, 4, 3, 4));
    }

    #[test]
    fn cells_with_other_metrics_have_other_workloads() {
        let with = |names: &[&str]| {
            cell(&[("n", names[0])], names.iter().map(|name| metric(name, summary(1.0, None), summary(2.0, None))).collect())
        };
        let plan = plan(import(vec![with(&["a"]), with(&["a", "b"]), with(&["a"])]), NOW).unwrap();
        let names: Vec<&str> = plan.cells.iter().map(|cell| cell.workload.as_str()).collect();
        assert_eq!(names, ["imported", "imported-2", "imported"]);
    }

    #[test]
    fn what_cannot_be_an_experiment_is_refused_with_a_reason() {
        let refused = |import: Import| plan(import, NOW).unwrap_err().to_string();
        assert!(refused(import(Vec::new())).contains("no cell"));
        let one = || vec![cell(&[], vec![metric("a", values(&[1.0], false), values(&[2.0], false))])];
        let twice = Import { arms: vec!["a".into(), "a".into()], ..import(one()) };
        assert!(refused(twice).contains("labels of their own"));
        let short = Import { arms: vec!["a".into(), "b".into(), "c".into()], ..import(one()) };
        assert!(refused(short).contains("has 2 arms, the import 3"));
        let nan = vec![cell(&[], vec![metric("a", values(&[f64::NAN], false), values(&[2.0], false))])];
        assert!(refused(import(nan)).contains("not finite"));
        let many = vec![cell(&[], vec![metric("a", values(&vec![1.0; MAX_TRIALS + 1], false), values(&[2.0], false))])];
        assert!(refused(import(many)).contains("import a part of them"));
    }
}
