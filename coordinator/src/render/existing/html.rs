//! The comparison as one file that needs nothing else: style and plots are inside, no script runs, and it still opens in ten years.

use askama::Template;
use blklab_compare::{Basis, Flag, Side};
use blklab_stats::Better;

use super::{Existing, View, expected_false_alarms, reading};
use crate::render::html::Badge;
use crate::render::number::{Scale, expected, p_value, percent};
use crate::render::svg::{Bar, FOREST_ROWS, Numbered, Strip, Svg, forest_of, strips_of};
use crate::render::word::Tone;

/// Rows of the table: a page of more is slow and nobody reads it; CSV has them all.
const MAX_ROWS: usize = 1_000;

/// Plots of single values: each is some kilobytes.
const MAX_PLOTS: usize = 40;

/// Values of a side that are drawn; more lie on top of each other.
const MAX_MARKS: usize = 300;

/// Series without partner that are listed.
const MAX_UNPAIRED: usize = 50;

/// The page.
#[derive(Template)]
#[template(path = "existing/page.html")]
pub struct ExistingPage {
    style: &'static str,
    headline: String,
    tone: &'static str,
    glyph: char,
    facts: Vec<(String, String)>,
    tallies: Vec<Badge>,
    expected: String,
    tested: bool,
    forest: Option<Svg>,
    beyond_forest: usize,
    rows: Vec<RowLine>,
    hidden: usize,
    plots: Vec<Plot>,
    beyond_plots: usize,
    unknown: Vec<String>,
    unpaired: Vec<(String, String, String)>,
    more_unpaired: usize,
    zero: u64,
    warnings: Vec<String>,
    smallest_effect: String,
}

/// A row of the table.
struct RowLine {
    id: String,
    place: String,
    metric: String,
    better: &'static str,
    candidate: Option<String>,
    badge: Badge,
    base: Cell,
    candidate_values: Cell,
    change: String,
    interval: String,
    p: String,
    p_adjusted: String,
    detectable: String,
    reason: String,
    remedy: String,
    flags: Vec<&'static str>,
}

/// One side in a row.
struct Cell {
    value: String,
    /// `n 4, CV 3.8 %`.
    detail: String,
    /// `54.50 to 59.10`.
    range: String,
}

/// The single values of a row.
struct Plot {
    id: String,
    title: String,
    svg: Svg,
}

/// The page as text.
///
/// # Errors
/// None that data can cause: templates only fail to write, and a string takes everything.
pub fn render(existing: &Existing) -> askama::Result<String> {
    ExistingPage::new(existing).render()
}

impl ExistingPage {
    fn new(existing: &Existing) -> ExistingPage {
        let comparison = &existing.comparison;
        let views = existing.by_severity();
        let many = comparison.candidates.len() > 1;
        let rows: Vec<RowLine> = views.iter().enumerate().take(MAX_ROWS).map(|(at, view)| RowLine::new(at, view, many)).collect();
        let bars: Vec<Bar> = views.iter().enumerate().filter_map(|(at, view)| bar(at, view, many)).collect();
        let (drawn, beyond_plots) = plots(&views, many);
        let overall = overall(existing);
        let mut facts = vec![("baseline".to_owned(), comparison.baseline.clone())];
        facts.extend(comparison.candidates.iter().map(|label| ("candidate".to_owned(), label.clone())));
        facts.extend(existing.sources.iter().cloned());
        facts.extend(existing.common_cell());
        ExistingPage {
            style: include_str!("../../../assets/style.css"),
            headline: existing.headline(),
            tone: overall.class(),
            glyph: overall.glyph(),
            facts,
            tallies: tallies(existing),
            expected: expected(expected_false_alarms(comparison)),
            tested: comparison.counts.tested() > 0,
            forest: (!bars.is_empty()).then(|| forest_of(&bars)),
            beyond_forest: bars.len().saturating_sub(FOREST_ROWS),
            rows,
            hidden: views.len().saturating_sub(MAX_ROWS),
            plots: drawn,
            beyond_plots,
            unknown: comparison.direction_unknown.clone(),
            unpaired: comparison.unpaired.iter().take(MAX_UNPAIRED).map(unpaired).collect(),
            more_unpaired: comparison.unpaired.len().saturating_sub(MAX_UNPAIRED),
            zero: comparison.zero,
            warnings: existing.warnings.clone(),
            smallest_effect: percent(comparison.policy.delta_pct),
        }
    }
}

/// The tone of the whole: what needs action first.
fn overall(existing: &Existing) -> Tone {
    let counts = existing.comparison.counts;
    let tones = [
        (counts.regressions, Tone::Worse),
        (counts.improvements, Tone::Better),
        (counts.unstable, Tone::Unstable),
        (counts.inconclusive, Tone::Open),
        (counts.no_change, Tone::Same),
    ];
    tones.into_iter().find(|(count, _)| *count > 0).map_or(Tone::Untested, |(_, tone)| tone)
}

fn tallies(existing: &Existing) -> Vec<Badge> {
    let counts = existing.comparison.counts;
    let all = [
        (counts.regressions, Tone::Worse, Tone::Worse.word()),
        (counts.improvements, Tone::Better, Tone::Better.word()),
        (counts.no_change, Tone::Same, Tone::Same.word()),
        (counts.inconclusive, Tone::Open, Tone::Open.word()),
        (counts.unstable, Tone::Unstable, Tone::Unstable.word()),
        (counts.invalid, Tone::Failed, "invalid"),
        (counts.no_test, Tone::Untested, Tone::Untested.word()),
    ];
    all.into_iter().filter(|(count, _, _)| *count > 0).map(|(count, tone, word)| Badge::of(tone, format!("{word} {count}"))).collect()
}

impl RowLine {
    fn new(at: usize, view: &View<'_>, many: bool) -> RowLine {
        let row = view.row;
        let scale = view.scale();
        let [base, candidate] = view.values(&scale);
        RowLine {
            id: anchor(at),
            place: view.place.clone(),
            metric: row.metric.clone(),
            better: better(row.better),
            candidate: many.then(|| row.candidate.label.clone()),
            badge: Badge::long(&view.word()),
            base: Cell::new(&row.base, base, &scale),
            candidate_values: Cell::new(&row.candidate, candidate, &scale),
            change: row.change_pct().map_or_else(|| "-".to_owned(), crate::render::number::change),
            interval: if row.ci95.is_some() { view.interval_text() } else { String::new() },
            p: row.p.map_or_else(|| "-".to_owned(), p_value),
            p_adjusted: row.p_adjusted.map(p_value).unwrap_or_default(),
            detectable: row.smallest_detectable_pct.map_or_else(|| "-".to_owned(), percent),
            reason: reading::reason(view),
            remedy: reading::remedy(view),
            // Of all rows the page says so once.
            flags: row.flags.iter().filter(|flag| **flag != Flag::OrderUnknown).map(|flag| reading::flag(*flag)).collect(),
        }
    }
}

impl Cell {
    fn new(side: &Side, value: String, scale: &Scale) -> Cell {
        let value = match side.count {
            None if value != "-" && !scale.unit().is_empty() => format!("{value}\u{a0}{}", scale.unit()),
            None | Some(_) => value,
        };
        let mut parts = Vec::new();
        parts.extend(side.n.filter(|_| side.count.is_none()).map(|n| format!("n\u{a0}{n}")));
        parts.extend(side.cv.map(|cv| format!("CV\u{a0}{}", percent(100.0 * cv))));
        let range = match (side.min, side.max) {
            (Some(min), Some(max)) if side.n != Some(1) => format!("{} to {}", scale.number(min), scale.number(max)),
            (_, _) => String::new(),
        };
        Cell { value, detail: parts.join(", "), range }
    }
}

fn bar(at: usize, view: &View<'_>, many: bool) -> Option<Bar> {
    let row = view.row;
    Some(Bar {
        better: row.better?,
        name: title(view, many),
        href: format!("#{}", anchor(at)),
        word: view.word(),
        smallest_effect_pct: view.of.policy.delta_pct,
        // Counts have no change in per cent; the table has them.
        shift: Some(row.shift?),
        ci: row.ci95,
    })
}

/// Strip plots of the first rows that have several values, and how many more there would be.
fn plots(views: &[View<'_>], many: bool) -> (Vec<Plot>, usize) {
    let several = |view: &&View<'_>| view.row.base.values.len() > 1 && view.row.candidate.values.len() > 1;
    let of: Vec<(usize, &View<'_>)> = views.iter().enumerate().filter(|(_, view)| several(view)).collect();
    let plot = |(at, view): &(usize, &View<'_>)| {
        let row = view.row;
        let runs = |side: &Side| (0..).zip(side.values.iter().copied()).take(MAX_MARKS).collect();
        let strips = [&row.base, &row.candidate].map(|side| Strip { label: &side.label, runs: runs(side) });
        let numbered = if row.basis == Basis::Pairs { Numbered::Rounds } else { Numbered::Runs };
        let svg = strips_of(&strips, numbered, (&row.metric, &row.unit));
        Plot { id: anchor(*at), title: title(view, many), svg }
    };
    (of.iter().take(MAX_PLOTS).map(plot).collect(), of.len().saturating_sub(MAX_PLOTS))
}

/// `read-tree · elapsed`, with the candidate where there are several.
fn title(view: &View<'_>, many: bool) -> String {
    let mut words = vec![view.place.as_str()];
    words.extend(many.then_some(view.row.candidate.label.as_str()));
    words.push(&view.row.metric);
    words.retain(|word| !word.is_empty());
    words.join(" · ")
}

fn unpaired(one: &blklab_compare::Unpaired) -> (String, String, String) {
    let cell: Vec<String> = one.cell.iter().map(|(column, value)| format!("{column} {value}")).collect();
    (one.label.clone(), cell.join(", "), one.metric.clone())
}

fn better(better: Option<Better>) -> &'static str {
    match better {
        Some(Better::Lower) => "lower is better",
        Some(Better::Higher) => "higher is better",
        None => "better side not known",
    }
}

fn anchor(at: usize) -> String {
    format!("r{}", at + 1)
}
