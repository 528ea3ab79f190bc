//! One trial on this machine: what a workload's author runs before anybody submits it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use blklab_model::experiment::file::parse as parse_experiment;
use blklab_model::outcome::Outcome;
use blklab_model::scheduler::{QueueTunables, Scheduler, Tunables};
use blklab_model::workload::metric::Better;
use blklab_model::workload::{Target, Workload};
use blklab_wire::agent::{TrialReport, TrialSpec};
use clap::Args;

use super::named;
use crate::analyse::ingest::decode;
use crate::analyse::metric::{self, Raw};
use crate::cli::print;
use crate::cli::submit::parse_assignment;
use crate::render::quantity;

#[derive(Args)]
#[command(after_help = "\
Examples:
  blklab workload try rt-be-readers
  blklab workload try my.toml --scheduler bfq --set size='64 MiB'
  blklab workload try scaling-readers --set disks=3 --size '256 MiB'")]
pub(super) struct TryArgs {
    /// Name of a shipped workload, or a file
    workload: String,
    /// The disk: `loop` makes one of a file, for each disk that the workload needs
    #[arg(long, default_value = "loop", value_parser = ["loop"])]
    disk: String,
    /// Size of the disk [default: room for what the workload needs, at least 320 MiB]
    #[arg(long, value_name = "SIZE")]
    size: Option<String>,
    /// Where the file of the disk is made
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    folder: PathBuf,
    /// Scheduler
    #[arg(long, default_value = "none", value_name = "NAME")]
    scheduler: String,
    /// Type of the file system, where the workload needs one
    #[arg(long, default_value = "ext4", value_name = "TYPE")]
    filesystem: String,
    /// Workload parameter; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_assignment)]
    set: Vec<(String, String)>,
    /// Also print what the loads wrote
    #[arg(long)]
    outputs: bool,
    /// The agent's program [default: blklab-agent beside this one]
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
}

/// Room of a file system beside what the workload writes, and the least that mkfs.xfs takes.
const SPARE_BYTES: u64 = 64 << 20;
const LEAST_BYTES: u64 = 320 << 20;

pub(super) fn run(args: &TryArgs) -> anyhow::Result<()> {
    let workload = named(&args.workload)?;
    if !rustix::process::geteuid().is_root() {
        bail!("not root: no loop disk, mount or scheduler can be set, so no trial can run; try it with sudo");
    }
    let spec = spec(args, &workload)?;
    let agent = match &args.agent {
        Some(agent) => agent.clone(),
        None => std::env::current_exe().context("failed to find this program")?.with_file_name("blklab-agent"),
    };
    let folder = args.folder.join(format!("blklab-try-{}", std::process::id()));
    fs::create_dir(&folder).with_context(|| format!("failed to make {}; choose another place with --folder", folder.display()))?;
    let report = measure(&agent, &folder, args, &spec);
    let removed = fs::remove_dir_all(&folder).with_context(|| format!("failed to remove {}", folder.display()));
    let report = report?;
    removed?;
    tell(args, &workload, spec.workload.disks, report)
}

/// The trial as the coordinator would ask for it.
fn spec(args: &TryArgs, workload: &Workload) -> anyhow::Result<TrialSpec> {
    let parameters: BTreeMap<String, String> = args.set.iter().cloned().collect();
    if let Some(unknown) = parameters.keys().find(|name| !workload.parameters.contains_key(*name)) {
        let help = blklab_model::source::suggest(unknown, workload.parameters.keys().map(String::as_str));
        bail!("`{}` has no parameter `{unknown}`; {help}", workload.name);
    }
    let resolved = workload.resolve(&parameters, 1)?;
    let kind = match workload.needs.target {
        Target::Mounted => args.filesystem.as_str(),
        Target::Raw => "raw",
    };
    // The words of the command line are checked as those of a file are.
    let text = format!(
        "name = \"try\"\ntitle = \"try\"\nrounds = 3\naa_cells = 1\ncompare = \"scheduler\"\n[matrix]\nscheduler = [{:?}]\nfilesystem = [{kind:?}]\ndisk_class = [\"loop\"]\nworkload = [\"x\"]\n",
        args.scheduler
    );
    let mut matrix = parse_experiment("the command line", &text).map_err(|mut error| {
        error.line = None;
        error
    })?;
    let filesystem = matrix.matrix.filesystems.remove(0);
    let disks = (1..=resolved.disks).map(|number| format!("loop-try-{number}").parse());
    Ok(TrialSpec {
        trial: "x0.c0.r0.a0".parse()?,
        attempt: 1,
        disks: disks.collect::<Result<_, _>>()?,
        scheduler: Scheduler { name: args.scheduler.clone(), tunables: Tunables::new(), label: args.scheduler.clone() },
        tunables: QueueTunables { values: Tunables::new(), label: "default".to_owned() },
        format: filesystem.format,
        workload: resolved,
        memory_cap_bytes: None,
        seed: 1,
    })
}

fn measure(agent: &Path, folder: &Path, args: &TryArgs, spec: &TrialSpec) -> anyhow::Result<TrialReport> {
    let size = match &args.size {
        Some(size) => size.clone(),
        None => (spec.workload.space_bytes + spec.workload.space_bytes / 4 + SPARE_BYTES).max(LEAST_BYTES).to_string(),
    };
    let state = folder.join("agent");
    let mut config =
        format!("name = \"try\"\ncoordinator = \"http://127.0.0.1:1\"\ntoken_file = {:?}\nstate_dir = {:?}\n", folder.join("token"), state);
    for number in 1..=spec.workload.disks {
        config.push_str(&format!("[[loop_disk]]\nname = \"try-{number}\"\nclass = \"loop\"\nsize = {size:?}\n"));
    }
    let file = folder.join("agent.toml");
    fs::write(folder.join("token"), "none\n").context("failed to write the agent's configuration")?;
    fs::write(&file, config).context("failed to write the agent's configuration")?;
    #[expect(clippy::disallowed_methods, reason = "the agent is a program beside this one, named by its path")]
    let mut child = Command::new(agent)
        .args(["trial", "--config"])
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start {}; name the agent's program with --agent", agent.display()))?;
    let mut stdin = child.stdin.take().context("failed to speak to the agent")?;
    stdin.write_all(&serde_json::to_vec(spec)?).context("failed to speak to the agent")?;
    drop(stdin);
    let output = child.wait_with_output().context("failed to wait for the agent")?;
    if !output.status.success() {
        bail!("the trial was not run; what the agent says is above");
    }
    serde_json::from_slice(&output.stdout).context("failed to read what the agent says")
}

fn tell(args: &TryArgs, workload: &Workload, disks: u32, report: TrialReport) -> anyhow::Result<()> {
    let outputs = decode(&report.outputs)?;
    if args.outputs {
        for (name, bytes) in outputs.iter().filter(|(name, _)| *name != "monitor.txt") {
            print::line(&format!("--- {name}"));
            print::line(String::from_utf8_lossy(bytes).trim_end());
        }
        print::line("---");
    }
    let phases: Vec<String> = report.phases.iter().map(|phase| format!("{} {:.1} s", phase.phase, phase.ms as f64 / 1e3)).collect();
    eprintln!("{}", phases.join(", "));
    if let Outcome::Failed(failure) = &report.outcome {
        bail!("failed by the {}, at {}: {}", failure.fault.word(), failure.step, failure.message);
    }
    let elapsed_s = report.elapsed.iter().map(|task| (task.task.clone(), task.seconds)).collect();
    let values = metric::evaluate(workload, &Raw { disks, outputs, elapsed_s })?;
    let row = |metric: &blklab_model::workload::metric::Metric| {
        let value = values.values.get(&metric.name).copied().unwrap_or(f64::NAN);
        let better = match metric.better {
            Better::Lower => "lower is better",
            Better::Higher => "higher is better",
        };
        vec![metric.name.clone(), quantity(value, &metric.unit), better.to_owned()]
    };
    print::table(&["METRIC", "VALUE", ""], &workload.metrics.iter().map(row).collect::<Vec<_>>());
    for warning in &values.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(())
}
