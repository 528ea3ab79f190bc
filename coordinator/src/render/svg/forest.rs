//! Forest plot: the change of each comparison with its 95 % interval against the band of changes that do not matter.

use blklab_stats::{Better, LogInterval, log_from_pct, pct_from_log};

use super::canvas::{Anchor, Canvas, Px, Svg};
use super::scale::Scale;
use crate::render::compared::{Compared, interval_text};
use crate::render::number;
use crate::render::word::Word;

/// Rows of one plot: more is not read, and the tables have them all.
pub(crate) const MAX_ROWS: usize = 40;

const WIDTH: f64 = 960.0;
/// Labels on the left, numbers on the right, changes between them.
const LEFT: f64 = 380.0;
const RIGHT: f64 = WIDTH - 200.0;
const ROW: f64 = 22.0;
const HEAD: f64 = 26.0;
const LABEL_CHARS: usize = 56;

/// The axis never ends nearer to zero than this (so that noise does not look large) nor farther (so that one wild interval does not
/// squeeze all others); log scale.
const NEAREST: f64 = 0.10;
const FARTHEST: f64 = 2.4;

/// Changes that ticks may stand at, per cent.
const TICKS: [f64; 19] =
    [-90.0, -80.0, -65.0, -50.0, -35.0, -20.0, -10.0, -5.0, -2.0, 0.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 200.0, 400.0, 900.0];
/// Pixels between ticks.
const TICK_ROOM: f64 = 42.0;

/// One line of the plot.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    /// Which way is better.
    pub(crate) better: Better,
    /// What was compared.
    pub(crate) name: String,
    /// Where it is described.
    pub(crate) href: String,
    /// The verdict.
    pub(crate) word: Word,
    /// Per cent; smaller changes do not matter.
    pub(crate) smallest_effect_pct: f64,
    /// The change on the log scale.
    pub(crate) shift: Option<f64>,
    /// Its 95 % interval.
    pub(crate) ci: Option<LogInterval>,
}

impl Bar {
    fn of(row: &Compared<'_>) -> Bar {
        let cell = row.cell;
        Bar {
            better: row.of.better,
            name: format!("{} {} · {} · {}", cell.disk_class, row.place(), row.of.candidate, row.of.metric),
            href: format!("/experiments/{}/cells/{}", cell.id.experiment, cell.id.cell),
            word: row.word(),
            smallest_effect_pct: row.of.smallest_effect_pct,
            shift: row.shift(),
            ci: row.interval(),
        }
    }
}

/// Draws `rows` in their order, those where higher is better apart from those where lower is, since worse lies on other sides.
pub(crate) fn forest(rows: &[Compared<'_>]) -> Svg {
    let bars: Vec<Bar> = rows.iter().take(MAX_ROWS).map(Bar::of).collect();
    forest_of(&bars)
}

/// Draws the first [`MAX_ROWS`] bars, as [`forest`] does.
pub(crate) fn forest_of(bars: &[Bar]) -> Svg {
    let bars = &bars[..bars.len().min(MAX_ROWS)];
    let reach = reach(bars);
    let across = Scale::exact(-reach, reach, (LEFT, RIGHT));
    let groups: Vec<(Better, Vec<&Bar>)> = [Better::Higher, Better::Lower]
        .map(|better| (better, bars.iter().filter(|bar| bar.better == better).collect()))
        .into_iter()
        .filter(|(_, bars): &(_, Vec<_>)| !bars.is_empty())
        .collect();
    let height = bars.len() as f64 * ROW + groups.len() as f64 * HEAD;
    let mut canvas = Canvas::new(WIDTH, height + 40.0);
    axis(&mut canvas, &across, height);
    let mut y = 0.0;
    for (better, bars) in groups {
        let (left, right) = match better {
            Better::Higher => ("◂ worse", "better ▸"),
            Better::Lower => ("◂ better", "worse ▸"),
        };
        canvas.text("side", Anchor::Start, (LEFT, y + 17.0), left);
        canvas.text("side", Anchor::End, (RIGHT, y + 17.0), right);
        y += HEAD;
        for bar in bars {
            draw(&mut canvas, bar, &across, reach, y + ROW / 2.0);
            y += ROW;
        }
    }
    let description = format!("{} comparisons; marks are changes, lines their 95 % intervals, shaded what does not matter", bars.len());
    canvas.finish("forest", "Changes with their intervals", &description)
}

fn draw(canvas: &mut Canvas, bar: &Bar, across: &Scale, reach: f64, y: f64) {
    let word = &bar.word;
    canvas.open("a", &[("href", &bar.href)]);
    canvas.label("label", Anchor::End, (LEFT - 30.0, y + 4.0), &bar.name, LABEL_CHARS);
    canvas.close("a");
    canvas.text(&format!("glyph {}", word.tone.class()), Anchor::Middle, (LEFT - 14.0, y + 4.0), &word.tone.glyph().to_string());

    let margin = log_from_pct(bar.smallest_effect_pct);
    let (from, to) = (across.at(-margin), across.at(margin));
    canvas.rect("band", (from, y - ROW / 2.0), (to - from, ROW));
    let Some(shift) = bar.shift else {
        canvas.text("nothing", Anchor::Middle, ((LEFT + RIGHT) / 2.0, y + 4.0), &word.long);
        return;
    };
    let class = word.tone.class();
    if let Some(ci) = bar.ci {
        canvas.line(&format!("interval {class}"), (across.at(ci.low), y), (across.at(ci.high), y));
        // An arrow instead of an end: the interval goes on beyond the plot.
        for (end, direction) in [(ci.low, -1.0), (ci.high, 1.0)] {
            let x = across.at(end);
            if end.abs() > reach {
                let d = format!("M{} {}l{} -4v8Z", Px(x), Px(y), -6.0 * direction);
                canvas.path(&format!("arrow {class}"), &d, "goes on beyond the plot");
            } else {
                canvas.line(&format!("interval {class}"), (x, y - 4.0), (x, y + 4.0));
            }
        }
    }
    let x = across.at(shift);
    let d = format!("M{} {}l4.5 4.5l-4.5 4.5l-4.5 -4.5Z", Px(x), Px(y - 4.5));
    let change = number::change(pct_from_log(shift));
    let interval = interval_text(bar.ci.as_ref());
    canvas.path(&format!("change {class}"), &d, &format!("{}: {change}, {interval}", word.long));
    canvas.text("number", Anchor::End, (RIGHT + 66.0, y + 4.0), &change);
    canvas.text("number quiet", Anchor::End, (WIDTH - 4.0, y + 4.0), &interval);
}

fn axis(canvas: &mut Canvas, across: &Scale, height: f64) {
    let mut taken: Option<f64> = None;
    let zero = across.at(0.0);
    for tick in TICKS {
        let x = across.at(log_from_pct(tick));
        let off_axis = x <= LEFT || x >= RIGHT;
        let crowded = taken.is_some_and(|last| x - last < TICK_ROOM) || (tick != 0.0 && (x - zero).abs() < TICK_ROOM);
        if off_axis || crowded {
            continue;
        }
        canvas.line(if tick == 0.0 { "zero" } else { "grid" }, (x, 0.0), (x, height));
        canvas.text("tick", Anchor::Middle, (x, height + 16.0), number::signed(tick).trim_end_matches(".0"));
        taken = Some(x);
    }
    canvas.line("axis", (LEFT, height), (RIGHT, height));
    canvas.text("name", Anchor::Middle, (zero, height + 34.0), "change from the baseline, %");
}

/// How far the axis goes on both sides of zero.
fn reach(bars: &[Bar]) -> f64 {
    let ends = bars.iter().filter_map(|bar| bar.ci.map(|ci| ci.reach()).or(bar.shift.map(f64::abs)));
    let margins = bars.iter().map(|bar| 1.3 * log_from_pct(bar.smallest_effect_pct));
    let farthest = ends.chain(margins).filter(|end| end.is_finite()).fold(0.0, f64::max);
    (farthest * 1.05).clamp(NEAREST, FARTHEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::compared::counted;
    use crate::render::testing;
    use blklab_model::matrix::CellKind;

    #[test]
    fn the_published_readers() {
        let report = testing::classic();
        let rows: Vec<_> = counted(&report, CellKind::Compare).collect();
        insta::assert_snapshot!(forest(&rows));
    }

    #[test]
    fn rows_are_limited_and_wild_intervals_end_in_arrows() {
        let mut report = testing::schedulers();
        let comparison = report.cells[0].comparisons[0].comparison.as_mut().unwrap();
        comparison.ci95 = comparison.ci95.map(|ci| blklab_stats::LogInterval { low: -800.0, high: 800.0, ..ci });
        let rows: Vec<_> = counted(&report, CellKind::Compare).collect();
        let svg = forest(&rows).to_string();
        assert_eq!(svg.matches("<a href").count(), MAX_ROWS);
        assert_eq!(svg.matches("class=\"arrow").count(), 2);
    }

    #[test]
    fn nothing_to_draw_and_evil_labels() {
        let report = testing::hostile();
        let rows: Vec<_> = counted(&report, CellKind::Compare).collect();
        let svg = forest(&rows).to_string();
        assert!(!svg.contains("<svg/") && !svg.contains("NaN"), "{svg}");
        assert!(forest(&[]).to_string().contains("0 comparisons"));
    }
}
