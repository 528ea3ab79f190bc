//! Curves of parameters that were swept: how far does it scale, and where does a candidate leave the baseline?

use std::collections::BTreeMap;

use blklab_model::matrix::CellKind;
use blklab_model::report::{CellReport, Report};
use blklab_model::workload::metric::Role;

use crate::render::svg::{Axis, Curve, Point, Svg, curves};

/// Plots on one page; the rest is in the CSV.
const MAX_PLOTS: usize = 12;

/// Labels of cells that are values of a parameter begin with this.
const SWEPT: &str = "parameters.";

/// The plots, and how many more there are.
pub(super) struct Scaling {
    /// With what each is of.
    pub(super) plots: Vec<(String, Svg)>,
    pub(super) hidden: usize,
}

/// What one plot is of: the swept parameter, the place without it, and the metric.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    parameter: &'a str,
    place: Vec<String>,
    metric: &'a str,
}

struct Plot<'a> {
    unit: &'a str,
    /// By candidate, in the order of the arms: the value of the parameter and the median.
    arms: Vec<(&'a str, Vec<(f64, f64)>)>,
}

impl Scaling {
    pub(super) fn new(report: &Report) -> Scaling {
        let mut plots: BTreeMap<Key<'_>, Plot<'_>> = BTreeMap::new();
        for cell in report.cells.iter().filter(|cell| cell.kind == CellKind::Compare) {
            for (axis, value) in &cell.labels {
                if let (Some(parameter), Some(x)) = (axis.strip_prefix(SWEPT), number(value)) {
                    add(&mut plots, cell, parameter, x);
                }
            }
        }
        plots.retain(|_, plot| plot.arms.iter().any(|(_, points)| points.len() > 1));
        let hidden = plots.len().saturating_sub(MAX_PLOTS);
        Scaling { plots: plots.iter_mut().take(MAX_PLOTS).map(|(key, plot)| draw(key, plot)).collect(), hidden }
    }
}

/// Values that stand on an axis: numbers above zero, since it is logarithmic.
fn number(value: &str) -> Option<f64> {
    value.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}

fn add<'a>(plots: &mut BTreeMap<Key<'a>, Plot<'a>>, cell: &'a CellReport, parameter: &'a str, x: f64) {
    let others = cell.labels.iter().filter(|(axis, _)| axis.strip_prefix(SWEPT) != Some(parameter));
    let mut place = vec![cell.workload.to_string(), cell.disk_class.to_string()];
    place.extend(others.map(|(axis, value)| format!("{} {value}", axis.trim_start_matches(SWEPT))));
    let primary = cell.comparisons.iter().filter(|of| of.role == Role::Primary && of.arm == 1);
    for of in primary {
        let key = Key { parameter, place: place.clone(), metric: &of.metric };
        let plot = plots.entry(key).or_insert_with(|| Plot { unit: &of.unit, arms: Vec::new() });
        for arm in &cell.arms {
            let values: Vec<f64> =
                arm.series.iter().filter(|series| series.metric == of.metric).flat_map(|series| &series.points).map(|p| p.value).collect();
            let Some(median) = blklab_stats::median(&values).filter(|median| *median > 0.0) else { continue };
            match plot.arms.iter_mut().find(|(label, _)| *label == arm.label) {
                Some((_, points)) => points.push((x, median)),
                None => plot.arms.push((&arm.label, vec![(x, median)])),
            }
        }
    }
}

fn draw(key: &Key<'_>, plot: &mut Plot<'_>) -> (String, Svg) {
    let mut ticks: Vec<f64> = plot.arms.iter().flat_map(|(_, points)| points).map(|(x, _)| *x).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    let lines: Vec<Curve<'_>> = (0..)
        .zip(&mut plot.arms)
        .map(|(look, (label, points))| {
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            Curve { label, look, points: points.iter().map(|(x, y)| Point { x: *x, y: *y, range: None }).collect() }
        })
        .collect();
    let title = format!("{} by {}: {}", key.metric, key.parameter, key.place.join(", "));
    let svg = curves(&title, Axis { name: key.parameter, unit: "" }, &ticks, Axis { name: key.metric, unit: plot.unit }, &lines);
    (title, svg)
}

#[cfg(test)]
mod tests {
    use blklab_model::testing::{Story, experiment, host, noise, workloads};

    use super::*;

    fn report(sweep: &str) -> Report {
        let asked =
            experiment(&[("scheduler = [\"none\", \"bfq\"]", &format!("scheduler = [\"none\", \"bfq\"]\nparameters.size = [{sweep}]"))]);
        let value = |cell: &blklab_model::matrix::Cell, arm: u32, run: u32, _: &str| {
            let size: f64 = cell.labels.get("parameters.size").and_then(|size| size.parse().ok()).unwrap_or(1.0);
            size * 1e6 * noise(arm, run) / if arm == 1 { size.sqrt() } else { 1.0 }
        };
        Story::finished(asked, workloads(&["reader"]), vec![host("a", &["sata-hdd"])], value).report()
    }

    #[test]
    fn a_swept_number_is_a_curve_for_each_arm() {
        let scaling = Scaling::new(&report("4096, 8192, 16384"));
        assert_eq!((scaling.plots.len(), scaling.hidden), (1, 0), "one primary metric");
        let svg = scaling.plots[0].1.to_string();
        assert!(svg.contains("rate by size: reader, sata-hdd"), "{svg}");
        assert_eq!(svg.matches("<polyline").count(), 2);
    }

    #[test]
    fn words_and_single_values_have_no_curve() {
        assert!(Scaling::new(&report("\"4 MiB\", \"8 MiB\"")).plots.is_empty());
        assert!(Scaling::new(&report("\"4k\"")).plots.is_empty());
    }
}
