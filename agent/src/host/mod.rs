//! This host, as the machine that carries out the steps of a cycle: each file does the steps of one subject.
//!
//! Everything that is made here is in the journal first, so [`give_back_everything`] can undo it after any death of the agent.

mod disks;
mod evidence;
mod give_back;
mod journal_thread;
mod loads;
mod loop_disks;
mod queue;
mod state;
mod volume;

pub use give_back::give_back_everything;
pub use state::{State, StateError, lock, private_folder};

use std::path::PathBuf;
use std::time::Duration;

use blklab_model::disk::Disk;
use blklab_model::host::HostFacts;
use blklab_model::outcome::Fault;
use blklab_model::time::TimestampMs;

use crate::clock;
use crate::config::Config;
use crate::cycle::machine::{Halt, Machine, Problem, Record};
use crate::cycle::step::Action;
use crate::inventory::host;
use crate::launch::Launcher;
use crate::stop::Stop;
use crate::sys::kernel_log::KernelLog;
use crate::sys::process::Bell;
use crate::sys::{SysError, command};
use disks::TakenDisk;
use give_back::Which;
use loads::Running;
use loop_disks::LoopDisk;

/// Schedulers that distributions build as modules. A disk offers one only after it was loaded.
const SCHEDULER_MODULES: [&str; 3] = ["bfq", "kyber-iosched", "mq-deadline"];

/// modprobe(8) answers at once.
const MODPROBE_LIMIT: Duration = Duration::from_secs(30);

/// The real machine.
#[derive(Debug)]
pub struct LabHost {
    config: Config,
    state: State,
    launcher: Launcher,
    loop_disks: Vec<LoopDisk>,
    trial: Trial,
}

/// What belongs to the trial that is under way.
#[derive(Debug, Default)]
struct Trial {
    /// In the order in which the workload counts them.
    disks: Vec<TakenDisk>,
    group: Option<PathBuf>,
    /// Where memory is capped, if it is and elsewhere than in `group`.
    memory_group: Option<PathBuf>,
    kernel_log: Option<KernelLog>,
    background: Vec<Running>,
    bell: Bell,
}

impl LabHost {
    /// Gives back what an earlier agent left behind, then makes the loop disks. A disk that cannot be made is offered as refused, with
    /// the reason; the others work.
    pub fn start(config: Config, launcher: Launcher, stop: &Stop) -> Result<Self, StateError> {
        let mut state = State::open(&config)?;
        give_back::give_back(&mut state, Which::Everything).map_err(StateError::Unclean)?;
        // Best effort: a kernel without one of them does not offer it, and the plan says so.
        let _ = command::run(&[&["modprobe", "--quiet", "--all"], &SCHEDULER_MODULES[..]].concat(), MODPROBE_LIMIT);
        let loop_disks = config.loop_disks.iter().map(|disk| loop_disks::make(&mut state, &config, disk, stop)).collect();
        Ok(LabHost { config, state, launcher, loop_disks, trial: Trial::default() })
    }

    /// Where the file system under test of the disk with this index is mounted.
    fn mount_dir(&self, index: usize) -> PathBuf {
        self.state.dir.join(if index == 0 { "mnt".to_owned() } else { format!("mnt-{}", index + 1) })
    }

    /// Working folder of loads on a raw disk.
    fn scratch_dir(&self) -> PathBuf {
        self.state.dir.join("scratch")
    }

    /// The disk with this index, from 0.
    fn disk(&self, index: usize) -> Result<&TakenDisk, Problem> {
        self.trial.disks.get(index).ok_or_else(|| Problem::lab(format!("disk {} of the trial is not taken", index + 1)))
    }
}

impl Machine for LabHost {
    fn facts(&self) -> HostFacts {
        host::facts(&self.state.roots, &self.state.hierarchy)
    }

    fn disks(&mut self) -> Vec<Disk> {
        self.offer()
    }

    fn machine_id(&self) -> String {
        host::machine_id(&self.state.roots)
    }

    fn act(&mut self, action: &Action, limit: Duration, record: &mut Record, stop: &Stop) -> Result<(), Halt> {
        match action {
            Action::MarkKernelLog => self.mark_kernel_log(record),
            Action::CollectKernelLog => self.collect_kernel_log(record)?,
            Action::CheckTools { tools } => check_tools(tools)?,
            Action::TakeDisk { disk, space_bytes } => self.take_disk(disk, *space_bytes, record)?,
            Action::ReleaseDisks => self.release_disks()?,
            Action::RememberQueues { files } => self.remember_queues(files)?,
            Action::RestoreQueues => self.restore_queues()?,
            Action::OpenGroup => self.open_group()?,
            Action::CloseGroup => self.close_group()?,
            Action::Blank => self.blank_disks()?,
            Action::MakeFilesystem { kind, args } => self.make_filesystems(kind, args, limit, record)?,
            Action::Mount { kind, options } => self.mount(kind, options, limit, record)?,
            Action::Unmount => self.unmount(limit)?,
            Action::CheckSpace { bytes } => self.check_space(*bytes)?,
            Action::Prepare { load } => self.prepare(load, record, stop)?,
            Action::Sync => volume::sync(limit)?,
            Action::SetScheduler { name } => self.set_scheduler(name)?,
            Action::SetTunable { file, value } => self.set_tunable(file, value)?,
            Action::SetJournalPriority { priority } => self.set_journal_priority(*priority, record)?,
            Action::DropCaches => self.drop_caches(limit)?,
            Action::Limit => self.limit(record)?,
            Action::CapMemory { bytes } => self.cap_memory(*bytes, record)?,
            Action::StartBackground { load } => self.start_background(load)?,
            Action::StopBackground => self.stop_background(record)?,
            Action::Measure { tasks } => self.measure(tasks, record, stop)?,
            Action::VerifyQueues { scheduler, tunables } => self.verify_queues(scheduler, tunables, record)?,
            Action::VerifyJournalPriority { priority } => self.verify_journal_priority(*priority)?,
            Action::VerifyMount { read_only } => self.verify_mount(*read_only, record)?,
        }
        Ok(())
    }

    fn kernel_fault(&self) -> Option<String> {
        let line = self.state.journal.kernel_fault()?;
        Some(format!("the kernel broke and cannot be trusted before the next boot; reboot this host: {line}"))
    }

    fn clean_trial(&mut self) -> Result<(), String> {
        self.trial = Trial::default();
        give_back::give_back(&mut self.state, Which::OfTheTrial)?;
        self.kernel_fault().map_or(Ok(()), Err)
    }

    fn close(&mut self) -> Result<(), String> {
        self.trial = Trial::default();
        self.loop_disks.clear();
        give_back::give_back(&mut self.state, Which::Everything)
    }

    fn now(&self) -> TimestampMs {
        clock::now()
    }

    fn monotonic_ms(&self) -> u64 {
        clock::monotonic_ms()
    }
}

/// Says whose fault an error is: what does not return hangs in the kernel, the rest is as the step thinks.
fn fault(otherwise: Fault) -> impl Fn(SysError) -> Problem {
    move |error| {
        let fault = match &error {
            SysError::TimeOut { .. } => Fault::Kernel,
            SysError::MissingProgram { .. } => Fault::Lab,
            SysError::Io { .. } | SysError::ReadBack { .. } | SysError::Program { .. } | SysError::Unsupported { .. } => otherwise,
        };
        Problem { fault, message: format!("failed to {error}"), load: None }
    }
}

fn check_tools(tools: &[String]) -> Result<(), Problem> {
    match tools.iter().find(|tool| command::find(tool).is_none()) {
        Some(tool) => Err(fault(Fault::Lab)(SysError::MissingProgram { program: tool.clone() })),
        None => Ok(()),
    }
}
