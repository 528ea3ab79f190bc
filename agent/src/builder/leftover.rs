//! What a builder leaves behind that was killed with `kill -9`: its make(1) and compilers go on, and hold the lock of the cache folder by
//! their standard input ([`Folder::hold`](crate::build::Folder::hold)). They are known by just that, and ended.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::clock;
use crate::sys::files;

/// A killed process ends at once unless it hangs in the kernel; and a compiler may just be starting another one.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks.
const TICK: Duration = Duration::from_millis(50);

/// Ends the programs of a former build in a cache folder; gives how many there were. The caller has the state folder to itself, so no other
/// builder uses the cache; when a `blklab-agent build` does, nothing is ended.
pub(super) fn end(cache: &Path) -> usize {
    let Ok(lock) = cache.join("lock").canonicalize() else { return 0 };
    // Who takes the lock writes its own id into it.
    let owner = files::read_if_there(&lock).and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    let mut ended = 0;
    let deadline = clock::monotonic() + PATIENCE;
    loop {
        let holders = holders(&lock);
        if holders.is_empty() || owner.is_some_and(|owner| holders.contains(&owner)) || clock::monotonic() > deadline {
            return ended;
        }
        // What cannot be ended is somebody else's: then the folder stays taken, and the message says by whom.
        ended += holders.into_iter().filter(|pid| kill_process(*pid, Signal::KILL).is_ok()).count();
        std::thread::sleep(TICK);
    }
}

/// Processes that have the file open (proc(5), `/proc/PID/fd`), zombies left out. Those of other users cannot be seen.
fn holders(lock: &Path) -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    pids.filter(|pid| {
        let fds = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero())).into_iter().flatten().flatten();
        fds.into_iter().any(|fd| fs::read_link(fd.path()).is_ok_and(|target| target == lock))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;
    use crate::build::Folder;
    use crate::sys::command;

    #[test]
    fn what_a_killed_builder_left_is_ended_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(end(dir.path()), 0, "there was never a build");
        let folder = Folder::open(dir.path()).unwrap();
        let mut left = command::program("sh").args(["-c", "sleep 1000; true"]).stdin(folder.hold()).spawn().unwrap();
        let mut other = command::program("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        assert_eq!(end(dir.path()), 0, "this process has the lock itself: a build is under way");
        drop(folder);
        Folder::open(dir.path()).unwrap_err();
        while holders(&dir.path().canonicalize().unwrap().join("lock")).len() < 2 {
            std::thread::yield_now();
        }
        assert_eq!(end(dir.path()), 2, "the shell and its child");
        Folder::open(dir.path()).unwrap();
        left.wait().unwrap();
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
