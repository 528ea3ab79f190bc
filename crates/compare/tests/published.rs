//! The published tables get the verdicts that the method gives them (statistics, section 4), and the
//! numbers that were published with them.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use blklab_compare::{Comparison, Count, Flag, Gather, Options, Outcome, Reason, Row, Stage, Verdict, Which, compare, table};
use blklab_parse::Better;
use blklab_parse::results::{Data, Repetition, Series, Summary};

/// Columns that are no part of a cell.
const FIXED: [&str; 11] = ["metric", "unit", "better", "kernel", "value", "round", "n", "mean", "sd", "min", "max"];

#[test]
fn of_the_kjournald_table_only_reading_a_tree_is_suspected() {
    let comparison = published(include_str!("../fixtures/kjournald-ioprio.csv"));
    let row = |workload: &str| find(&comparison, &[("publication", "second"), ("workload", workload)], "elapsed");
    let verdicts = ["read-tree", "read-large-file", "overwrite-large-file"].map(|workload| row(workload).verdict);
    assert_eq!(verdicts, [Verdict::Regression, Verdict::Inconclusive, Verdict::Unstable]);

    let tree = row("read-tree");
    assert_eq!(tree.stage, Some(Stage::Suspected));
    close(tree.change_pct(), 47.9, 0.05);
    close(tree.ci95.map(|ci| ci.low_pct()), 29.2, 0.05);
    close(tree.ci95.map(|ci| ci.high_pct()), 69.3, 0.05);
    close(tree.p, 1.67e-5, 0.01e-5);
    assert_eq!(tree.flags, [Flag::OrderUnknown, Flag::SummaryOnly]);

    let large = row("read-large-file");
    close(large.change_pct(), -2.2, 0.05);
    assert!(matches!(large.more_rounds, Some(80..=120)), "{:?}", large.more_rounds);
    let Reason::TooNoisy { half_width_pct } = row("overwrite-large-file").reason else { panic!() };
    // 14 % on the log scale.
    close(Some((half_width_pct / 100.0).ln_1p()), 0.14, 0.001);

    assert_eq!(comparison.counts.regressions, 1);
    assert_eq!(comparison.outcome(), Outcome::Worse);
}

#[test]
fn means_without_a_spread_are_no_test() {
    let comparison = published(include_str!("../fixtures/kjournald-ioprio.csv"));
    let row = find(&comparison, &[("publication", "first"), ("workload", "read-tree")], "elapsed");
    assert_eq!((row.verdict, row.stage), (Verdict::NoTest, None));
    close(row.change_pct(), -15.3, 0.05);
    assert!(matches!(row.reason, Reason::MeansOnly { runs: Some(10), break_even_cv: Some(_) }));
}

#[test]
fn the_iozone_table_has_deviations_and_no_verdict() {
    let comparison = published(include_str!("../fixtures/iozone-disk-scaling.csv"));
    assert_eq!(comparison.counts.no_test, comparison.counts.total());
    assert_eq!(comparison.outcome(), Outcome::NothingJudged);
    let deviations = [
        ("2.6.32", -50.7, Some(0.31)),
        ("2.6.35", -96.6, None),
        ("2.6.35.6", -88.8, None),
        ("2.6.36-rc4-trace", -90.1, None),
        ("2.6.36-rc4-fix", -22.3, Some(0.111)),
        ("2.6.37-rc1", -13.2, Some(0.062)),
    ];
    for (kernel, deviation, cv) in deviations {
        let row = comparison.rows.iter().find(|row| row.candidate.label == kernel && row.cell["disks"] == "16").unwrap();
        close(row.change_pct(), deviation, 0.05);
        let Reason::MeansOnly { runs: Some(3), break_even_cv } = row.reason else { panic!("{:?}", row.reason) };
        if let Some(cv) = cv {
            close(break_even_cv, cv, 0.0025);
        }
    }
}

#[test]
fn the_readers_races_are_counted() {
    let comparison = published(include_str!("../fixtures/rt-be-readers.csv"));
    let counts = |disk: &str| {
        let row = find(&comparison, &[("disk", disk)], "inversions");
        (row.base.count.unwrap(), row.candidate.count.unwrap(), row.verdict)
    };
    let of = |happened, of| Count { happened, of };
    assert_eq!(counts("sata-ncq"), (of(0, 4), of(3, 4), Verdict::Inconclusive));
    assert_eq!(counts("sata-no-ncq"), (of(0, 4), of(2, 4), Verdict::Inconclusive));
    assert_eq!(counts("ssd"), (of(0, 4), of(0, 4), Verdict::Inconclusive));
    assert_eq!(counts("all"), (of(0, 12), of(5, 12), Verdict::Regression));
    // Of 42504 ways to draw 5 of 24, 792 lie on one side alone.
    close(find(&comparison, &[("disk", "all")], "inversions").p, 2.0 * 792.0 / 42504.0, 1e-9);
}

#[test]
fn the_readers_rates_are_judged_as_the_method_does() {
    let comparison = published(include_str!("../fixtures/rt-be-readers.csv"));
    let row = |disk: &str, class: &str| find(&comparison, &[("disk", disk), ("io_class", class)], "rate");
    let rt = row("sata-ncq", "RT");
    assert_eq!((rt.verdict, rt.stage), (Verdict::Regression, Some(Stage::Suspected)));
    close(rt.p, 2.0 * 1.129_876_638e-5, 1e-13);
    let be = row("sata-ncq", "BE");
    assert_eq!((be.verdict, be.more_rounds), (Verdict::Inconclusive, Some(19)));

    let ssd = row("ssd", "RT");
    assert_eq!((ssd.verdict, ssd.more_rounds), (Verdict::Unstable, Some(2)));
    assert!(ssd.flags.contains(&Flag::TwoModesCandidate));
    let Reason::TwoModes { which: Which::Candidate, low, high } = ssd.reason else { panic!("{:?}", ssd.reason) };
    assert_eq!((low, high), (122.5, 233.5));
    assert_eq!(row("ssd", "BE").verdict, Verdict::Inconclusive, "four runs cannot show that nothing changed");
}

/// A fixture compared; the first kernel is the baseline.
fn published(text: &str) -> Comparison {
    let mut gather = Gather::default();
    gather.add(&BTreeMap::new(), read(text));
    let (base, candidates) = table(gather.finish(), None).unwrap();
    compare(base, candidates, &Options::default()).unwrap()
}

/// The fixtures quote nothing.
fn read(text: &str) -> Vec<Series> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut series: Vec<Series> = Vec::new();
    for line in lines {
        let fields: BTreeMap<&str, &str> = head.iter().copied().zip(line.split(',')).collect();
        let number = |column: &str| fields.get(column).and_then(|text| text.parse::<f64>().ok());
        let count = |column: &str| number(column).map(|n| n as u64);
        let data = match number("value") {
            Some(value) => Data::Values(vec![Repetition { value, round: count("round") }]),
            None => Data::Summary(Summary {
                n: count("n"),
                mean: number("mean").unwrap(),
                sd: number("sd"),
                min: number("min"),
                max: number("max"),
            }),
        };
        let cells = fields.iter().filter(|(column, _)| !FIXED.contains(column));
        let new = Series {
            label: Some(fields["kernel"].to_owned()),
            cell: cells.map(|(column, value)| ((*column).to_owned(), (*value).to_owned())).collect(),
            metric: fields["metric"].to_owned(),
            unit: fields["unit"].to_owned(),
            better: match fields["better"] {
                "higher" => Some(Better::Higher),
                "lower" => Some(Better::Lower),
                _ => None,
            },
            data,
        };
        let same = |one: &&mut Series| one.label == new.label && one.cell == new.cell && one.metric == new.metric;
        match (series.iter_mut().find(same), &new.data) {
            (Some(Series { data: Data::Values(values), .. }), Data::Values(more)) => values.extend(more),
            (_, _) => series.push(new),
        }
    }
    series
}

fn find<'a>(comparison: &'a Comparison, cell: &[(&str, &str)], metric: &str) -> &'a Row {
    let fits = |row: &&Row| row.metric == metric && cell.iter().all(|(column, value)| row.cell.get(*column).is_some_and(|v| v == value));
    comparison.rows.iter().find(fits).unwrap()
}

#[track_caller]
fn close(got: Option<f64>, want: f64, within: f64) {
    let got = got.unwrap();
    assert!((got - want).abs() <= within, "got {got}, want {want}");
}
