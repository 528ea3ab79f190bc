//! The launcher's side: it runs in a process of its own, before and instead of the load.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use blklab_model::outcome::Fault;
use blklab_model::workload::command::Builtin;
use rustix::process::{Signal, set_parent_process_death_signal};

use super::{CANNOT, CANNOT_STATUS, GO, Launch, READY, Task};
use crate::builtin;
use crate::stop::Stop;
use crate::sys::{self, SysError, cgroup, command, ioprio};

/// Becomes the load. Returns only when it could not, or when the load was a built-in.
pub fn run(launch: &Launch) -> ExitCode {
    let Ok(mut control) = control() else {
        // Started by hand, not by an agent.
        return ExitCode::from(CANNOT_STATUS);
    };
    match prepare(launch).and_then(|()| wait_for_go(&mut control)) {
        Ok(true) => {}
        Ok(false) => return ExitCode::from(CANNOT_STATUS),
        Err(error) => return cannot(&mut control, &error),
    }
    std::thread::sleep(launch.delay);
    match &launch.task {
        Task::Program(argv) => {
            let error = become_program(argv);
            cannot(&mut control, &error)
        }
        Task::Builtin(task) => run_builtin(task, control),
    }
}

/// Standard input is the socket to the agent; from here on it is a descriptor that exec closes, and the load reads from /dev/null.
fn control() -> std::io::Result<UnixStream> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(UnixStream::from(socket))
}

fn prepare(launch: &Launch) -> sys::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(SysError::io("ask to die with the agent"))?;
    for group in &launch.cgroups {
        cgroup::join(group)?;
    }
    if let Some(priority) = launch.io_priority {
        ioprio::set_own(priority)?;
    }
    match &launch.task {
        Task::Program(argv) => match argv.first().filter(|program| command::find(program).is_none()) {
            Some(program) => Err(SysError::MissingProgram { program: program.clone() }),
            None => Ok(()),
        },
        Task::Builtin(_) => Ok(()),
    }
}

/// True when the agent says so; false when it is gone or gave up.
fn wait_for_go(control: &mut UnixStream) -> sys::Result<bool> {
    writeln!(control, "{READY}").map_err(SysError::io("tell the agent"))?;
    let mut line = String::new();
    // One short line; a buffered reader cannot swallow anything that comes after it, since nothing does.
    let read = BufReader::new(&*control).take(16).read_line(&mut line);
    Ok(read.is_ok() && line.trim() == GO)
}

fn become_program(argv: &[String]) -> SysError {
    let Some((program, args)) = argv.split_first() else {
        return SysError::Unsupported { act: "run a load".into(), reason: "its command is empty".into() };
    };
    let source = command::program(program).args(args).exec();
    SysError::io(format!("run `{program}`"))(source)
}

fn run_builtin(task: &Builtin, mut control: UnixStream) -> ExitCode {
    let stop = Stop::default();
    let asked = stop.clone();
    std::thread::spawn(move || {
        // Ends at the end of the stream: the agent closed its side.
        let _ = std::io::copy(&mut control, &mut std::io::sink());
        asked.ask();
    });
    let told = match builtin::run(task, &stop) {
        Ok(result) => serde_json::to_writer(std::io::stdout(), &result).map_err(std::io::Error::from).map(|()| ExitCode::SUCCESS),
        Err(error) => writeln!(std::io::stderr(), "failed to {error}").map(|()| ExitCode::FAILURE),
    };
    told.unwrap_or(ExitCode::FAILURE)
}

/// A program that is not there is the workload's fault; a group that cannot be joined is the lab's.
fn cannot(control: &mut UnixStream, error: &SysError) -> ExitCode {
    let fault = match error {
        SysError::MissingProgram { .. } => Fault::Workload,
        SysError::Io { .. }
        | SysError::ReadBack { .. }
        | SysError::Program { .. }
        | SysError::TimeOut { .. }
        | SysError::Unsupported { .. } => Fault::Lab,
    };
    let _ = writeln!(control, "{CANNOT}{} {error}", fault.word());
    ExitCode::from(CANNOT_STATUS)
}
