//! `blklab-agent build`: a kernel on this machine, without a coordinator.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;

use super::run::stop_on_signals;
use crate::build::{self, Base, BuildSpec, Folder, Hooks, Limits, Manifest, ModuleSource, NamedText, Outcome, Report, manifest};
use crate::stop::Stop;

/// Larger than any patch, configuration or module source: a wrong file is noticed before it is read.
const MAX_TEXT_BYTES: u64 = 16 << 20;

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

fn module(folder: &Path) -> anyhow::Result<ModuleSource> {
    let act = || format!("failed to read the module {}", folder.display());
    let folder = folder.canonicalize().with_context(act)?;
    let name = folder.file_name().and_then(|name| name.to_str()).with_context(act)?.to_owned();
    let entries = std::fs::read_dir(&folder).with_context(act)?.collect::<Result<Vec<_>, _>>().with_context(act)?;
    let mut paths: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).filter(|path| is_source(path)).collect();
    paths.sort();
    let mut files = texts(&paths)?;
    for file in &mut files {
        file.name = file.name.rsplit('/').next().unwrap_or_default().to_owned();
    }
    Ok(ModuleSource { name, files })
}

/// What an earlier build in that folder left is no source.
fn is_source(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_made = name.ends_with(".mod.c") || !matches!(path.extension().and_then(|end| end.to_str()), None | Some("c" | "h" | "S"));
    path.is_file() && !name.starts_with('.') && !is_made && !matches!(name, "modules" | "Module")
}

fn texts(paths: &[PathBuf]) -> anyhow::Result<Vec<NamedText>> {
    paths.iter().map(|path| text(path)).collect()
}

fn text(path: &Path) -> anyhow::Result<NamedText> {
    let act = || format!("failed to read {}", path.display());
    let length = path.metadata().with_context(act)?.len();
    if length > MAX_TEXT_BYTES {
        bail!("failed to read {}: {length} bytes are more than the {MAX_TEXT_BYTES} that a text may have", path.display());
    }
    // Mails of other times are not UTF-8; git takes care of those that say so, the others lose a name's accents.
    let bytes = std::fs::read(path).with_context(act)?;
    Ok(NamedText { name: path.display().to_string(), text: String::from_utf8_lossy(&bytes).into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_read_without_what_was_made_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("lab_disk");
        std::fs::create_dir(&folder).unwrap();
        for name in ["Kbuild", "lab_disk.c", "lab_disk.h", "lab_disk.mod.c", "lab_disk.o", ".lab_disk.o.cmd", "Module.symvers", "README.md"]
        {
            std::fs::write(folder.join(name), "x").unwrap();
        }
        let module = module(&folder).unwrap();
        let names: Vec<&str> = module.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!((module.name.as_str(), names), ("lab_disk", vec!["Kbuild", "lab_disk.c", "lab_disk.h"]));
    }

    #[test]
    fn a_path_is_made_whole_and_an_address_is_left_alone() {
        assert!(address(".").unwrap().starts_with('/'));
        assert_eq!(address("https://git.example.org/linux.git").unwrap(), "https://git.example.org/linux.git");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let error = format!("{:#}", text(Path::new("/nonesuch/0001.patch")).unwrap_err());
        assert!(error.starts_with("failed to read /nonesuch/0001.patch: No such file"), "{error}");
    }
}
