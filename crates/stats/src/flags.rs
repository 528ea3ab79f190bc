//! What a reader should know before trusting a comparison: outliers, modes, drift, noise, unequal
//! spread. Flags never remove data; [`crate::judge`] decides what they mean for the verdict.

use serde::{Deserialize, Serialize};

use crate::compare::Layout;
use crate::describe::{Moments, lag1};
use crate::input::{Arm, InvalidInput};
use crate::modes::{TwoModes, two_modes};
use crate::outlier::outliers;
use crate::spread::brown_forsythe;
use crate::trend::{MannKendall, mann_kendall};
use crate::ttest::welch_of;

/// Fewest runs an arm for outlier flags.
const OUTLIERS_FROM: usize = 5;
/// Fewest points of a series for drift flags: at 5 the test sees 17 % of ordinary drifts.
const DRIFT_FROM: usize = 10;
/// Level of the drift test.
const DRIFT_ALPHA: f64 = 0.05;
/// Standard deviation of the base logs above which the cell is called noisy.
const NOISY_SD_LOG: f64 = 0.30;

/// Diagnostics of a comparison, all on the log scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flags {
    /// Indexes of outlying base runs, from 5 runs on; none in a bimodal arm.
    pub outliers_base: Vec<usize>,
    /// Indexes of outlying patched runs, from 5 runs on; none in a bimodal arm.
    pub outliers_patched: Vec<usize>,
    /// Best two-cluster split of the base arm; none below 4 runs or without variance.
    pub modes_base: Option<TwoModes>,
    /// Best two-cluster split of the patched arm; none below 4 runs or without variance.
    pub modes_patched: Option<TwoModes>,
    /// Trend tests in run order (from 10 points on).
    pub drift: Vec<Drift>,
    /// Comparison of the spreads.
    pub spread: Spread,
    /// The base arm varies by more than 30 %.
    pub noisy: bool,
    /// Neither arm varies beyond the rounding of its logs: there is no noise to measure a difference against.
    pub zero_variance: bool,
}

/// The series of a drift test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Series {
    /// Means of the two runs of each round, of a paired design.
    Rounds,
    /// The base runs alone.
    Base,
    /// The patched runs alone.
    Patched,
}

/// A trend test in run order. In randomised pairs it is information; in sequential data it caps
/// the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// What was tested.
    pub series: Series,
    /// Mann-Kendall test.
    pub trend: MannKendall,
    /// Autocorrelation at lag 1; none without variance.
    pub lag1: Option<f64>,
    /// `p <= 0.05`.
    pub trending: bool,
    /// `lag1 > 1.96 / sqrt(n)`.
    pub autocorrelated: bool,
}

/// Brown-Forsythe test of the logs and the ratio of their standard deviations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Standard deviation of the base logs.
    pub sd_log_base: f64,
    /// Standard deviation of the patched logs.
    pub sd_log_patched: f64,
    /// F statistic; none below 3 runs or without variance of the deviations.
    pub f: Option<f64>,
    /// p-value of `f`.
    pub p: Option<f64>,
}

impl Spread {
    /// Patched over base; none if the base arm does not vary.
    #[must_use]
    pub fn sd_ratio(&self) -> Option<f64> {
        let ratio = self.sd_log_patched / self.sd_log_base;
        ratio.is_finite().then_some(ratio)
    }
}

impl Flags {
    /// Diagnoses two arms of logs.
    pub(crate) fn of(layout: Layout, base: &[f64], patched: &[f64]) -> Result<Flags, InvalidInput> {
        let moments = (Moments::of(base), Moments::of(patched));
        let modes_base = two_modes(Arm::Base, base)?;
        let modes_patched = two_modes(Arm::Patched, patched)?;
        let brown_forsythe = brown_forsythe(base, patched).ok();
        Ok(Flags {
            outliers_base: flagged_outliers(Arm::Base, base, modes_base)?,
            outliers_patched: flagged_outliers(Arm::Patched, patched, modes_patched)?,
            modes_base,
            modes_patched,
            drift: drifts(layout, base, patched)?,
            spread: Spread {
                sd_log_base: moments.0.sd,
                sd_log_patched: moments.1.sd,
                f: brown_forsythe.map(|test| test.f),
                p: brown_forsythe.map(|test| test.p),
            },
            noisy: moments.0.sd > NOISY_SD_LOG,
            zero_variance: welch_of(moments.0, moments.1).is_err(),
        })
    }

    /// Whether the base arm has two modes.
    #[must_use]
    pub fn bimodal_base(&self) -> bool {
        self.modes_base.is_some_and(|modes| modes.bimodal)
    }

    /// Whether the patched arm has two modes.
    #[must_use]
    pub fn bimodal_patched(&self) -> bool {
        self.modes_patched.is_some_and(|modes| modes.bimodal)
    }

    /// Whether any series drifts or is autocorrelated.
    #[must_use]
    pub fn drifting(&self) -> bool {
        let drifts = |d: &Drift| d.trending || d.autocorrelated;
        self.drift.iter().any(drifts)
    }
}

/// The smaller of two modes is a second mode, not a handful of outliers.
fn flagged_outliers(arm: Arm, logs: &[f64], modes: Option<TwoModes>) -> Result<Vec<usize>, InvalidInput> {
    let bimodal = modes.is_some_and(|modes| modes.bimodal);
    if bimodal || logs.len() < OUTLIERS_FROM {
        return Ok(Vec::new());
    }
    outliers(arm, logs)
}

fn drifts(layout: Layout, base: &[f64], patched: &[f64]) -> Result<Vec<Drift>, InvalidInput> {
    let series = match layout {
        Layout::Paired => {
            let means = base.iter().zip(patched).map(|(b, p)| (b + p) / 2.0);
            vec![(Series::Rounds, Arm::Base, means.collect())]
        }
        Layout::Independent => vec![(Series::Base, Arm::Base, base.to_vec()), (Series::Patched, Arm::Patched, patched.to_vec())],
    };
    series
        .into_iter()
        .filter(|(_, _, values): &(_, _, Vec<f64>)| values.len() >= DRIFT_FROM)
        .map(|(series, arm, values)| {
            let trend = mann_kendall(arm, &values)?;
            let lag1 = lag1(&values);
            Ok(Drift {
                series,
                trend,
                lag1,
                trending: trend.p() <= DRIFT_ALPHA,
                autocorrelated: lag1.is_some_and(|r| r > 1.96 / (values.len() as f64).sqrt()),
            })
        })
        .collect()
}
