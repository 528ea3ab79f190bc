//! Pages: one struct each with ready-to-print fields, and a template of the same name. What is computed here has tests; templates only
//! lay out. Every page is complete without scripts.

pub mod builds;
pub mod cell;
pub mod disk_models;
pub mod error;
pub mod experiment;
pub mod home;
pub mod hosts;
pub mod kernels;
pub mod method;
pub mod queue;

mod badge;
mod line;
mod orders;

pub use badge::Badge;
