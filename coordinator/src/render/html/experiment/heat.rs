//! The heat map as a table: workloads and metrics down, classes of disks and candidates across, a glyph, a word and a change in each
//! field. A table, not a picture: every field is a link, and it can be read aloud.

use blklab_model::report::Report;

use crate::render::compared::Compared;
use crate::render::number::change;
use crate::render::word::{Tone, Word};

/// Rows of the map; beyond it only those that need action are shown.
const MAX_ROWS: usize = 120;

/// Changes from so many smallest effects that matter on get a stronger colour.
const STRONG: f64 = 3.0;

/// The map.
pub(super) struct Heat {
    pub(super) columns: Vec<ClassColumn>,
    pub(super) places: Vec<Place>,
    pub(super) hidden: usize,
    /// Class, glyph and word of each tone that is there, and how often.
    pub(super) legend: Vec<(&'static str, char, &'static str, usize)>,
    /// Fields of a row.
    pub(super) width: usize,
    /// One candidate needs no row of headings.
    pub(super) several: bool,
}

/// A class of disks with the candidates measured on it.
pub(super) struct ClassColumn {
    pub(super) class: String,
    pub(super) candidates: Vec<String>,
}

/// The rows of one workload (and whatever else tells its cells from others).
pub(super) struct Place {
    pub(super) name: String,
    pub(super) rows: Vec<Row>,
}

pub(super) struct Row {
    pub(super) metric: String,
    /// `↑` or `↓`: which way is better, in words for those who do not see it.
    pub(super) better: (&'static str, &'static str),
    pub(super) role: &'static str,
    pub(super) fields: Vec<Option<Field>>,
}

pub(super) struct Field {
    pub(super) url: String,
    pub(super) class: &'static str,
    pub(super) strong: bool,
    pub(super) glyph: char,
    pub(super) word: &'static str,
    pub(super) change: String,
    pub(super) title: String,
}

impl Heat {
    /// Lays out `rows`, which stand in the order of the report.
    pub(super) fn new(report: &Report, rows: &[Compared<'_>]) -> Heat {
        let columns = columns(report, rows);
        let width = columns.iter().map(|column| column.candidates.len()).sum();
        let mut places: Vec<Place> = Vec::new();
        for row in rows {
            let at = columns.iter().position(|column| column.class == row.cell.disk_class.as_str());
            let column = at.and_then(|at| {
                let within = columns[at].candidates.iter().position(|candidate| *candidate == row.of.candidate)?;
                Some(columns[..at].iter().map(|column| column.candidates.len()).sum::<usize>() + within)
            });
            if let Some(column) = column {
                line(&mut places, row, width).fields[column] = Some(Field::new(row));
            }
        }
        let all: usize = places.iter().map(|place| place.rows.len()).sum();
        if all > MAX_ROWS {
            keep_what_needs_action(&mut places);
        }
        let shown: usize = places.iter().map(|place| place.rows.len()).sum();
        let count = |tone: Tone| rows.iter().filter(|row| row.word().tone == tone).count();
        Heat {
            several: report.candidates.len() > 1,
            columns,
            places,
            width,
            hidden: all - shown,
            legend: Tone::ALL
                .map(|tone| (tone.class(), tone.glyph(), tone.word(), count(tone)))
                .into_iter()
                .filter(|entry| entry.3 > 0)
                .collect(),
        }
    }
}

impl Field {
    fn new(row: &Compared<'_>) -> Field {
        let Word { tone, long, short, .. } = row.word();
        let change = row.change_pct().map_or_else(String::new, change);
        let title = format!(
            "{} on {}, {} of {}: {long} {change} {}",
            row.place(),
            row.cell.disk_class,
            row.of.metric,
            row.of.candidate,
            row.interval_text()
        );
        Field {
            url: format!("/experiments/{}/cells/{}", row.cell.id.experiment, row.cell.id.cell),
            class: tone.class(),
            strong: row.times_the_smallest_effect() >= STRONG,
            glyph: tone.glyph(),
            word: short,
            change,
            title,
        }
    }
}

/// Classes in the order of the report, each with the candidates that were measured on it, in the order of the file.
fn columns(report: &Report, rows: &[Compared<'_>]) -> Vec<ClassColumn> {
    let mut columns: Vec<ClassColumn> = Vec::new();
    for row in rows {
        let class = row.cell.disk_class.as_str();
        if !columns.iter().any(|column| column.class == class) {
            let measured = |candidate: &&String| rows.iter().any(|r| r.cell.disk_class.as_str() == class && r.of.candidate == **candidate);
            let candidates = report.candidates.iter().filter(measured).cloned().collect();
            columns.push(ClassColumn { class: class.to_owned(), candidates });
        }
    }
    columns
}

/// The row that a comparison belongs to, made if it is the first of it.
fn line<'a>(places: &'a mut Vec<Place>, row: &Compared<'_>, width: usize) -> &'a mut Row {
    let name = row.place();
    let at = places.iter().position(|place| place.name == name).unwrap_or_else(|| {
        places.push(Place { name, rows: Vec::new() });
        places.len() - 1
    });
    let rows = &mut places[at].rows;
    let at = rows.iter().position(|known| known.metric == row.of.metric).unwrap_or_else(|| {
        rows.push(Row {
            metric: row.of.metric.clone(),
            better: match row.of.better {
                blklab_stats::Better::Higher => ("↑", "higher is better"),
                blklab_stats::Better::Lower => ("↓", "lower is better"),
            },
            role: match row.of.role {
                blklab_model::workload::metric::Role::Primary => "primary",
                blklab_model::workload::metric::Role::Background => "background",
                blklab_model::workload::metric::Role::Explaining => "explaining",
            },
            fields: std::iter::repeat_with(|| None).take(width).collect(),
        });
        rows.len() - 1
    });
    &mut rows[at]
}

/// Rows in which nothing changed go first.
fn keep_what_needs_action(places: &mut Vec<Place>) {
    let quiet = |row: &Row| row.fields.iter().flatten().all(|field| field.class == Tone::Same.class());
    let mut left = MAX_ROWS;
    for place in &mut *places {
        place.rows.retain(|row| !quiet(row));
        place.rows.truncate(left);
        left -= place.rows.len();
    }
    places.retain(|place| !place.rows.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::compared::counted;
    use crate::render::testing;
    use blklab_model::matrix::CellKind;

    #[test]
    fn one_field_for_each_comparison_that_counts() {
        let report = testing::schedulers();
        let rows: Vec<_> = counted(&report, CellKind::Compare).collect();
        let heat = Heat::new(&report, &rows);
        let fields = heat.places.iter().flat_map(|place| &place.rows).flat_map(|row| &row.fields).flatten().count();
        assert_eq!(fields, rows.len());
        assert_eq!(heat.columns.iter().map(|c| c.class.as_str()).collect::<Vec<_>>(), ["sata-hdd", "fc-array", "ssd"]);
        assert_eq!(heat.columns[0].candidates, ["mq-deadline", "kyber", "bfq"]);
        assert_eq!(heat.hidden, 0);
    }

    #[test]
    fn a_map_too_long_to_be_read_shows_what_needs_action() {
        let mut report = testing::schedulers();
        let cells = report.cells.clone();
        for copy in 1..24 {
            report.cells.extend(cells.iter().cloned().map(|mut cell| {
                cell.labels.insert("copy".into(), copy.to_string());
                cell
            }));
        }
        let rows: Vec<_> = counted(&report, CellKind::Compare).collect();
        let heat = Heat::new(&report, &rows);
        let shown: Vec<&Row> = heat.places.iter().flat_map(|place| &place.rows).collect();
        assert!(shown.len() <= MAX_ROWS && heat.hidden > 0);
        assert!(shown.iter().all(|row| row.fields.iter().flatten().any(|field| field.class != "same")));
    }
}
