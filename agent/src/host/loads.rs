//! The loads of a trial: preparation, background, tasks; and the control group that holds them all.

use std::time::Duration;

use blklab_model::outcome::Fault;
use blklab_model::workload::command::{Builtin, Command};
use blklab_model::workload::placeholder::{self, Place};
use blklab_model::workload::resolve::ResolvedLoad;
use blklab_wire::agent::{TaskElapsed, Window};

use super::disks::{TakenDisk, numbered};
use super::evidence::{output, outputs_of};
use super::{LabHost, fault};
use crate::clock;
use crate::cycle::machine::{Halt, Problem, Record};
use crate::journal::Made;
use crate::launch::{End, Launch, Load, NotStarted, Task};
use crate::monitor::Monitor;
use crate::stop::Stop;
use crate::sys::process::Bell;
use crate::sys::{cgroup, command};

/// Between two looks at a request to stop; ends of loads ring a bell and are seen at once.
const STOP_PERIOD: Duration = Duration::from_millis(100);

/// A background load that was asked to end may finish what it does, such as one file of a copy through a slow disk.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// Lines of a load's standard error that go into a message.
const LAST_LINES: usize = 5;

/// A load that was let go.
#[derive(Debug)]
pub(super) struct Running {
    load: Load,
    timeout_s: u32,
    deadline: Duration,
}

/// Why waiting for loads is over.
enum Over {
    AllEnded,
    Failed(usize),
    TimedOut(usize),
    BackgroundFailed(usize),
    BackgroundTimedOut(usize),
    Stopped,
}

impl LabHost {
    pub(super) fn open_group(&mut self) -> Result<(), Problem> {
        let Some(path) = self.state.hierarchy.path(&self.state.mark) else { return Ok(()) };
        self.state.journal.will_make(Made::Cgroup { path: path.clone() }).map_err(fault(Fault::Lab))?;
        self.state.hierarchy.make(&path).map_err(fault(Fault::Lab))?;
        self.trial.group = Some(path);
        Ok(())
    }

    pub(super) fn close_group(&mut self) -> Result<(), Problem> {
        for path in [self.trial.group.take(), self.trial.memory_group.take()].into_iter().flatten() {
            cgroup::remove(&path).map_err(fault(Fault::Lab))?;
            cgroup::remove_parent(&path);
            self.state.journal.gave_back(&Made::Cgroup { path }).map_err(fault(Fault::Lab))?;
        }
        Ok(())
    }

    /// After the preparation, which may write more than fits.
    pub(super) fn cap_memory(&mut self, bytes: u64, record: &mut Record) -> Result<(), Problem> {
        let path = self.state.memory.path(&self.state.mark).map_err(fault(Fault::Lab))?;
        if self.trial.group.as_ref() != Some(&path) {
            self.state.journal.will_make(Made::Cgroup { path: path.clone() }).map_err(fault(Fault::Lab))?;
            self.trial.memory_group = Some(path.clone());
        }
        self.state.memory.make(&path).map_err(fault(Fault::Lab))?;
        self.state.memory.cap(&path, bytes).map_err(fault(Fault::Lab))?;
        record.note("memory.cap", format!("{} MiB", bytes >> 20));
        Ok(())
    }

    /// After the preparation, which nobody measures and which should not take for ever.
    pub(super) fn limit(&mut self, record: &mut Record) -> Result<(), Problem> {
        for (index, disk) in self.trial.disks.iter().enumerate() {
            let Some(below) = disk.below.as_ref().filter(|_| !disk.limits.is_none()) else { continue };
            let group = self.trial.group.clone().unwrap_or_default();
            self.state.hierarchy.limit(&group, below.number, &disk.limits).map_err(fault(Fault::Lab))?;
            let limits = format!("{} on {} ({})", disk.limits.words(), below.name, self.state.hierarchy.word());
            record.note(numbered("limits", index), limits);
        }
        Ok(())
    }

    pub(super) fn prepare(&mut self, load: &ResolvedLoad, record: &mut Record, stop: &Stop) -> Result<(), Halt> {
        let running = [self.launch(load)?];
        let over = wait(&running, &[], &self.trial.bell, stop);
        self.conclude(running, over, record)?;
        Ok(())
    }

    pub(super) fn start_background(&mut self, load: &ResolvedLoad) -> Result<(), Problem> {
        let running = self.launch(load)?;
        self.trial.background.push(running);
        Ok(())
    }

    /// All tasks wait at the barrier, then the window opens, then they go.
    pub(super) fn measure(&mut self, tasks: &[ResolvedLoad], record: &mut Record, stop: &Stop) -> Result<(), Halt> {
        let mut waiting = tasks.iter().map(|task| self.ready(task)).collect::<Result<Vec<_>, _>>()?;
        let names = |disk: &TakenDisk| std::iter::once(disk.name.clone()).chain(disk.below.as_ref().map(|below| below.name.clone()));
        let mut disks: Vec<String> = Vec::new();
        for name in self.trial.disks.iter().flat_map(names) {
            if !disks.contains(&name) {
                disks.push(name);
            }
        }
        let monitor = Monitor::start(&self.state.roots.proc, &disks);
        let start = clock::monotonic();
        for load in &mut waiting {
            load.go();
        }
        let running: Vec<Running> = waiting.into_iter().zip(tasks).map(|(load, task)| Running::new(load, task, start)).collect();
        let over = wait(&running, &self.trial.background, &self.trial.bell, stop);
        let recording = monitor.finish();
        record.window = Some(Window { start_ms: recording.start_ms, end_ms: recording.end_ms });
        record.outputs.push(output("monitor.txt", recording.text.as_bytes(), recording.truncated_bytes));
        for early in self.trial.background.iter().filter(|running| running.load.ended().is_some()) {
            record.note(format!("background.{}", early.load.name()), "ended before the window closed");
        }
        let ends = self.conclude(running, over, record)?;
        let seconds = |end: &End| end.process.at.saturating_sub(start).as_secs_f64();
        record.elapsed = ends.iter().map(|end| TaskElapsed { task: end.name.clone(), seconds: seconds(end) }).collect();
        Ok(())
    }

    /// Never fails for what a load did: whether it lived through the window was seen when that closed.
    pub(super) fn stop_background(&mut self, record: &mut Record) -> Result<(), Problem> {
        let background = std::mem::take(&mut self.trial.background);
        background.iter().for_each(|running| running.load.ask_to_stop());
        let deadline = clock::monotonic() + STOP_PATIENCE;
        while background.iter().any(|running| running.load.ended().is_none()) && clock::monotonic() < deadline {
            self.trial.bell.wait(STOP_PERIOD);
        }
        for running in background {
            finish(running, record)?;
        }
        Ok(())
    }

    fn launch(&self, load: &ResolvedLoad) -> Result<Running, Problem> {
        let mut started = self.ready(load)?;
        let now = clock::monotonic();
        started.go();
        Ok(Running::new(started, load, now))
    }

    /// A load at the barrier: in its group, with its priority.
    fn ready(&self, load: &ResolvedLoad) -> Result<Load, Problem> {
        let cgroups = self.trial.group.iter().chain(&self.trial.memory_group).cloned().collect();
        let launch = Launch {
            cgroups,
            io_priority: load.io_priority,
            delay: Duration::from_millis(load.start_after_ms.into()),
            task: self.task(load)?,
        };
        let disk = self.disk(load.disk as usize)?;
        let folder = if disk.is_formatted { disk.dir.clone() } else { self.scratch_dir() };
        let started = self.launcher.start(&load.name, &launch, &folder, &self.trial.bell);
        let mut started = started.map_err(|error| fault(Fault::Lab)(error).of(&load.name))?;
        started.await_ready().map_err(|error| not_started(&error, &load.name))?;
        Ok(started)
    }

    /// The command with the last placeholders filled in.
    fn task(&self, load: &ResolvedLoad) -> Result<Task, Problem> {
        let fill = |text: &String| self.fill(text, load.disk as usize).map_err(|problem| problem.of(&load.name));
        Ok(match &load.command {
            Command::Argv(argv) => Task::Program(argv.iter().map(fill).collect::<Result<_, _>>()?),
            Command::Shell(line) => Task::Program(vec!["sh".into(), "-c".into(), fill(line)?]),
            Command::Builtin(builtin) => Task::Builtin(fill_paths(builtin, fill)?),
        })
    }

    fn fill(&self, text: &str, own: usize) -> Result<String, Problem> {
        /// Stands for the folder that a raw disk does not have; no argument of a program can hold it.
        const NO_FOLDER: &str = "\0";
        let place = |disk: &TakenDisk| Place {
            dir: if disk.is_formatted { disk.dir.to_string_lossy().into_owned() } else { NO_FOLDER.to_owned() },
            disk: disk.device.to_string_lossy().into_owned(),
        };
        let places: Vec<Place> = self.trial.disks.iter().map(place).collect();
        let filled = placeholder::fill_last(text, own, &places).map_err(|error| Problem::workload(error.to_string()))?;
        if filled.contains(NO_FOLDER) {
            return Err(Problem::workload(format!("`{text}`: a raw disk has no `{{dir}}`; use `{{disk}}`")));
        }
        Ok(filled)
    }

    /// Ends all of `running`, keeps their outputs, and says what was wrong, if anything.
    fn conclude(&self, running: impl IntoIterator<Item = Running>, over: Over, record: &mut Record) -> Result<Vec<End>, Halt> {
        let mut limits = Vec::new();
        let mut ends = Vec::new();
        for running in running {
            limits.push(running.timeout_s);
            ends.push(finish(running, record)?);
        }
        let timed_out = |name: &str, limit_s: u32| Problem::workload(format!("it did not end within {limit_s} s and was killed")).of(name);
        match over {
            Over::Stopped => Err(Halt::Stopped),
            Over::TimedOut(index) => Err(timed_out(&ends[index].name, limits[index]).into()),
            Over::Failed(index) => Err(failed(&ends[index]).into()),
            Over::BackgroundFailed(index) => {
                let name = self.trial.background[index].load.name();
                Err(Problem::workload("the background load failed while the tasks ran; see its outputs").of(name).into())
            }
            Over::BackgroundTimedOut(index) => {
                let running = &self.trial.background[index];
                let message =
                    format!("the background load reached its limit of {} s while the tasks ran; raise its timeout_s", running.timeout_s);
                Err(Problem::workload(message).of(running.load.name()).into())
            }
            Over::AllEnded => Ok(ends),
        }
    }
}

impl Running {
    fn new(load: Load, spec: &ResolvedLoad, since: Duration) -> Self {
        Running { load, timeout_s: spec.timeout_s, deadline: since + Duration::from_secs(spec.timeout_s.into()) }
    }
}

/// Waits until all of `running` have ended well, or anything goes wrong.
fn wait(running: &[Running], background: &[Running], bell: &Bell, stop: &Stop) -> Over {
    loop {
        let now = clock::monotonic();
        let failed = |loads: &[Running]| loads.iter().position(|running| running.load.has_failed());
        let timed_out = |loads: &[Running]| loads.iter().position(|running| running.load.ended().is_none() && now >= running.deadline);
        if stop.is_asked() {
            return Over::Stopped;
        } else if let Some(index) = failed(running) {
            return Over::Failed(index);
        } else if running.iter().all(|running| running.load.ended().is_some()) {
            return Over::AllEnded;
        } else if let Some(index) = failed(background) {
            return Over::BackgroundFailed(index);
        } else if let Some(index) = timed_out(running) {
            return Over::TimedOut(index);
        } else if let Some(index) = timed_out(background) {
            return Over::BackgroundTimedOut(index);
        }
        bell.wait(STOP_PERIOD);
    }
}

fn finish(running: Running, record: &mut Record) -> Result<End, Problem> {
    let name = running.load.name().to_owned();
    let end = running.load.finish().map_err(|error| fault(Fault::Kernel)(error).of(&name))?;
    record.outputs.extend(outputs_of(&end.name, &end.process.stdout, &end.process.stderr));
    Ok(end)
}

fn failed(end: &End) -> Problem {
    if let Some(reason) = &end.not_started {
        return not_started(reason, &end.name);
    }
    let words = command::last_words(&end.process.stderr.last_lines(LAST_LINES));
    Problem::workload(format!("it ended with {}{words}", end.process.status)).of(&end.name)
}

fn not_started(reason: &NotStarted, name: &str) -> Problem {
    Problem { fault: reason.fault, message: format!("failed to {}", reason.message), load: Some(name.to_owned()) }
}

fn fill_paths(builtin: &Builtin, fill: impl Fn(&String) -> Result<String, Problem>) -> Result<Builtin, Problem> {
    let mut filled = builtin.clone();
    match &mut filled {
        Builtin::WriteFile { path, .. }
        | Builtin::MakeTree { path, .. }
        | Builtin::LinearRead { path, .. }
        | Builtin::TreeRead { path, .. }
        | Builtin::RandomOverwrite { path, .. } => *path = fill(path)?,
        Builtin::TreeCopy { from, to, .. } => {
            *from = fill(from)?;
            *to = fill(to)?;
        }
    }
    Ok(filled)
}
