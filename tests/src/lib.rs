//! The whole lab in one process: a real coordinator on a free port of the loopback, a clock that stands until it is moved, and
//! hosts that do what a test tells them. Only the disks are missing.

mod host;
mod lab;
mod machine;

pub use host::{Refused, ScriptedHost, dd_output};
pub use lab::{TestLab, blob, kernel_submission, submission};
pub use machine::{can_make_disks, program};
