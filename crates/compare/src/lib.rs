//! Results that exist already, judged: from the series of any known format to a [`Comparison`].
//! Owns which files are repetitions of which cell, what is paired with what, and what a verdict may
//! say of data whose run order nobody recorded. Knows no files, no clock, no lab and no rendering.
//!
//! | question | place |
//! |---|---|
//! | Which files of a folder are cells, which are runs of one? | [`names`] |
//! | What does each side consist of? | [`Gather`], [`Arm`], [`table`] |
//! | What is paired, in which direction is worse? | [`compare`] |
//! | What may be said of a pair? | `judge.rs`, by the judgement of `blklab-stats` |
//!
//! Every verdict is at most a suspicion: files tell nothing of the order of the runs (statistics,
//! "confounded order"), and confirmation needs fresh rounds, which only a lab has.

mod arm;
mod finish;
mod gather;
mod judge;
pub mod names;
mod pair;
mod row;
mod table;

pub use arm::Arm;
pub use finish::{FINISH_ORDER, IO_CLASS, class_rank};
pub use gather::{Averaged, Gather, Gathered};
pub use pair::{Aligned, Comparison, Counts, NoSuchMetric, Options, Outcome, Unpaired, align, compare};
pub use row::{Basis, Count, Flag, Reason, Row, Side, Stage, Verdict, Which};
pub use table::{TableError, table};
