//! One comparison: a candidate against the baseline in one metric of one cell, and all that is known
//! of it. Owns the words of verdicts and flags; knows no rule that leads to one.

use std::collections::BTreeMap;

use blklab_stats::{Better, InvalidInput, LogInterval, pct_from_log};
use serde::Serialize;

/// One comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What was run, as column and value.
    pub cell: BTreeMap<String, String>,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which way is better; none where nobody said.
    pub better: Option<Better>,
    /// The side compared against.
    pub base: Side,
    /// The side under test.
    pub candidate: Side,
    /// What the verdict rests on.
    pub basis: Basis,
    /// Shift on the log scale, candidate relative to base: by ranks where there are values, else of
    /// the means. None where a side has no positive mean, and for events.
    pub shift: Option<f64>,
    /// 95 % interval of the shift.
    pub ci95: Option<LogInterval>,
    /// p-value, two-sided.
    pub p: Option<f64>,
    /// p-value adjusted over all rows (Benjamini-Hochberg 1995).
    pub p_adjusted: Option<f64>,
    /// Smallest change in per cent that data like these show with 80 % probability.
    pub smallest_detectable_pct: Option<f64>,
    /// What a reader should know; in the order of [`Flag`].
    pub flags: Vec<Flag>,
    /// The word.
    pub verdict: Verdict,
    /// How sure it is; none where the question does not arise.
    pub stage: Option<Stage>,
    /// Why it is this word.
    pub reason: Reason,
    /// Estimate of the further runs a side that would settle it; none where nothing is open or more
    /// runs are no remedy.
    pub more_rounds: Option<u64>,
}

impl Row {
    /// The change in per cent, candidate relative to base.
    pub fn change_pct(&self) -> Option<f64> {
        self.shift.map(pct_from_log)
    }

    /// Was there something to test?
    pub fn is_tested(&self) -> bool {
        match self.verdict {
            Verdict::NoTest | Verdict::Invalid => false,
            Verdict::Regression
            | Verdict::VarianceRegression
            | Verdict::Improvement
            | Verdict::Unstable
            | Verdict::Inconclusive
            | Verdict::NoChange => true,
        }
    }
}

/// What is known of one side, in the unit of the metric.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Side {
    /// Its label.
    pub label: String,
    /// Runs; none where it was not published.
    pub n: Option<u64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median; none of a summary.
    pub median: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Standard deviation with divisor n-1; none of a single run and of means alone.
    pub sd: Option<f64>,
    /// Coefficient of variation, `sd / mean`.
    pub cv: Option<f64>,
    /// The values, where they are known, in their order.
    pub values: Vec<f64>,
    /// Of events: how many there were.
    pub count: Option<Count>,
}

/// Events in a number of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Runs in which it happened.
    pub happened: u64,
    /// All runs.
    pub of: u64,
}

/// What a verdict rests on, and so how far it may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Values of which those of one round are a pair.
    Pairs,
    /// Values.
    Values,
    /// Number, mean and standard deviation.
    Summaries,
    /// Means alone.
    Means,
    /// Counts of what happened or not.
    Events,
    /// The two sides cannot be compared.
    Nothing,
}

/// The word for a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Worse by more than what matters.
    Regression,
    /// Not worse on average, but much less even.
    VarianceRegression,
    /// The data contradict themselves or the rules of a metric.
    Invalid,
    /// Better by more than what matters.
    Improvement,
    /// Too noisy, or of two minds.
    Unstable,
    /// More runs could tell.
    Inconclusive,
    /// Nothing about noise is known.
    NoTest,
    /// No change that matters.
    NoChange,
}

impl Verdict {
    /// The word in files for programs.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Regression => "regression",
            Verdict::VarianceRegression => "variance_regression",
            Verdict::Invalid => "invalid",
            Verdict::Improvement => "improvement",
            Verdict::Unstable => "unstable",
            Verdict::Inconclusive => "inconclusive",
            Verdict::NoTest => "no_test",
            Verdict::NoChange => "no_change",
        }
    }
}

/// How sure a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Seen once.
    Suspected,
    /// Seen again in fresh rounds. Files cannot do that; the word is there for whoever reads rows of
    /// a lab beside these.
    Confirmed,
}

impl Stage {
    /// The word in files for programs.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Suspected => "suspected",
            Stage::Confirmed => "confirmed",
        }
    }
}

/// What a reader should know before trusting a row. A flag never removes data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// Nothing says in which order the runs were made, so a change is suspected at most.
    OrderUnknown,
    /// Only number, mean and deviation are known, so a change is suspected at most.
    SummaryOnly,
    /// Only means are known.
    MeansOnly,
    /// Several values of one file were averaged: a file counts as one run.
    AveragedInFiles,
    /// Some rounds have a value on one side only and were left out.
    IncompleteRounds,
    /// The base values form two groups.
    TwoModesBase,
    /// The candidate's values form two groups.
    TwoModesCandidate,
    /// Base values stand apart; they stay in the analysis.
    OutliersBase,
    /// Candidate values stand apart; they stay in the analysis.
    OutliersCandidate,
    /// Values drift in their order.
    Drift,
    /// The base varies by more than 30 %.
    NoisyBase,
    /// The candidate varies much more than the base.
    MoreSpread,
}

impl Flag {
    /// The word in files for programs.
    pub fn name(self) -> &'static str {
        match self {
            Flag::OrderUnknown => "order_unknown",
            Flag::SummaryOnly => "summary_only",
            Flag::MeansOnly => "means_only",
            Flag::AveragedInFiles => "averaged_in_files",
            Flag::IncompleteRounds => "incomplete_rounds",
            Flag::TwoModesBase => "two_modes_base",
            Flag::TwoModesCandidate => "two_modes_candidate",
            Flag::OutliersBase => "outliers_base",
            Flag::OutliersCandidate => "outliers_candidate",
            Flag::Drift => "drift",
            Flag::NoisyBase => "noisy_base",
            Flag::MoreSpread => "more_spread",
        }
    }
}

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The side compared against.
    Base,
    /// The side under test.
    Candidate,
}

/// Why a row has its word, with the numbers of the rule that decided.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// Significant, and larger than what matters.
    Changed,
    /// The spread grew by this factor; none if only the candidate varies.
    MoreSpread {
        /// Standard deviation of the candidate's logs over that of the base's.
        sd_ratio: Option<f64>,
    },
    /// The 90 % interval lies within what matters.
    WithinMargin,
    /// Neither a change nor its absence is shown.
    NotYetClear,
    /// As above, after as many runs as make sense.
    AtMaxRuns,
    /// No side varies, so there is no noise to measure a difference against.
    ZeroVariance,
    /// Even many runs would leave the change open by this much, per cent.
    TooNoisy {
        /// Half-width of the 95 % interval that 30 runs would leave.
        half_width_pct: f64,
    },
    /// Values of one side form two groups with these means.
    TwoModes {
        /// Which side.
        which: Which,
        /// Mean of the lower group.
        low: f64,
        /// Mean of the upper group.
        high: f64,
    },
    /// A side has too few runs.
    TooFewRuns {
        /// Runs of base and candidate.
        runs: (u64, u64),
        /// Noise (coefficient of variation) above which the change would not be significant, had it
        /// been seen in three runs a side; none where a mean is not positive.
        break_even_cv: Option<f64>,
    },
    /// Only means are known.
    MeansOnly {
        /// Runs of the smaller side; none where they were not published.
        runs: Option<u64>,
        /// Noise (coefficient of variation) above which the change would not be significant with
        /// these runs, or with three where they were not published or are fewer than two.
        break_even_cv: Option<f64>,
    },
    /// Counts, judged by Fisher's exact test.
    Counted,
    /// Nobody said which way is better.
    DirectionUnknown,
    /// The two sides say different things of the direction.
    DirectionsDiffer,
    /// The two sides are in different units.
    UnitsDiffer {
        /// Unit of the candidate; that of the base is the row's.
        candidate: String,
    },
    /// A value that cannot be.
    Invalid(InvalidInput),
}
