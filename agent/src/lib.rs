//! blklab on a lab host: it claims jobs, runs their trials on the disks that it was given, and reports.
//!
//! | question | module |
//! |---|---|
//! | who am I, and which disks may I touch? | [`config`] |
//! | what disks and what machine are there? | [`inventory`] |
//! | may this disk be written to? | [`guard`] |
//! | what are the steps of a trial, and what undoes them? | [`cycle`] |
//! | how is each step done here? | [`host`], [`sys`] |
//! | how is a load started, limited, timed, killed? | [`launch`], [`builtin`], [`monitor`] |
//! | what must be given back after a crash? | [`journal`] |
//! | how is a kernel built from source? | [`build`] |
//! | how are kernels built for the lab? | [`builder`] |
//! | how does it talk to the coordinator? | [`session`] |
//! | how are hosts booted and watched from outside? | [`control`] |
//! | what runs inside a host that is booted from outside? | [`guest`] |
//!
//! `main.rs` calls [`cli`]. Blocking code runs the cycle, for it waits for one thing at a time; only [`session`] is async.

pub mod build;
pub mod builder;
pub mod builtin;
pub mod cli;
pub mod clock;
pub mod config;
pub mod control;
pub mod cycle;
pub mod guard;
pub mod guest;
pub mod host;
pub mod inventory;
pub mod journal;
pub mod launch;
pub mod monitor;
pub mod session;
pub mod stop;
pub mod sys;
