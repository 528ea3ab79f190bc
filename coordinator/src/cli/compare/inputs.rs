//! The two sides as people name them, for every command that reads results which exist already.

use std::path::PathBuf;

use anyhow::{Context, bail};
use blklab_compare::names::Names;
use blklab_compare::{Arm, Averaged, Options, table};
use blklab_stats::{Better, Policy};
use clap::{Args, ValueEnum};

use super::read::{self, Read, Side};
use super::sides;

/// What is read, and how.
#[derive(Args)]
pub(in crate::cli) struct Inputs {
    /// Files or folders of the side compared against; formats are detected
    #[arg(value_name = "BASE", required_unless_present = "table")]
    base: Vec<PathBuf>,
    /// Files or folders of the side under test
    #[arg(value_name = "CANDIDATE", last = true, required_unless_present = "table")]
    candidate: Vec<PathBuf>,
    /// One file with several kernels, systems or commits: a table in CSV, or any format that has labels
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "candidate"])]
    table: Option<PathBuf>,
    /// Label of the baseline in the table [default: the first]
    #[arg(long, value_name = "LABEL", requires = "table")]
    baseline: Option<String>,
    /// Which way is better; METRIC may have `*` for any text; may be repeated
    #[arg(long, value_name = "METRIC=higher|lower", value_parser = better)]
    better: Vec<(String, Better)>,
    /// Changes below this many per cent do not matter
    #[arg(long, value_name = "PERCENT", default_value_t = Policy::default().delta_pct)]
    smallest_effect: f64,
    /// What the names of files in a folder say
    #[arg(long, value_enum, default_value_t = NamesArg::Auto)]
    names: NamesArg,
}

#[derive(Clone, Copy, ValueEnum)]
enum NamesArg {
    /// Numbers that count are runs, other names are cells
    Auto,
    /// Each name is a cell
    Cells,
    /// All files of a side are runs
    Runs,
}

/// The sides, read.
pub(in crate::cli) struct Sides {
    /// The side compared against.
    pub(in crate::cli) base: Arm,
    /// The sides under test.
    pub(in crate::cli) candidates: Vec<Arm>,
    /// How they are to be compared.
    pub(in crate::cli) options: Options,
    /// A line for each side: what it is called, and from where.
    pub(in crate::cli) sources: Vec<(String, String)>,
    /// What was odd.
    pub(in crate::cli) warnings: Vec<String>,
}

impl Inputs {
    /// Reads what was named; `alpha` is the level of a suspicion.
    pub(in crate::cli) fn read(&self, alpha: f64) -> anyhow::Result<Sides> {
        let policy = Policy { delta_pct: self.smallest_effect, alpha, ..Policy::default() };
        policy.check().map_err(|error| anyhow::anyhow!("failed to {error}"))?;
        let (base, candidates, averaged, read) = match &self.table {
            Some(file) => self.read_table(file)?,
            None => self.read_sides()?,
        };
        if base.series.is_empty() || candidates.is_empty() {
            bail!("there is nothing to compare: a side has no values");
        }
        let options = Options { better: self.better.clone(), policy, averaged };
        let Read { sources, warnings, .. } = read;
        Ok(Sides { base, candidates, options, sources, warnings })
    }

    fn read_table(&self, file: &PathBuf) -> anyhow::Result<(Arm, Vec<Arm>, Averaged, Read)> {
        let mut read = read::read(&[Side { what: "table", paths: std::slice::from_ref(file) }], self.names())?;
        let gathered = read.sides.remove(0);
        let averaged = gathered.averaged.clone();
        let (base, candidates) = table(gathered, self.baseline.as_deref())
            .map_err(|error| anyhow::anyhow!("failed to {error}"))
            .with_context(|| file.display().to_string())?;
        Ok((base, candidates, averaged, read))
    }

    fn read_sides(&self) -> anyhow::Result<(Arm, Vec<Arm>, Averaged, Read)> {
        let sides = [Side { what: "base from", paths: &self.base }, Side { what: "cand. from", paths: &self.candidate }];
        let mut read = read::read(&sides, self.names())?;
        let (candidate, base) = (read.sides.remove(1), read.sides.remove(0));
        let averaged = base.averaged.union(&candidate.averaged).cloned().collect();
        let (base, candidates) = sides::arms(base, candidate, &self.base, &self.candidate);
        Ok((base, candidates, averaged, read))
    }

    fn names(&self) -> Names {
        match self.names {
            NamesArg::Auto => Names::Auto,
            NamesArg::Cells => Names::Cells,
            NamesArg::Runs => Names::Runs,
        }
    }
}

fn better(text: &str) -> Result<(String, Better), String> {
    let (metric, better) = text.rsplit_once('=').ok_or("write METRIC=higher or METRIC=lower")?;
    let better = match better {
        "higher" => Better::Higher,
        "lower" => Better::Lower,
        _ => return Err("write METRIC=higher or METRIC=lower".to_owned()),
    };
    Ok((metric.to_owned(), better))
}
