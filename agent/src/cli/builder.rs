//! `blklab-agent builder`: builds kernels for the lab.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use rustix::process::{Signal, set_parent_process_death_signal};

use super::run::stop_on_signals;
use crate::builder::{self, BuilderConfig};
use crate::stop::Stop;

#[derive(Debug, Args)]
pub(super) struct BuilderArgs {
    /// Configuration of the builder.
    #[arg(long, value_name = "FILE", default_value = "/etc/blklab/builder.toml")]
    pub(super) config: PathBuf,
    /// Stop when the process that started this one ends.
    #[arg(long)]
    pub(super) die_with_parent: bool,
}

/// Serves until it is told to stop; a build that is under way is ended then.
pub(super) fn builder(config: &BuilderConfig, die_with_parent: bool) -> anyhow::Result<ExitCode> {
    if die_with_parent {
        set_parent_process_death_signal(Some(Signal::TERM)).context("failed to ask to die with the parent")?;
    }
    // An error means that a provider is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().context("failed to start the runtime")?;
    runtime.block_on(async {
        let stop = Stop::default();
        tokio::spawn(stop_on_signals(stop.clone())?);
        builder::serve(config, stop, builder::PAUSES).await?;
        anyhow::Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}
