//! `blklab disk serve`.

use std::fs::OpenOptions;
use std::path::PathBuf;

use anyhow::Context;
use blklab_diskmodel::{Server, Stats};
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::{Ended, print};

#[derive(Args)]
pub(super) struct ServeArgs {
    /// Name of a preset, or a file
    #[arg(value_name = "PRESET|FILE")]
    model: String,
    /// File with the disk's content; made if it is not there, sparse
    #[arg(value_name = "IMAGE")]
    image: PathBuf,
    /// Size of the disk
    #[arg(long, default_value_t = 8192, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    mib: u64,
    /// Unix socket to make
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// Seed of the disk's chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Makes every time this many times as long
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", value_parser = slowdown)]
    slowdown: f64,
}

pub(super) async fn run(args: ServeArgs) -> anyhow::Result<Ended> {
    let model = super::model(&args.model)?.slowed(args.slowdown);
    let image = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&args.image);
    let image = image.with_context(|| format!("failed to open {}", args.image.display()))?;
    let mut terminate = signal(SignalKind::terminate()).context("failed to wait for signals")?;
    let server = Server::start(&args.socket, image, args.mib << 20, &model, args.seed)?;
    eprintln!("{}: {}; end with ctrl-c", model.name, model.summary());
    print::line(&format!("nbd+unix:///?socket={}", server.socket().display()));
    tokio::select! {
        ended = tokio::signal::ctrl_c() => ended.context("failed to wait for ctrl-c")?,
        _ = terminate.recv() => {}
    }
    eprint!("{}", text(&server.stats()));
    Ok(Ended::Well)
}

fn text(stats: &Stats) -> String {
    let busy_pct = 100.0 * stats.busy.as_secs_f64() / stats.elapsed.as_secs_f64().max(1e-9);
    let replies: u64 = stats.late.iter().sum();
    let on_time: u64 = stats.late.iter().take(7).sum();
    format!(
        "{} reads, {} writes, {} flushes, {} trims; {} errors, {} refused; busy for {busy_pct:.0} % of {:.1} s\n\
         {:.1} % of the replies left within 64 µs of their time, the latest after {:.1} ms\n",
        stats.reads,
        stats.writes,
        stats.flushes,
        stats.trims,
        stats.errors,
        stats.refused,
        stats.elapsed.as_secs_f64(),
        100.0 * on_time as f64 / replies.max(1) as f64,
        stats.latest.as_secs_f64() * 1e3,
    )
}

/// The factors that a model file may give.
fn slowdown(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if (0.01..=1000.0).contains(&factor) => Ok(factor),
        Ok(_) | Err(_) => Err("a number from 0.01 to 1000".to_owned()),
    }
}
