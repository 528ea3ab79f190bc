//! The agent's side of a load: start it through a launcher, let it go, ask it to stop, collect how it ended.

use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use blklab_model::outcome::Fault;
use blklab_wire::agent::MAX_OUTPUT_BYTES;
use rustix::process::Signal;

use super::{CANNOT, CANNOT_STATUS, GO, Launch, READY, Task};
use crate::sys::process::{Bell, Ended, Process};
use crate::sys::{self, SysError, command};

/// A launcher does nothing before it is ready that could take long; on a host where this is not enough nothing can be measured.
const READY_LIMIT: Duration = Duration::from_secs(30);

/// How loads are started on this host.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// The agent's own program.
    pub program: PathBuf,
}

/// A load: waiting for its start, or running.
#[derive(Debug)]
pub struct Load {
    name: String,
    process: Process,
    control: UnixStream,
    is_builtin: bool,
}

/// How a load ended.
#[derive(Debug)]
pub struct End {
    /// Its name.
    pub name: String,
    /// Status, time and outputs.
    pub process: Ended,
    /// Why it was never started, when it was not.
    pub not_started: Option<NotStarted>,
}

/// Why a load was never started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotStarted {
    /// Whose fault.
    pub fault: Fault,
    /// The launcher's own words.
    pub message: String,
}

impl Launcher {
    /// Starts a load in a folder; it waits until [`Load::go`].
    pub fn start(&self, name: &str, launch: &Launch, folder: &Path, bell: &Bell) -> sys::Result<Load> {
        let (control, theirs) = UnixStream::pair().map_err(SysError::io("make a socket for a launcher"))?;
        let mut command = command::program(&self.program.to_string_lossy());
        command.args(launch.args()).current_dir(folder).stdin(Stdio::from(OwnedFd::from(theirs)));
        let process = Process::spawn(command, MAX_OUTPUT_BYTES, bell)?;
        let is_builtin = match launch.task {
            Task::Builtin(_) => true,
            Task::Program(_) => false,
        };
        Ok(Load { name: name.to_owned(), process, control, is_builtin })
    }
}

impl Load {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until it is in its group and has its priority. The error is the launcher's own.
    pub fn await_ready(&mut self) -> Result<(), NotStarted> {
        match self.read_word() {
            Some(word) if word == READY => Ok(()),
            Some(word) => Err(parse_cannot(&word).unwrap_or(NotStarted { fault: Fault::Lab, message: word })),
            None => {
                let message = format!("its launcher ended, or did not answer within {} s", READY_LIMIT.as_secs());
                Err(NotStarted { fault: Fault::Lab, message })
            }
        }
    }

    /// Lets it go. A launcher that is gone by now is noticed at its end.
    pub fn go(&mut self) {
        let _ = self.control.write_all(format!("{GO}\n").as_bytes());
    }

    /// When it ended, if it has.
    pub fn ended(&self) -> Option<Duration> {
        self.process.ended()
    }

    /// Has it ended with another exit status than 0, or by a signal?
    pub fn has_failed(&self) -> bool {
        self.process.has_failed()
    }

    /// Asks it to end: a built-in prints what it has done, a program gets SIGTERM.
    pub fn ask_to_stop(&self) {
        if self.is_builtin {
            let _ = self.control.shutdown(Shutdown::Write);
        } else {
            self.process.signal(Signal::TERM);
        }
    }

    /// Kills it and its group if they still run, and collects everything.
    pub fn finish(mut self) -> sys::Result<End> {
        // Its side of the socket is closed once it is dead, so that reading cannot wait; a program closed it when it was executed.
        let word = if self.ended().is_some() { self.read_word() } else { None };
        let process = self.process.finish()?;
        let cannot = word.as_deref().and_then(parse_cannot);
        let not_started = cannot.filter(|_| process.status.code() == Some(i32::from(CANNOT_STATUS)));
        Ok(End { name: self.name, process, not_started })
    }

    fn read_word(&mut self) -> Option<String> {
        self.control.set_read_timeout(Some(READY_LIMIT)).ok()?;
        let mut line = String::new();
        BufReader::new(&self.control).read_line(&mut line).ok().filter(|length| *length > 0)?;
        Some(line.trim_end().to_owned())
    }
}

/// `cannot workload run `fio`: it is not installed`
fn parse_cannot(word: &str) -> Option<NotStarted> {
    let (fault, message) = word.strip_prefix(CANNOT)?.split_once(' ')?;
    let fault = [Fault::Workload, Fault::Lab].into_iter().find(|known| known.word() == fault)?;
    Some(NotStarted { fault, message: message.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_says_whose_fault_it_is() {
        let not_started = parse_cannot("cannot workload run `fio`: it is not installed").unwrap();
        assert_eq!(not_started, NotStarted { fault: Fault::Workload, message: "run `fio`: it is not installed".into() });
        assert_eq!(parse_cannot("ready"), None);
    }
}
