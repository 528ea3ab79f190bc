//! What happens next: agents come and go, claim jobs and report trials; time passes; people cancel.
//!
//! Each function is one transaction: read rows, ask the model what they become, save that by compare-and-set. [`tick`](tick::tick) is
//! derived from rows alone, so a crash between any two steps heals on the next one.

pub mod agent;
pub mod build;
pub mod cancel;
pub mod claim;
mod finish;
mod proof;
mod release;
pub mod report;
pub mod tick;
