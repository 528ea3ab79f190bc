//! From values to pixels, and ticks at round numbers. Takes any list of numbers: none, one, equal ones, huge ranges, NaN among them.

/// A range of positive values wider than this is drawn on a logarithmic axis.
const WIDE: f64 = 50.0;

/// Values beyond this are drawn at it: their differences would not be finite.
const LARGEST: f64 = 1e300;

/// An axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    pixels: (f64, f64),
    logarithmic: bool,
}

impl Scale {
    /// Holds all finite `values` with some air on both sides, from `pixels.0` to `pixels.1`.
    pub(super) fn fit(values: impl IntoIterator<Item = f64>, pixels: (f64, f64)) -> Scale {
        let finite = values.into_iter().filter(|v| v.is_finite()).map(|v| v.clamp(-LARGEST, LARGEST));
        let (mut low, mut high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let logarithmic = low > 0.0 && high / low > WIDE;
        if logarithmic {
            (low, high) = (low.log10(), high.log10());
        }
        let air = match (high - low) * 0.06 {
            0.0 => (low.abs() * 0.05).max(f64::MIN_POSITIVE.sqrt()),
            air => air,
        };
        Scale { low: low - air, high: high + air, pixels, logarithmic }
    }

    /// From `low` to `high` exactly; linear.
    pub(super) fn exact(low: f64, high: f64, pixels: (f64, f64)) -> Scale {
        Scale { low, high, pixels, logarithmic: false }
    }

    /// The pixel of a value; what lies outside is put on the edge.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.log10() } else { value };
        let part = (value.clamp(-LARGEST, LARGEST) - self.low) / (self.high - self.low);
        let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.5 };
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }

    /// Up to about `count` round values on the axis.
    pub(super) fn ticks(&self, count: usize) -> Vec<f64> {
        if self.logarithmic { self.decades(count) } else { round_values(self.low, self.high, count) }
    }

    /// Powers of ten, with twos and fives between them as long as there is room.
    fn decades(&self, count: usize) -> Vec<f64> {
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let inside = |v: &f64| (self.low..=self.high).contains(&v.log10());
        let with = |factors: &[f64], every: usize| -> Vec<f64> {
            let powers = (first..=last).step_by(every).map(|power| 10f64.powi(power));
            powers.flat_map(|power| factors.iter().map(move |factor| factor * power)).filter(inside).collect()
        };
        let fine = with(&[1.0, 2.0, 5.0], 1);
        if fine.len() <= count {
            return fine;
        }
        let powers = usize::try_from(last - first).unwrap_or(1);
        with(&[1.0], powers.div_ceil(count.max(1)).max(1))
    }
}

/// Multiples of 1, 2 or 5 times a power of ten between `low` and `high`.
fn round_values(low: f64, high: f64, count: usize) -> Vec<f64> {
    let rough = (high / count.max(1) as f64) - (low / count.max(1) as f64);
    if !(rough.is_finite() && rough > 0.0) {
        return vec![low];
    }
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough).unwrap_or(rough);
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    let steps = (last - first).clamp(0.0, 2.0 * count as f64) as usize;
    (0..=steps).map(|n| (first + n as f64) * step).filter(|v| v.is_finite() && (low..=high).contains(v)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ticks(values: &[f64]) -> Vec<f64> {
        Scale::fit(values.iter().copied(), (0.0, 100.0)).ticks(5)
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(&[44.7, 87.0]), [50.0, 60.0, 70.0, 80.0]);
        assert_eq!(ticks(&[0.0, 1.0]), [0.0, 0.5, 1.0]);
        assert_eq!(ticks(&[1.0, 1e5]), [10.0, 1000.0, 1e5]);
        assert_eq!(ticks(&[1.0, 60.0]), [1.0, 10.0]);
    }

    #[test]
    fn odd_data_still_have_an_axis() {
        for values in [&[][..], &[5.0], &[5.0, 5.0], &[0.0, 0.0], &[f64::NAN], &[-1e308, 1e308], &[1e-308, 1e308], &[5e-324]] {
            let scale = Scale::fit(values.iter().copied(), (10.0, 90.0));
            for value in values.iter().chain(&[0.0, f64::NAN, f64::INFINITY]) {
                let pixel = scale.at(*value);
                assert!((10.0..=90.0).contains(&pixel), "{values:?} {value} {pixel}");
            }
            assert!(scale.ticks(5).len() <= 11, "{values:?}");
        }
        assert_eq!(Scale::fit([5.0], (10.0, 90.0)).at(5.0), 50.0);
    }

    #[test]
    fn a_single_value_stands_in_the_middle_between_ticks() {
        assert!(ticks(&[100.0]).contains(&100.0));
    }

    proptest! {
        #[test]
        fn every_tick_is_on_the_axis(values in prop::collection::vec(any::<f64>(), 0..6)) {
            let scale = Scale::fit(values.iter().copied(), (0.0, 100.0));
            let ticks = scale.ticks(6);
            prop_assert!(ticks.len() <= 13);
            prop_assert!(ticks.iter().all(|tick| tick.is_finite() && (0.0..=100.0).contains(&scale.at(*tick))));
            prop_assert!(ticks.is_sorted());
        }
    }
}
