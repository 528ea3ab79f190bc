//! `blklab-agent run`.

use std::process::ExitCode;

use anyhow::Context;
use rustix::process::{Signal, set_parent_process_death_signal};
use tokio::signal::unix::{SignalKind, signal};

use crate::config::Config;
use crate::host::LabHost;
use crate::launch::Launcher;
use crate::session;
use crate::stop::Stop;

/// Serves until it is told to stop; then everything that the agent made is removed.
pub(super) fn run(config: Config, die_with_parent: bool) -> anyhow::Result<ExitCode> {
    if die_with_parent {
        set_parent_process_death_signal(Some(Signal::TERM)).context("failed to ask to die with the parent")?;
    }
    // An error means that a provider is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().context("failed to start the runtime")?;
    runtime.block_on(serve(config))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(config: Config) -> anyhow::Result<()> {
    let stop = Stop::default();
    tokio::spawn(stop_on_signals(stop.clone())?);
    let launcher = Launcher { program: std::env::current_exe().context("failed to find the agent's own program")? };
    let (host_config, host_stop) = (config.clone(), stop.clone());
    let host = tokio::task::spawn_blocking(move || LabHost::start(host_config, launcher, &host_stop)).await??;
    session::serve(&config, host, stop, session::Pauses::default()).await?;
    Ok(())
}

/// The handlers are set before this returns, so that no signal is missed while the loop disks are made.
pub(super) fn stop_on_signals(stop: Stop) -> anyhow::Result<impl Future<Output = ()>> {
    let listen = |kind| signal(kind).context("failed to listen for signals");
    let (mut terminate, mut interrupt, mut hang_up) =
        (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?, listen(SignalKind::hangup())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
        tracing::info!("stopping: running loads are killed and everything is given back");
        stop.ask();
    })
}
