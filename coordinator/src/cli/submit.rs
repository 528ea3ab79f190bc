//! `blklab submit`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use blklab_model::id::HostName;
use blklab_model::time::SpanMs;
use blklab_wire::people::{NamedText, Overrides, Submit, Submitted};
use clap::Args;

use super::{Ended, Server, print, watch};
use crate::library;

/// Workload files taken from one folder: more than any lab has, and a stop for a wrong folder.
const MAX_WORKLOAD_FILES: usize = 500;

#[derive(Args)]
#[command(after_help = "\
Examples:
  blklab submit experiments/rt-be-readers.toml --watch
  blklab submit rt-be-readers --rounds 10 --host lab-3     a shipped experiment, by name
  blklab submit rt-be-readers --only scheduler=none,bfq --only disk_class=ssd
  blklab submit journal-priority --scale virtual           the same question at another scale
  blklab submit my.toml --set size='64 MiB'                a workload parameter for all cells")]
pub(super) struct SubmitArgs {
    /// Experiment file, or the name of a shipped experiment
    file: String,
    /// Stay and follow it until it is over
    #[arg(long)]
    watch: bool,
    /// Scale of the file: `[scale.NAME]` takes the place of what the file says elsewhere
    #[arg(long, value_name = "NAME")]
    scale: Option<String>,
    /// Rounds, in place of the file's
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Runs of each boot, in place of the file's: a number, or `auto`
    #[arg(long, value_name = "N")]
    runs_per_boot: Option<String>,
    /// Seed of all random choices, in place of the file's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Workload parameter for all cells; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_assignment)]
    set: Vec<(String, String)>,
    /// Only these values of an axis of the matrix; may be given several times
    #[arg(long = "only", value_name = "AXIS=VALUE,...", value_parser = parse_assignment)]
    only: Vec<(String, String)>,
    /// Only this host; may be given several times
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<HostName>,
    /// Folder with workload files; they come before the shipped ones [default: `workloads` beside the experiment file]
    #[arg(long, value_name = "DIR")]
    workloads: Option<PathBuf>,
    #[command(flatten)]
    server: Server,
}

pub(super) async fn run(args: SubmitArgs) -> anyhow::Result<Ended> {
    let file = experiment_file(&args.file)?;
    let submit = Submit {
        workloads: workload_files(&args.file, args.workloads.as_deref())?,
        file,
        overrides: Overrides {
            scale: args.scale,
            rounds: args.rounds,
            runs_per_boot: args.runs_per_boot,
            seed: args.seed,
            parameters: args.set.into_iter().collect::<BTreeMap<_, _>>(),
            only: args.only.into_iter().map(|(axis, values)| (axis, split(&values))).collect(),
            hosts: args.hosts,
        },
        submitter: super::submitter(),
    };
    let client = args.server.client()?;
    let submitted = client.submit(&submit).await?;
    print::line(&format!("{}  {}", submitted.id, client.url(&submitted.path)));
    describe(&submitted);
    if args.watch { watch::follow(&client, submitted.id).await } else { Ok(Ended::Well) }
}

/// What a submission came to, for people.
pub(super) fn describe(submitted: &Submitted) {
    let boots = if submitted.boots == 0 { String::new() } else { format!(", {} boots", submitted.boots) };
    let time = submitted.eta_ms.map_or_else(String::new, |ms| format!(", about {}", SpanMs(i64::try_from(ms).unwrap_or(i64::MAX))));
    eprintln!("accepted: {} cells, {} trials{boots}{time}", submitted.cells, submitted.trials);
    for caution in &submitted.cautions {
        eprintln!("caution: {caution}");
    }
    if !submitted.impossible.is_empty() {
        eprintln!("not possible here:");
        for impossible in &submitted.impossible {
            eprintln!("  {impossible}");
        }
    }
}

fn experiment_file(name: &str) -> anyhow::Result<NamedText> {
    match std::fs::read_to_string(name) {
        Ok(text) => Ok(NamedText { name: name.to_owned(), text }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => match library::experiment(name) {
            Some(file) => Ok(file),
            None => bail!("there is neither a file nor a shipped experiment `{name}`; shipped: {}", library::experiment_names().join(", ")),
        },
        Err(error) => Err(error).with_context(|| format!("failed to read {name}")),
    }
}

fn workload_files(experiment: &str, folder: Option<&Path>) -> anyhow::Result<Vec<NamedText>> {
    let beside = Path::new(experiment).parent().map(|parent| parent.join("workloads")).filter(|folder| folder.is_dir());
    let Some(folder) = folder.map(Path::to_owned).or(beside) else { return Ok(Vec::new()) };
    let entries = std::fs::read_dir(&folder).with_context(|| format!("failed to read the workload folder {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    if paths.len() > MAX_WORKLOAD_FILES {
        bail!("{} holds {} workload files, more than {MAX_WORKLOAD_FILES}", folder.display(), paths.len());
    }
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
        Ok(NamedText { name: path.display().to_string(), text })
    };
    paths.iter().map(read).collect()
}

fn split(values: &str) -> Vec<String> {
    values.split(',').map(|value| value.trim().to_owned()).collect()
}

pub(super) fn parse_assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
