//! `blklab coordinator`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::{DEFAULT_LISTEN, Ended, default_data_folder};
use crate::clock::Clock;
use crate::lab::Lab;
use crate::server;

#[derive(Args)]
pub(super) struct CoordinatorArgs {
    /// Folder for database, raw outputs and tokens [default: /var/lib/blklab, or ~/.local/state/blklab when not root]
    #[arg(long, env = "BLKLAB_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Address to listen on; others than loopback want a reverse proxy with TLS in front
    #[arg(long, env = "BLKLAB_LISTEN", default_value = DEFAULT_LISTEN, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Database: sqlite:PATH or postgres://USER@HOST/NAME [default: SQLite in the data folder]
    #[arg(long, env = "BLKLAB_DATABASE", value_name = "URL")]
    database: Option<String>,
    /// End when the parent process does
    #[arg(long, hide = true)]
    die_with_parent: bool,
}

pub(super) async fn run(args: CoordinatorArgs) -> anyhow::Result<Ended> {
    if args.die_with_parent {
        let signal = Some(rustix::process::Signal::TERM);
        rustix::process::set_parent_process_death_signal(signal).context("failed to tie this process to its parent")?;
    }
    let folder = args.data.unwrap_or_else(default_data_folder);
    let lab = Lab::open(&folder, args.database.as_deref(), Clock::System).await?;
    server::serve(lab, args.listen, &folder, |address| {
        eprintln!("blklab coordinator: pages and API at http://{address}/");
        eprintln!("  data in {}", folder.display());
        eprintln!("  enrol a host: put the contents of {} into its agent's token_file", folder.join("enrol.token").display());
    })
    .await?;
    Ok(Ended::Well)
}
