//! A child process in a group of its own: its outputs are bounded, its end is timed where it happens, and its whole group can be killed
//! without ever hitting a reused process number.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::{Result, SysError};
use crate::clock;

/// Bytes of the end of an output that are kept beside its beginning: last words are what an error message needs.
const TAIL_BYTES: usize = 4 << 10;

/// How long a pipe may stay open after its group was killed, before what it still might bring is given up.
const DRAIN_PATIENCE: Duration = Duration::from_secs(1);

/// A killed process ends at once unless it hangs in the kernel; one that waits for throttled I/O ends when that is done.
const KILL_PATIENCE: Duration = Duration::from_secs(60);

/// What a process wrote: the beginning, and how much more there was.
#[derive(Debug, Clone, Default)]
pub struct Captured {
    /// Its first bytes, up to the limit.
    pub head: Vec<u8>,
    /// How many bytes followed.
    pub dropped: u64,
    tail: Vec<u8>,
}

impl Captured {
    /// The last `lines` lines that are not empty.
    pub fn last_lines(&self, lines: usize) -> String {
        let end = if self.dropped == 0 { &self.head } else { &self.tail };
        let text = String::from_utf8_lossy(end);
        let mut last: Vec<&str> = text.lines().rev().map(str::trim_end).filter(|line| !line.is_empty()).take(lines).collect();
        last.reverse();
        last.join("\n")
    }

    fn push(&mut self, bytes: &[u8], limit: usize) {
        let (kept, beyond) = bytes.split_at(bytes.len().min(limit - self.head.len()));
        self.head.extend_from_slice(kept);
        self.dropped += beyond.len() as u64;
        self.tail.extend_from_slice(bytes);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..excess);
    }
}

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// When, on the monotonic clock.
    pub at: Duration,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
}

/// Rung whenever a process ends, so that one thread can wait for many.
#[derive(Debug)]
pub struct Bell {
    sender: Sender<()>,
    receiver: Receiver<()>,
}

impl Default for Bell {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel();
        Bell { sender, receiver }
    }
}

impl Bell {
    /// Waits until it rings, for `limit` at most.
    pub fn wait(&self, limit: Duration) {
        let _ = self.receiver.recv_timeout(limit);
    }
}

/// An end as its watcher saw it, before the process is reaped.
#[derive(Debug, Clone, Copy)]
struct EndSeen {
    at: Duration,
    is_success: bool,
}

/// A running process.
#[derive(Debug)]
pub struct Process {
    program: String,
    child: Child,
    pid: Pid,
    end: Arc<OnceLock<EndSeen>>,
    reaped: bool,
    stdout: Capture,
    stderr: Capture,
}

impl Process {
    /// Starts it, with `output_limit` bytes kept of each output. Its standard input is the caller's choice.
    pub fn spawn(mut command: Command, output_limit: usize, bell: &Bell) -> Result<Self> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().map_err(|source| {
            if source.kind() == std::io::ErrorKind::NotFound {
                return SysError::MissingProgram { program: program.clone() };
            }
            SysError::Io { act: format!("run `{program}`"), source }
        })?;
        let pid = Pid::from_child(&child);
        let stdout = child.stdout.take().expect("stdout was asked to be a pipe");
        let stderr = child.stderr.take().expect("stderr was asked to be a pipe");
        let end = Arc::new(OnceLock::new());
        watch(pid, Arc::clone(&end), bell.sender.clone());
        let (stdout, stderr) = (Capture::start(Pipe::Out(stdout), output_limit), Capture::start(Pipe::Err(stderr), output_limit));
        Ok(Process { program, child, pid, end, reaped: false, stdout, stderr })
    }

    /// When it ended, if it has. It is not reaped before [`Process::finish`].
    pub fn ended(&self) -> Option<Duration> {
        self.end.get().map(|end| end.at)
    }

    /// Has it ended with another exit status than 0, or by a signal?
    pub fn has_failed(&self) -> bool {
        self.end.get().is_some_and(|end| !end.is_success)
    }

    /// Sends a signal to its whole group.
    pub fn signal(&self, signal: Signal) {
        // ESRCH: all have gone, which is what a signal wants in the end.
        let _ = kill_process_group(self.pid, signal);
    }

    /// Kills whatever is left of its group, reaps it and collects its outputs.
    pub fn finish(mut self) -> Result<Ended> {
        self.signal(Signal::KILL);
        let deadline = clock::monotonic() + KILL_PATIENCE;
        let at = loop {
            match self.ended() {
                Some(at) => break at,
                None if clock::monotonic() > deadline => {
                    let act = format!("kill `{}`, which hangs in the kernel", self.program);
                    return Err(SysError::TimeOut { act, limit_s: KILL_PATIENCE.as_secs() });
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let status = self.child.wait().map_err(SysError::io("wait for a process"))?;
        self.reaped = true;
        Ok(Ended { status, at, stdout: self.stdout.finish(), stderr: self.stderr.finish() })
    }
}

/// Nothing of the lab's outlives an error path; after the reaping the number may already belong to somebody else.
impl Drop for Process {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal(Signal::KILL);
            let _ = self.child.try_wait();
        }
    }
}

/// Waits on a thread for the end of a process and leaves it a zombie, so that its number and its group's stay taken until they are reaped.
fn watch(pid: Pid, end: Arc<OnceLock<EndSeen>>, bell: Sender<()>) {
    std::thread::spawn(move || {
        let status = loop {
            match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other,
            }
        };
        let is_success = matches!(status, Ok(Some(status)) if status.exit_status() == Some(0));
        let _ = end.set(EndSeen { at: clock::monotonic(), is_success });
        let _ = bell.send(());
    });
}

enum Pipe {
    Out(ChildStdout),
    Err(ChildStderr),
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Pipe::Out(pipe) => pipe.read(buffer),
            Pipe::Err(pipe) => pipe.read(buffer),
        }
    }
}

/// A thread that empties a pipe, so that its writer is never held up, and keeps what fits.
#[derive(Debug)]
struct Capture {
    captured: Arc<Mutex<Captured>>,
    closed: Receiver<()>,
}

impl Capture {
    fn start(mut pipe: Pipe, limit: usize) -> Self {
        let captured = Arc::new(Mutex::new(Captured::default()));
        let (sender, closed) = mpsc::channel();
        let shared = Arc::clone(&captured);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(read @ 1..) = pipe.read(&mut buffer) {
                shared.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..read], limit);
            }
            let _ = sender.send(());
        });
        Capture { captured, closed }
    }

    /// A grandchild that left the group may hold the pipe open; it is not waited for.
    fn finish(&self) -> Captured {
        let _ = self.closed.recv_timeout(DRAIN_PATIENCE);
        std::mem::take(&mut self.captured.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;

    fn shell(line: &str, limit: usize) -> (Process, Bell) {
        let bell = Bell::default();
        let mut command = command::program("sh");
        command.args(["-c", line]).stdin(Stdio::null());
        (Process::spawn(command, limit, &bell).unwrap(), bell)
    }

    #[test]
    fn a_runaway_writer_is_counted_not_kept() {
        let (process, bell) = shell("head -c 1000000 /dev/zero | tr '\\0' x; echo; echo the end", 1000);
        bell.wait(Duration::from_secs(20));
        let ended = process.finish().unwrap();
        assert!(ended.status.success());
        assert_eq!(ended.stdout.head.len(), 1000);
        assert_eq!(ended.stdout.dropped, 1_000_000 + 1 + 8 - 1000);
        assert_eq!(ended.stdout.last_lines(1), "the end");
    }

    #[test]
    fn the_group_dies_with_its_leader() {
        let (process, bell) = shell("sleep 1000 & echo $!", 1000);
        bell.wait(Duration::from_secs(20));
        let ended = process.finish().unwrap();
        let pid: u32 = ended.stdout.last_lines(1).parse().unwrap();
        let deadline = clock::monotonic() + Duration::from_secs(20);
        // Dying takes a moment; being reaped by init may take longer, so a zombie is dead enough.
        while std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|state| !state.contains(" Z ")) {
            assert!(clock::monotonic() < deadline, "process {pid} still lives");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Process::spawn(command::program("mkfs.nonesuch"), 10, &Bell::default()).unwrap_err();
        assert_eq!(error.to_string(), "run `mkfs.nonesuch`: it is not installed");
    }
}
