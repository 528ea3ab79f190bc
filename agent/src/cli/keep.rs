//! `blklab-agent keep PARENT -- PROGRAM...`: becomes a program that dies with the controller which started it.

use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::sys::command;

#[derive(Debug, Args)]
pub(super) struct KeepArgs {
    /// Process number of the parent.
    parent: u32,
    #[arg(last = true, required = true)]
    argv: Vec<String>,
}

pub(super) fn keep(args: &KeepArgs) -> anyhow::Result<ExitCode> {
    set_parent_process_death_signal(Some(Signal::KILL)).context("failed to ask to die with the controller")?;
    // It may have died before it was asked.
    let parent = i32::try_from(args.parent).ok().and_then(Pid::from_raw);
    if getppid() != parent {
        bail!("the controller is gone");
    }
    let (program, rest) = args.argv.split_first().context("there is no program to become")?;
    let error = command::program(program).args(rest).exec();
    bail!("failed to run `{program}`: {error}")
}
