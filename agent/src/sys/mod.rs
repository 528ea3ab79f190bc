//! Direct use of the kernel: system calls, sysfs, cgroups, loop devices, processes. Each function does one thing and says what it
//! could not do; nothing in here knows of trials, and whose fault a failure is is decided by the caller.

pub mod block;
pub mod cgroup;
pub mod command;
pub mod files;
pub mod ioprio;
pub mod kernel_log;
pub mod limited;
pub mod loop_device;
pub mod memory_group;
pub mod mount;
pub mod process;
pub mod roots;

use std::io;
use std::path::PathBuf;

/// What the kernel or a program refused. The text completes "failed to ...".
#[derive(Debug, thiserror::Error)]
pub enum SysError {
    /// A system call or file operation.
    #[error("{act}: {source}")]
    Io {
        /// `mount /dev/loop3 on /mnt`.
        act: String,
        /// Why not.
        source: io::Error,
    },
    /// A file that keeps another value than the one written to it.
    #[error("set {}: wrote `{wanted}`, reads back `{got}`", file.display())]
    ReadBack {
        /// Which file.
        file: PathBuf,
        /// What was written.
        wanted: String,
        /// What it says.
        got: String,
    },
    /// A program that is not on the PATH.
    #[error("run `{program}`: it is not installed{}", command::package_hint(program))]
    MissingProgram {
        /// Its name.
        program: String,
    },
    /// A program that ended with another status than 0.
    #[error("run `{command}`: {status}{}", command::last_words(stderr))]
    Program {
        /// Its command line.
        command: String,
        /// `exit status: 1`.
        status: String,
        /// The end of what it wrote to its standard error.
        stderr: String,
    },
    /// A program or system call that took too long.
    #[error("{act}: not done after {limit_s} s")]
    TimeOut {
        /// What it was to do.
        act: String,
        /// How long it was given, in seconds.
        limit_s: u64,
    },
    /// The host cannot do this at all.
    #[error("{act}: {reason}")]
    Unsupported {
        /// What was to be done.
        act: String,
        /// Why it cannot, with the remedy.
        reason: String,
    },
}

impl SysError {
    /// For `map_err`: names what was tried.
    pub fn io<E: Into<io::Error>>(act: impl Into<String>) -> impl FnOnce(E) -> Self {
        let act = act.into();
        move |source| SysError::Io { act, source: source.into() }
    }
}

/// A result of this module.
pub type Result<T> = std::result::Result<T, SysError>;
