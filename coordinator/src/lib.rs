//! The coordinator: takes experiments in, hands their trials to agents, keeps what comes back, and says what it means.
//!
//! | step | module |
//! |---|---|
//! | a submission becomes planned rows | [`intake`] |
//! | the kernels that it keeps, and their files | [`kernels`], [`artifact`] |
//! | agents come, claim and report; time passes | [`schedule`] |
//! | raw output becomes values, values become a report | [`analyse`] |
//! | a report becomes text, CSV, plots and pages | [`render`], [`http`] |
//! | everything is remembered | [`store`], [`artifact`] |
//! | people ask | [`cli`] |

pub mod analyse;
pub mod artifact;
pub mod cli;
pub mod client;
pub mod clock;
pub mod http;
pub mod intake;
pub mod kernels;
pub mod lab;
pub mod library;
pub mod render;
pub mod schedule;
pub mod server;
pub mod store;
pub mod token;
