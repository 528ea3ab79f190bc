//! From raw output to values, and from values to a report.

mod boots;
pub mod eta;
pub mod ingest;
pub mod kept;
pub mod kernels;
pub mod metric;
pub(crate) mod runs;
pub mod view;
