//! From raw output to values, and from values to a report.

mod boots;
pub mod eta;
pub mod headlines;
pub mod ingest;
pub mod kernels;
pub mod metric;
pub mod view;
