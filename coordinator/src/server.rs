//! Serves a lab until it is told to stop.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::lab::Lab;
use crate::{http, schedule};

/// Name of the file in the data folder that holds the address served, for scripts that listen on port 0.
pub const ADDRESS_FILE: &str = "address";

/// Serves on `listen` until SIGINT or SIGTERM; `ready` is called with the real address.
pub async fn serve(lab: Lab, listen: SocketAddr, folder: &Path, ready: impl FnOnce(SocketAddr)) -> anyhow::Result<()> {
    let listener = TcpListener::bind(listen).await.with_context(|| {
        format!("failed to listen on {listen}; is another coordinator running there? choose another address with --listen")
    })?;
    let address = listener.local_addr().context("failed to read the address of the socket")?;
    std::fs::write(folder.join(ADDRESS_FILE), format!("{address}\n")).context("failed to write the address file")?;
    let tick = tokio::spawn(schedule::tick::run(lab.clone()));
    ready(address);
    let stop = stop_signal()?;
    let serve = axum::serve(listener, http::router(lab.clone())).with_graceful_shutdown(async move {
        stop.await;
    });
    // Long polls and event streams would hold a graceful end back for ever.
    tokio::select! {
        result = serve => result.context("the server failed")?,
        () = grace() => tracing::info!("stopped with connections open"),
    }
    tick.abort();
    lab.store.close().await;
    Ok(())
}

/// Requests under way get this long after the signal.
async fn grace() {
    const GRACE: std::time::Duration = std::time::Duration::from_secs(1);
    match stop_signal() {
        Ok(stop) => {
            stop.await;
            tokio::time::sleep(GRACE).await;
        }
        Err(_) => std::future::pending().await,
    }
}

fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to wait for SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("failed to wait for SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
