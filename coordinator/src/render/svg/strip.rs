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

/// The values of one metric of a cell; `metric` counts in the order of the workload.
pub(crate) fn strip(cell: &CellReport, metric: usize) -> Svg {
    let rows: Vec<(&str, Option<&Series>)> = cell.arms.iter().map(|arm| (arm.label.as_str(), arm.series.get(metric))).collect();
    let points = |series: &Option<&'_ Series>| series.map_or(Vec::new(), |series| series.points.clone());
    let (name, unit) = rows.iter().find_map(|(_, series)| *series).map_or(("", ""), |series| (&series.metric, &series.unit));
    let bottom = TOP + ROW * rows.len() as f64;
    let scale = Scale::fit(rows.iter().flat_map(|(_, series)| points(series)).map(|point| point.value), (LEFT, RIGHT));
    let numbers = number::Scale::of(unit, rows.iter().flat_map(|(_, series)| points(series)).map(|point| point.value));
    let middle = |row: usize| TOP + ROW * (row as f64 + 0.5);

    let mut canvas = Canvas::new(WIDTH, bottom + BELOW);
    value_axis_below(&mut canvas, &scale, unit, name, (LEFT, RIGHT), (TOP, bottom));
    for line in lines_of_rounds(&rows, &scale, middle) {
        canvas.polyline("round", &line);
    }
    for (row, (label, series)) in rows.iter().enumerate() {
        canvas.label("label", Anchor::End, (LEFT - 14.0, middle(row) + 4.0), label, LABEL_CHARS);
        let points = points(series);
        let Some(median) = blklab_stats::median(&points.iter().map(|point| point.value).collect::<Vec<_>>()) else {
            canvas.text("nothing", Anchor::Middle, ((LEFT + RIGHT) / 2.0, middle(row) + 4.0), "no value");
            continue;
        };
        let median = scale.at(median);
        canvas.line(&format!("median {}", arm_class(row)), (median, middle(row) - 16.0), (median, middle(row) + 16.0));
        for point in points {
            let at = (scale.at(point.value), middle(row) + lane(point.round));
            let title = format!("{label}, round {}: {}", point.round + 1, numbers.quantity(point.value));
            canvas.path(&format!("mark {}", arm_class(row)), &shape(row, at), &title);
        }
    }
    let counts: Vec<String> = rows.iter().map(|(label, series)| format!("{label}: {} values", points(series).len())).collect();
    canvas.finish("strip", &format!("{name} of each trial by arm"), &counts.join("; "))
}

/// Equal values of different rounds lie beside each other.
fn lane(round: u32) -> f64 {
    const LANES: [f64; 5] = [0.0, -8.0, 8.0, -4.0, 4.0];
    LANES[round as usize % LANES.len()]
}

/// For each round the places of its values, arm by arm.
fn lines_of_rounds(rows: &[(&str, Option<&Series>)], scale: &Scale, middle: impl Fn(usize) -> f64) -> Vec<Vec<(f64, f64)>> {
    let mut rounds: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for (row, (_, series)) in rows.iter().enumerate() {
        for point in series.map_or(&[][..], |series| &series.points) {
            rounds.entry(point.round).or_default().push((scale.at(point.value), middle(row) + lane(point.round)));
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
        insta::assert_snapshot!(strip(&testing::classic().cells[2], 0));
    }

    #[test]
    fn a_mark_for_each_value_and_a_line_for_each_round() {
        let report = testing::schedulers();
        let svg = strip(&report.cells[2], 0).to_string();
        assert_eq!(svg.matches("class=\"mark").count(), 40);
        assert_eq!(svg.matches("class=\"round\"").count(), 10);
    }

    #[test]
    fn no_value_and_evil_labels() {
        let report = testing::hostile();
        for cell in &report.cells {
            let svg = strip(cell, 0).to_string();
            assert!(!svg.contains("<b>") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        assert!(strip(&report.cells[1], 0).to_string().contains("no value"));
        assert!(strip(&report.cells[1], 99).to_string().contains("no value"));
    }
}
