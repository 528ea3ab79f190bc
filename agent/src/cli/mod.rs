//! The command line: what it accepts, and which function answers it.

mod build;
mod builder;
mod check;
mod clean;
mod control;
mod guest;
mod inventory;
mod keep;
mod run;
mod trial;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use blklab_model::workload::command::{Builtin, IoPriority};
use clap::{Args, Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use crate::builder::BuilderError;
use crate::config::{self, Config};
use crate::control::ControlError;
use crate::launch::{self, Launch, Task};
use crate::session::SessionError;

/// Exit status for a command line or a configuration that cannot be used.
const USAGE: u8 = 2;

/// Where the log filter is looked up: the variable of `blklab`, then that of other programs.
const LOG_VARIABLES: [&str; 2] = ["BLKLAB_LOG", "RUST_LOG"];

/// Shown under `--help`.
const AFTER_HELP: &str = "\
A first configuration, agent.toml:

    name = \"lab-1\"                            # of this host, unique in the lab
    coordinator = \"http://127.0.0.1:7400\"
    token_file = \"/etc/blklab/enrolment-token\"
    state_dir = \"/var/lib/blklab-agent\"       # journal, spool, files of loop disks

    [[disk]]                                  # only these are touched; see `inventory`
    id = \"wwn-0x50014ee2b1f5e7aa\"
    class = \"sata-hdd\"

    [[loop_disk]]                             # a disk that the agent makes and removes itself
    name = \"slow\"
    class = \"fc-array\"
    size = \"512 MiB\"
    read_iops = 125                           # limits below the I/O scheduler; leave out for none
    read_bytes_per_s = \"40 MiB\"

Exit status: 0 done; 1 failed, the reason is on standard error; 2 wrong usage or configuration, also a name that is taken.
Log: BLKLAB_LOG=debug shows more, BLKLAB_LOG=warn less; without it RUST_LOG is read.";

#[derive(Debug, Parser)]
#[command(name = "blklab-agent", version, about = "Runs the trials of a blklab coordinator on the disks of this host", after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the coordinator until SIGTERM or Ctrl-C. Needs root.
    Run(RunArgs),
    /// Serve the coordinator for hosts that this machine boots, such as virtual ones. Needs no root.
    Control(control::ControlArgs),
    /// Build a kernel on this machine: fetch, apply patches, configure, compile, pack. Needs no root.
    Build(build::BuildArgs),
    /// Serve the coordinator by building kernels. Needs no root.
    Builder(builder::BuilderArgs),
    /// List the disks of this host: which may be used, which not and why, and what to write into the configuration.
    Inventory {
        #[command(flatten)]
        config: ConfigArg,
        /// Print JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Remove whatever an agent that was killed left behind: mounts, loop devices, control groups, files, changed tunables.
    Clean(ConfigArg),
    /// Tell what is missing before the agent can run, and how to get it. Changes nothing.
    Check(ConfigArg),
    /// Run trials for a controller, inside a host that it has booted; the controller starts this itself.
    #[command(hide = true)]
    Guest(guest::GuestArgs),
    /// Become a program that dies with its controller; the controller calls this itself.
    #[command(hide = true)]
    Keep(keep::KeepArgs),
    /// Run one trial from standard input; `blklab workload try` calls this itself.
    #[command(hide = true)]
    Trial(ConfigArg),
    /// Start one load; the agent calls this itself.
    #[command(hide = true)]
    Launch(LaunchArgs),
}

#[derive(Debug, Args)]
struct ConfigArg {
    /// Configuration of the agent.
    #[arg(long, value_name = "FILE", default_value = "/etc/blklab/agent.toml")]
    config: PathBuf,
}

#[derive(Debug, Args)]
struct RunArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Stop when the process that started this one ends.
    #[arg(long)]
    die_with_parent: bool,
}

#[derive(Debug, Args)]
struct LaunchArgs {
    #[arg(long)]
    cgroup: Vec<PathBuf>,
    #[arg(long)]
    ioprio: Option<IoPriority>,
    #[arg(long, default_value_t = 0)]
    delay_ms: u64,
    /// JSON of a built-in task.
    #[arg(long, conflicts_with = "argv", value_parser = parse_builtin)]
    builtin: Option<Builtin>,
    #[arg(last = true)]
    argv: Vec<String>,
}

/// Everything that `main` does.
pub fn main() -> ExitCode {
    if crate::guest::init::is_init() {
        return crate::guest::init::run();
    }
    match Cli::parse().command {
        // Before anything else: a load must not inherit threads, logs or signal handlers.
        Command::Launch(args) => launch::run(&args.into()),
        Command::Keep(args) => keep::keep(&args).unwrap_or_else(|error| complain(&format!("{error:#}"), 1)),
        Command::Control(args) => {
            start_log();
            match crate::control::config::load(&args.config) {
                Ok(config) => finish(control::control(config, args.die_with_parent)),
                Err(error) => complain(&error, USAGE),
            }
        }
        Command::Builder(args) => {
            start_log();
            match crate::builder::config::load(&args.config) {
                Ok(config) => finish(builder::builder(&config, args.die_with_parent)),
                Err(error) => complain(&error, USAGE),
            }
        }
        Command::Guest(args) => guest::guest(&args).unwrap_or_else(|error| complain(&format!("{error:#}"), 1)),
        Command::Run(args) => with_config(&args.config.config, |config| run::run(config, args.die_with_parent)),
        Command::Build(args) => build::build(&args).unwrap_or_else(|error| complain(&format!("{error:#}"), 1)),
        Command::Inventory { config, json } => {
            let form = if json { inventory::Form::Json } else { inventory::Form::Text };
            with_config(&config.config, |config| inventory::print(&config, form))
        }
        Command::Clean(args) => with_config(&args.config, |config| clean::clean(&config)),
        Command::Check(args) => with_config(&args.config, |config| check::check(&config)),
        Command::Trial(args) => with_config(&args.config, trial::trial),
    }
}

fn with_config(file: &Path, command: impl FnOnce(Config) -> anyhow::Result<ExitCode>) -> ExitCode {
    start_log();
    match config::load(file) {
        Ok(config) => finish(command(config)),
        Err(error) => complain(&error, USAGE),
    }
}

fn start_log() {
    let filter = log_filter(|name| std::env::var(name).ok());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false).init();
}

fn finish(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| complain(&format!("{error:#}"), status_of(&error)))
}

/// A name that is taken is a matter of the configuration: a service manager that starts the agent again and again would only take it back.
fn status_of(error: &anyhow::Error) -> u8 {
    let of_session = error.downcast_ref();
    let of_builder = error.downcast_ref().and_then(|error| match error {
        BuilderError::Session(error) => Some(error),
        BuilderError::State(_) | BuilderError::Cache(_) | BuilderError::Tools(_) | BuilderError::Sys(_) => None,
    });
    let of_control = error.downcast_ref().and_then(|error| match error {
        ControlError::Session { error, .. } => Some(error),
        ControlError::State(_) | ControlError::Sys(_) | ControlError::Image(_) => None,
    });
    if matches!(of_session.or(of_control).or(of_builder), Some(SessionError::NameTaken { .. })) { USAGE } else { 1 }
}

/// What is no filter is like none: a wrong variable must not keep a host from work.
fn log_filter(variable: impl Fn(&str) -> Option<String>) -> EnvFilter {
    let asked = LOG_VARIABLES.into_iter().find_map(variable);
    asked.and_then(|words| EnvFilter::try_new(words).ok()).unwrap_or_else(|| EnvFilter::new("info"))
}

fn complain(error: &dyn std::fmt::Display, status: u8) -> ExitCode {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "blklab-agent: {error}");
    ExitCode::from(status)
}

fn parse_builtin(json: &str) -> Result<Builtin, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

impl From<LaunchArgs> for Launch {
    fn from(args: LaunchArgs) -> Self {
        let task = args.builtin.map_or(Task::Program(args.argv), Task::Builtin);
        Launch { cgroups: args.cgroup, io_priority: args.ioprio, delay: Duration::from_millis(args.delay_ms), task }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn the_log_filter_is_that_of_blklab() {
        let filter = |variables: &[(&str, &str)]| {
            let read = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            log_filter(read).to_string()
        };
        assert_eq!(filter(&[("RUST_LOG", "debug"), ("BLKLAB_LOG", "warn")]), "warn");
        assert_eq!(filter(&[("RUST_LOG", "debug")]), "debug");
        assert_eq!(filter(&[]), "info");
        assert_eq!(filter(&[("BLKLAB_LOG", "a=b=c")]), "info", "what is no filter keeps no host from work");
    }

    #[test]
    fn a_taken_name_is_a_matter_of_the_configuration() {
        let taken = SessionError::NameTaken { name: "lab-1".into(), reason: "by another".into() };
        assert_eq!(status_of(&anyhow::Error::from(taken)), USAGE);
        let taken = BuilderError::from(SessionError::NameTaken { name: "builder".into(), reason: "by another".into() });
        assert_eq!(status_of(&anyhow::Error::from(taken)), USAGE);
        assert_eq!(status_of(&anyhow::Error::from(SessionError::Panic("a bug".into()))), 1);
    }

    #[test]
    fn a_launch_survives_the_command_line() {
        let builtin = Builtin::TreeRead { path: "/mnt/a b".into(), block_bytes: 512 };
        let launches = [
            Launch {
                cgroups: Vec::new(),
                io_priority: None,
                delay: Duration::ZERO,
                task: Task::Program(vec!["dd".into(), "--help".into(), "--".into()]),
            },
            Launch {
                cgroups: vec!["/sys/fs/cgroup/x".into(), "/sys/fs/cgroup/y".into()],
                io_priority: Some(IoPriority::Realtime(0)),
                delay: Duration::from_millis(1500),
                task: Task::Builtin(builtin),
            },
        ];
        for launch in launches {
            let argv = std::iter::once("blklab-agent".into()).chain(launch.args());
            let Command::Launch(args) = Cli::try_parse_from(argv).unwrap().command else { panic!("another command") };
            assert_eq!(Launch::from(args), launch);
        }
    }

    /// The example in the help must stay one that works.
    #[test]
    fn the_help_teaches_a_good_configuration() {
        let (_, rest) = AFTER_HELP.split_once("agent.toml:\n").unwrap();
        let (example, _) = rest.split_once("Exit status").unwrap();
        config::parse("help", example).unwrap();
    }
}
