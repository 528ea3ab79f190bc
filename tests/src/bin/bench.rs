//! `make bench`: what counts as ratios to a floor, measured interleaved in one run, because a shared machine has no absolute times.
//!
//! Each row is an operation of ours and the least that could do the same; both run in turns (A B A B ...), and the median of the
//! ratios of their processor times is printed with its range. `--json FILE` writes the rows.

use std::hint::black_box;

use blklab_coordinator::clock::Clock;
use blklab_coordinator::lab::Lab;
use blklab_coordinator::store;
use blklab_model::record::{Measurement, TrialDetails};
use blklab_model::testing::{Story, experiment, host, noise, workloads};
use blklab_model::time::{SpanMs, TimestampMs};
use blklab_model::trial::TrialState;
use blklab_stats::{Better, Design, Policy, compare, judge};
use serde::Serialize;

/// Turns of each pair; the first one warms up and is not counted.
const TURNS: usize = 8;

/// One line of the table.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    operation: &'static str,
    floor: &'static str,
    cpu_us_each: f64,
    ratio: f64,
    ratio_min: f64,
    ratio_max: f64,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let rows = [analyse(), report(), runtime.block_on(ingest())];
    print(&rows);
    let mut arguments = std::env::args().skip(1);
    if let (Some("--json"), Some(file)) = (arguments.next().as_deref(), arguments.next()) {
        std::fs::write(&file, serde_json::to_vec_pretty(&rows).expect("rows are JSON")).expect("the file can be written");
    }
}

/// A cell of ten against ten: tests, intervals, flags and verdict; the floor computes the two means and standard deviations.
fn analyse() -> Row {
    const CELLS: u32 = 2_000;
    let arm = |arm: u32, cell: u32| -> Vec<f64> { (0..10).map(|round| 100.0 * noise(arm, cell * 16 + round)).collect() };
    let cells: Vec<_> = (0..CELLS).map(|cell| (arm(0, cell), arm(1, cell))).collect();
    let policy = Policy::default();
    let ours = || {
        for (base, patched) in &cells {
            let comparison = compare(base, patched, Design::RANDOMISED_PAIRS, policy.options()).expect("good data");
            black_box(judge(&comparison, Better::Higher, &policy));
        }
    };
    let floor = || {
        for (base, patched) in &cells {
            for arm in [base, patched] {
                black_box(blklab_stats::describe(blklab_stats::Arm::Base, arm).expect("good data"));
            }
        }
    };
    measure("analyse", "judge a cell of 10 v 10", "describe both arms", f64::from(CELLS), ours, floor)
}

/// A report from its records; the floor judges its comparisons alone.
fn report() -> Row {
    let change = ("[\"sata-hdd\"]", "[\"sata-hdd\", \"fc-array\", \"ssd\", \"nvme\"]");
    let schedulers = ("[\"none\", \"bfq\"]", "[\"none\", \"bfq\", \"kyber\", \"mq-deadline\"]");
    let asked = experiment(&[change, schedulers, ("rounds = 6", "rounds = 10")]);
    let hosts = vec![host("a", &["sata-hdd", "fc-array", "ssd", "nvme"])];
    let story = Story::finished(asked, workloads(&["reader"]), hosts, |_, arm, round, _| 100.0 * noise(arm, round));
    let comparisons: usize = story.report().cells.iter().map(|cell| cell.comparisons.len()).sum();
    let (base, patched): (Vec<f64>, Vec<f64>) = (0..10).map(|round| (noise(0, round), noise(1, round))).unzip();
    let policy = Policy::default();
    let ours = || {
        for _ in 0..50 {
            black_box(story.report());
        }
    };
    let floor = || {
        for _ in 0..50 * comparisons {
            let comparison = compare(&base, &patched, Design::RANDOMISED_PAIRS, policy.options()).expect("good data");
            black_box(judge(&comparison, Better::Higher, &policy));
        }
    };
    measure("report", "build a report of 24 comparisons", "judge 24 comparisons", 50.0, ours, floor)
}

/// A trial's report into the store, durable; the floor is an empty durable transaction that writes one row.
async fn ingest() -> Row {
    const TRIALS: usize = 200;
    let folder = tempfile::tempdir().expect("a folder");
    let lab = Lab::open(folder.path(), None, Clock::fixed(TimestampMs(0))).await.expect("a lab");
    let asked = experiment(&[("rounds = 6", "rounds = 100")]);
    let story = Story::finished(asked, workloads(&["reader"]), vec![host("a", &["sata-hdd"])], |_, arm, round, _| noise(arm, round));
    let jobs = blklab_model::plan::plan(&story.cells, 100, 1, 1);
    let mut pairs = Vec::new();
    for _ in 0..TURNS {
        let mut tx = lab.store.write().await.expect("a transaction");
        let new = store::NewExperiment {
            kernels: std::collections::BTreeMap::new(),
            definition: story.experiment.definition.clone(),
            workloads: story.experiment.workloads.clone(),
            seed: 1,
            submitter: "bench".into(),
            created: TimestampMs(0),
            impossible: Vec::new(),
            file_name: "bench.toml".into(),
            file_text: String::new(),
            imported: None,
        };
        let id = store::experiment_insert(&mut tx, &new, &story.cells, &jobs).await.expect("an experiment");
        let trials = store::trial_list(&mut tx, id).await.expect("trials");
        tx.commit().await.expect("a commit");

        let before = cpu();
        for trial in trials.iter().take(TRIALS) {
            let mut tx = lab.store.write().await.expect("a transaction");
            let attempt = store::Attempt {
                trial: trial.id,
                attempt: 1,
                outcome: blklab_model::outcome::Outcome::Completed,
                started: TimestampMs(0),
                ended: TimestampMs(0) + SpanMs(1),
                details: TrialDetails::default(),
            };
            store::trial_report_put(&mut tx, &attempt, &TrialState::Completed).await.expect("a report");
            let values = ["rate", "time"].map(|metric| Measurement { trial: trial.id, metric: metric.into(), value: 1.0 });
            store::measurement_put(&mut tx, &values).await.expect("values");
            tx.commit().await.expect("a commit");
        }
        let ours = cpu() - before;
        let before = cpu();
        for number in 0..TRIALS {
            let mut tx = lab.store.write().await.expect("a transaction");
            store::meta_set(&mut tx, "bench", &number.to_string()).await.expect("a row");
            tx.commit().await.expect("a commit");
        }
        pairs.push((ours, cpu() - before));
    }
    row("ingest", "a trial's report, durable", "a durable commit of one row", TRIALS as f64, &pairs)
}

fn measure(name: &'static str, operation: &'static str, floor_name: &'static str, n: f64, ours: impl Fn(), floor: impl Fn()) -> Row {
    let mut pairs = Vec::new();
    for _ in 0..TURNS {
        let start = cpu();
        ours();
        let middle = cpu();
        floor();
        pairs.push((middle - start, cpu() - middle));
    }
    row(name, operation, floor_name, n, &pairs)
}

fn row(name: &'static str, operation: &'static str, floor: &'static str, n: f64, pairs: &[(f64, f64)]) -> Row {
    let counted = &pairs[1..];
    let mut ratios: Vec<f64> = counted.iter().map(|(ours, floor)| ours / floor).collect();
    let mut ours: Vec<f64> = counted.iter().map(|(ours, _)| ours / n * 1e6).collect();
    ratios.sort_by(f64::total_cmp);
    ours.sort_by(f64::total_cmp);
    Row {
        name,
        operation,
        floor,
        cpu_us_each: ours[ours.len() / 2],
        ratio: ratios[ratios.len() / 2],
        ratio_min: ratios[0],
        ratio_max: ratios[ratios.len() - 1],
    }
}

/// Seconds of processor time of this process, all threads.
fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[expect(clippy::print_stdout, reason = "the table is the output")]
fn print(rows: &[Row]) {
    println!("{:<8}  {:<34}  {:>11}  {:>7}  {:>13}  floor", "name", "operation", "CPU us each", "x floor", "range");
    for row in rows {
        let range = format!("{:.2}-{:.2}", row.ratio_min, row.ratio_max);
        println!("{:<8}  {:<34}  {:>11.1}  {:>7.2}  {range:>13}  {}", row.name, row.operation, row.cpu_us_each, row.ratio, row.floor);
    }
}
