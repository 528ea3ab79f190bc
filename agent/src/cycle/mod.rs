//! A trial from the first check to the last undo: [`plan`] makes it a list of steps, [`run`] carries them out on a [`machine::Machine`].
//!
//! The plan is data, so that it can be read, compared with a snapshot, and failed at every step in tests. What a step really does is the
//! business of [`crate::host`].

pub mod machine;
pub mod plan;
pub mod run;
pub mod scripted;
pub mod step;
