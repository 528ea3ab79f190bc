//! How arms look: a colour class and a shape each, so that no reader depends on colour; and the axes that plots share.

use super::canvas::{Anchor, Canvas, Px};
use super::scale::Scale;
use crate::render::number;

/// Shapes and colours of arms; the ninth arm begins anew.
const ARMS: usize = 8;

/// The class of an arm: `arm arm3`.
pub(super) fn arm_class(arm: usize) -> String {
    format!("arm arm{}", arm % ARMS)
}

/// The outline of an arm's mark around a point.
pub(super) fn shape(arm: usize, (x, y): (f64, f64)) -> String {
    let r = 4.0;
    let polygon = |corners: &[(f64, f64)]| {
        let at: Vec<String> = corners.iter().map(|(dx, dy)| format!("{} {}", Px(x + dx), Px(y + dy))).collect();
        format!("M{}Z", at.join("L"))
    };
    match arm % ARMS {
        0 => format!("M{} {}a{r} {r} 0 1 0 {} 0a{r} {r} 0 1 0 {} 0Z", Px(x - r), Px(y), 2.0 * r, -2.0 * r),
        1 => polygon(&[(-r, -r), (r, -r), (r, r), (-r, r)]),
        2 => polygon(&[(0.0, -r - 1.0), (r + 1.0, r), (-r - 1.0, r)]),
        3 => polygon(&[(0.0, -r - 1.5), (r + 1.5, 0.0), (0.0, r + 1.5), (-r - 1.5, 0.0)]),
        4 => polygon(&[(0.0, r + 1.0), (r + 1.0, -r), (-r - 1.0, -r)]),
        5 => polygon(&[
            (-r, -1.5),
            (-1.5, -1.5),
            (-1.5, -r),
            (1.5, -r),
            (1.5, -1.5),
            (r, -1.5),
            (r, 1.5),
            (1.5, 1.5),
            (1.5, r),
            (-1.5, r),
            (-1.5, 1.5),
            (-r, 1.5),
        ]),
        6 => polygon(&[(-r, 0.0), (-r / 2.0, -r), (r / 2.0, -r), (r, 0.0), (r / 2.0, r), (-r / 2.0, r)]),
        _ => cross((x, y)),
    }
}

/// A cross: also the mark of a failed trial.
pub(super) fn cross((x, y): (f64, f64)) -> String {
    let (a, b) = (4.0, 1.6);
    let corners = [
        (0.0, -b),
        (a - b, -a),
        (a, -a + b),
        (b, 0.0),
        (a, a - b),
        (a - b, a),
        (0.0, b),
        (-a + b, a),
        (-a, a - b),
        (-b, 0.0),
        (-a, -a + b),
        (-a + b, -a),
    ];
    let at: Vec<String> = corners.iter().map(|(dx, dy)| format!("{} {}", Px(x + dx), Px(y + dy))).collect();
    format!("M{}Z", at.join("L"))
}

/// A horizontal axis of values at `y`, with grid lines up to `top` and its name below.
pub(super) fn value_axis_below(
    canvas: &mut Canvas,
    scale: &Scale,
    unit: &str,
    name: &str,
    (left, right): (f64, f64),
    (top, y): (f64, f64),
) {
    let ticks = scale.ticks(7);
    let numbers = number::Scale::of_ticks(unit, &ticks);
    for tick in &ticks {
        let x = scale.at(*tick);
        canvas.line("grid", (x, top), (x, y));
        canvas.text("tick", Anchor::Middle, (x, y + 16.0), &numbers.number(*tick));
    }
    canvas.line("axis", (left, y), (right, y));
    canvas.text("name", Anchor::End, (right, y + 34.0), &named(name, numbers.unit()));
}

/// `rt_rate, MB/s`.
pub(super) fn named(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name}, {unit}") }
}
