//! `blklab-agent build`: a kernel on this machine, without a coordinator.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Args;

use super::run::stop_on_signals;
use crate::build::{self, Base, BuildSpec, Folder, Hooks, Limits, Manifest, ModuleSource, NamedText, Outcome, Report, local, manifest};
use crate::stop::Stop;

#[derive(Debug, Args)]
pub(super) struct BuildArgs {
    /// Git repository: an address, or a path.
    #[arg(long, value_name = "ADDRESS")]
    repo: String,
    /// Any revision of it: a tag, a branch, a commit.
    #[arg(long, value_name = "REVISION")]
    commit: String,
    /// Mails in mbox form (git format-patch), applied in the order given.
    #[arg(long = "patch", value_name = "MBOX")]
    patches: Vec<PathBuf>,
    /// Lines of a .config that must hold, merged over the base in the order given.
    #[arg(long = "config", value_name = "FRAGMENT")]
    fragments: Vec<PathBuf>,
    /// What the configuration starts from: a target of the kernel's Makefile, or a .config file (with a `/` in its path).
    #[arg(long, value_name = "TARGET|FILE", default_value = "tinyconfig")]
    base: String,
    /// CONFIG_BUILD_SALT: the same source under another salt is a kernel with another build id.
    #[arg(long)]
    salt: Option<String>,
    /// Folder of a module from outside the tree, with a Kbuild file; built against the kernel and packed with its modules.
    #[arg(long = "module", value_name = "FOLDER")]
    modules: Vec<PathBuf>,
    /// Minutes that all of it may take.
    #[arg(long, value_name = "MINUTES", default_value_t = 360)]
    limit: u64,
    /// Kept between builds: sources, objects, ccache. One build at a time uses it.
    #[arg(long, value_name = "FOLDER")]
    cache: PathBuf,
    /// Where the kernel goes, with a manifest.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

/// Builds, or finds that the output folder holds the very kernel already.
pub(super) fn build(args: &BuildArgs) -> anyhow::Result<ExitCode> {
    let spec = spec(args)?;
    let out = std::path::absolute(&args.out).with_context(|| format!("failed to find {}", args.out.display()))?;
    let folder = Folder::open(&args.cache).map_err(|failure| anyhow::anyhow!("{failure}"))?;
    let stop = Stop::default();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().context("failed to start the runtime")?;
    let listening = runtime.block_on(async { stop_on_signals(stop.clone()) })?;
    runtime.spawn(listening);
    let here = Manifest::read(&out);
    let report = build::build(
        &spec,
        &folder,
        &out,
        &Hooks {
            known: &|signature| here.as_ref().filter(|here| here.signature == *signature).map(|_| out.display().to_string()),
            enter: &|action| say(action),
            stop: &stop,
        },
    );
    finish(report, &out)
}

fn finish(report: Report, out: &Path) -> anyhow::Result<ExitCode> {
    let seconds: u64 = report.steps.iter().map(|step| step.ms).sum::<u64>() / 1000;
    let mut stdout = std::io::stdout().lock();
    match report.outcome {
        Outcome::Built(built) => {
            writeln!(
                stdout,
                "built {} in {seconds} s, build id {}, signature {}",
                built.release,
                built.build_id,
                built.signature.as_str()
            )?;
            writeln!(stdout, "{}", out.join(manifest::MANIFEST).display())?;
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Reused { signature, kernel } => {
            writeln!(stdout, "the same kernel is in {kernel} already, signature {}", signature.as_str())?;
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Failed(failure) => bail!("{}: {failure}\nlog: {}", failure.class(), out.join(manifest::LOG).display()),
        Outcome::Stopped => bail!("stopped"),
    }
}

/// Each step as it begins, for somebody who waits; a script reads the log.
fn say(action: &dyn Display) {
    let mut stderr = std::io::stderr().lock();
    if stderr.is_terminal() {
        let _ = writeln!(stderr, "{action}");
    }
}

fn spec(args: &BuildArgs) -> anyhow::Result<BuildSpec> {
    let base = if args.base.contains('/') { Base::Text(text(Path::new(&args.base))?) } else { Base::Target(args.base.clone()) };
    Ok(BuildSpec {
        repository: address(&args.repo)?,
        commit: args.commit.clone(),
        patches: texts(&args.patches)?,
        base,
        fragments: texts(&args.fragments)?,
        salt: args.salt.clone(),
        modules: args.modules.iter().map(|folder| module(folder)).collect::<anyhow::Result<_>>()?,
        limits: Limits { wall: Duration::from_secs(args.limit.saturating_mul(60)), ..Limits::default() },
    })
}

/// A path here is meant from here; the builder's git runs elsewhere.
fn address(repo: &str) -> anyhow::Result<String> {
    let path = Path::new(repo);
    if !path.exists() {
        return Ok(repo.to_owned());
    }
    let path = path.canonicalize().with_context(|| format!("failed to find {repo}"))?;
    path.into_os_string().into_string().ok().context("the path of the repository is no UTF-8")
}

fn texts(paths: &[PathBuf]) -> anyhow::Result<Vec<NamedText>> {
    paths.iter().map(|path| text(path)).collect()
}

fn text(path: &Path) -> anyhow::Result<NamedText> {
    local::text(path).map_err(|error| anyhow!("failed to {error}"))
}

fn module(folder: &Path) -> anyhow::Result<ModuleSource> {
    local::module(folder).map_err(|error| anyhow!("failed to {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_made_whole_and_an_address_is_left_alone() {
        assert!(address(".").unwrap().starts_with('/'));
        assert_eq!(address("https://git.example.org/linux.git").unwrap(), "https://git.example.org/linux.git");
    }
}
