//! The report as a reply on a mailing list: verdict first, at most [`MAX_ROWS`] changes, then what could not be judged. Knows the
//! report; knows nothing of mail.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use blklab_model::kernel::Clock;
use blklab_model::matrix::CellKind;
use blklab_model::report::{OrderComparison, Report};
use blklab_stats::Better;

use super::compared::{Compared, counted, interval};
use super::number::{Scale, expected, percent, signed};
use super::plain::{Align, paragraph, table};
use super::reading::{remedy, why_open};
use super::word::Tone;
use super::{by_class, environment, kernel, order};

/// Rows of changes: a longer reply is not read.
pub const MAX_ROWS: usize = 8;

/// Examples of each kind of comparison that got no clear verdict.
const MAX_EXAMPLES: usize = 2;

/// Characters of an example: about four lines.
const MAX_EXAMPLE_CHARS: usize = 200;

/// The report in at most 72 columns of ASCII; links begin with `base_url`.
pub fn render(report: &Report, base_url: &str) -> String {
    let mut rows: Vec<Compared<'_>> = counted(report, CellKind::Compare).collect();
    rows.sort_by(Compared::by_severity);
    let parts = [
        head(report, &rows),
        what_ran(report),
        kernel_faults(report),
        finish_orders(report),
        changes(report, &rows),
        open(report, &rows),
        links(report, base_url),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn head(report: &Report, rows: &[Compared<'_>]) -> String {
    let mut out = paragraph("Verdict: ", &report.headline);
    if let Some(sentence) = by_class::sentence(rows) {
        out.push_str(&paragraph("", &format!("By class of disks: {sentence}.")));
    }
    if let Some(sentence) = unchanged_classes(rows) {
        out.push_str(&paragraph("", &sentence));
    }
    out
}

/// The classes of disks on which nothing changed, and how small a change would have been seen.
fn unchanged_classes(rows: &[Compared<'_>]) -> Option<String> {
    let mut classes: BTreeMap<&str, Option<f64>> = BTreeMap::new();
    for row in rows {
        let unchanged = (row.word().tone == Tone::Same).then(|| row.smallest_detectable_pct()).flatten();
        let class = classes.entry(row.cell.disk_class.as_str()).or_insert(Some(0.0));
        *class = class.zip(unchanged).map(|(most, pct)| most.max(pct));
    }
    let unchanged: Vec<(&str, f64)> = classes.into_iter().filter_map(|(class, pct)| Some((class, pct?))).collect();
    let most = unchanged.iter().map(|(_, pct)| *pct).fold(0.0, f64::max);
    let names: Vec<&str> = unchanged.iter().map(|(class, _)| *class).collect();
    (!names.is_empty()).then(|| format!("No change on {} (would have shown {} or more).", list(&names), percent(most)))
}

fn what_ran(report: &Report) -> String {
    let mut out = paragraph(&format!("  {:<10} ", "base"), &report.baseline);
    out.push_str(&paragraph(&format!("  {:<10} ", candidate_word(report)), &report.candidates.join(", ")));
    if let Some(imported) = &report.imported {
        let from = imported.sources.join(", ");
        out.push_str(&paragraph(&format!("  {:<10} ", "imported"), &format!("from {from}; run order not known, so suspected at most")));
        return out;
    }
    let rounds = if report.rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", report.rounds) };
    out.push_str(&paragraph("  ", &format!("same disks, {rounds} in random order, {}", environment::in_a_phrase(report))));
    for kernel in &report.kernels {
        let of = &kernel.kernel;
        let words = format!("{}: {}, {}; {}", of.name, of.release, kernel::source(&of.source), kernel::boots(kernel));
        out.push_str(&paragraph(&format!("  {:<10} ", "kernel"), &words));
    }
    for caution in &report.cautions {
        out.push_str(&paragraph(&format!("  {:<10} ", "caution"), caution));
    }
    if let Some(runs) = kernel::runs(report) {
        out.push_str(&paragraph(&format!("  {:<10} ", "boots"), &runs));
    }
    if let Some(time) = kernel::time(report).filter(|_| !report.kernels.is_empty()) {
        out.push_str(&paragraph(&format!("  {:<10} ", "time"), &time));
    }
    if report.clock == Clock::Virtual {
        out.push_str(&paragraph(&format!("  {:<10} ", "clock"), kernel::VIRTUAL));
    }
    out
}

/// The arms in which the kernel failed, worst first; one alone is in the verdict already.
fn kernel_faults(report: &Report) -> String {
    if report.kernel_faults.len() < 2 {
        return String::new();
    }
    let mut out = paragraph("  ", "failed by the kernel, of the trials that ended:");
    for faults in report.kernel_faults.iter().take(MAX_ROWS) {
        let (failed, base) = (kernel::failed(faults), format!("{} of {} of {}", faults.base_failed, faults.base_ended, report.baseline));
        out.push_str(&paragraph("  ", &format!("{}: {failed} ({}), {base}", faults.label, faults.title())));
    }
    out
}

/// Who finished first, where a workload expects an order.
fn finish_orders(report: &Report) -> String {
    let line = |of: &OrderComparison| {
        let ((mine, base), (word, _)) = (order::counts(of), order::verdict(of));
        let (inversion, label) = (order::inversion(of), &of.candidate);
        let words = format!("{inversion}: {mine} of {label}, {base} of {}; {word} ({})", report.baseline, order::p(of));
        paragraph("  ", &words)
    };
    report.finish_orders.iter().take(MAX_ROWS).map(line).collect()
}

/// The worst [`MAX_ROWS`] changes: a small table for each workload and metric that has some, the worst of them first.
fn changes(report: &Report, rows: &[Compared<'_>]) -> String {
    let changed: Vec<&Compared<'_>> = rows.iter().filter(|row| matches!(row.word().tone, Tone::Worse | Tone::Better)).collect();
    if changed.is_empty() {
        return String::new();
    }
    // Short where the candidate has a column of its own: with its name and an interval a line is full.
    let candidate = if report.candidates.len() > 1 { "cand." } else { candidate_word(report) };
    let axis = (report.candidates.len() > 1).then(|| last_word(&report.axis));
    let mut head = vec![("", Align::Left), ("disk", Align::Left)];
    head.extend(axis.map(|axis| (axis, Align::Left)));
    head.extend([("base", Align::Right), (candidate, Align::Right), ("change", Align::Right), ("95% CI", Align::Right)]);
    let mut out = String::new();
    for group in groups(&changed[..changed.len().min(MAX_ROWS)]) {
        let scale = Scale::of(&group[0].of.unit, group.iter().filter_map(|row| row.medians()).flat_map(|(b, c)| [b, c]));
        let in_unit = if scale.unit().is_empty() { String::new() } else { format!(" in {}", scale.unit()) };
        out.push_str(&paragraph("  ", &format!("{}: {}{in_unit}, {}", group[0].place(), group[0].of.metric, better(group[0].of.better))));
        let lines: Vec<Vec<String>> = group.iter().map(|row| change_line(row, axis.is_some(), &scale)).collect();
        out.push_str(&table(&head, &lines, 2));
    }
    if let Some(more @ 1..) = changed.len().checked_sub(MAX_ROWS) {
        let _ = writeln!(out, "  and {more} more");
    }
    out.push_str(&paragraph("  ", "(medians; change from base with its 95% interval by ranks)"));
    out
}

/// Rows of the same workload and metric together, in the order in which each first comes.
fn groups<'a, 'b>(rows: &[&'b Compared<'a>]) -> Vec<Vec<&'b Compared<'a>>> {
    let mut groups: Vec<Vec<&Compared<'_>>> = Vec::new();
    for row in rows {
        let same = |group: &&mut Vec<&Compared<'_>>| group[0].place() == row.place() && group[0].of.metric == row.of.metric;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

fn change_line(row: &Compared<'_>, with_candidate: bool, scale: &Scale) -> Vec<String> {
    let word = if row.word().tone == Tone::Worse { "worse" } else { "better" };
    let mut line = vec![word.to_owned(), row.cell.disk_class.to_string()];
    if with_candidate {
        line.push(row.of.candidate.clone());
    }
    let (base, candidate) = row.medians().map_or(("-".into(), "-".into()), |(b, c)| (scale.number(b), scale.number(c)));
    let change = row.change_pct().map_or_else(|| "-".into(), |pct| format!("{}%", signed(pct)));
    line.extend([base, candidate, change, row.interval().map_or_else(|| "-".into(), |ci| interval(&ci))]);
    line
}

fn better(better: Better) -> &'static str {
    match better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
    }
}

/// What could not be judged, what failed, what is impossible, and how far all of it can be trusted.
fn open(report: &Report, rows: &[Compared<'_>]) -> String {
    let mut out = String::new();
    for tone in [Tone::Open, Tone::Unstable, Tone::Untested, Tone::Waiting] {
        let lines: Vec<String> = rows.iter().filter(|row| row.word().tone == tone).map(|row| open_line(report, row)).collect();
        out.push_str(&counted_lines(tone.word(), lines.len(), &lines));
    }
    out.push_str(&counted_lines("failed", report.trials.failed as usize, &failures(report)));
    let impossible: Vec<String> = report.impossible.iter().map(|cell| format!("{}: {}", cell.what, cell.reason)).collect();
    out.push_str(&counted_lines("impossible", impossible.len(), &impossible));
    let counts = &report.counts;
    let chance = format!("of {}; chance alone would make {} suspect", counts.total(), expected(report.expected_false_alarms));
    out.push_str(&paragraph(&label("no change", counts.no_change as usize), &chance));
    let aa = &report.aa_counts;
    if aa.total() > 0 {
        let most = expected(f64::from(aa.tested()) * report.alpha);
        let note = format!("base with itself; {} false alarms (by chance: {most})", aa.regressions + aa.improvements);
        out.push_str(&paragraph(&label("A/A", aa.total() as usize), &note));
    }
    out
}

fn open_line(report: &Report, row: &Compared<'_>) -> String {
    let what = format!("{} {} {} {}", row.cell.disk_class, row.place(), row.of.candidate, row.of.metric);
    let remedy = remedy(row);
    // While an experiment runs, more rounds come by themselves.
    if remedy.is_empty() || !report.state.is_over() {
        format!("{what}: {}", why_open(row))
    } else {
        format!("{what}: {}; would settle it: {remedy}", why_open(row))
    }
}

/// Each kind of failure once: a broken scheduler fails a hundred trials in the same way.
fn failures(report: &Report) -> Vec<String> {
    let mut kinds: Vec<(String, u32)> = Vec::new();
    for failure in report.cells.iter().flat_map(|cell| &cell.trials).filter_map(|trial| trial.failure.as_ref()) {
        let kind = format!("by the {}, {}: {}", failure.fault.word(), failure.step, failure.title());
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, times)) => *times += 1,
            None => kinds.push((kind, 1)),
        }
    }
    kinds.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    kinds.into_iter().map(|(kind, times)| format!("{times} x {kind}")).collect()
}

/// `  inconclusive   3  first example`, further ones below it, and how many are left out; nothing when there is none.
fn counted_lines(word: &str, count: usize, examples: &[String]) -> String {
    if count == 0 {
        return String::new();
    }
    let first = label(word, count);
    let indent = " ".repeat(first.len());
    let mut out = String::new();
    for (number, example) in examples.iter().take(MAX_EXAMPLES).enumerate() {
        out.push_str(&paragraph(if number == 0 { &first } else { &indent }, &shortened(example)));
    }
    if let Some(more @ 1..) = examples.len().checked_sub(MAX_EXAMPLES) {
        let _ = writeln!(out, "{indent}and {more} more");
    }
    out
}

fn label(word: &str, count: usize) -> String {
    format!("  {word:<12} {count:>3}  ")
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_EXAMPLE_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn links(report: &Report, base_url: &str) -> String {
    let base_url = base_url.trim_end_matches('/');
    let id = report.id;
    if report.imported.is_some() {
        return format!("Details    {base_url}/experiments/{id}\nMethod     {base_url}/method\n");
    }
    format!(
        "Details    {base_url}/experiments/{id}\n\
         Reproduce  {base_url}/experiments/{id}.toml\n           \
         blklab submit --seed {} {id}.toml\n\
         Method     {base_url}/method\n",
        report.seed
    )
}

/// Kernels are patched; other candidates are just that.
fn candidate_word(report: &Report) -> &'static str {
    if report.axis == "kernel" { "patched" } else { "candidate" }
}

/// `threads` of `parameters.threads`.
fn last_word(axis: &str) -> &str {
    axis.rsplit('.').next().unwrap_or(axis)
}

/// `a`, `a and b`, `a, b and c`.
fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::plain::COLUMNS;
    use crate::render::testing;
    use proptest::prelude::*;

    const URL: &str = "http://lab.example.org:8080";

    #[test]
    fn the_published_readers() {
        insta::assert_snapshot!(render(&testing::classic(), URL));
    }

    #[test]
    fn many_candidates_with_something_of_everything() {
        insta::assert_snapshot!(render(&testing::schedulers(), URL));
    }

    #[test]
    fn kernels_of_which_one_panics_and_one_never_comes_up() {
        insta::assert_snapshot!(render(&testing::kernels(), URL));
    }

    #[test]
    fn virtual_time() {
        insta::assert_snapshot!(render(&testing::virtual_time(), URL));
    }

    #[test]
    fn nothing_changed() {
        insta::assert_snapshot!(render(&testing::quiet(), URL));
    }

    #[test]
    fn under_way() {
        insta::assert_snapshot!(render(&testing::under_way(), URL));
    }

    #[test]
    fn the_verdict_is_the_first_line_and_rows_are_limited() {
        for report in testing::all() {
            let text = render(&report, URL);
            assert!(text.starts_with("Verdict: "), "{text}");
            assert!(text.lines().count() < 60, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_label_leaves_the_page(label in "\\PC{0,100}", which in 0usize..7) {
            let mut report = testing::all().swap_remove(which);
            report.headline = label.clone();
            report.baseline = label.clone();
            report.axis = label.clone();
            report.candidates.iter_mut().for_each(|candidate| *candidate = label.clone());
            for cell in &mut report.cells {
                cell.labels.values_mut().for_each(|value| *value = label.clone());
                for comparison in &mut cell.comparisons {
                    (comparison.candidate, comparison.metric, comparison.unit) = (label.clone(), label.clone(), label.clone());
                }
                for failure in cell.trials.iter_mut().filter_map(|trial| trial.failure.as_mut()) {
                    failure.message = label.clone();
                }
            }
            for line in render(&report, URL).lines() {
                prop_assert!(line.is_ascii() && line.len() <= COLUMNS && !line.contains('\t'), "{line:?}");
            }
        }
    }
}
