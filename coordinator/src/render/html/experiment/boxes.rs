//! How far the report can be trusted: the A/A cells and the method's numbers.

use std::collections::BTreeMap;

use blklab_model::matrix::CellKind;
use blklab_model::report::Report;

use crate::render::compared::counted;
use crate::render::html::Badge;
use crate::render::number::{expected, percent};
use crate::render::word::Tone;

/// Comparisons of the baseline with itself.
pub(super) struct AaBox {
    pub(super) badge: Badge,
    pub(super) sentence: String,
    /// False alarms, each with the page of its cell.
    pub(super) alarms: Vec<(String, String)>,
}

/// What the verdicts rest on.
pub(super) struct MethodBox {
    pub(super) alpha: String,
    /// Smallest effect that matters, and the metrics it is for.
    pub(super) floors: Vec<(String, String)>,
    pub(super) comparisons: u32,
    pub(super) false_alarms: String,
}

impl AaBox {
    pub(super) fn new(report: &Report) -> AaBox {
        let counts = &report.aa_counts;
        let tested = counts.tested();
        let alarm_rows = counted(report, CellKind::Aa).filter(|row| matches!(row.word().tone, Tone::Worse | Tone::Better));
        let alarms: Vec<(String, String)> = alarm_rows
            .map(|row| {
                let what = format!("{}, {}: {}", row.cell.disk_class, row.place(), row.of.metric);
                (what, format!("/experiments/{}/cells/{}", row.cell.id.experiment, row.cell.id.cell))
            })
            .collect();
        let most = expected(f64::from(tested) * report.alpha);
        let plural = if tested == 1 { "" } else { "s" };
        let (badge, sentence) = match (counts.total(), tested) {
            (0, _) => (
                Badge::of(Tone::Untested, "no A/A cells"),
                "This experiment did not compare the baseline with itself; `aa_cells` in its file asks for it.".to_owned(),
            ),
            (_, 0) => (Badge::of(Tone::Waiting, "not measured yet"), "The baseline is compared with itself; no values yet.".to_owned()),
            _ => (
                match alarms.len() {
                    0 => Badge::of(Tone::Same, "silent"),
                    1 => Badge::of(Tone::Worse, "1 false alarm"),
                    n => Badge::of(Tone::Worse, format!("{n} false alarms")),
                },
                format!(
                    "{tested} comparison{plural} of the baseline with itself, {} false alarm{} (chance alone: at most {most} expected).",
                    alarms.len(),
                    if alarms.len() == 1 { "" } else { "s" }
                ),
            ),
        };
        // Both labels are one kernel, hence one boot.
        let sentence = if report.axis == "kernel" && tested > 0 {
            format!("{sentence} Both labels of a round run in one boot, so what differs from boot to boot does not show here.")
        } else {
            sentence
        };
        AaBox { badge, sentence, alarms }
    }
}

impl MethodBox {
    pub(super) fn new(report: &Report) -> MethodBox {
        let mut floors: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for row in counted(report, CellKind::Compare) {
            let metrics = floors.entry(percent(row.of.smallest_effect_pct)).or_default();
            if !metrics.contains(&row.of.metric.as_str()) {
                metrics.push(&row.of.metric);
            }
        }
        MethodBox {
            alpha: percent(report.alpha * 100.0),
            floors: floors.into_iter().map(|(floor, metrics)| (floor, metrics.join(", "))).collect(),
            comparisons: report.counts.tested(),
            false_alarms: expected(report.expected_false_alarms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing;

    #[test]
    fn a_silent_lab_says_so_with_what_was_to_be_expected() {
        let aa = AaBox::new(&testing::schedulers());
        assert_eq!(aa.sentence, "4 comparisons of the baseline with itself, 0 false alarms (chance alone: at most 0.2 expected).");
        assert!(aa.alarms.is_empty());
        assert!(AaBox::new(&testing::classic()).sentence.contains("`aa_cells`"));
    }

    #[test]
    fn floors_are_grouped() {
        let floors = MethodBox::new(&testing::schedulers()).floors;
        assert_eq!(floors, [("10\u{a0}%".into(), "rt_rate, be_rate, p99".into()), ("5\u{a0}%".to_owned(), "rate".to_owned())]);
    }
}
