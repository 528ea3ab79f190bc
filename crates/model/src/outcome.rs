//! How a trial ended. A fault of the kernel or the workload is a *result*; a fault of the lab is not, and only that one is retried.

use serde::{Deserialize, Serialize};

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum Outcome {
    /// The workload ran to its end and everything was read back and verified.
    Completed,
    /// It did not.
    Failed(Failure),
}

/// What went wrong, and whose fault it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Whose fault.
    pub fault: Fault,
    /// The step of the cycle that failed (`mkfs`, `task rt`).
    pub step: String,
    /// What a person needs to know, with the remedy where there is one.
    pub message: String,
}

/// Whose fault a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The kernel under test: panic, oops, hang, a scheduler that cannot be set although it is offered.
    Kernel,
    /// The workload: exit status, time-out, output without the promised metric.
    Workload,
    /// The lab: a disk that is gone, no space, a lost host.
    Lab,
}

impl Fault {
    /// Only lab faults are tried again: the others would hide a result.
    pub fn is_retried(self) -> bool {
        match self {
            Fault::Lab => true,
            Fault::Kernel | Fault::Workload => false,
        }
    }

    /// The word on pages.
    pub fn word(self) -> &'static str {
        match self {
            Fault::Kernel => "kernel",
            Fault::Workload => "workload",
            Fault::Lab => "lab",
        }
    }
}
