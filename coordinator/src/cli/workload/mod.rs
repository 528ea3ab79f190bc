//! `blklab workload`: what there is to run, whether a file is right, and how it runs here.

mod attempt;
mod describe;

use std::path::PathBuf;

use anyhow::{Context, bail};
use blklab_model::workload::Workload;
use blklab_wire::people::NamedText;
use clap::{Args, Subcommand};

use super::{Ended, print};
use crate::library;

#[derive(Args)]
pub(super) struct WorkloadArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the workloads that ship with blklab.
    List,
    /// Say what a workload does, needs and measures.
    Show {
        /// Name of a shipped workload, or a file
        workload: String,
    },
    /// Check workload files: every fault with its line and its remedy.
    Check {
        /// Files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Run one trial here, on a disk that is made for it and removed again, and print its metrics. Needs root.
    Try(attempt::TryArgs),
}

pub(super) fn run(args: WorkloadArgs) -> anyhow::Result<Ended> {
    match args.command {
        Command::List => describe::list(&library::workloads(&[])?),
        Command::Show { workload } => print::text(&describe::page(&named(&workload)?)),
        Command::Check { files } => check(&files)?,
        Command::Try(args) => attempt::run(&args)?,
    }
    Ok(Ended::Well)
}

/// All files are checked, so that one run shows every fault.
fn check(files: &[PathBuf]) -> anyhow::Result<()> {
    let mut bad = 0;
    for path in files {
        match read(path).and_then(|file| Ok(library::one_workload(&file)?)) {
            Ok(workload) => print::line(&format!("{}: {} is right", path.display(), workload.name)),
            Err(error) => {
                bad += 1;
                eprintln!("{error:#}");
            }
        }
    }
    match bad {
        0 => Ok(()),
        1 => bail!("1 of {} files is wrong", files.len()),
        n => bail!("{n} of {} files are wrong", files.len()),
    }
}

/// A file if there is one, else the shipped workload of that name.
fn named(name: &str) -> anyhow::Result<Workload> {
    let path = PathBuf::from(name);
    if path.is_file() {
        return Ok(library::one_workload(&read(&path)?)?);
    }
    let mut shipped = library::workloads(&[])?;
    let found = name.parse().ok().and_then(|name| shipped.remove(&name));
    found.with_context(|| {
        let help = blklab_model::source::suggest(name, shipped.keys().map(|known| known.as_str()));
        format!("there is neither a file nor a shipped workload `{name}`; {help}")
    })
}

fn read(path: &std::path::Path) -> anyhow::Result<NamedText> {
    let text = std::fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    Ok(NamedText { name: path.display().to_string(), text })
}
