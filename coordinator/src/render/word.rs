//! The verdict words: glyph, word and colour class of each, so that no reader depends on colour. Knows the verdicts; knows no numbers
//! but the smallest effect that matters.

use blklab_model::report::Counts;
use blklab_stats::Verdict;

use super::number::percent;

/// What a verdict means to a reader; one colour and one glyph each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tone {
    /// The candidate is worse.
    Worse,
    /// Trials failed where a value was wanted.
    Failed,
    /// The candidate is better.
    Better,
    /// Too noisy.
    Unstable,
    /// More rounds could tell.
    Open,
    /// Nothing to judge.
    Untested,
    /// Nothing changed.
    Same,
    /// Not measured yet.
    Waiting,
}

impl Tone {
    /// All tones, in the order of a legend.
    pub(crate) const ALL: [Tone; 8] =
        [Tone::Worse, Tone::Better, Tone::Same, Tone::Open, Tone::Unstable, Tone::Failed, Tone::Untested, Tone::Waiting];

    /// Stands before each word.
    pub(crate) fn glyph(self) -> char {
        match self {
            Tone::Worse => '▼',
            Tone::Better => '▲',
            Tone::Same => '=',
            Tone::Open => '?',
            Tone::Unstable => '~',
            Tone::Failed => '✖',
            Tone::Untested => '∅',
            Tone::Waiting => '…',
        }
    }

    /// Class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Tone::Worse => "worse",
            Tone::Better => "better",
            Tone::Same => "same",
            Tone::Open => "open",
            Tone::Unstable => "unstable",
            Tone::Failed => "failed",
            Tone::Untested => "untested",
            Tone::Waiting => "waiting",
        }
    }

    /// The word in a legend.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Tone::Worse => "regression",
            Tone::Better => "improvement",
            Tone::Same => "no change",
            Tone::Open => "inconclusive",
            Tone::Unstable => "unstable",
            Tone::Failed => "failed",
            Tone::Untested => "no test",
            Tone::Waiting => "waiting",
        }
    }
}

/// A verdict in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// Its meaning.
    pub(crate) tone: Tone,
    /// `regression (suspected)`, `no change within ±5 %`.
    pub(crate) long: String,
    /// For narrow cells: `regression`, `no change`.
    pub(crate) short: &'static str,
    /// `suspected` or `confirmed`; empty where the question does not arise.
    pub(crate) certainty: &'static str,
}

impl Word {
    /// The word for a verdict on a metric whose changes below `smallest_effect_pct` do not matter.
    pub(crate) fn of(verdict: &Verdict, smallest_effect_pct: f64) -> Word {
        let word = |tone: Tone, long: &str| Word { tone, long: long.to_owned(), short: tone.word(), certainty: "" };
        let change = |tone: Tone, word: &str, certainty: &'static str| Word {
            tone,
            long: format!("{word} ({certainty})"),
            short: tone.word(),
            certainty,
        };
        match verdict {
            Verdict::SuspectRegression => change(Tone::Worse, "regression", "suspected"),
            Verdict::Regression => change(Tone::Worse, "regression", "confirmed"),
            Verdict::VarianceRegression => Word { short: "more spread", ..change(Tone::Worse, "variance regression", "suspected") },
            Verdict::SuspectImprovement => change(Tone::Better, "improvement", "suspected"),
            Verdict::Improvement => change(Tone::Better, "improvement", "confirmed"),
            Verdict::Equivalent => word(Tone::Same, &format!("no change within ±{}", percent(smallest_effect_pct))),
            Verdict::NotReproduced => Word { short: "not reproduced", ..word(Tone::Open, "not reproduced") },
            Verdict::Inconclusive { .. } => word(Tone::Open, "inconclusive"),
            Verdict::Unstable { .. } => word(Tone::Unstable, "unstable"),
            Verdict::NoTest { .. } => word(Tone::Untested, "no test"),
            Verdict::Invalid { .. } => Word { short: "invalid", ..word(Tone::Failed, "invalid values") },
        }
    }

    /// Trials failed, hence no value to judge.
    pub(crate) fn failed(trials: u32) -> Word {
        let plural = if trials == 1 { "" } else { "s" };
        Word { tone: Tone::Failed, long: format!("failed ({trials} trial{plural})"), short: "failed", certainty: "" }
    }

    /// Its trials have not run yet.
    pub(crate) fn waiting() -> Word {
        Word { tone: Tone::Waiting, long: "not measured yet".to_owned(), short: "waiting", certainty: "" }
    }
}

/// The tone of a whole report: what needs action first.
pub(crate) fn overall(counts: &Counts) -> Tone {
    match counts {
        Counts { regressions: 1.., .. } => Tone::Worse,
        Counts { improvements: 1.., .. } => Tone::Better,
        Counts { unstable: 1.., .. } => Tone::Unstable,
        Counts { inconclusive: 1.., .. } => Tone::Open,
        Counts { no_test: 1.., .. } => Tone::Untested,
        Counts { no_change: 1.., .. } => Tone::Same,
        Counts { .. } => Tone::Waiting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suspected_and_confirmed_are_told_apart() {
        assert_eq!(Word::of(&Verdict::SuspectRegression, 5.0).long, "regression (suspected)");
        assert_eq!(Word::of(&Verdict::Regression, 5.0).long, "regression (confirmed)");
        assert_eq!(Word::of(&Verdict::Equivalent, 2.5).long, "no change within ±2.5\u{a0}%");
    }

    #[test]
    fn no_two_tones_share_a_glyph_or_a_class() {
        let distinct = |texts: Vec<String>| texts.iter().collect::<std::collections::BTreeSet<_>>().len() == texts.len();
        assert!(distinct(Tone::ALL.iter().map(|tone| tone.glyph().to_string()).collect()));
        assert!(distinct(Tone::ALL.iter().map(|tone| tone.class().to_owned()).collect()));
    }

    #[test]
    fn what_got_worse_outweighs_what_got_better() {
        let counts = Counts { regressions: 1, improvements: 9, no_change: 90, ..Counts::default() };
        assert_eq!(overall(&counts), Tone::Worse);
        assert_eq!(overall(&Counts::default()), Tone::Waiting);
    }
}
