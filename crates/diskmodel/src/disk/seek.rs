//! How long an arm takes to move.
//!
//! Short seeks are bound by acceleration (time grows as the square root of the distance), long ones by speed (linear): Ruemmler and
//! Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994. Here both at once, `a + b sqrt(x) + c x` with the share
//! `x` of the stroke, through the three figures of a data sheet.

use super::{Ns, ms};
use crate::model::Rotational;

/// Mean of the square root of the distance of two random points of a unit stroke: the density of distances is `2 (1 - x)`.
const MEAN_SQRT: f64 = 8.0 / 15.0;

/// Mean of the distance itself.
const MEAN_DISTANCE: f64 = 1.0 / 3.0;

/// Seek time by distance.
#[derive(Debug, Clone, PartialEq)]
pub struct SeekCurve {
    base_ms: f64,
    root_ms: f64,
    linear_ms: f64,
    tracks: u64,
}

impl SeekCurve {
    /// The curve over `tracks` tracks.
    pub fn new(model: &Rotational, tracks: u64) -> SeekCurve {
        let (root_ms, linear_ms) = model.seek_terms();
        SeekCurve { base_ms: model.track_to_track_ms, root_ms, linear_ms, tracks }
    }

    /// Time to move over so many tracks, without the settling of writes. 0 for no move at all.
    pub fn seek_ns(&self, tracks: u64) -> Ns {
        if tracks == 0 {
            return 0;
        }
        let share = if self.tracks > 2 { (tracks - 1) as f64 / (self.tracks - 2) as f64 } else { 0.0 };
        ms(self.base_ms + self.root_ms * share.sqrt() + self.linear_ms * share)
    }
}

impl Rotational {
    /// The factors of the square root and of the distance.
    fn seek_terms(&self) -> (f64, f64) {
        let average = self.average_seek_ms - self.track_to_track_ms;
        match self.full_stroke_ms {
            None => (average / MEAN_SQRT, 0.0),
            Some(full) => {
                let full = full - self.track_to_track_ms;
                let root = (average - full * MEAN_DISTANCE) / (MEAN_SQRT - MEAN_DISTANCE);
                (root, full - root)
            }
        }
    }

    /// Whether a longer seek always takes longer.
    pub(crate) fn seek_curve_rises(&self) -> bool {
        let (low, high) = self.full_stroke_range();
        self.full_stroke_ms.is_none_or(|full| (low..=high).contains(&full))
    }

    /// The full strokes for which the curve rises everywhere: its slope `b / (2 sqrt(x)) + c` must not be negative at either end.
    pub(crate) fn full_stroke_range(&self) -> (f64, f64) {
        let average = self.average_seek_ms - self.track_to_track_ms;
        let low = average / (2.0 * MEAN_SQRT - MEAN_DISTANCE);
        (self.track_to_track_ms + low, self.track_to_track_ms + average / MEAN_DISTANCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DiskModel, Mechanics};

    fn hdd() -> Rotational {
        match DiskModel::preset("sata-hdd").unwrap().mechanics {
            Mechanics::Rotational(model) => model,
            Mechanics::Parallel(_) => panic!("a hard disk has platters"),
        }
    }

    fn mean_ms(curve: &SeekCurve, tracks: u64) -> f64 {
        // Pairs of equal distance are counted together: there are `tracks - d` of each, in either direction.
        let sum: f64 = (1..tracks).map(|d| (tracks - d) as f64 * curve.seek_ns(d) as f64).sum();
        2.0 * sum / (tracks * tracks) as f64 / 1e6
    }

    #[test]
    fn the_curve_goes_through_the_figures_of_the_data_sheet() {
        for full_stroke_ms in [None, Some(14.0), Some(20.0)] {
            let model = Rotational { full_stroke_ms, ..hdd() };
            assert!(model.seek_curve_rises());
            let curve = SeekCurve::new(&model, 5000);
            assert_eq!(curve.seek_ns(0), 0);
            assert_eq!(curve.seek_ns(1), ms(model.track_to_track_ms));
            assert!((mean_ms(&curve, 5000) - 8.5).abs() < 0.05, "{}", mean_ms(&curve, 5000));
            assert_eq!(curve.seek_ns(4999), ms(full_stroke_ms.unwrap_or(1.0 + 7.5 * 15.0 / 8.0)));
        }
    }

    #[test]
    fn a_longer_way_never_takes_less_time() {
        let (low, high) = hdd().full_stroke_range();
        for full_stroke_ms in [low, 12.0, 15.0, 22.0, high] {
            let curve = SeekCurve::new(&Rotational { full_stroke_ms: Some(full_stroke_ms), ..hdd() }, 3000);
            assert!((1..2999).all(|d| curve.seek_ns(d) <= curve.seek_ns(d + 1)), "{full_stroke_ms}");
        }
        assert!(!Rotational { full_stroke_ms: Some(low - 0.1), ..hdd() }.seek_curve_rises());
        assert!(!Rotational { full_stroke_ms: Some(high + 0.1), ..hdd() }.seek_curve_rises());
    }
}
