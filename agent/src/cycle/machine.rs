//! The seam between deciding and doing: what a cycle needs of a host. [`crate::host::LabHost`] is the real one, [`super::scripted`] the
//! double of tests.

use std::time::Duration;

use blklab_model::disk::Disk;
use blklab_model::host::HostFacts;
use blklab_model::outcome::Fault;
use blklab_model::time::TimestampMs;
use blklab_wire::agent::{Output, TaskElapsed, Window};
use serde::{Deserialize, Serialize};

use super::step::Action;
use crate::stop::Stop;

/// A host on which steps can be carried out.
pub trait Machine: Send + 'static {
    /// What host is this?
    fn facts(&self) -> HostFacts;

    /// The disks of its allow-list, with their present health.
    fn disks(&mut self) -> Vec<Disk>;

    /// Identifies the machine, whatever agent runs on it.
    fn machine_id(&self) -> String;

    /// Carries out one action within `limit`; what it learns goes into the record. It returns early when `stop` is asked.
    fn act(&mut self, action: &Action, limit: Duration, record: &mut Record, stop: &Stop) -> Result<(), Halt>;

    /// Why no trial may run here until the next boot, if so: the kernel broke, under this agent or an earlier one.
    fn kernel_fault(&self) -> Option<String>;

    /// Gives back what a failed undo left behind; the text says what still is, and what only a reboot ends.
    fn clean_trial(&mut self) -> Result<(), String>;

    /// Gives back everything at the end of the agent, its own disks included.
    fn close(&mut self) -> Result<(), String>;

    /// The wall clock.
    fn now(&self) -> TimestampMs;

    /// The monotonic clock, milliseconds.
    fn monotonic_ms(&self) -> u64;
}

/// Why an action did not do what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Halt {
    /// It failed.
    Failed(Problem),
    /// Somebody asked to stop; not a failure, and not reported as one.
    Stopped,
}

/// What went wrong and whose fault it is; the step's name is added by who runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Whose fault.
    pub fault: Fault,
    /// What a person needs to know, with the remedy where there is one.
    pub message: String,
    /// The task or load that failed, where a step runs several.
    pub load: Option<String>,
}

impl Problem {
    /// Of the lab.
    pub fn lab(message: impl Into<String>) -> Self {
        Problem { fault: Fault::Lab, message: message.into(), load: None }
    }

    /// Of the workload.
    pub fn workload(message: impl Into<String>) -> Self {
        Problem { fault: Fault::Workload, message: message.into(), load: None }
    }

    /// Of the kernel under test.
    pub fn kernel(message: impl Into<String>) -> Self {
        Problem { fault: Fault::Kernel, message: message.into(), load: None }
    }

    /// Names the load that failed.
    #[must_use]
    pub fn of(mut self, load: &str) -> Self {
        self.load = Some(load.to_owned());
        self
    }
}

impl From<Problem> for Halt {
    fn from(problem: Problem) -> Self {
        Halt::Failed(problem)
    }
}

/// What a trial brought to light so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Record {
    /// The measured window.
    pub window: Option<Window>,
    /// End of each task.
    pub elapsed: Vec<TaskElapsed>,
    /// Raw outputs.
    pub outputs: Vec<Output>,
    /// What was read back, in the order of reading.
    pub environment: Vec<(String, String)>,
}

impl Record {
    /// Notes a value of the environment.
    pub fn note(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.environment.push((name.into(), value.into()));
    }
}
