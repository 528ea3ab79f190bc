//! A running virtual host: its process, and the three sockets by which it is heard.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use super::command::{AGENT_SOCKET, CONSOLE_SOCKET, QMP_SOCKET};
use super::qmp::{self, Qmp, QmpEvent};
use crate::clock;
use crate::control::boot::{Event, Running};
use crate::control::console::Console;
use crate::control::spawner;
use crate::control::verdict::{Cause, Ending};
use crate::guest::message::{FromGuest, ToGuest, receive, send};
use crate::sys::files::Short;
use crate::sys::process::Process;

/// QEMU makes its sockets before it starts the machine.
const SOCKET_PATIENCE: Duration = Duration::from_secs(30);

/// A kernel that is asked to switch off and does not is killed: everything it had was copied out already.
const OFF_PATIENCE: Duration = Duration::from_secs(10);

/// After its process is gone, how long the last lines of console and monitor may take to come through.
const DRAIN_PATIENCE: Duration = Duration::from_millis(300);

/// Between two looks whether the process lives.
const LOOK_PERIOD: Duration = Duration::from_millis(100);

/// What is heard of it.
enum Heard {
    Guest(FromGuest),
    /// The agent's line broke, or held no message.
    Cut(String),
    Monitor(QmpEvent),
}

/// A running virtual host.
pub(super) struct Vm {
    process: Option<Process>,
    qmp: Qmp,
    agent: UnixStream,
    heard: Receiver<Heard>,
    console: Console,
    ending: Ending,
    shutdown: Option<(String, bool)>,
    disks: Vec<Disk>,
}

/// What serves a disk of it.
pub(super) struct Disk {
    pub(super) serial: String,
    pub(super) server: blklab_diskmodel::Server,
    /// Its socket is named through this.
    pub(super) _folder: Short,
}

impl Vm {
    /// Starts QEMU in `folder` and connects to it. The text of an error is what QEMU says, where it says something.
    pub(super) fn start(agent: &Path, folder: &Path, argv: &[String], disks: Vec<Disk>) -> Result<Self, String> {
        for socket in [QMP_SOCKET, CONSOLE_SOCKET, AGENT_SOCKET] {
            let _ = fs::remove_file(folder.join(socket));
        }
        let process = spawner::spawn(agent, folder, argv).map_err(|error| format!("failed to {error}"))?;
        match Self::connect(folder, &process) {
            Ok((qmp, agent, heard, console)) => {
                Ok(Vm { process: Some(process), qmp, agent, heard, console, ending: Ending::default(), shutdown: None, disks })
            }
            Err(error) => {
                let said = process.finish().map(|ended| ended.stderr.last_lines(5)).unwrap_or_default();
                Err(if said.is_empty() { format!("failed to talk to QEMU: {error}") } else { said })
            }
        }
    }

    fn connect(folder: &Path, process: &Process) -> io::Result<(Qmp, UnixStream, Receiver<Heard>, Console)> {
        let short = Short::open(folder)?;
        let (sender, heard) = mpsc::channel();
        // QEMU starts nothing before somebody reads its console, so that no line of it is lost.
        let console = Console::default();
        console.follow(patient(&short.join(CONSOLE_SOCKET), process)?, &folder.join("console.log"))?;
        let agent = patient(&short.join(AGENT_SOCKET), process)?;
        listen_to_agent(agent.try_clone()?, sender.clone());
        let (qmp, reader) = Qmp::greet(patient(&short.join(QMP_SOCKET), process)?)?;
        listen_to_monitor(reader, sender);
        Ok((qmp, agent, heard, console))
    }

    fn hear(&mut self, heard: Heard) -> Option<Event> {
        match heard {
            Heard::Guest(message) => {
                self.ending.answered = true;
                Some(Event::Guest(message))
            }
            Heard::Cut(reason) => {
                self.ending.cause = Cause::Cut(reason);
                None
            }
            Heard::Monitor(QmpEvent::Panicked) => {
                self.ending.panicked = true;
                None
            }
            Heard::Monitor(QmpEvent::Watchdog) => {
                self.ending.watchdog = true;
                None
            }
            Heard::Monitor(QmpEvent::Shutdown { reason, guest }) => {
                self.ending.panicked |= reason == "guest-panic";
                self.shutdown = Some((reason, guest));
                None
            }
        }
    }

    /// Its process is gone: what was it?
    fn over(&mut self) -> Ending {
        let deadline = clock::monotonic() + DRAIN_PATIENCE;
        while let Ok(heard) = self.heard.recv_timeout(deadline.saturating_sub(clock::monotonic())) {
            self.hear(heard);
        }
        let ended = self.process.take().map(Process::finish);
        self.ending.cause = match (&self.shutdown, ended) {
            (Some((_, true)), _) => Cause::Off,
            (Some((reason, false)), _) => Cause::Killed(reason.clone()),
            (None, Some(Ok(ended))) => {
                let said = ended.stderr.last_lines(3);
                Cause::Killed(if said.is_empty() { ended.status.to_string() } else { format!("{}: {said}", ended.status) })
            }
            (None, Some(Err(error))) => Cause::Killed(format!("failed to {error}")),
            (None, None) => Cause::Killed("it was ended before".to_owned()),
        };
        self.ending.clone()
    }
}

impl Running for Vm {
    fn send(&mut self, message: &ToGuest) -> io::Result<()> {
        send(&mut self.agent, message)
    }

    fn next(&mut self, limit: Duration) -> Option<Event> {
        let deadline = clock::monotonic() + limit;
        loop {
            let left = deadline.saturating_sub(clock::monotonic());
            match self.heard.recv_timeout(left.min(LOOK_PERIOD)) {
                Ok(heard) => {
                    if let Some(event) = self.hear(heard) {
                        return Some(event);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                // Both lines are closed; the process is ending or has ended.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left.min(LOOK_PERIOD)),
            }
            if self.process.as_ref().is_none_or(|process| process.ended().is_some()) {
                return Some(Event::Over(self.over()));
            }
            if left.is_zero() {
                return None;
            }
        }
    }

    fn console(&self) -> String {
        self.console.text()
    }

    fn seed(&mut self, seed: u64) {
        for disk in &self.disks {
            disk.server.reseed(seed);
        }
    }

    fn lab_fault(&mut self) -> Option<String> {
        // Only what the file behind it refuses: no space, a broken disk of the controller.
        let faulty = |disk: &Disk| {
            let errors = disk.server.stats().errors;
            (errors > 0).then(|| format!("the file behind disk {} failed {errors} times; is its file system full?", disk.serial))
        };
        self.disks.iter().find_map(faulty)
    }

    fn end(mut self: Box<Self>) {
        if self.ending.answered && self.send(&ToGuest::PowerOff).is_ok() {
            let deadline = clock::monotonic() + OFF_PATIENCE;
            while clock::monotonic() < deadline && self.process.as_ref().is_some_and(|process| process.ended().is_none()) {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        let _ = self.qmp.quit();
        // Killed if it is still there; reaped in any case.
        if let Some(process) = self.process.take()
            && let Err(error) = process.finish()
        {
            tracing::error!("failed to {error}");
        }
    }
}

/// Connects to a socket that QEMU is about to make.
fn patient(socket: &Path, process: &Process) -> io::Result<UnixStream> {
    let deadline = clock::monotonic() + SOCKET_PATIENCE;
    loop {
        match UnixStream::connect(socket) {
            Ok(stream) => return Ok(stream),
            Err(error) if process.ended().is_some() || clock::monotonic() > deadline => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn listen_to_agent(stream: UnixStream, sender: Sender<Heard>) {
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        loop {
            let (heard, last) = match receive::<FromGuest>(&mut reader) {
                Ok(Some(message)) => (Heard::Guest(message), false),
                Ok(None) => return,
                Err(error) => (Heard::Cut(error.to_string()), true),
            };
            if sender.send(heard).is_err() || last {
                return;
            }
        }
    });
}

fn listen_to_monitor(mut reader: BufReader<UnixStream>, sender: Sender<Heard>) {
    std::thread::spawn(move || {
        let mut line = String::new();
        while matches!(reader.read_line(&mut line), Ok(1..)) {
            if let Some(event) = qmp::event(&line)
                && sender.send(Heard::Monitor(event)).is_err()
            {
                return;
            }
            line.clear();
        }
    });
}
