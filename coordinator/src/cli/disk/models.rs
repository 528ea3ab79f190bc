//! `blklab disk models`.

use blklab_diskmodel::{DiskModel, PRESETS};
use clap::Args;

use super::{Ended, print};

#[derive(Args)]
pub(super) struct ModelsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ModelsArgs) -> anyhow::Result<Ended> {
    let models: Vec<DiskModel> = PRESETS.iter().filter_map(|(name, _)| DiskModel::preset(name)).collect();
    if args.json {
        print::line(&serde_json::to_string_pretty(&models)?);
        return Ok(Ended::Well);
    }
    let rows: Vec<Vec<String>> = models.iter().map(|model| vec![model.name.clone(), model.title.clone(), model.summary()]).collect();
    print::table(&["MODEL", "TITLE", "INSIDE"], &rows);
    eprintln!("all parameters: blklab disk show MODEL --toml");
    Ok(Ended::Well)
}
