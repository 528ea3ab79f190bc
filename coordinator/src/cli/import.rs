//! `blklab import`: results that exist already become a finished experiment of a lab, with the same pages.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use blklab_compare::{Aligned, align};
use blklab_model::imported::PublishedSummary;
use blklab_parse::results::{Data, Repetition, Summary};
use blklab_stats::Policy;
use blklab_wire::people::{Import, ImportCell, ImportData, ImportMetric, ImportValue};
use clap::Args;

use super::compare::{Inputs, Sides};
use super::{Ended, Server, print};

#[derive(Args)]
#[command(override_usage = "\
blklab import [OPTIONS] --title TITLE BASE... -- CANDIDATE...
       blklab import [OPTIONS] --title TITLE --table FILE [--baseline LABEL]")]
pub(super) struct ImportArgs {
    #[command(flatten)]
    inputs: Inputs,
    /// One line: what was compared
    #[arg(long, value_name = "TEXT")]
    title: String,
    /// Short name of the experiment
    #[arg(long, default_value = "import", value_name = "NAME")]
    name: String,
    /// What a reader wants to know
    #[arg(long, default_value = "", value_name = "TEXT")]
    question: String,
    /// Where the results come from: a thread, a person, a date
    #[arg(long, default_value = "", value_name = "TEXT")]
    source: String,
    #[command(flatten)]
    server: Server,
}

pub(super) async fn run(args: ImportArgs) -> anyhow::Result<Ended> {
    let client = args.server.client()?;
    let Sides { base, candidates, options, sources, warnings } = args.inputs.read(Policy::default().alpha)?;
    let (aligned, left_out) = align(&base, &candidates, &options).map_err(|error| anyhow::anyhow!("failed to {error}"))?;
    let warnings: Vec<String> = warnings.into_iter().chain(left_out).collect();
    for warning in &warnings {
        eprintln!("{warning}");
    }
    if aligned.is_empty() {
        bail!("there is nothing to import: no metric of a cell is on both sides, with a known direction");
    }
    let arms = std::iter::once(&base).chain(&candidates).map(|arm| arm.label.clone()).collect();
    let import = Import {
        name: args.name,
        title: args.title,
        question: args.question,
        source: args.source,
        submitter: super::submitter(),
        arms,
        cells: cells(aligned),
        smallest_effect_pct: options.policy.delta_pct,
        sources: sources.into_iter().map(|(what, from)| format!("{what}: {from}")).collect(),
        warnings,
    };
    let done = client.import(&import).await.context("failed to import")?;
    print::line(&format!("{}  {}", done.id, client.url(&done.path)));
    eprintln!("imported: {} cells, {} runs", done.cells, done.trials);
    Ok(Ended::Well)
}

/// Metrics of the same cell together, in the order in which each cell first comes.
fn cells(aligned: Vec<Aligned>) -> Vec<ImportCell> {
    let mut cells: Vec<ImportCell> = Vec::new();
    let mut places: BTreeMap<BTreeMap<String, String>, usize> = BTreeMap::new();
    for one in aligned {
        let at = *places.entry(one.cell.clone()).or_insert_with(|| {
            cells.push(ImportCell { cell: one.cell.clone(), metrics: Vec::new() });
            cells.len() - 1
        });
        let arms = one.arms.into_iter().map(|data| data.map(import_data)).collect();
        cells[at].metrics.push(ImportMetric { name: one.metric, unit: one.unit, better: one.better, arms });
    }
    cells
}

fn import_data(data: Data) -> ImportData {
    match data {
        Data::Values(values) => {
            ImportData::Values(values.into_iter().map(|Repetition { value, round }| ImportValue { value, round }).collect())
        }
        Data::Summary(Summary { n, mean, sd, min, max }) => ImportData::Summary(PublishedSummary { n, mean, sd, min, max }),
    }
}
