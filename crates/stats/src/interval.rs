//! Changes on the log scale and as percent: one type for an interval, one rule for the conversion.

use serde::{Deserialize, Serialize};

/// Percent change of a shift on the log scale: `100 (e^shift - 1)`. Saturates at the largest finite
/// number, since a factor of e^1400 between two finite measurements has no other representation.
#[must_use]
pub fn pct_from_log(shift: f64) -> f64 {
    (100.0 * shift.exp_m1()).min(f64::MAX)
}

/// Shift on the log scale of a percent change: `ln(1 + pct/100)`. `pct` must exceed -100.
#[must_use]
pub fn log_from_pct(pct: f64) -> f64 {
    (pct / 100.0).ln_1p()
}

/// A confidence interval for a shift on the log scale. Symmetric limits there mean that "twice as
/// fast" and "half as fast" are equally far from no change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LogInterval {
    /// Lower end, natural log of a ratio.
    pub low: f64,
    /// Upper end, natural log of a ratio.
    pub high: f64,
    /// Coverage actually reached, 0 to 1. For rank intervals it is at least the level asked for.
    pub level: f64,
}

impl LogInterval {
    /// Lower end as a percent change.
    #[must_use]
    pub fn low_pct(&self) -> f64 {
        pct_from_log(self.low)
    }

    /// Upper end as a percent change.
    #[must_use]
    pub fn high_pct(&self) -> f64 {
        pct_from_log(self.high)
    }

    /// Half of the width, on the log scale.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// The larger distance of an end from no change, on the log scale.
    #[must_use]
    pub fn reach(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }
}
