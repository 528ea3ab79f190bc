//! The words of the lab as types, and every decision about them as a pure function.
//!
//! Nothing in here waits, reads a file, asks the clock or rolls dice: time and seeds are arguments. What crosses HTTP builds on
//! these types (`blklab-wire`), the coordinator stores them, the agent carries them out.
//!
//! | question | module |
//! |---|---|
//! | what does an experiment file mean? | [`experiment`] |
//! | what does a workload file mean? | [`workload`] |
//! | which cells does a matrix have, and which are impossible? | [`matrix`] |
//! | in which order are trials run? | [`plan`] |
//! | what may happen next to a host, disk, job, trial, experiment, build? | [`host`], [`disk`], [`job`], [`trial`], [`experiment::state`], [`build`] |
//! | how may a kernel that was booted end? | [`crash`] |
//! | what does a reader see at the end? | [`report`] |

pub mod build;
pub mod crash;
pub mod disk;
pub mod experiment;
pub mod filesystem;
pub mod host;
pub mod id;
pub mod imported;
pub mod job;
pub mod kernel;
pub mod matrix;
pub mod outcome;
pub mod plan;
pub mod record;
pub mod report;
pub mod scheduler;
pub mod source;
#[cfg(any(test, feature = "test-support"))]
pub mod testing;
pub mod time;
pub mod transition;
pub mod trial;
pub mod workload;
