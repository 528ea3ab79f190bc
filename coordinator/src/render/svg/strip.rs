//! Strip plot: one row for each arm, one mark for each trial, thin lines between the trials of a round, a bar at the median.

use std::collections::BTreeMap;

use blklab_model::report::{CellReport, Series};

use super::canvas::{Anchor, Canvas, Svg};
use super::marks::{arm_class, shape, value_axis_below};
use super::scale::Scale;
use crate::render::number;

const WIDTH: f64 = 600.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = WIDTH - 16.0;
const ROW: f64 = 44.0;
const TOP: f64 = 8.0;
const BELOW: f64 = 42.0;
/// Characters of an arm's label that fit left of the plot.
const LABEL_CHARS: usize = 20;

/// One row of the plot.
#[derive(Debug, Clone)]
pub(crate) struct Strip<'a> {
    /// The arm.
    pub(crate) label: &'a str,
    /// Number and value of each run, numbers from 0.
    pub(crate) runs: Vec<(u32, f64)>,
}

/// What the numbers of runs are, and so whether lines join them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbered {
    /// Rounds: those of one number belong together.
    Rounds,
    /// Runs of each arm by itself.
    Runs,
}

/// The values of one metric of a cell; `metric` counts in the order of the workload.
pub(crate) fn strip(cell: &CellReport, metric: usize, numbered: Numbered) -> Svg {
    let rows: Vec<(&str, Option<&Series>)> = cell.arms.iter().map(|arm| (arm.label.as_str(), arm.series.get(metric))).collect();
    let (name, unit) = rows.iter().find_map(|(_, series)| *series).map_or(("", ""), |series| (&series.metric, &series.unit));
    let runs = |series: Option<&Series>| series.map_or(Vec::new(), |s| s.points.iter().map(|p| (p.round, p.value)).collect());
    let strips: Vec<Strip<'_>> = rows.iter().map(|(label, series)| Strip { label, runs: runs(*series) }).collect();
    strips_of(&strips, numbered, (name, unit))
}

/// A row for each of `rows`; `metric` is its name and its unit.
pub(crate) fn strips_of(rows: &[Strip<'_>], numbered: Numbered, metric: (&str, &str)) -> Svg {
    let (name, unit) = metric;
    let bottom = TOP + ROW * rows.len() as f64;
    let values = || rows.iter().flat_map(|row| &row.runs).map(|(_, value)| *value);
    let scale = Scale::fit(values(), (LEFT, RIGHT));
    let numbers = number::Scale::of(unit, values());
    let middle = |row: usize| TOP + ROW * (row as f64 + 0.5);

    let mut canvas = Canvas::new(WIDTH, bottom + BELOW);
    value_axis_below(&mut canvas, &scale, unit, name, (LEFT, RIGHT), (TOP, bottom));
    if numbered == Numbered::Rounds {
        for line in lines_of_rounds(rows, &scale, middle) {
            canvas.polyline("round", &line);
        }
    }
    for (row, Strip { label, runs }) in rows.iter().enumerate() {
        canvas.label("label", Anchor::End, (LEFT - 14.0, middle(row) + 4.0), label, LABEL_CHARS);
        let Some(median) = blklab_stats::median(&runs.iter().map(|(_, value)| *value).collect::<Vec<_>>()) else {
            canvas.text("nothing", Anchor::Middle, ((LEFT + RIGHT) / 2.0, middle(row) + 4.0), "no value");
            continue;
        };
        let median = scale.at(median);
        canvas.line(&format!("median {}", arm_class(row)), (median, middle(row) - 16.0), (median, middle(row) + 16.0));
        for (number, value) in runs {
            let at = (scale.at(*value), middle(row) + lane(*number));
            let run = match numbered {
                Numbered::Rounds => "round",
                Numbered::Runs => "run",
            };
            let title = format!("{label}, {run} {}: {}", number + 1, numbers.quantity(*value));
            canvas.path(&format!("mark {}", arm_class(row)), &shape(row, at), &title);
        }
    }
    let counts: Vec<String> = rows.iter().map(|row| format!("{}: {} values", row.label, row.runs.len())).collect();
    let each = match numbered {
        Numbered::Rounds => "trial",
        Numbered::Runs => "run",
    };
    canvas.finish("strip", &format!("{name} of each {each} by arm"), &counts.join("; "))
}

/// Equal values of different rounds lie beside each other.
fn lane(round: u32) -> f64 {
    const LANES: [f64; 5] = [0.0, -8.0, 8.0, -4.0, 4.0];
    LANES[round as usize % LANES.len()]
}

/// For each round the places of its values, arm by arm.
fn lines_of_rounds(rows: &[Strip<'_>], scale: &Scale, middle: impl Fn(usize) -> f64) -> Vec<Vec<(f64, f64)>> {
    let mut rounds: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for (row, strip) in rows.iter().enumerate() {
        for (round, value) in &strip.runs {
            rounds.entry(*round).or_default().push((scale.at(*value), middle(row) + lane(*round)));
        }
    }
    rounds.into_values().filter(|line| line.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing;

    #[test]
    fn the_published_readers_on_ssd() {
        insta::assert_snapshot!(strip(&testing::classic().cells[2], 0, Numbered::Rounds));
    }

    #[test]
    fn a_mark_for_each_value_and_a_line_for_each_round() {
        let report = testing::schedulers();
        let svg = strip(&report.cells[2], 0, Numbered::Rounds).to_string();
        assert_eq!(svg.matches("class=\"mark").count(), 40);
        assert_eq!(svg.matches("class=\"round\"").count(), 10);
    }

    #[test]
    fn no_value_and_evil_labels() {
        let report = testing::hostile();
        for cell in &report.cells {
            let svg = strip(cell, 0, Numbered::Rounds).to_string();
            assert!(!svg.contains("<b>") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        assert!(strip(&report.cells[1], 0, Numbered::Rounds).to_string().contains("no value"));
        assert!(strip(&report.cells[1], 99, Numbered::Rounds).to_string().contains("no value"));
    }
}
