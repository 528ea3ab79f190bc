//! `blklab compare`: judge results that exist already, without a lab. Owns the exit status; what is read is in `inputs`, what is
//! decided in `blklab-compare`.

mod inputs;
mod read;
mod sides;
mod sources;

use std::path::PathBuf;

use anyhow::Context;
use blklab_compare::{Outcome, compare};
use blklab_stats::Policy;
use clap::{Args, ValueEnum};

use super::{Ended, print};
use crate::render::existing::{self, Existing};
pub(super) use inputs::{Inputs, Sides};

#[derive(Args)]
#[command(after_help = AFTER_HELP, override_usage = "\
blklab compare [OPTIONS] BASE... -- CANDIDATE...
       blklab compare [OPTIONS] --table FILE [--baseline LABEL]")]
pub(super) struct CompareArgs {
    #[command(flatten)]
    inputs: Inputs,
    /// Level of a suspicion
    #[arg(long, value_name = "LEVEL", default_value_t = Policy::default().alpha)]
    alpha: f64,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write it to a file; the verdict alone is printed
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Exit codes:
  0  nothing is suspected to be worse
  1  something regressed
  2  wrong usage or input; standard error says what
  3  nothing could be judged: single runs, means alone, nothing in common

A folder's files are runs where their names count (run-1, run-2...), else cells
by name. Several files of one cell count as one run each. docs/compare.md has more.";

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// 72 columns, as a reply on a mailing list
    Text,
    /// Everything, for programs
    Json,
    /// One row for each comparison
    Csv,
    /// One self-contained page with plots
    Html,
}

/// The answer, as an exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Nothing is suspected to be worse.
    NothingWorse,
    /// Something regressed.
    Worse,
    /// The arguments or the input are wrong.
    BadInput,
    /// No comparison had anything to test.
    NothingJudged,
}

impl Answer {
    /// Documented in the help and in docs/compare.md; scripts rely on it.
    pub(super) fn status(self) -> u8 {
        match self {
            Answer::NothingWorse => 0,
            Answer::Worse => 1,
            Answer::BadInput => 2,
            Answer::NothingJudged => 3,
        }
    }
}

pub(super) fn run(args: &CompareArgs) -> Ended {
    Ended::Compared(match answer(args) {
        Ok(answer) => answer,
        Err(error) => {
            eprintln!("blklab: {error:#}");
            Answer::BadInput
        }
    })
}

fn answer(args: &CompareArgs) -> anyhow::Result<Answer> {
    let existing = existing(args)?;
    let text = match args.format {
        Format::Text => existing::text::render(&existing),
        Format::Json => existing::json::render(&existing)?,
        Format::Csv => existing::csv::render(&existing),
        Format::Html => existing::html::render(&existing)?,
    };
    match &args.output {
        Some(file) => {
            std::fs::write(file, text).with_context(|| format!("failed to write {}", file.display()))?;
            print::line(&existing.headline());
        }
        None => print::text(&text),
    }
    Ok(match existing.comparison.outcome() {
        Outcome::NothingWorse => Answer::NothingWorse,
        Outcome::Worse => Answer::Worse,
        Outcome::NothingJudged => Answer::NothingJudged,
    })
}

fn existing(args: &CompareArgs) -> anyhow::Result<Existing> {
    let Sides { base, candidates, options, sources, warnings } = args.inputs.read(args.alpha)?;
    let comparison = compare(base, candidates, &options).map_err(|error| anyhow::anyhow!("failed to {error}"))?;
    Ok(Existing { comparison, sources, warnings })
}
