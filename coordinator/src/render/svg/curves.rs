//! A quantity over another one: by distance or queue depth, by the number of disks or threads; one curve for each thing that is compared.

use super::canvas::{Anchor, Canvas, Px, Svg};
use super::marks::{arm_class, named, shape};
use super::scale::Scale;
use crate::render::number;

const WIDTH: f64 = 600.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 250.0;
/// Of a line of the legend.
const LEGEND_WIDTH: f64 = 130.0;
const LEGEND_CHARS: usize = 15;

/// The values of one thing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curve<'a> {
    /// What the legend calls it.
    pub(crate) label: &'a str,
    /// Colour and shape, as those of an arm.
    pub(crate) look: usize,
    /// Its points, from left to right.
    pub(crate) points: Vec<Point>,
}

/// A point of a curve, perhaps with a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) range: Option<(f64, f64)>,
}

/// What an axis is called, in the base unit of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis<'a> {
    pub(crate) name: &'a str,
    pub(crate) unit: &'a str,
}

/// Curves over a logarithmic axis with a tick at each of `ticks`. The other axis begins at zero, unless the values differ so much that
/// it is logarithmic too.
pub(crate) fn curves(title: &str, x: Axis<'_>, ticks: &[f64], y: Axis<'_>, curves: &[Curve<'_>]) -> Svg {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let across = Scale::fit(points().map(|point| point.x).chain(ticks.iter().copied()), (LEFT, RIGHT));
    let values: Vec<f64> = points().flat_map(|point| [Some(point.y), point.range.map(|range| range.1)]).flatten().collect();
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(0.0, f64::max);
    let up = match curves {
        [_] => Scale::exact(0.0, highest.max(f64::MIN_POSITIVE) * 1.06, (BOTTOM, TOP)),
        _ => Scale::fit([lowest, highest], (BOTTOM, TOP)),
    };

    let has_legend = curves.len() > 1;
    let mut canvas = Canvas::new(WIDTH, BOTTOM + if has_legend { 64.0 } else { 42.0 });
    axes(&mut canvas, (&across, x, ticks), (&up, y));
    for curve in curves {
        draw(&mut canvas, curve, (&across, x.unit), (&up, y.unit));
    }
    if has_legend {
        legend(&mut canvas, curves);
    }
    let described: Vec<String> = curves.iter().map(|curve| described(curve, x.unit, y.unit)).collect();
    canvas.finish("disk-curve", title, &described.join("; "))
}

fn axes(canvas: &mut Canvas, (across, x, ticks): (&Scale, Axis<'_>, &[f64]), (up, y): (&Scale, Axis<'_>)) {
    for tick in ticks {
        let at = across.at(*tick);
        canvas.line("grid", (at, TOP), (at, BOTTOM));
        // Ticks over many powers of ten have no unit in common.
        canvas.text("tick", Anchor::Middle, (at, BOTTOM + 16.0), &tick_label(*tick, x.unit));
    }
    let steps = up.ticks(6);
    let common = number::Scale::of_ticks(y.unit, &steps);
    let spread = steps.last().zip(steps.first()).is_some_and(|(last, first)| *first > 0.0 && last / first >= 1000.0);
    for step in &steps {
        let at = up.at(*step);
        canvas.line("grid", (LEFT, at), (RIGHT, at));
        let label = if spread { tick_label(*step, y.unit) } else { common.number(*step) };
        canvas.text("tick", Anchor::End, (LEFT - 8.0, at + 4.0), &label);
    }
    canvas.line("axis", (LEFT, BOTTOM), (RIGHT, BOTTOM));
    canvas.text("name", Anchor::Start, (0.0, 12.0), &named(y.name, if spread { "" } else { common.unit() }));
    canvas.text("name", Anchor::End, (RIGHT, BOTTOM + 34.0), x.name);
}

fn tick_label(value: f64, unit: &str) -> String {
    let scale = number::Scale::of_ticks(unit, &[value]);
    format!("{} {}", scale.number(value), scale.unit()).trim_end().to_owned()
}

fn draw(canvas: &mut Canvas, curve: &Curve<'_>, (across, x_unit): (&Scale, &str), (up, y_unit): (&Scale, &str)) {
    let ranges: Vec<(f64, (f64, f64))> = curve.points.iter().filter_map(|point| Some((across.at(point.x), point.range?))).collect();
    if ranges.len() > 1 {
        let high = ranges.iter().map(|(x, (_, high))| (*x, up.at(*high)));
        let low = ranges.iter().rev().map(|(x, (low, _))| (*x, up.at(*low)));
        let corners: Vec<String> = high.chain(low).map(|(x, y)| format!("{} {}", Px(x), Px(y))).collect();
        canvas.path("band", &format!("M{}Z", corners.join("L")), "nine of ten lie in here");
    }
    let places: Vec<(f64, f64)> = curve.points.iter().map(|point| (across.at(point.x), up.at(point.y))).collect();
    if places.len() > 1 {
        canvas.polyline(&format!("curve {}", arm_class(curve.look)), &places);
    }
    for (point, place) in curve.points.iter().zip(places) {
        let title = format!("{}, {}: {}", curve.label, tick_label(point.x, x_unit), number::quantity(point.y, y_unit));
        canvas.path(&format!("mark {}", arm_class(curve.look)), &shape(curve.look, place), &title);
    }
}

fn legend(canvas: &mut Canvas, curves: &[Curve<'_>]) {
    for (place, curve) in curves.iter().enumerate() {
        let x = LEFT + place as f64 * LEGEND_WIDTH;
        canvas.path(&format!("mark {}", arm_class(curve.look)), &shape(curve.look, (x + 4.0, BOTTOM + 54.0)), curve.label);
        canvas.label("label", Anchor::Start, (x + 14.0, BOTTOM + 58.0), curve.label, LEGEND_CHARS);
    }
}

fn described(curve: &Curve<'_>, x_unit: &str, y_unit: &str) -> String {
    let end = |point: Option<&Point>| {
        point.map_or("none".to_owned(), |point| format!("{} at {}", number::quantity(point.y, y_unit), tick_label(point.x, x_unit)))
    };
    format!("{}: from {} to {}", curve.label, end(curve.points.first()), end(curve.points.last()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Axis<'static> = Axis { name: "distance", unit: "B" };
    const Y: Axis<'static> = Axis { name: "time", unit: "s" };

    fn curve(label: &str, look: usize, factor: f64) -> Curve<'_> {
        let point = |n: i32| {
            let y = factor * f64::from(n + 1) * 1e-3;
            Point { x: 10f64.powi(5 + n), y, range: Some((y * 0.5, y * 1.5)) }
        };
        Curve { label, look, points: (0..4).map(point).collect() }
    }

    #[test]
    fn one_disk_with_its_range() {
        insta::assert_snapshot!(curves("by distance", X, &[1e5, 1e6, 1e7, 1e8], Y, &[curve("hdd", 0, 1.0)]));
    }

    #[test]
    fn disks_that_differ_a_thousandfold_share_a_logarithmic_axis() {
        let svg = curves("by distance", X, &[1e5, 1e8], Y, &[curve("hdd", 0, 1.0), curve("ssd", 1, 1e-3)]).to_string();
        assert!(svg.contains(">10 µs<") && svg.contains(">1 ms<"), "{svg}");
        assert_eq!(svg.matches("class=\"mark").count(), 8 + 2, "points and legend");
    }

    #[test]
    fn nothing_and_odd_values_are_still_a_picture() {
        for set in [vec![], vec![Curve { label: "<b>", look: 9, points: vec![Point { x: f64::NAN, y: f64::INFINITY, range: None }] }]] {
            let svg = curves("none", X, &[], Y, &set).to_string();
            assert!(svg.starts_with("<svg") && !svg.contains("<b>") && !svg.contains("NaN") && !svg.contains("inf,"), "{svg}");
        }
    }
}
