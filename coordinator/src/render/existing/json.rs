//! The comparison for programs: stable names, percent and the metric's own units, null where nothing is known.

use std::collections::BTreeMap;

use blklab_compare::{Comparison, Counts, Flag, Outcome, Row, Side, Stage, Verdict};
use blklab_stats::Better;
use serde::Serialize;

use super::{Existing, View, expected_false_alarms, reading};
use crate::render::number::NBSP;

/// Raised when a field changes its name or its meaning; new fields do not raise it.
const FORM: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    form: u32,
    headline: String,
    outcome: &'static str,
    baseline: &'a str,
    candidates: &'a [String],
    smallest_effect_pct: f64,
    alpha: f64,
    counts: CountsJson,
    expected_false_alarms: f64,
    rows: Vec<RowJson<'a>>,
    unpaired: Vec<UnpairedJson<'a>>,
    direction_unknown: &'a [String],
    describing: &'a [String],
    zero_on_both_sides: u64,
    sources: Vec<SourceJson<'a>>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct CountsJson {
    regressions: u64,
    improvements: u64,
    no_change: u64,
    inconclusive: u64,
    unstable: u64,
    no_test: u64,
    invalid: u64,
}

#[derive(Serialize)]
struct RowJson<'a> {
    cell: &'a BTreeMap<String, String>,
    metric: &'a str,
    unit: &'a str,
    better: Option<Better>,
    base: SideJson<'a>,
    candidate: SideJson<'a>,
    change_pct: Option<f64>,
    ci_low_pct: Option<f64>,
    ci_high_pct: Option<f64>,
    p: Option<f64>,
    p_adjusted: Option<f64>,
    smallest_detectable_pct: Option<f64>,
    flags: &'a [Flag],
    verdict: Verdict,
    stage: Option<Stage>,
    reason: String,
    more_rounds: Option<u64>,
}

#[derive(Serialize)]
struct SideJson<'a> {
    label: &'a str,
    n: Option<u64>,
    min: Option<f64>,
    mean: Option<f64>,
    median: Option<f64>,
    max: Option<f64>,
    sd: Option<f64>,
    cv: Option<f64>,
}

#[derive(Serialize)]
struct UnpairedJson<'a> {
    label: &'a str,
    cell: &'a BTreeMap<String, String>,
    metric: &'a str,
}

#[derive(Serialize)]
struct SourceJson<'a> {
    what: &'a str,
    from: &'a str,
}

/// The document, on many lines.
///
/// # Errors
/// None that data can cause: every number in it is finite.
pub fn render(existing: &Existing) -> serde_json::Result<String> {
    let comparison = &existing.comparison;
    let Comparison { baseline, candidates, policy, unpaired, direction_unknown, describing, zero, .. } = comparison;
    let document = Document {
        form: FORM,
        headline: plain(&existing.headline()),
        outcome: match comparison.outcome() {
            Outcome::NothingWorse => "nothing_worse",
            Outcome::Worse => "worse",
            Outcome::NothingJudged => "nothing_judged",
        },
        baseline,
        candidates,
        smallest_effect_pct: policy.delta_pct,
        alpha: policy.alpha,
        counts: counts(comparison.counts),
        expected_false_alarms: expected_false_alarms(comparison),
        rows: existing.views().map(|view| row(&view)).collect(),
        unpaired: unpaired.iter().map(|one| UnpairedJson { label: &one.label, cell: &one.cell, metric: &one.metric }).collect(),
        direction_unknown,
        describing,
        zero_on_both_sides: *zero,
        sources: existing.sources.iter().map(|(what, from)| SourceJson { what, from }).collect(),
        warnings: &existing.warnings,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

fn counts(counts: Counts) -> CountsJson {
    let Counts { regressions, improvements, no_change, inconclusive, unstable, no_test, invalid } = counts;
    CountsJson { regressions, improvements, no_change, inconclusive, unstable, no_test, invalid }
}

fn row<'a>(view: &View<'a>) -> RowJson<'a> {
    let row: &Row = view.row;
    RowJson {
        cell: &row.cell,
        metric: &row.metric,
        unit: &row.unit,
        better: row.better,
        base: side(&row.base),
        candidate: side(&row.candidate),
        change_pct: row.change_pct(),
        ci_low_pct: row.ci95.map(|ci| ci.low_pct()),
        ci_high_pct: row.ci95.map(|ci| ci.high_pct()),
        p: row.p,
        p_adjusted: row.p_adjusted,
        smallest_detectable_pct: row.smallest_detectable_pct,
        flags: &row.flags,
        verdict: row.verdict,
        stage: row.stage,
        reason: plain(&reading::reason(view)),
        more_rounds: row.more_rounds,
    }
}

fn side(side: &Side) -> SideJson<'_> {
    let Side { label, n, min, mean, median, max, sd, cv, .. } = side;
    SideJson { label, n: *n, min: *min, mean: *mean, median: *median, max: *max, sd: *sd, cv: *cv }
}

pub(super) fn plain(text: &str) -> String {
    text.replace(NBSP, " ")
}
