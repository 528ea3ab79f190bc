//! The command line: parse, call, print. Results go to standard output, everything else to standard error.

mod build;
mod compare;
mod completions;
mod coordinator;
mod demo;
mod disk;
mod experiments;
mod hosts;
mod import;
mod kernel;
mod print;
mod report;
mod submit;
mod watch;
mod workload;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use blklab_model::id::ExperimentId;
use clap::{Args, Parser, Subcommand};

use crate::client::Client;

/// Where a coordinator listens unless told otherwise: on this machine only.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:7400";

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It did what was asked.
    Well,
    /// It did, and what it watched shows a regression.
    Regression,
    /// It compared results; the answer is the exit status.
    Compared(compare::Answer),
}

/// Tells whether a change makes Linux storage slower.
///
/// A coordinator expands an experiment file (kernels x schedulers x file systems x disk classes x workloads) into trials, hands
/// them to agents on lab hosts in randomised rounds, and judges what comes back. A first tour: `blklab demo`.
#[derive(Parser)]
#[command(name = "blklab", version, after_help = EXIT_CODES, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed or refused; standard error says why and what to do
  2  wrong usage
  3  --watch: the experiment is over and shows a regression
  compare has its own, see blklab compare --help";

#[derive(Subcommand)]
enum Command {
    /// Run the coordinator: queue, analysis, pages and API.
    Coordinator(coordinator::CoordinatorArgs),
    /// Submit an experiment file.
    Submit(submit::SubmitArgs),
    /// Follow an experiment until it is over.
    Watch(watch::WatchArgs),
    /// List experiments with their verdicts.
    Experiments(experiments::ExperimentsArgs),
    /// Print the report of an experiment.
    Report(report::ReportArgs),
    /// Judge results that exist already: no lab is needed.
    Compare(compare::CompareArgs),
    /// Put results that exist already into a lab, as a finished experiment.
    Import(import::ImportArgs),
    /// Workloads: list, show, check, try one here.
    Workload(workload::WorkloadArgs),
    /// Kernels that experiments may compare: add, list, show, remove.
    Kernel(kernel::KernelArgs),
    /// Builds of kernels: list, show, watch, stop.
    Build(build::BuildArgs),
    /// List hosts and disks, and what is wrong with them.
    Hosts(hosts::HostsArgs),
    /// Stop an experiment; what was measured stays.
    Cancel(CancelArgs),
    /// Run a whole lab on this machine: loop disks, real schedulers, two experiments, a verdict.
    Demo(demo::DemoArgs),
    /// Disks that exist as models: list, show, fit, serve.
    Disk(disk::DiskArgs),
    /// Print a completion script for your shell.
    Completions(completions::CompletionsArgs),
    /// The processes of a demo; they end when standard input does.
    #[command(hide = true)]
    DemoLab(demo::LabArgs),
}

/// How to reach the coordinator.
#[derive(Args, Clone)]
pub struct Server {
    /// Address of the coordinator
    #[arg(long, env = "BLKLAB_SERVER", default_value_t = format!("http://{DEFAULT_LISTEN}"), value_name = "URL", help_heading = "Coordinator")]
    server: String,
    /// File with the submission token [default: submit.token in the coordinator's data folder]
    #[arg(long, env = "BLKLAB_TOKEN_FILE", value_name = "FILE", help_heading = "Coordinator")]
    token_file: Option<PathBuf>,
}

#[derive(Args)]
struct CancelArgs {
    /// Number of the experiment
    id: ExperimentId,
    #[command(flatten)]
    server: Server,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = tracing_subscriber::EnvFilter::try_from_env("BLKLAB_LOG").unwrap_or_else(|_| "info".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false).init();
    match run(cli.command) {
        Ok(Ended::Well) => ExitCode::SUCCESS,
        Ok(Ended::Regression) => ExitCode::from(3),
        Ok(Ended::Compared(answer)) => ExitCode::from(answer.status()),
        Err(error) => {
            eprintln!("blklab: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<Ended> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("failed to start the runtime")?;
    runtime.block_on(async {
        match command {
            Command::Coordinator(args) => coordinator::run(args).await,
            Command::Submit(args) => submit::run(args).await,
            Command::Watch(args) => watch::run(args).await,
            Command::Experiments(args) => experiments::run(args).await,
            Command::Report(args) => report::run(args).await,
            Command::Compare(args) => Ok(compare::run(&args)),
            Command::Import(args) => import::run(args).await,
            Command::Kernel(args) => kernel::run(args).await,
            Command::Build(args) => build::run(args).await,
            Command::Hosts(args) => hosts::run(args).await,
            Command::Cancel(args) => args.server.client()?.cancel(args.id).await.map(|()| Ended::Well),
            Command::Demo(args) => demo::run(args).await,
            Command::DemoLab(args) => demo::lab(args).await,
            Command::Workload(args) => workload::run(args),
            Command::Disk(args) => disk::run(args).await,
            Command::Completions(args) => completions::run(args),
        }
    })
}

impl Server {
    fn client(&self) -> anyhow::Result<Client> {
        Client::new(&self.server, self.token()?)
    }

    /// From `BLKLAB_TOKEN`, the file that was named, or the data folder of a coordinator on this machine.
    fn token(&self) -> anyhow::Result<Option<String>> {
        if let Ok(token) = std::env::var("BLKLAB_TOKEN") {
            return Ok(Some(token.trim().to_owned()));
        }
        match &self.token_file {
            Some(file) => read_token(file).map(Some),
            None => Ok(read_token(&default_data_folder().join("submit.token")).ok()),
        }
    }
}

/// Who asks, for people who look at lists.
fn submitter() -> String {
    ["BLKLAB_SUBMITTER", "SUDO_USER", "USER"].iter().find_map(|name| std::env::var(name).ok()).unwrap_or_else(|| "unknown".to_owned())
}

fn read_token(file: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(file).with_context(|| format!("failed to read the token file {}", file.display()))?;
    Ok(text.trim().to_owned())
}

/// `/var/lib/blklab` for root; else by the XDG base directory specification.
fn default_data_folder() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return PathBuf::from("/var/lib/blklab");
    }
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".local/state"));
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).or_else(home);
    state.unwrap_or_else(|| PathBuf::from(".")).join("blklab")
}
