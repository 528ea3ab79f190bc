//! `blklab watch`: a progress bar until an experiment is over, then its verdict.

use std::time::Duration;

use blklab_model::id::ExperimentId;
use blklab_model::time::SpanMs;
use blklab_wire::people::Progress;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::{Ended, Server, print};
use crate::client::Client;

/// How often the coordinator is asked.
const EVERY: Duration = Duration::from_secs(1);

/// A coordinator that is restarted is waited for this long.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Args)]
pub(super) struct WatchArgs {
    /// Number of the experiment
    id: ExperimentId,
    #[command(flatten)]
    server: Server,
}

pub(super) async fn run(args: WatchArgs) -> anyhow::Result<Ended> {
    follow(&args.server.client()?, args.id).await
}

/// Follows an experiment to its end and prints its verdict.
pub(super) async fn follow(client: &Client, id: ExperimentId) -> anyhow::Result<Ended> {
    let progress = to_the_end(client, id).await?;
    print::line(&progress.headline);
    let report = patiently(async || client.report(id).await).await?;
    Ok(if report.is_regression() { Ended::Regression } else { Ended::Well })
}

/// Shows a bar until the experiment is over.
pub(super) async fn to_the_end(client: &Client, id: ExperimentId) -> anyhow::Result<Progress> {
    let first = patiently(async || client.progress(id).await).await?;
    let bar = ProgressBar::new(u64::from(first.trials));
    let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} trials  {msg}").expect("a good template");
    bar.set_style(style);
    bar.set_prefix(id.to_string());
    let mut progress = first;
    while progress.state == "queued" || progress.state == "running" {
        bar.set_position(u64::from(progress.over));
        bar.set_message(message(&progress));
        tokio::time::sleep(EVERY).await;
        progress = patiently(async || client.progress(id).await).await?;
    }
    bar.finish_and_clear();
    Ok(progress)
}

/// Asks until there is an answer, while the coordinator may be restarting.
pub(super) async fn patiently<T>(ask: impl AsyncFn() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        match ask().await {
            Err(error) if Client::is_passing(&error) && tokio::time::Instant::now() < deadline => tokio::time::sleep(EVERY).await,
            answer => return answer,
        }
    }
}

fn message(progress: &Progress) -> String {
    let eta = progress.eta_ms.map(|ms| format!(", {} to go", SpanMs(i64::try_from(ms).unwrap_or(i64::MAX))));
    if progress.state == "queued" {
        return match progress.ahead {
            0 => format!("waits for its host{}", eta.unwrap_or_default()),
            n => format!("waits for {n} before it"),
        };
    }
    let failed = if progress.failed == 0 { String::new() } else { format!(", {} failed", progress.failed) };
    format!("round {} of {}{}{failed}", progress.round, progress.rounds, eta.unwrap_or_default())
}
