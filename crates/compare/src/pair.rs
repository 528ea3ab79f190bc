//! From arms to rows: what is paired, what is left over, and the counts of it all. Owns who may say
//! which way is better; decides nothing about a pair.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use blklab_parse::Better as Said;
use blklab_parse::results::{Data, Series};
use blklab_stats::{Better, Policy, bh};
use thiserror::Error;

use crate::finish::{EVENT, FINISH_ORDER, IO_CLASS, class_rank, inversions};
use crate::judge::{Judged, both_zero, judge_counts, judge_data};
use crate::row::{Count, Flag, Reason, Row, Verdict};
use crate::{Arm, Averaged};

/// Value of a column in the row that takes all cells of a count together.
const ALL: &str = "all";

/// What a person may say about a comparison.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Which way is better, by metric or by a pattern with `*`; goes before what the files say.
    pub better: Vec<(String, Better)>,
    /// The thresholds.
    pub policy: Policy,
    /// Series whose runs are averages of what one file repeats; see [`crate::Gather`].
    pub averaged: Averaged,
}

/// Everything about two or more arms.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Label of the baseline.
    pub baseline: String,
    /// Labels of the candidates.
    pub candidates: Vec<String>,
    /// The thresholds.
    pub policy: Policy,
    /// A row for each candidate, cell and metric that both have; candidate by candidate, in the order
    /// of the baseline.
    pub rows: Vec<Row>,
    /// What only one side has.
    pub unpaired: Vec<Unpaired>,
    /// Metrics of which nobody said which way is better; their rows are not judged.
    pub direction_unknown: Vec<String>,
    /// Metrics that describe a run and have no better side; they have no rows.
    pub describing: Vec<String>,
    /// Pairs that are 0 on both sides; they have no rows.
    pub zero: u64,
    /// Rows by verdict.
    pub counts: Counts,
}

/// A series without a partner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpaired {
    /// The label that has it.
    pub label: String,
    /// Its cell.
    pub cell: BTreeMap<String, String>,
    /// Its metric.
    pub metric: String,
}

/// Rows by verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Regressions, of the level and of the spread.
    pub regressions: u64,
    /// Improvements.
    pub improvements: u64,
    /// No change that matters.
    pub no_change: u64,
    /// More runs could tell.
    pub inconclusive: u64,
    /// Too noisy, or two modes.
    pub unstable: u64,
    /// Nothing about noise is known.
    pub no_test: u64,
    /// Values that cannot be.
    pub invalid: u64,
}

/// The answer to "is it worse?", for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is suspected to be worse.
    NothingWorse,
    /// Something is.
    Worse,
    /// No row had anything to test.
    NothingJudged,
}

/// A direction given for a metric that does not exist. Completes "failed to ...".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("find the metric `{name}` of --better, there are: {}", .there_are.join(", "))]
pub struct NoSuchMetric {
    /// What was given.
    pub name: String,
    /// Metrics that there are, the first of them.
    pub there_are: Vec<String>,
}

/// Metrics listed in an error: a page of names helps nobody.
const MAX_LISTED: usize = 30;

/// Compares each candidate with the base.
///
/// # Errors
/// [`NoSuchMetric`], for a direction that belongs to nothing.
pub fn compare(base: Arm, candidates: Vec<Arm>, options: &Options) -> Result<Comparison, NoSuchMetric> {
    let base = Arm { series: inversions(base.series), ..base };
    let candidates: Vec<Arm> = candidates.into_iter().map(|arm| Arm { series: inversions(arm.series), ..arm }).collect();
    check_names(&base, &candidates, options)?;
    let mut out = Collected::default();
    for candidate in &candidates {
        pair(&base, candidate, options, &mut out);
    }
    let Collected { mut rows, unpaired, unknown, describing, zero } = out;
    adjust(&mut rows);
    Ok(Comparison {
        baseline: base.label,
        candidates: candidates.into_iter().map(|arm| arm.label).collect(),
        policy: options.policy,
        counts: Counts::of(&rows),
        rows,
        unpaired,
        direction_unknown: unknown.into_iter().collect(),
        describing: describing.into_iter().collect(),
        zero,
    })
}

/// What all arms have of one metric of one cell, for whoever keeps the values instead of judging them.
#[derive(Debug, Clone, PartialEq)]
pub struct Aligned {
    /// The cell.
    pub cell: BTreeMap<String, String>,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// The base first, then the candidates; none where an arm has nothing.
    pub arms: Vec<Option<Data>>,
}

/// Lays series of all arms side by side, and says in words what had to be left out.
///
/// # Errors
/// [`NoSuchMetric`], for a direction that belongs to nothing.
pub fn align(base: &Arm, candidates: &[Arm], options: &Options) -> Result<(Vec<Aligned>, Vec<String>), NoSuchMetric> {
    check_names(base, candidates, options)?;
    let (mut aligned, mut out, mut alone) = (Vec::new(), Vec::new(), 0);
    let of_arms: Vec<_> = candidates.iter().map(by_key).collect();
    for series in &base.series {
        let partners: Vec<Option<&Series>> = of_arms.iter().map(|arm| arm.get(&key(series)).copied()).collect();
        let mut direction_of = Direction::Unknown;
        for partner in partners.iter().flatten() {
            direction_of = direction(series, partner, options);
        }
        let is_order = series.metric == FINISH_ORDER && series.cell.get(IO_CLASS).is_some_and(|class| class_rank(class).is_some());
        if is_order {
            // A place says nothing by itself; whoever keeps it counts who overtook whom.
            direction_of = Direction::Known(Better::Lower);
        }
        let is_event = series.unit == EVENT;
        let units_differ = partners.iter().flatten().any(|partner| partner.unit != series.unit);
        match direction_of {
            _ if partners.iter().all(Option::is_none) => alone += 1,
            _ if is_event => out.push(format!("{}: a count, which `blklab compare` judges", series.metric)),
            _ if units_differ => out.push(format!("{}: in different units", series.metric)),
            Direction::Known(better) => aligned.push(Aligned {
                cell: series.cell.clone(),
                metric: series.metric.clone(),
                unit: series.unit.clone(),
                better,
                arms: std::iter::once(Some(series.data.clone())).chain(partners.into_iter().map(|one| Some(one?.data.clone()))).collect(),
            }),
            Direction::None => out.push(format!("{}: it describes the run", series.metric)),
            Direction::Unknown | Direction::Differ => {
                out.push(format!("{}: which way is better is not known; give --better '{0}=higher' or =lower", series.metric));
            }
        }
    }
    // The same of every cell is said once.
    let out: BTreeSet<String> = out.into_iter().collect();
    let mut out: Vec<String> = out.into_iter().map(|what| format!("left out: {what}")).collect();
    if alone > 0 {
        out.push(format!("left out: {alone} series of the baseline that no candidate has"));
    }
    Ok((aligned, out))
}

#[derive(Default)]
struct Collected {
    rows: Vec<Row>,
    unpaired: Vec<Unpaired>,
    unknown: BTreeSet<String>,
    describing: BTreeSet<String>,
    zero: u64,
}

fn check_names(base: &Arm, candidates: &[Arm], options: &Options) -> Result<(), NoSuchMetric> {
    let metrics: BTreeSet<&str> =
        base.series.iter().chain(candidates.iter().flat_map(|arm| &arm.series)).map(|s| s.metric.as_str()).collect();
    match options.better.iter().find(|(name, _)| !metrics.iter().any(|metric| fits(name, metric))) {
        Some((name, _)) => {
            Err(NoSuchMetric { name: name.clone(), there_are: metrics.into_iter().take(MAX_LISTED).map(str::to_owned).collect() })
        }
        None => Ok(()),
    }
}

/// What is paired: the same metric of the same cell.
type Key<'a> = (&'a BTreeMap<String, String>, &'a str);

fn key(series: &Series) -> Key<'_> {
    (&series.cell, &series.metric)
}

fn by_key(arm: &Arm) -> HashMap<Key<'_>, &Series> {
    arm.series.iter().map(|series| (key(series), series)).collect()
}

fn pair(base: &Arm, candidate: &Arm, options: &Options, out: &mut Collected) {
    let partners = by_key(candidate);
    let known: std::collections::HashSet<_> = base.series.iter().map(key).collect();
    let mut counted: Vec<Row> = Vec::new();
    for series in &base.series {
        let Some(partner) = partners.get(&key(series)) else {
            out.unpaired.push(unpaired(base, series));
            continue;
        };
        if both_zero(&series.data, &partner.data) && series.unit != EVENT {
            out.zero += 1;
            continue;
        }
        match direction(series, partner, options) {
            Direction::None => {
                out.describing.insert(series.metric.clone());
            }
            direction @ (Direction::Known(_) | Direction::Unknown | Direction::Differ) => {
                if matches!(direction, Direction::Unknown) {
                    out.unknown.insert(series.metric.clone());
                }
                let row = row(base, candidate, (series, partner), direction, options);
                if row.base.count.is_some() {
                    counted.push(row.clone());
                }
                out.rows.push(row);
            }
        }
    }
    out.rows.extend(together(&counted, options));
    let alone = candidate.series.iter().filter(|series| !known.contains(&key(series)));
    out.unpaired.extend(alone.map(|series| unpaired(candidate, series)));
}

fn unpaired(arm: &Arm, series: &Series) -> Unpaired {
    Unpaired { label: arm.label.clone(), cell: series.cell.clone(), metric: series.metric.clone() }
}

/// What is known of the direction of a pair.
enum Direction {
    Known(Better),
    /// It describes the run.
    None,
    Unknown,
    /// The two sides contradict each other.
    Differ,
}

fn direction(base: &Series, candidate: &Series, options: &Options) -> Direction {
    if let Some((_, better)) = options.better.iter().rev().find(|(name, _)| fits(name, &base.metric)) {
        return Direction::Known(*better);
    }
    match (base.better, candidate.better) {
        (Some(Said::Higher), Some(Said::Higher) | None) | (None, Some(Said::Higher)) => Direction::Known(Better::Higher),
        (Some(Said::Lower), Some(Said::Lower) | None) | (None, Some(Said::Lower)) => Direction::Known(Better::Lower),
        (Some(Said::Neither), Some(Said::Neither) | None) | (None, Some(Said::Neither)) => Direction::None,
        (None, None) => Direction::Unknown,
        (Some(_), Some(_)) => Direction::Differ,
    }
}

fn row(base: &Arm, candidate: &Arm, (series, partner): (&Series, &Series), direction: Direction, options: &Options) -> Row {
    let untested = |verdict, reason| Judged::untested(&series.data, &partner.data, verdict, reason);
    let (better, judged) = match direction {
        _ if series.unit != partner.unit => (None, untested(Verdict::Invalid, Reason::UnitsDiffer { candidate: partner.unit.clone() })),
        Direction::Known(better) => (Some(better), judge_data(&series.data, &partner.data, &series.unit, better, &options.policy)),
        Direction::Unknown | Direction::None => (None, untested(Verdict::NoTest, Reason::DirectionUnknown)),
        Direction::Differ => (None, untested(Verdict::Invalid, Reason::DirectionsDiffer)),
    };
    let mut row = assembled((base.label.clone(), candidate.label.clone()), series, better, judged);
    if !options.averaged.is_empty() && options.averaged.contains(&(row.cell.clone(), row.metric.clone())) {
        row.flags.push(Flag::AveragedInFiles);
        row.flags.sort_unstable();
    }
    row
}

fn assembled((base, candidate): (String, String), series: &Series, better: Option<Better>, judged: Judged) -> Row {
    let stage = judged.stage();
    let mut row = Row {
        cell: series.cell.clone(),
        metric: series.metric.clone(),
        unit: series.unit.clone(),
        better,
        base: judged.base,
        candidate: judged.candidate,
        basis: judged.basis,
        shift: judged.shift,
        ci95: judged.ci95,
        p: judged.p,
        p_adjusted: None,
        smallest_detectable_pct: judged.smallest_detectable_pct,
        flags: judged.flags,
        verdict: judged.verdict,
        stage,
        reason: judged.reason,
        more_rounds: judged.more_rounds,
    };
    (row.base.label, row.candidate.label) = (base, candidate);
    row
}

/// Counts of all cells of a metric together: few events in each cell may be many in all.
fn together(counted: &[Row], options: &Options) -> Vec<Row> {
    let metrics: BTreeSet<&str> = counted.iter().map(|row| row.metric.as_str()).collect();
    let all = metrics.into_iter().filter_map(|metric| {
        let rows: Vec<&Row> = counted.iter().filter(|row| row.metric == metric).collect();
        let [first, _, ..] = rows.as_slice() else { return None };
        let better = first.better.filter(|better| rows.iter().all(|row| row.better == Some(*better)))?;
        let sum = |of: fn(&Row) -> Option<Count>| {
            let counts = rows.iter().filter_map(|row| of(row));
            counts.fold(Count { happened: 0, of: 0 }, |a, b| Count { happened: a.happened + b.happened, of: a.of + b.of })
        };
        let judged = judge_counts(sum(|row| row.base.count), sum(|row| row.candidate.count), better, &options.policy);
        let columns: BTreeSet<&String> = rows.iter().flat_map(|row| row.cell.keys()).collect();
        let value = |column: &String| {
            let values: BTreeSet<Option<&String>> = rows.iter().map(|row| row.cell.get(column)).collect();
            match values.first() {
                Some(Some(only)) if values.len() == 1 => (*only).clone(),
                Some(_) | None => ALL.to_owned(),
            }
        };
        let cell = columns.into_iter().map(|column| (column.clone(), value(column))).collect();
        let series = Series {
            label: None,
            cell,
            metric: first.metric.clone(),
            unit: first.unit.clone(),
            better: None,
            data: Data::Values(Vec::new()),
        };
        Some(assembled((first.base.label.clone(), first.candidate.label.clone()), &series, Some(better), judged))
    });
    all.collect()
}

/// Does a name with `*` for any text fit?
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|name| {
            rest.is_empty() || (0..=name.len()).filter(|at| name.is_char_boundary(*at)).any(|at| fits(rest, &name[at..]))
        }),
    }
}

fn adjust(rows: &mut [Row]) {
    let raw: Vec<f64> = rows.iter().filter_map(|row| row.p).collect();
    let Ok(adjusted) = bh(&raw) else { return };
    let tested = rows.iter_mut().filter(|row| row.p.is_some());
    for (row, p) in tested.zip(adjusted) {
        row.p_adjusted = Some(p);
    }
}

impl Comparison {
    /// Is it worse?
    pub fn outcome(&self) -> Outcome {
        match self.counts {
            Counts { regressions: 1.., .. } => Outcome::Worse,
            counts if counts.tested() > 0 => Outcome::NothingWorse,
            _ => Outcome::NothingJudged,
        }
    }
}

impl Counts {
    fn of(rows: &[Row]) -> Counts {
        let mut counts = Counts::default();
        for row in rows {
            *match row.verdict {
                Verdict::Regression | Verdict::VarianceRegression => &mut counts.regressions,
                Verdict::Improvement => &mut counts.improvements,
                Verdict::NoChange => &mut counts.no_change,
                Verdict::Inconclusive => &mut counts.inconclusive,
                Verdict::Unstable => &mut counts.unstable,
                Verdict::NoTest => &mut counts.no_test,
                Verdict::Invalid => &mut counts.invalid,
            } += 1;
        }
        counts
    }

    /// Rows that had something to test.
    pub fn tested(&self) -> u64 {
        self.regressions + self.improvements + self.no_change + self.inconclusive + self.unstable
    }

    /// All rows.
    pub fn total(&self) -> u64 {
        self.tested() + self.no_test + self.invalid
    }
}
