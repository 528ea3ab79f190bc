//! `blklab disk`: disks that exist as models. Needs no coordinator.

mod fit;
mod models;
mod serve;
mod show;

use std::path::Path;

use blklab_diskmodel::DiskModel;
use clap::{Args, Subcommand};

use super::{Ended, print};

#[derive(Args)]
pub(super) struct DiskArgs {
    #[command(subcommand)]
    command: DiskCommand,
}

#[derive(Subcommand)]
enum DiskCommand {
    /// List the disk models that come with the lab.
    Models(models::ModelsArgs),
    /// Show how a disk model serves requests: by distance, by queue depth, and what it leaves out.
    Show(show::ShowArgs),
    /// Fit a disk model to fio runs of a real disk.
    Fit(fit::FitArgs),
    /// Serve a file as a disk of a model, over NBD on a unix socket.
    Serve(serve::ServeArgs),
}

pub(super) async fn run(args: DiskArgs) -> anyhow::Result<Ended> {
    match args.command {
        DiskCommand::Models(args) => models::run(&args),
        DiskCommand::Show(args) => show::run(&args),
        DiskCommand::Fit(args) => fit::run(&args),
        DiskCommand::Serve(args) => serve::run(args).await,
    }
}

/// A preset by its name, or a file.
fn model(named: &str) -> anyhow::Result<DiskModel> {
    match DiskModel::preset(named) {
        Some(model) => Ok(model),
        None => Ok(DiskModel::load(Path::new(named))?),
    }
}
