//! Undoes what the journal holds: after a failed undo, after a `kill -9`, and at the end of the agent. Everything in here may be done twice.

use std::path::Path;
use std::time::Duration;

use super::State;
use super::queue;
use crate::journal::Made;
use crate::sys::{self, SysError, cgroup, limited::limited, loop_device, mount};

/// Longer than mount::unmount tries; what does not return by then hangs in the kernel.
const UNMOUNT_LIMIT: Duration = Duration::from_secs(120);

/// What is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// What a trial made.
    OfTheTrial,
    /// The agent's own disks as well.
    Everything,
}

/// Gives back everything that an agent with this state folder has made; a list of it, latest first.
pub fn give_back_everything(state: &mut State) -> Result<Vec<Made>, String> {
    let made = state.journal.made();
    give_back(state, Which::Everything).map(|()| made)
}

/// What fails is kept in the journal and does not stop the rest.
pub(super) fn give_back(state: &mut State, which: Which) -> Result<(), String> {
    let wanted = |made: &Made| which == Which::Everything || made.is_of_a_trial();
    let mut made: Vec<Made> = state.journal.made().into_iter().filter(wanted).collect();
    // Processes first: they hold all the rest.
    made.sort_by_key(|made| !matches!(made, Made::Cgroup { .. }));
    let mut left = Vec::new();
    for made in &made {
        if let Err(error) = undo(state, made).and_then(|()| state.journal.gave_back(made)) {
            left.push(format!("failed to {error}"));
        }
    }
    if left.is_empty() { Ok(()) } else { Err(left.join("; ")) }
}

fn undo(state: &State, made: &Made) -> sys::Result<()> {
    match made {
        Made::Cgroup { path } => {
            cgroup::remove(path)?;
            cgroup::remove_parent(path);
            Ok(())
        }
        Made::Mount { dir } => {
            unmount_within(dir, UNMOUNT_LIMIT)?;
            remove_empty_folder(dir);
            Ok(())
        }
        Made::Queue { disk, scheduler, tunables } => queue::restore(&state.roots, disk, scheduler.as_deref(), tunables),
        Made::LoopDevice { file } => {
            let names = loop_device::attached_to(&state.roots, file);
            names.iter().try_for_each(|name| loop_device::detach(&state.roots, name, file))
        }
        Made::BackingFile { path } => match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(SysError::io(format!("remove {}", path.display()))(error)),
            Ok(()) | Err(_) => {
                path.parent().into_iter().for_each(remove_empty_folder);
                Ok(())
            }
        },
    }
}

/// Unmounts, and gives up on a kernel that does not return.
pub(super) fn unmount_within(dir: &Path, limit: Duration) -> sys::Result<()> {
    let act = format!("unmount {}", dir.display());
    let dir = dir.to_owned();
    limited(&act, limit, move || mount::unmount(&dir))
}

fn remove_empty_folder(folder: &Path) {
    // It fails when something is in it, which is the wish.
    let _ = std::fs::remove_dir(folder);
}
