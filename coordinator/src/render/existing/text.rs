//! The comparison as a reply on a mailing list: verdict first, the worst changes, then what could not be told and why. At most 72
//! columns of ASCII.

use std::fmt::Write as _;

use blklab_compare::{Basis, Flag, Reason, Verdict};
use blklab_stats::Better;

use super::{Existing, View, expected_false_alarms, reading};
use crate::render::number::{Scale, expected, percent};
use crate::render::plain::{Align, ascii, paragraph, table};
use crate::render::word::Tone;

/// Rows of changes: a longer reply is not read.
pub const MAX_CHANGES: usize = 8;

/// Rows of the others: a screen of a terminal.
const MAX_OTHERS: usize = 24;

/// Sentences for each kind of row that got no clear verdict.
const MAX_REASONS: usize = 3;

/// Warnings and series without partner that are spelled out.
const MAX_NOTES: usize = 3;

/// The comparison as text.
pub fn render(existing: &Existing) -> String {
    let rows = existing.by_severity();
    let (changed, others): (Vec<&View<'_>>, Vec<&View<'_>>) =
        rows.iter().partition(|view| matches!(view.word().tone, Tone::Worse | Tone::Better));
    let changes = tables(existing, &changed, MAX_CHANGES);
    let others = tables(existing, &others, MAX_OTHERS);
    let parts = [head(existing), changes, others, legend(&rows), open(existing, &rows), notes(existing)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn head(existing: &Existing) -> String {
    let comparison = &existing.comparison;
    let mut out = paragraph("Verdict: ", &existing.headline());
    out.push('\n');
    let line = |word: &str, text: &str| match ascii(word) {
        word if word.len() <= 10 => paragraph(&format!("  {word:<10} "), text),
        // A column of a table may be called anything.
        word => paragraph("  ", &format!("{word}: {text}")),
    };
    out.push_str(&line("base", &comparison.baseline));
    for candidate in &comparison.candidates {
        out.push_str(&line("candidate", candidate));
    }
    for (what, from) in &existing.sources {
        out.push_str(&line(what, from));
    }
    for (column, value) in existing.common_cell() {
        out.push_str(&line(&column, &value));
    }
    out
}

/// A table for each metric, in the order in which each first comes, of the first `most` rows.
fn tables(existing: &Existing, rows: &[&View<'_>], most: usize) -> String {
    let shown = &rows[..rows.len().min(most)];
    let many = existing.comparison.candidates.len() > 1;
    let places = shown.iter().any(|view| !view.place.is_empty());
    let mut groups: Vec<Vec<&View<'_>>> = Vec::new();
    for view in shown {
        let alike = |group: &&mut Vec<&View<'_>>| {
            let (a, b) = (group[0].row, view.row);
            a.metric == b.metric && a.unit == b.unit && (a.basis == Basis::Events) == (b.basis == Basis::Events)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(view),
            None => groups.push(vec![view]),
        }
    }
    // Many metrics of one row each would be more headings than rows.
    let tables: Vec<String> = if groups.len() > 2 && groups.len() * 2 > shown.len() {
        vec![mixed_table(shown, many)]
    } else {
        groups.iter().map(|group| one_table(group, many, places)).collect()
    };
    let mut out = tables.join("\n");
    if rows.len() > shown.len() {
        let _ = writeln!(out, "  and {} more: --format csv, json or html", rows.len() - shown.len());
    }
    out
}

fn one_table(group: &[&View<'_>], many: bool, places: bool) -> String {
    let row = group[0].row;
    let values = group.iter().flat_map(|view| [&view.row.base, &view.row.candidate]).filter_map(View::typical);
    let scale = Scale::of(&row.unit, values);
    let counts = row.basis == Basis::Events;
    let unit = match scale.unit() {
        "" => String::new(),
        unit if counts || unit == row.metric => String::new(),
        unit => format!(" in {unit}"),
    };
    let better = match row.better {
        Some(Better::Lower) => "lower is better",
        Some(Better::Higher) => "higher is better",
        None => "better side not known",
    };
    // A word that all rows share stands above them: lines are short.
    let word = short(group[0]);
    let all_alike = group.len() > 1 && group.iter().all(|view| short(view) == word);
    let mut head = Vec::new();
    head.extend((!all_alike).then_some(("", Align::Left)));
    head.extend(places.then_some(("where", Align::Left)));
    head.extend(many.then_some(("candidate", Align::Left)));
    head.extend([("base", Align::Right), ("cand.", Align::Right)]);
    head.extend((!counts).then_some(("change", Align::Right)));
    head.push((if counts { "p" } else { "95% CI" }, Align::Right));
    let lines: Vec<Vec<String>> = group
        .iter()
        .map(|view| {
            let mut line = Vec::new();
            line.extend((!all_alike).then(|| short(view).to_owned()));
            line.extend(places.then(|| view.place.clone()));
            line.extend(many.then(|| view.row.candidate.label.clone()));
            line.extend(view.values(&scale));
            line.extend((!counts).then(|| view.change()));
            line.push(view.certainty());
            line
        })
        .collect();
    let word = if all_alike { format!(": {word}") } else { String::new() };
    paragraph("  ", &format!("{}{unit}, {better}{word}", row.metric)) + &table(&head, &lines, 2)
}

/// One table for rows of different metrics: each value has its unit.
fn mixed_table(rows: &[&View<'_>], many: bool) -> String {
    let word = short(rows[0]);
    let all_alike = rows.iter().all(|view| short(view) == word);
    let mut head = Vec::new();
    head.extend((!all_alike).then_some(("", Align::Left)));
    head.push(("what", Align::Left));
    head.extend(many.then_some(("candidate", Align::Left)));
    head.extend([("base", Align::Right), ("cand.", Align::Right), ("change", Align::Right), ("95% CI", Align::Right)]);
    let line = |view: &&View<'_>| {
        let what = if view.place.is_empty() { view.row.metric.clone() } else { format!("{}, {}", view.row.metric, view.place) };
        let mut line = Vec::new();
        line.extend((!all_alike).then(|| short(view).to_owned()));
        line.push(what);
        line.extend(many.then(|| view.row.candidate.label.clone()));
        let scale = view.scale();
        let unit = if view.row.basis == Basis::Events { "" } else { scale.unit() };
        line.extend(view.values(&scale).map(|value| format!("{value} {unit}").trim_end().to_owned()));
        let certainty = if view.row.basis == Basis::Events { format!("p {}", view.certainty()) } else { view.certainty() };
        line.extend([view.change(), certainty]);
        line
    };
    let heading = if all_alike { paragraph("  ", &format!("{word}:")) } else { String::new() };
    heading + &table(&head, &rows.iter().map(line).collect::<Vec<_>>(), 2)
}

/// A word of the width of a column.
fn short(view: &View<'_>) -> &'static str {
    match view.row.verdict {
        Verdict::Regression => "worse",
        Verdict::VarianceRegression => "spread",
        Verdict::Invalid => "invalid",
        Verdict::Improvement => "better",
        Verdict::Unstable => "unstable",
        Verdict::Inconclusive => "open",
        Verdict::NoTest => "no test",
        Verdict::NoChange => "same",
    }
}

/// What the columns mean, as far as they are there.
fn legend(rows: &[View<'_>]) -> String {
    let any = |fits: fn(&View<'_>) -> bool| rows.iter().any(fits);
    let mut parts = Vec::new();
    if any(|view| view.row.base.median.is_some()) {
        parts.push("medians; change by ranks with its 95% interval");
    }
    if any(|view| view.row.basis == Basis::Summaries) {
        parts.push("means where only a summary is known");
    }
    if any(|view| !view.row.is_tested() && view.certainty().starts_with("CV")) {
        parts.push("CV: noise from which on chance explains the change");
    }
    if any(|view| view.row.flags.contains(&Flag::OrderUnknown)) {
        parts.push("the run order is not known, so a change is suspected at most");
    }
    if parts.is_empty() { String::new() } else { paragraph("  ", &format!("({})", parts.join("; "))) }
}

fn open(existing: &Existing, rows: &[View<'_>]) -> String {
    let mut out = String::new();
    for verdict in [Verdict::VarianceRegression, Verdict::Unstable, Verdict::Inconclusive, Verdict::Invalid, Verdict::NoTest] {
        let of: Vec<&View<'_>> = rows.iter().filter(|view| view.row.verdict == verdict).collect();
        let Some(first) = of.first() else { continue };
        let label = format!("  {:<12} {:>3}  ", first.word().short, of.len());
        let indent = " ".repeat(label.len());
        let sentences = sentences(existing, &of);
        for (number, sentence) in sentences.iter().take(MAX_REASONS).enumerate() {
            out.push_str(&paragraph(if number == 0 { &label } else { &indent }, sentence));
        }
        if sentences.len() > MAX_REASONS {
            let _ = writeln!(out, "{indent}and {} more", sentences.len() - MAX_REASONS);
        }
    }
    let counts = existing.comparison.counts;
    if counts.tested() > 0 {
        let chance = expected(expected_false_alarms(&existing.comparison));
        let within = percent(existing.comparison.policy.delta_pct);
        let text = format!("within +-{within}, of {}; chance alone would make {chance} suspect", counts.total());
        out.push_str(&paragraph(&format!("  {:<12} {:>3}  ", "no change", counts.no_change), &text));
    }
    out
}

/// A sentence for each row; one for all rows whose numbers stand in the table already.
fn sentences(existing: &Existing, rows: &[&View<'_>]) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut means = 0;
    let mut single = 0;
    for view in rows {
        match view.row.reason {
            Reason::MeansOnly { .. } => means += 1,
            Reason::TooFewRuns { .. } => single += 1,
            // What is missing there is said once, below.
            Reason::DirectionUnknown => {}
            Reason::Changed
            | Reason::MoreSpread { .. }
            | Reason::WithinMargin
            | Reason::NotYetClear
            | Reason::AtMaxRuns
            | Reason::ZeroVariance
            | Reason::TooNoisy { .. }
            | Reason::TwoModes { .. }
            | Reason::Counted
            | Reason::DirectionsDiffer
            | Reason::UnitsDiffer { .. }
            | Reason::Invalid(_) => sentences.push(sentence(existing, view)),
        }
    }
    if means > 0 {
        sentences.push("only means are known; would settle it: the single values, or their standard deviations".to_owned());
    }
    if single > 0 {
        sentences.push("too few runs to know the noise; would settle it: at least 3 runs a side, better 5".to_owned());
    }
    sentences
}

fn sentence(existing: &Existing, view: &View<'_>) -> String {
    let many = existing.comparison.candidates.len() > 1;
    let mut words = vec![view.place.as_str()];
    words.extend(many.then_some(view.row.candidate.label.as_str()));
    words.push(&view.row.metric);
    words.retain(|word| !word.is_empty());
    let (what, why, remedy) = (words.join(" "), reading::reason(view), reading::remedy(view));
    if remedy.is_empty() { format!("{what}: {why}") } else { format!("{what}: {why}; would settle it: {remedy}") }
}

fn notes(existing: &Existing) -> String {
    let comparison = &existing.comparison;
    let mut out = String::new();
    if !comparison.direction_unknown.is_empty() {
        let metrics = comparison.direction_unknown.join(", ");
        let first = &comparison.direction_unknown[0];
        let text = format!("which way is better is not known of {metrics}; say it with --better '{first}=higher' or =lower");
        out.push_str(&paragraph("  not judged: ", &text));
    }
    if !comparison.unpaired.is_empty() {
        let one = |unpaired: &blklab_compare::Unpaired| {
            let cell: Vec<&str> = unpaired.cell.values().map(String::as_str).filter(|value| !value.is_empty()).collect();
            format!("{} {} ({} only)", cell.join(" "), unpaired.metric, unpaired.label).trim_start().to_owned()
        };
        let examples: Vec<String> = comparison.unpaired.iter().take(MAX_NOTES).map(one).collect();
        out.push_str(&counted("without a partner", comparison.unpaired.len(), &examples));
    }
    if comparison.zero > 0 {
        out.push_str(&paragraph("  ", &format!("{} pairs are 0 on both sides and left out", comparison.zero)));
    }
    if !existing.warnings.is_empty() {
        let examples: Vec<String> = existing.warnings.iter().take(MAX_NOTES).cloned().collect();
        out.push_str(&counted("warnings", existing.warnings.len(), &examples));
    }
    out
}

fn counted(what: &str, count: usize, examples: &[String]) -> String {
    let more = if count > examples.len() { format!("; and {} more", count - examples.len()) } else { String::new() };
    paragraph(&format!("  {count} {what}: "), &format!("{}{more}", examples.join("; ")))
}
