//! A comparison of results that exist already, as text, JSON, CSV and one self-contained page. Knows the [`Comparison`] and what was
//! read for it; knows nothing of files or of the lab.

pub mod csv;
pub mod html;
pub mod json;
pub mod text;

mod reading;
mod row;

use std::collections::BTreeSet;

use blklab_compare::{Comparison, Row};

pub(crate) use row::View;

/// A comparison with what it was made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Existing {
    /// The comparison.
    pub comparison: Comparison,
    /// What was read, in words: `base`, `10 files of fio-json from base/`.
    pub sources: Vec<(String, String)>,
    /// What was odd about it.
    pub warnings: Vec<String>,
}

impl Existing {
    /// The rows, those that need action first.
    pub(crate) fn by_severity(&self) -> Vec<View<'_>> {
        let mut rows: Vec<View<'_>> = self.views().collect();
        rows.sort_by(|a, b| {
            let size = |view: &View<'_>| view.row.shift.map_or(0.0, f64::abs);
            a.row.verdict.cmp(&b.row.verdict).then(size(b).total_cmp(&size(a)))
        });
        rows
    }

    /// The rows in their order.
    pub(crate) fn views(&self) -> impl Iterator<Item = View<'_>> {
        let columns = self.telling_columns();
        self.comparison.rows.iter().map(move |row| View::new(row, &self.comparison, &columns))
    }

    /// Columns of cells whose values differ between rows: only these tell cells apart.
    pub(crate) fn telling_columns(&self) -> BTreeSet<String> {
        let rows = &self.comparison.rows;
        let differs = |column: &&String| rows.iter().any(|row| row.cell.get(*column) != rows[0].cell.get(*column));
        rows.iter().flat_map(|row| row.cell.keys()).filter(differs).cloned().collect()
    }

    /// Columns of cells that have the same value everywhere, with it.
    pub(crate) fn common_cell(&self) -> Vec<(String, String)> {
        let telling = self.telling_columns();
        let Some(first) = self.comparison.rows.first() else { return Vec::new() };
        first.cell.iter().filter(|(column, _)| !telling.contains(*column)).map(|(c, v)| (c.clone(), v.clone())).collect()
    }

    /// The verdict in one sentence. A single look can only suspect; it says so.
    pub fn headline(&self) -> String {
        let Comparison { counts, baseline, candidates, .. } = &self.comparison;
        let (all, against) = (counts.total(), format!("{} against {baseline}", list(candidates)));
        let of_all = format!("{all} {}", plural(all, "comparison"));
        let open = counts.inconclusive + counts.unstable + counts.no_test + counts.invalid;
        let rest = if open == 0 { String::new() } else { format!("; {open} cannot be told") };
        match (counts.regressions, counts.improvements) {
            (0, 0) if all == 0 => format!("Nothing to compare: {against} have no metric of a cell in common."),
            (0, 0) if counts.tested() == 0 => format!("No verdict: {against}, {}.", self.nothing_tested()),
            (0, 0) if open == 0 => format!("No change in {of_all}: {against}."),
            (0, 0) => format!("No change shown: {against}, {} unchanged of {of_all}{rest}.", counts.no_change),
            (0, i) => format!("Improvement suspected in {i} of {of_all}, no regression: {against}{rest}."),
            (r, 0) => format!("Regression suspected in {r} of {of_all}: {against}{rest}."),
            (r, i) => format!("Regression suspected in {r} of {of_all}, improvement in {i}: {against}{rest}."),
        }
    }

    /// Why no row had anything to test: what most of them say.
    fn nothing_tested(&self) -> &'static str {
        use blklab_compare::Reason as R;
        let count = |fits: fn(&Row) -> bool| self.comparison.rows.iter().filter(|row| fits(row)).count();
        let kinds = [
            (count(|row| matches!(row.reason, R::MeansOnly { .. })), "only means are known"),
            (count(|row| matches!(row.reason, R::TooFewRuns { .. })), "a side has a single run"),
            (count(|row| matches!(row.reason, R::DirectionUnknown)), "which way is better is not known"),
        ];
        let most = kinds.into_iter().max_by_key(|(count, _)| *count).filter(|(count, _)| *count > 0);
        most.map_or("no values that can be judged", |(_, why)| why)
    }
}

/// False alarms to be expected if nothing had changed.
pub(crate) fn expected_false_alarms(comparison: &Comparison) -> f64 {
    comparison.counts.tested() as f64 * comparison.policy.alpha
}

fn plural(n: u64, word: &str) -> String {
    if n == 1 { word.to_owned() } else { format!("{word}s") }
}

/// `a`, `a and b`, `a, b and 5 more`.
fn list(labels: &[String]) -> String {
    match labels {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, second, rest @ ..] => format!("{first}, {second} and {} more", rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use blklab_compare::{Arm, Options, compare};
    use blklab_parse::Better;
    use blklab_parse::results::{Data, Repetition, Series, Summary};
    use proptest::prelude::*;

    use super::*;
    use crate::render::plain::COLUMNS;

    fn values(values: &[f64]) -> Data {
        Data::Values(values.iter().map(|value| Repetition { value: *value, round: None }).collect())
    }

    /// Something of every verdict; `label` stands wherever files may say anything.
    fn existing(label: &str) -> Existing {
        let even = [100.0, 101.0, 100.5, 101.5, 100.2, 101.2, 100.7, 101.7, 100.4, 101.4];
        let scaled = |factor: f64| values(&even.map(|v| v * factor));
        let wild = [100.0, 300.0, 90.0, 410.0, 150.0, 500.0, 80.0, 220.0, 330.0, 120.0];
        let means = |mean: f64| Data::Summary(Summary { n: Some(3), mean, sd: None, min: None, max: None });
        let pairs = [
            ("worse", "s", scaled(1.0), scaled(1.3)),
            ("better", "s", scaled(1.0), scaled(0.7)),
            ("same", "s", scaled(1.0), scaled(1.0)),
            ("open", "s", values(&wild[..4]), values(&wild[3..7])),
            ("noisy", "s", values(&wild), values(&wild.map(|v| v * 1.1))),
            ("single", "s", values(&[1.0]), values(&[2.0])),
            ("means", "s", means(1.0), means(2.0)),
            ("below zero", "s", values(&[-1.0, -2.0]), values(&[1.0, 2.0])),
            ("modes", "s", values(&[235.0, 238.0, 237.0, 237.0]), values(&[236.0, 126.0, 231.0, 119.0])),
            ("events", "event", values(&[0.0; 8]), values(&[1.0; 8])),
            (label, "furlong", scaled(1.0), scaled(1.0)),
        ];
        let series = |metric: &str, unit: &str, data: &Data| Series {
            label: None,
            cell: BTreeMap::from([(label.to_owned(), label.to_owned()), ("disk".to_owned(), metric.to_owned())]),
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            better: (unit != "furlong").then_some(Better::Lower),
            data: data.clone(),
        };
        let mut base: Vec<Series> = pairs.iter().map(|(metric, unit, data, _)| series(metric, unit, data)).collect();
        base.push(series("alone", "s", &values(&[1.0])));
        let candidate = pairs.iter().map(|(metric, unit, _, data)| series(metric, unit, data)).collect();
        let arm = |series| Arm { label: label.to_owned(), series };
        let comparison = compare(arm(base), vec![arm(candidate)], &Options::default()).unwrap();
        Existing {
            comparison,
            sources: vec![("base from".to_owned(), label.to_owned())],
            warnings: vec![label.to_owned(), "b:3: odd".to_owned()],
        }
    }

    #[test]
    fn something_of_everything_as_text() {
        insta::assert_snapshot!(text::render(&existing("the label")));
    }

    #[test]
    fn something_of_everything_as_json() {
        insta::assert_snapshot!(json::render(&existing("the label")).unwrap());
    }

    #[test]
    fn a_row_for_each_comparison_in_csv() {
        let text = csv::render(&existing("the label"));
        let columns: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        assert_eq!(text.lines().count(), 12);
        for column in ["base_label", "candidate_sd", "change_pct", "verdict", "stage", "more_rounds"] {
            assert!(columns.contains(&column), "{columns:?}");
        }
    }

    #[test]
    fn the_page_needs_nothing_else_and_runs_nothing() {
        let page = html::render(&existing("\"><script>alert(1)</script><img src=x onerror=alert(1)>")).unwrap();
        assert!(!page.contains("<script") && !page.contains("<img"), "markup from a file");
        assert!(!page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org/2000/svg").count());
        assert!(!page.contains("https://") && !page.contains("url(") && !page.contains("@import"));
        assert!(page.contains("&#60;script&#62;") || page.contains("&lt;script&gt;"));
        assert!(page.contains("Content-Security-Policy"));
    }

    #[test]
    fn every_open_row_has_a_reason_and_every_one_but_invalid_a_remedy() {
        for view in existing("x").views() {
            let reason = reading::reason(&view);
            assert!(!reason.is_empty(), "{:?}", view.row);
            let open = matches!(view.word().tone, crate::render::word::Tone::Open | crate::render::word::Tone::Unstable);
            assert!(!open || !reading::remedy(&view).is_empty(), "{reason}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_label_leaves_the_page(label in "\\PC{0,100}") {
            for line in text::render(&existing(&label)).lines() {
                prop_assert!(line.is_ascii() && line.len() <= COLUMNS && !line.contains('\t'), "{line:?}");
            }
        }

        #[test]
        fn no_label_becomes_markup(label in "[<>\"'&a-z=/! -]{0,40}") {
            let elements = |label: &str| {
                let page = html::render(&existing(label)).unwrap();
                let (_, body) = page.split_once("</style>").unwrap();
                (body.matches('<').count(), body.matches('>').count(), body.matches('"').count())
            };
            prop_assert_eq!(elements(&format!("x{label}")), elements("x"));
        }
    }
}
