//! `blklab experiments`.

use clap::Args;

use super::{Ended, Server, print};

#[derive(Args)]
pub(super) struct ExperimentsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

pub(super) async fn run(args: ExperimentsArgs) -> anyhow::Result<Ended> {
    let lines = args.server.client()?.experiments().await?;
    if args.json {
        print::line(&serde_json::to_string_pretty(&lines)?);
        return Ok(Ended::Well);
    }
    if lines.is_empty() {
        eprintln!("no experiments yet; submit one: blklab submit rt-be-readers --watch");
        return Ok(Ended::Well);
    }
    let rows = lines.into_iter().map(|line| {
        let trials = format!("{}/{}", line.over, line.trials);
        let state = if line.imported { "imported".to_owned() } else { line.state };
        vec![line.id.to_string(), line.name, state, trials, line.headline]
    });
    print::table(&["ID", "NAME", "STATE", "TRIALS", "VERDICT"], &rows.collect::<Vec<_>>());
    Ok(Ended::Well)
}
