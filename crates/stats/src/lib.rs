//! Statistics for one question: is the patched arm worse than the base arm, and can the answer be
//! trusted? Pure: slices of `f64` in, numbers out; no jobs, no hosts, no clock, no randomness.
//!
//! Conventions: *base* is the arm compared against, *patched* the arm under test; every difference,
//! ratio and shift is patched relative to base; p-values are two-sided unless their name says
//! otherwise; `sd` has the divisor n-1. Tests work on the values they are given: [`logs`] is the door
//! to the log scale, on which all verdicts are made, since a slow-down is a factor.
//!
//! | question | function |
//! |---|---|
//! | Is this cell worse, equal, noisy or undecided? | [`compare`] then [`judge`] |
//! | ... from published mean and sd only? | [`compare_summary`] then [`judge_summary`] |
//! | ... from published means only? | [`judge_means`], [`break_even_cv`] |
//! | What does one arm look like? | [`describe`], [`quantile`], [`median`] |
//! | Do the means differ? | [`welch`] (independent runs), [`paired`] (randomised pairs) |
//! | Do the ranks differ? | [`mann_whitney`], [`Ranking`] for one given method |
//! | What is the p-value of the cell? | [`combined_p`] |
//! | By how much do they differ? | [`Shifts`] (Hodges-Lehmann with rank interval), [`a12`], [`cohen_d`], [`hedges_g`] |
//! | Are they equal within a margin? | [`tost`] (t-based), [`Shifts::interval`] (rank-based) |
//! | Does the spread differ? | [`brown_forsythe`]; [`levene_mean`] and [`oneway_f`] for reference |
//! | Does a series drift in run order? | [`mann_kendall`], [`sen_slope`], [`lag1`] |
//! | Which runs are outliers? | [`outliers`], [`modified_z`] |
//! | Are there two modes? | [`two_modes`] |
//! | How many runs of a boot pay off? | [`Nested`], [`runs_per_boot`] |
//! | Do failures or finish orders differ? | [`fisher_exact`] |
//! | Which of many cells remain after correction? | [`bh`], [`by`], [`holm`], [`bonferroni`] |
//! | A tail or a quantile of a distribution? | [`dist`] |
//!
//! Every function that takes data answers unfit data with a typed [`InvalidInput`]; none returns
//! NaN for data it accepts.

mod compare;
mod describe;
pub mod dist;
mod effect;
mod equivalence;
mod fisher;
mod flags;
mod input;
mod interval;
mod modes;
mod multiple;
mod nested;
mod outlier;
mod rank;
mod spread;
mod summary;
mod trend;
mod ttest;
mod verdict;

pub use compare::{Comparison, Design, Layout, Options, Order, TKind, TOfLogs, compare};
pub use describe::{Moments, Summary, describe, lag1, median, quantile};
pub use effect::{a12, cohen_d, hedges_correction, hedges_g};
pub use equivalence::{Tost, tost};
pub use fisher::{FisherExact, fisher_exact};
pub use flags::{Drift, Flags, Series, Spread};
pub use input::{Arm, InvalidInput, logs};
pub use interval::{LogInterval, log_from_pct, pct_from_log};
pub use modes::{TwoModes, two_modes};
pub use multiple::{bh, bonferroni, by, combined_p, holm};
pub use nested::{Nested, runs_per_boot};
pub use outlier::{modified_z, outliers};
pub use rank::{RankMethod, RankTest, Ranking, Shifts, mann_whitney};
pub use spread::{OnewayF, brown_forsythe, levene_mean, oneway_f};
pub use summary::{MeanSd, SummaryComparison, VarianceRatio, break_even_cv, compare_summary, fieller_interval, variance_ratio};
pub use trend::{MannKendall, mann_kendall, sen_slope};
pub use ttest::{TTest, paired, smallest_detectable, welch, welch_of};
pub use verdict::{Better, Bound, Cap, Gate, GateName, Judgement, NoTest, Policy, Verdict, Why, judge, judge_means, judge_summary};
