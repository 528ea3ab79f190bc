//! What a session needs of the host that it speaks for. A host whose kernel is fixed runs its trials itself (every [`Machine`] does); a
//! controlled host is booted, watched and asked from outside ([`crate::control`]).

use std::path::PathBuf;

use blklab_model::disk::Disk;
use blklab_model::host::HostFacts;
use blklab_model::id::JobId;
use blklab_model::outcome::{Failure, Fault, Outcome};
use blklab_model::time::TimestampMs;
use blklab_wire::agent::{BootProof, BootSpec, LastBoot, TrialSpec};

use crate::cycle::machine::{Machine, Record};
use crate::cycle::plan::plan;
use crate::cycle::run::{self, Cycle};
use crate::stop::Stop;

/// A host that trials can be run on.
pub trait Runner: Send + 'static {
    /// What host is this?
    fn facts(&mut self) -> HostFacts;

    /// The disks that it offers, with their present health.
    fn disks(&mut self) -> Vec<Disk>;

    /// Identifies the machine, whatever agent runs on it.
    fn machine_id(&self) -> String;

    /// Where kernels are kept that it may be asked to boot; none: its kernel is fixed.
    fn kernel_cache(&self) -> Option<PathBuf>;

    /// Runs a trial; `enter` is told of each new phase.
    fn trial(&mut self, order: &Order, stop: &Stop, enter: &dyn Fn(&str)) -> Ran;

    /// Why no trial may run here until somebody intervenes, if so.
    fn kernel_fault(&self) -> Option<String>;

    /// Gives back what a failed undo left behind; the text says what still is, and what only a reboot ends.
    fn clean_trial(&mut self) -> Result<(), String>;

    /// Gives back everything at the end of the agent.
    fn close(&mut self) -> Result<(), String>;

    /// How its last boot went, where it boots kernels.
    fn last_boot(&self) -> Option<LastBoot>;

    /// The wall clock.
    fn now(&self) -> TimestampMs;
}

/// A trial with the kernel that must run.
#[derive(Debug, Clone)]
pub struct Order {
    /// Trials of one job share a boot.
    pub job: JobId,
    /// What must be running.
    pub kernel: ReadyKernel,
    /// What to do.
    pub spec: TrialSpec,
}

/// A kernel whose files are here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadyKernel {
    /// Whatever runs; on a host that boots kernels, its known-good one.
    AsBooted,
    /// To be booted for this job.
    Boot {
        /// What it must prove to be.
        spec: Box<BootSpec>,
        /// Its image.
        image: PathBuf,
        /// Its modules.
        modules: Option<PathBuf>,
    },
}

/// How a trial went.
#[derive(Debug)]
pub struct Ran {
    /// The cycle.
    pub cycle: Cycle,
    /// What ran, where the host boots kernels.
    pub boot: Option<BootProof>,
}

impl<M: Machine> Runner for M {
    fn facts(&mut self) -> HostFacts {
        Machine::facts(self)
    }

    fn disks(&mut self) -> Vec<Disk> {
        Machine::disks(self)
    }

    fn machine_id(&self) -> String {
        Machine::machine_id(self)
    }

    fn kernel_cache(&self) -> Option<PathBuf> {
        None
    }

    fn trial(&mut self, order: &Order, stop: &Stop, enter: &dyn Fn(&str)) -> Ran {
        let cycle = match &order.kernel {
            ReadyKernel::AsBooted => match plan(&order.spec) {
                Ok(steps) => run::run(&steps, self, stop, &|phase| enter(phase.word())),
                Err(failure) => not_begun(failure),
            },
            ReadyKernel::Boot { spec, .. } => not_begun(Failure {
                fault: Fault::Lab,
                step: "boot".to_owned(),
                message: format!("this host cannot boot `{}`: its kernel is fixed", spec.name),
            }),
        };
        Ran { cycle, boot: None }
    }

    fn kernel_fault(&self) -> Option<String> {
        Machine::kernel_fault(self)
    }

    fn clean_trial(&mut self) -> Result<(), String> {
        Machine::clean_trial(self)
    }

    fn close(&mut self) -> Result<(), String> {
        Machine::close(self)
    }

    fn last_boot(&self) -> Option<LastBoot> {
        None
    }

    fn now(&self) -> TimestampMs {
        Machine::now(self)
    }
}

/// A trial that ended before its first step.
pub fn not_begun(failure: Failure) -> Cycle {
    Cycle { outcome: Some(Outcome::Failed(failure)), phases: Vec::new(), record: Record::default(), dirty: None }
}
