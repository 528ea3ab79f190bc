//! `blklab-agent clean`.

use std::io::Write;
use std::process::ExitCode;

use crate::config::Config;
use crate::host::{State, StateError, give_back_everything};
use crate::journal::Made;

/// Gives back what the journal holds, and says what it was.
pub(super) fn clean(config: &Config) -> anyhow::Result<ExitCode> {
    let mut state = State::open(config)?;
    let given_back = give_back_everything(&mut state).map_err(StateError::Unclean)?;
    let mut out = std::io::stdout().lock();
    if given_back.is_empty() {
        writeln!(out, "nothing to clean")?;
    }
    for made in given_back {
        writeln!(out, "{}", line(&made))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line(made: &Made) -> String {
    match made {
        Made::BackingFile { path } => format!("removed file {}", path.display()),
        Made::LoopDevice { file } => format!("detached the loop device of {}", file.display()),
        Made::Mount { dir } => format!("unmounted {}", dir.display()),
        Made::Cgroup { path } => format!("emptied and removed control group {}", path.display()),
        Made::Queue { disk, scheduler, .. } => {
            format!("restored queue of {disk} (scheduler {})", scheduler.as_deref().unwrap_or("as it was"))
        }
    }
}
