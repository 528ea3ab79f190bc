//! Programs of a build: each in a process group of its own, its words in the build's log, ended by time, by the size of the log, or by a
//! request to stop. What must be read apart from the log is for [`ask`].

use std::fs::File;
use std::io::{PipeReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::failure::Failure;
use crate::clock;
use crate::stop::Stop;
use crate::sys::SysError;
use crate::sys::process::{Bell, Ended, Process};

/// How often a running program is looked at: short against any step, long against the work of looking.
const TICK: Duration = Duration::from_millis(20);

/// How long the pipe may stay open after the group was killed: a process that left the group may hold it, and is not waited for.
const DRAIN_PATIENCE: Duration = Duration::from_secs(1);

/// A killed process ends at once unless it hangs in the kernel.
const KILL_PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of an answer that is read as a whole; the longest, all Kconfig files of a tree, is 60 KiB.
const ANSWER_BYTES: usize = 4 << 20;

/// Why a program was not run to its end.
#[derive(Debug)]
pub enum Halt {
    /// It took too long.
    Time {
        /// What it was given.
        limit: Duration,
    },
    /// It wrote too much.
    Log {
        /// What the log may hold.
        bytes: u64,
    },
    /// Somebody asked to stop.
    Stopped,
    /// It could not be run.
    System(SysError),
}

/// How a program ended.
#[derive(Debug)]
pub struct Done {
    /// Its exit status.
    pub status: ExitStatus,
    /// What it wrote to both outputs, in order.
    pub output: String,
}

/// The log of a build.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    shared: Arc<Mutex<Writer>>,
}

#[derive(Debug)]
struct Writer {
    file: File,
    left: u64,
    limit: u64,
}

impl Log {
    /// A new log; an old one at the same path is lost.
    pub fn create(path: &Path, limit: u64) -> Result<Self, SysError> {
        let file = File::create(path).map_err(SysError::io(format!("create {}", path.display())))?;
        Ok(Log { path: path.to_owned(), shared: Arc::new(Mutex::new(Writer { file, left: limit, limit })) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line of our own.
    pub fn note(&self, line: &str) -> Result<(), SysError> {
        self.lock().file.write_all(format!("{line}\n").as_bytes()).map_err(SysError::io(format!("write {}", self.path.display())))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Writer> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a program to its end; both outputs go into the log. Its standard input is the caller's choice.
pub fn run(mut command: Command, limit: Duration, log: &Log, stop: &Stop) -> Result<Done, Halt> {
    log.note(&format!("$ {}", line(&command))).map_err(Halt::System)?;
    let program = command.get_program().to_string_lossy().into_owned();
    let act = format!("run `{program}`");
    let (reader, writer) = std::io::pipe().map_err(SysError::io(act.clone())).map_err(Halt::System)?;
    let twin = writer.try_clone().map_err(SysError::io(act.clone())).map_err(Halt::System)?;
    command.stdout(writer).stderr(twin).process_group(0);
    let mut child = command.spawn().map_err(|source| {
        let is_missing = source.kind() == std::io::ErrorKind::NotFound;
        Halt::System(if is_missing { SysError::MissingProgram { program } } else { SysError::Io { act: act.clone(), source } })
    })?;
    // The command holds our ends of the pipe; open, they would keep the reader waiting.
    drop(command);
    let pid = Pid::from_child(&child);
    let capture = Capture::start(reader, Arc::clone(&log.shared));
    let deadline = clock::monotonic() + limit;
    let halt = loop {
        if has_ended(pid) {
            break None;
        }
        if stop.is_asked() {
            break Some(Halt::Stopped);
        }
        if capture.overflow.load(Ordering::Acquire) {
            break Some(Halt::Log { bytes: log.lock().limit });
        }
        if clock::monotonic() > deadline {
            break Some(Halt::Time { limit });
        }
        std::thread::sleep(TICK);
    };
    // Whatever it left running goes, too. It is not reaped yet, so its number and its group's are still its own.
    let _ = kill_process_group(pid, Signal::KILL);
    let patience = clock::monotonic() + KILL_PATIENCE;
    while !has_ended(pid) {
        if clock::monotonic() > patience {
            let act = format!("{act}: kill it, for it hangs in the kernel");
            return Err(Halt::System(SysError::TimeOut { act, limit_s: KILL_PATIENCE.as_secs() }));
        }
        std::thread::sleep(TICK);
    }
    let status = child.wait().map_err(SysError::io(act)).map_err(Halt::System)?;
    let (output, problem) = capture.finish();
    match (halt, problem) {
        (Some(halt), _) => Err(halt),
        (None, Some(problem)) => Err(Halt::System(SysError::io(format!("write {}", log.path.display()))(problem))),
        // The last words may cross the limit when the program has ended already.
        (None, None) if capture.overflow.load(Ordering::Acquire) => Err(Halt::Log { bytes: log.lock().limit }),
        (None, None) => Ok(Done { status, output }),
    }
}

/// Runs a program whose standard output is an answer; nothing of it goes into the log.
pub fn ask(command: Command, limit: Duration) -> Result<Ended, SysError> {
    let text = line(&command);
    let bell = Bell::default();
    let process = Process::spawn(command, ANSWER_BYTES, &bell)?;
    let deadline = clock::monotonic() + limit;
    while process.ended().is_none() {
        let left = deadline.saturating_sub(clock::monotonic());
        if left.is_zero() {
            process.signal(Signal::KILL);
            process.finish()?;
            return Err(SysError::TimeOut { act: format!("run `{text}`"), limit_s: limit.as_secs() });
        }
        bell.wait(left);
    }
    process.finish()
}

/// A failure of the system as one of the infrastructure, with the remedy for a full disk.
pub fn of_system(error: SysError) -> Failure {
    let is_full = matches!(&error, SysError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull);
    let remedy = if is_full { "; free some space in the cache folder or give another one" } else { "" };
    Failure::infrastructure(format!("{error}{remedy}"))
}

/// The end of an output for a message: its last `count` lines that are not empty.
pub fn last_lines(output: &str, count: usize) -> String {
    let mut lines: Vec<&str> = output.lines().rev().map(str::trim_end).filter(|line| !line.is_empty()).take(count).collect();
    lines.reverse();
    lines.join("\n")
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// It stays a zombie until it is waited for.
fn has_ended(pid: Pid) -> bool {
    !matches!(waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG), Ok(None))
}

/// A thread that empties the pipe into the log and keeps a copy.
struct Capture {
    kept: Arc<Mutex<(Vec<u8>, Option<std::io::Error>)>>,
    overflow: Arc<AtomicBool>,
    closed: Receiver<()>,
}

impl Capture {
    fn start(mut pipe: PipeReader, log: Arc<Mutex<Writer>>) -> Self {
        let kept = Arc::new(Mutex::new((Vec::new(), None)));
        let overflow = Arc::new(AtomicBool::new(false));
        let (sender, closed) = mpsc::channel();
        let (shared, flag) = (Arc::clone(&kept), Arc::clone(&overflow));
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            // After the limit or a fault it is emptied all the same: its writer must not be held up before it is killed.
            while let Ok(read @ 1..) = pipe.read(&mut buffer) {
                let mut writer = log.lock().unwrap_or_else(PoisonError::into_inner);
                let room = usize::try_from(writer.left).unwrap_or(usize::MAX).min(read);
                let written = writer.file.write_all(&buffer[..room]);
                writer.left -= room as u64;
                drop(writer);
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.0.extend_from_slice(&buffer[..room]);
                if let Err(problem) = written {
                    kept.1.get_or_insert(problem);
                }
                if room < read {
                    flag.store(true, Ordering::Release);
                }
            }
            let _ = sender.send(());
        });
        Capture { kept, overflow, closed }
    }

    fn finish(&self) -> (String, Option<std::io::Error>) {
        let _ = self.closed.recv_timeout(DRAIN_PATIENCE);
        let (bytes, problem) = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        (String::from_utf8_lossy(&bytes).into_owned(), problem)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;
    use crate::sys::command;

    const LONG: Duration = Duration::from_secs(20);

    fn log(limit: u64) -> (tempfile::TempDir, Log) {
        let dir = tempfile::tempdir().unwrap();
        let log = Log::create(&dir.path().join("build.log"), limit).unwrap();
        (dir, log)
    }

    fn shell(text: &str, limit: Duration, log: &Log, stop: &Stop) -> Result<Done, Halt> {
        let mut command = command::program("sh");
        command.args(["-c", text]).stdin(Stdio::null());
        run(command, limit, log, stop)
    }

    fn is_alive(pid: &str) -> bool {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|state| !state.contains(" Z "))
    }

    #[test]
    fn both_outputs_come_in_order_and_into_the_log() {
        let (_dir, log) = log(1000);
        let done = shell("echo one; echo two >&2; echo three; exit 3", LONG, &log, &Stop::default()).unwrap();
        assert_eq!(done.output, "one\ntwo\nthree\n");
        assert_eq!(done.status.code(), Some(3));
        assert!(std::fs::read_to_string(log.path()).unwrap().ends_with("exit 3\none\ntwo\nthree\n"));
    }

    #[test]
    fn a_group_is_killed_at_its_time_limit() {
        let (_dir, log) = log(1000);
        let halt = shell("sleep 1000 & echo $!; wait", Duration::from_millis(300), &log, &Stop::default()).unwrap_err();
        assert!(matches!(halt, Halt::Time { .. }), "{halt:?}");
        let text = std::fs::read_to_string(log.path()).unwrap();
        let pid = text.lines().last().unwrap();
        let deadline = clock::monotonic() + LONG;
        while is_alive(pid) {
            assert!(clock::monotonic() < deadline, "process {pid} still lives");
            std::thread::sleep(TICK);
        }
    }

    #[test]
    fn what_is_left_running_goes_with_its_parent() {
        let (_dir, log) = log(1000);
        let done = shell("sleep 1000 & echo $!", LONG, &log, &Stop::default()).unwrap();
        let deadline = clock::monotonic() + LONG;
        while is_alive(done.output.trim()) {
            assert!(clock::monotonic() < deadline, "a process of the group still lives");
            std::thread::sleep(TICK);
        }
    }

    #[test]
    fn a_runaway_writer_is_ended_and_its_log_stays_bounded() {
        let (_dir, log) = log(10_000);
        let halt = shell("yes", LONG, &log, &Stop::default()).unwrap_err();
        assert!(matches!(halt, Halt::Log { bytes: 10_000 }), "{halt:?}");
        assert!(std::fs::metadata(log.path()).unwrap().len() < 10_100);
    }

    #[test]
    fn a_stop_ends_it() {
        let (_dir, log) = log(1000);
        let stop = Stop::default();
        stop.ask();
        assert!(matches!(shell("sleep 1000", LONG, &log, &stop).unwrap_err(), Halt::Stopped));
    }

    #[test]
    fn a_missing_program_is_named() {
        let (_dir, log) = log(1000);
        let Halt::System(error) = run(command::program("nonesuch"), LONG, &log, &Stop::default()).unwrap_err() else { panic!() };
        assert_eq!(error.to_string(), "run `nonesuch`: it is not installed");
    }
}
