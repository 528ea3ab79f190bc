//! Run-order plot: values in the order in which the trials ran. Drift, warm-up and steps of the whole lab show here.

use blklab_model::report::CellReport;

use super::canvas::{Anchor, Canvas, Svg};
use super::marks::{arm_class, cross, named, shape};
use super::scale::Scale;
use crate::render::number;

const WIDTH: f64 = 600.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 230.0;
const HEIGHT: f64 = BOTTOM + 42.0;
/// Characters of a label in the legend.
const LABEL_CHARS: usize = 17;

/// The values of one metric of a cell; `metric` counts in the order of the workload. Failed trials are crosses on the axis.
pub(crate) fn run_order(cell: &CellReport, metric: usize) -> Svg {
    let arms: Vec<_> = cell.arms.iter().map(|arm| (arm.label.as_str(), arm.series.get(metric))).collect();
    let (name, unit) = arms.iter().find_map(|(_, series)| *series).map_or(("", ""), |series| (&series.metric, &series.unit));
    let values: Vec<f64> = arms.iter().filter_map(|(_, series)| *series).flat_map(|series| &series.points).map(|p| p.value).collect();
    let last = cell.trials.iter().filter_map(|trial| trial.order).max().unwrap_or(0);
    let across = Scale::exact(-0.5, f64::from(last) + 0.5, (LEFT, RIGHT));
    let up = Scale::fit(values.iter().copied(), (BOTTOM, TOP));
    let numbers = number::Scale::of(unit, values.iter().copied());

    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    rounds(&mut canvas, cell, &across);
    axes(&mut canvas, &up, unit, name);
    legend(&mut canvas, cell);
    for (arm, (label, series)) in arms.iter().enumerate() {
        let mut points = series.map_or(Vec::new(), |series| series.points.clone());
        points.sort_by_key(|point| point.order);
        let places: Vec<(f64, f64)> = points.iter().map(|point| (across.at(f64::from(point.order)), up.at(point.value))).collect();
        if places.len() > 1 {
            canvas.polyline(&format!("course {}", arm_class(arm)), &places);
        }
        for (point, place) in points.iter().zip(places) {
            let title = format!("trial {}, {label}, round {}: {}", point.order + 1, point.round + 1, numbers.quantity(point.value));
            canvas.path(&format!("mark {}", arm_class(arm)), &shape(arm, place), &title);
        }
    }
    for trial in cell.trials.iter().filter(|trial| trial.failure.is_some()) {
        let Some(order) = trial.order else { continue };
        let label = arms.get(trial.arm as usize).map_or("", |(label, _)| label);
        let title = format!("trial {}, {label}, round {}: failed", order + 1, trial.round + 1);
        canvas.path("mark failure", &cross((across.at(f64::from(order)), BOTTOM - 6.0)), &title);
    }
    if values.is_empty() {
        canvas.text("nothing", Anchor::Middle, ((LEFT + RIGHT) / 2.0, (TOP + BOTTOM) / 2.0), "no value");
    }
    let description = format!("{} values in the order in which {} trials ran", values.len(), cell.trials.len());
    canvas.finish("run-order", &format!("{name} in run order"), &description)
}

/// Every second round is shaded: a round is a block of the comparison.
fn rounds(canvas: &mut Canvas, cell: &CellReport, across: &Scale) {
    let mut ran: Vec<(u32, u32)> = cell.trials.iter().filter_map(|trial| Some((trial.order?, trial.round))).collect();
    ran.sort_unstable();
    for block in ran.chunk_by(|a, b| a.1 == b.1) {
        let (Some(first), Some(last)) = (block.first(), block.last()) else { continue };
        if first.1 % 2 == 1 {
            let (left, right) = (across.at(f64::from(first.0) - 0.5), across.at(f64::from(last.0) + 0.5));
            canvas.rect("band", (left, TOP), (right - left, BOTTOM - TOP));
        }
    }
}

fn axes(canvas: &mut Canvas, up: &Scale, unit: &str, name: &str) {
    let ticks = up.ticks(5);
    let numbers = number::Scale::of_ticks(unit, &ticks);
    for tick in &ticks {
        let y = up.at(*tick);
        canvas.line("grid", (LEFT, y), (RIGHT, y));
        canvas.text("tick", Anchor::End, (LEFT - 8.0, y + 4.0), &numbers.number(*tick));
    }
    canvas.line("axis", (LEFT, BOTTOM), (RIGHT, BOTTOM));
    canvas.text("name", Anchor::Start, (0.0, 12.0), &named(name, numbers.unit()));
    canvas.text("name", Anchor::End, (RIGHT, BOTTOM + 18.0), "run order; every second round is shaded");
}

fn legend(canvas: &mut Canvas, cell: &CellReport) {
    let width = 130.0;
    let per_row = ((RIGHT - LEFT) / width) as usize;
    // More arms than one line holds are told by the strip plot above, which names them all.
    for (arm, report) in cell.arms.iter().enumerate().take(per_row) {
        let x = LEFT + arm as f64 * width;
        canvas.path(&format!("mark {}", arm_class(arm)), &shape(arm, (x + 4.0, BOTTOM + 32.0)), &report.label);
        canvas.label("label", Anchor::Start, (x + 14.0, BOTTOM + 36.0), &report.label, LABEL_CHARS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing;

    #[test]
    fn the_published_readers_on_ssd() {
        insta::assert_snapshot!(run_order(&testing::classic().cells[2], 0));
    }

    #[test]
    fn failed_trials_are_crosses() {
        let report = testing::schedulers();
        let svg = run_order(&report.cells[0], 0).to_string();
        assert_eq!(svg.matches("mark failure").count(), 1);
        assert_eq!(svg.matches("class=\"mark arm").count(), 39 + 4, "values and legend");
    }

    #[test]
    fn no_value_and_evil_labels() {
        for cell in &testing::hostile().cells {
            let svg = run_order(cell, 0).to_string();
            assert!(!svg.contains("<b>") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
