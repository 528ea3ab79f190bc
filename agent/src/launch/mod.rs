//! How a load gets onto the disk. The agent runs itself once more as a *launcher* for each load; the launcher joins the control group, sets
//! its I/O priority, waits for the common start, and then becomes the program (exec) or runs the built-in task. So all tasks start together,
//! and a built-in is limited, prioritised, timed and killed exactly like a program.
//!
//! Agent and launcher talk over one socket, the launcher's standard input:
//!
//! ```text
//! launcher: ready                 (or: cannot FAULT TEXT, and it ends)
//! agent:    go
//! launcher: [closed by exec]      (or: cannot FAULT TEXT)
//! agent:    [closes it]           a built-in stops and prints what it has done
//! ```
//!
//! If the agent dies the socket closes, and the kernel kills the launcher and what it became (PR_SET_PDEATHSIG).

mod child;
mod load;

pub use child::run;
pub use load::{End, Launcher, Load, NotStarted};

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use blklab_model::workload::command::{Builtin, IoPriority};

/// What a launcher is told on its command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Folder of the control group to join.
    pub cgroups: Vec<PathBuf>,
    /// I/O priority to take.
    pub io_priority: Option<IoPriority>,
    /// From the word of the agent to the start of the task.
    pub delay: Duration,
    /// What to become.
    pub task: Task,
}

/// What a launcher becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// A program with its arguments.
    Program(Vec<String>),
    /// A task of the agent.
    Builtin(Builtin),
}

/// Words of the launcher and of the agent on their socket, one a line.
const READY: &str = "ready";
const GO: &str = "go";
const CANNOT: &str = "cannot ";

/// Exit status of a launcher that could not start its load: that of env(1) and nohup(1).
const CANNOT_STATUS: u8 = 125;

impl Launch {
    /// Arguments after the name of the agent's program; `main` parses them back.
    pub fn args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["launch".into()];
        for cgroup in &self.cgroups {
            args.extend(["--cgroup".into(), cgroup.clone().into_os_string()]);
        }
        if let Some(priority) = self.io_priority {
            args.extend(["--ioprio".into(), priority.to_string().into()]);
        }
        if !self.delay.is_zero() {
            args.extend(["--delay-ms".into(), self.delay.as_millis().to_string().into()]);
        }
        match &self.task {
            Task::Program(argv) => {
                args.push("--".into());
                args.extend(argv.iter().map(OsString::from));
            }
            Task::Builtin(builtin) => {
                let json = serde_json::to_string(builtin).expect("a built-in is plain data");
                args.extend(["--builtin".into(), json.into()]);
            }
        }
        args
    }
}
