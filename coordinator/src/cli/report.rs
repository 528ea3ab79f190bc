//! `blklab report`.

use blklab_model::id::ExperimentId;
use clap::{Args, ValueEnum};

use super::{Ended, Server, print};
use crate::render;

#[derive(Args)]
pub(super) struct ReportArgs {
    /// Number of the experiment
    id: ExperimentId,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    server: Server,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// 72 columns, as a reply on a mailing list
    Text,
    /// The page
    Html,
    /// Everything, for programs
    Json,
    /// One row for each comparison
    Csv,
}

pub(super) async fn run(args: ReportArgs) -> anyhow::Result<Ended> {
    let client = args.server.client()?;
    let path = format!("/experiments/{}", args.id);
    match args.format {
        Format::Text => print::text(&render::text::render(&client.report(args.id).await?, &client.url(""))),
        Format::Html => print::text(&client.page(&path).await?),
        Format::Json => print::line(&serde_json::to_string_pretty(&client.report(args.id).await?)?),
        Format::Csv => print::text(&render::csv::experiment(&client.report(args.id).await?)),
    }
    Ok(Ended::Well)
}
