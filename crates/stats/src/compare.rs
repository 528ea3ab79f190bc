//! One cell: base against patched, everything a report says about it except the verdict. Knows the
//! tests; knows no policy beyond the level that the smallest detectable change refers to.

use serde::{Deserialize, Serialize};

use crate::describe::{Moments, Summary, describe};
use crate::dist::t_isf;
use crate::effect::hedges_g;
use crate::flags::Flags;
use crate::input::{Arm, InvalidInput, check_arms, check_level, check_pairs_affordable, check_resolution, logs};
use crate::interval::{LogInterval, pct_from_log};
use crate::multiple::combined_p;
use crate::rank::{RankMethod, Shifts, mann_whitney};
use crate::ttest::{TTest, paired, smallest_detectable, welch_of};

/// Probability with which the smallest detectable change would be found.
const POWER: f64 = 0.8;

/// How the runs of the two arms belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// `base[i]` and `patched[i]` are the two runs (or boot means) of round `i`, in run order.
    Paired,
    /// Two separate series, each in run order.
    Independent,
}

/// How the order of base and patched runs was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// At random, from a recorded seed: drift cannot side with an arm.
    Randomised,
    /// Strictly alternating; a linear drift still leaves 7-11 % false alarms at 5 %.
    Interleaved,
    /// All of one arm, then all of the other: ordinary drift gives 10-100 % false alarms.
    Sequential,
    /// Not known, as in imported tables.
    Unknown,
}

/// The design of an experiment, as far as its analysis depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Design {
    /// How the runs belong together.
    pub layout: Layout,
    /// How their order was chosen.
    pub order: Order,
}

impl Design {
    /// Rounds of one base and one patched run in random order: the lab's own design.
    pub const RANDOMISED_PAIRS: Design = Design { layout: Layout::Paired, order: Order::Randomised };
    /// All runs in one random order.
    pub const FULLY_RANDOMISED: Design = Design { layout: Layout::Independent, order: Order::Randomised };
    /// Two columns of a published table.
    pub const IMPORTED: Design = Design { layout: Layout::Independent, order: Order::Unknown };
}

/// What the comparison needs to know about metric and policy; see [`crate::Policy::options`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Two-sided level that the smallest detectable change refers to, 0 to 1.
    pub alpha: f64,
    /// Rounding step of the tool in percent of the value; 0 if it prints all digits.
    pub resolution_pct: f64,
}

impl Default for Options {
    fn default() -> Options {
        Options { alpha: 0.05, resolution_pct: 0.0 }
    }
}

/// Which t-test gave the t-based p-value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TKind {
    /// Paired t on log ratios.
    PairedLog,
    /// Welch on logs.
    WelchLog,
}

/// The t-test of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TOfLogs {
    /// Which test.
    pub kind: TKind,
    /// Its result on the log scale.
    pub test: TTest,
}

/// Base against patched in one cell and metric. Shifts and intervals are on the log scale
/// ([`LogInterval::low_pct`] and [`pct_from_log`] turn them to percent); patched relative to base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The design the data came from.
    pub design: Design,
    /// The options it was made with.
    pub options: Options,
    /// The base arm, in the unit of the metric.
    pub base: Summary,
    /// The patched arm, in the unit of the metric.
    pub patched: Summary,
    /// The t-test: paired for a paired layout, else Welch; none without variance. Pairs that
    /// differ by a constant factor carry no noise estimate and are tested as independent arms.
    pub t: Option<TOfLogs>,
    /// Mann-Whitney p-value.
    pub p_rank: f64,
    /// How `p_rank` was found.
    pub rank_method: RankMethod,
    /// The p-value of the cell: Bonferroni over both tests; none without variance.
    pub p_combined: Option<f64>,
    /// Hodges-Lehmann shift: the change to report.
    pub shift: f64,
    /// 95 % rank interval of the shift; none below 4 runs an arm.
    pub ci95: Option<LogInterval>,
    /// 90 % rank interval of the shift, for equivalence; none below 3 runs an arm.
    pub ci90: Option<LogInterval>,
    /// Welch test on logs: ratio of the geometric means; none without variance.
    pub welch_log: Option<TTest>,
    /// Mean of patched over mean of base.
    pub ratio_of_means: f64,
    /// Median of patched over median of base.
    pub ratio_of_medians: f64,
    /// Hedges' g of the raw values; none without variance.
    pub hedges_g: Option<f64>,
    /// Probability that a patched run exceeds a base run.
    pub a12: f64,
    /// Diagnostics.
    pub flags: Flags,
    /// Smallest change, as a log shift, that data like these show as significant with 80 %
    /// probability; see [`Comparison::smallest_detectable_pct`]. None without variance.
    pub smallest_detectable_log: Option<f64>,
}

impl Comparison {
    /// The change in percent: the Hodges-Lehmann shift.
    #[must_use]
    pub fn change_pct(&self) -> f64 {
        pct_from_log(self.shift)
    }

    /// The smallest increase in percent that data like these show with 80 % probability at the
    /// level of [`Options::alpha`].
    ///
    /// The cell is significant if either test is significant at half the level (Bonferroni), so the
    /// change is the smaller of two: what the t-test detects with its standard error
    /// ([`smallest_detectable`]), and what it would detect with the one that the width of the rank
    /// interval stands for, if ranks of so few runs can reach the level at all. Simulated, a change of
    /// this size is found in 71-79 % of the cells, the lower figure below 10 runs.
    #[must_use]
    pub fn smallest_detectable_pct(&self) -> Option<f64> {
        self.smallest_detectable_log.map(pct_from_log)
    }

    /// Runs in the smaller arm: the n of every rule.
    #[must_use]
    pub fn n(&self) -> usize {
        self.base.n.min(self.patched.n)
    }
}

/// Compares two arms of positive values, one value per trial.
///
/// # Errors
/// [`InvalidInput::TooFew`] below 2 values an arm, [`InvalidInput::TooMany`] above 2,000,
/// [`InvalidInput::NonFinite`], [`InvalidInput::NonPositive`], [`InvalidInput::UnequalPairs`],
/// [`InvalidInput::BadPolicy`]. No variance is no error: see [`Flags::zero_variance`].
pub fn compare(base: &[f64], patched: &[f64], design: Design, options: Options) -> Result<Comparison, InvalidInput> {
    check_arms(base, patched, 2)?;
    check_pairs_affordable(base, patched)?;
    let log_step = check_options(options)?;
    let (log_base, log_patched) = (logs(Arm::Base, base)?, logs(Arm::Patched, patched)?);

    let rounded = |arm: &[f64]| Moments::of(arm).with_rounding(log_step);
    let welch_log = welch_of(rounded(&log_base), rounded(&log_patched)).ok();
    let t = match design.layout {
        Layout::Paired => paired_t(&log_base, &log_patched, log_step)?,
        Layout::Independent => None,
    }
    .or(welch_log.map(|test| TOfLogs { kind: TKind::WelchLog, test }));

    let rank = mann_whitney(base, patched)?;
    let shifts = Shifts::new(&log_base, &log_patched)?;
    let (raw_base, raw_patched) = (Moments::of(base), Moments::of(patched));
    let (base, patched) = (describe(Arm::Base, base)?, describe(Arm::Patched, patched)?);
    Ok(Comparison {
        design,
        options,
        t,
        p_rank: rank.p,
        rank_method: rank.method,
        p_combined: t.map(|t| combined_p(t.test.p, rank.p)),
        shift: shifts.estimate(),
        ci95: shifts.interval(0.05),
        ci90: shifts.interval(0.10),
        welch_log,
        ratio_of_means: ratio(patched.mean, base.mean),
        ratio_of_medians: ratio(patched.median, base.median),
        hedges_g: hedges_g(raw_base, raw_patched),
        a12: rank.u_patched / (base.n as f64 * patched.n as f64),
        flags: Flags::of(design.layout, &log_base, &log_patched)?,
        smallest_detectable_log: t.map(|t| smallest_detectable_log(t.test, &shifts, base.n + patched.n, options.alpha)),
        base,
        patched,
    })
}

/// The paired test, or none if the pairs differ by a constant factor.
fn paired_t(base: &[f64], patched: &[f64], log_step: f64) -> Result<Option<TOfLogs>, InvalidInput> {
    match paired(base, patched, log_step) {
        Ok(test) => Ok(Some(TOfLogs { kind: TKind::PairedLog, test })),
        Err(InvalidInput::ZeroVarianceBoth) => Ok(None),
        Err(other) => Err(other),
    }
}

/// See [`Comparison::smallest_detectable_pct`].
fn smallest_detectable_log(t: TTest, shifts: &Shifts, runs: usize, alpha: f64) -> f64 {
    let half = alpha / 2.0;
    let by_t = smallest_detectable(t.se, t.df, half, POWER);
    let df = runs as f64 - 2.0;
    let by_rank = shifts
        .interval(half)
        // A width of 0 is a coarse metric, not a perfect one.
        .filter(|ci| ci.half_width() > 0.0)
        .map(|ci| {
            let se = ci.half_width() / t_isf((1.0 - ci.level) / 2.0, df);
            smallest_detectable(se, df, half, POWER)
        });
    by_rank.map_or(by_t, |by_rank| by_rank.min(by_t))
}

/// A ratio of positive finite numbers, saturated at the largest finite one.
fn ratio(patched: f64, base: f64) -> f64 {
    (patched / base).min(f64::MAX)
}

fn check_options(options: Options) -> Result<f64, InvalidInput> {
    check_level("alpha", options.alpha)?;
    check_resolution(options.resolution_pct)
}
