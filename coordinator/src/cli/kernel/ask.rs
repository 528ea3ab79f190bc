//! Asks for a kernel to be built, and waits for it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use blklab_model::build::{BuildRequest, ConfigBase, NamedFile};
use blklab_model::id::KernelName;
use clap::Args;

use super::super::{Ended, build, print, submitter};
use super::add::added;
use super::patch::{self, Patch};
use crate::client::Client;
use crate::library;

/// A whole `.config` of a distribution has 300 KB.
const MAX_CONFIG_BYTES: u64 = 2 << 20;

/// Letters of a commit that make a name.
const SHORT_COMMIT: usize = 12;

#[derive(Args)]
#[command(next_help_heading = "A build")]
pub(super) struct BuildArgs {
    /// Git repository: an address that builders can reach, or a path
    #[arg(long, value_name = "REPO", requires = "commit")]
    pub(super) git: Option<String>,
    /// Any revision of it: a tag, a branch, a commit
    #[arg(long, value_name = "REVISION", requires = "git")]
    commit: Option<String>,
    /// Mail with a patch, or several in an mbox (git format-patch); may be given several times, applied in that order
    #[arg(long = "patch", value_name = "MBOX", requires = "git")]
    patches: Vec<PathBuf>,
    /// What the configuration starts from: a target of the kernel's Makefile, or a file [default: tinyconfig]
    #[arg(long, value_name = "TARGET|FILE", requires = "git")]
    base: Option<String>,
    /// Lines of a .config that must hold, merged in that order [default without --base: the lab's own, for virtual hosts]
    #[arg(long = "config", value_name = "FRAGMENT", requires = "git")]
    fragments: Vec<PathBuf>,
    /// The same source under another salt is another kernel
    #[arg(long, value_name = "TEXT", requires = "git")]
    salt: Option<String>,
    /// Leave when the build is accepted
    #[arg(long, requires = "git")]
    no_wait: bool,
}

pub(super) async fn run(client: &Client, name: Option<KernelName>, args: BuildArgs) -> anyhow::Result<Ended> {
    let wait = !args.no_wait;
    let request = request(name, args)?;
    let accepted = client.build(&request, &submitter()).await?;
    print::line(&format!("{}  {}", accepted.id, client.url(&accepted.path)));
    if !wait {
        return Ok(Ended::Well);
    }
    eprintln!("building `{}`; Ctrl-C leaves it running, `blklab build cancel {}` stops it", request.name, accepted.id);
    build::follow(client, accepted.id).await?;
    print::line(&added(&client.kernel(&request.name).await?));
    Ok(Ended::Well)
}

fn request(name: Option<KernelName>, args: BuildArgs) -> anyhow::Result<BuildRequest> {
    let (Some(repo), Some(commit)) = (args.git, args.commit) else {
        bail!("failed to ask for a build: --git REPO and --commit REVISION are needed")
    };
    let patches = args.patches.iter().map(|path| patch::read(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let name = match name {
        Some(name) => name,
        None => default_name(&commit, &patches)?,
    };
    let request = BuildRequest {
        name,
        repo: address(&repo)?,
        commit,
        patches: patches.into_iter().map(|patch| patch.file).collect(),
        fragments: fragments(&args.fragments, args.base.is_some())?,
        base: base(args.base.as_deref())?,
        salt: args.salt,
    };
    request.check().map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(request)
}

/// `v6.1.170`, or `v6.1.170-` and the subject of the last patch; a whole commit id is cut.
fn default_name(commit: &str, patches: &[Patch]) -> anyhow::Result<KernelName> {
    let is_id = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let commit = if is_id { &commit[..SHORT_COMMIT] } else { commit };
    let commit: String =
        commit.chars().map(|letter| if letter.is_ascii_alphanumeric() || "-_.+~".contains(letter) { letter } else { '-' }).collect();
    let subject = patches.last().and_then(|patch| patch.subjects.last()).map(|subject| patch::slug(subject));
    let name = match subject.filter(|slug| !slug.is_empty()) {
        Some(slug) => format!("{commit}-{slug}"),
        None => commit,
    };
    name.parse().with_context(|| format!("failed to name the kernel `{name}`; give a name by --name"))
}

/// A path here is meant from here; the builder's git runs elsewhere.
fn address(repo: &str) -> anyhow::Result<String> {
    if !Path::new(repo).exists() {
        return Ok(repo.to_owned());
    }
    let path = Path::new(repo).canonicalize().with_context(|| format!("failed to find {repo}"))?;
    path.into_os_string().into_string().ok().context("failed to name the repository: its path is no UTF-8")
}

fn base(base: Option<&str>) -> anyhow::Result<ConfigBase> {
    match base {
        None => Ok(ConfigBase::Target("tinyconfig".to_owned())),
        Some(file) if file.contains('/') || Path::new(file).is_file() => named(Path::new(file)).map(ConfigBase::File),
        Some(target) => Ok(ConfigBase::Target(target.to_owned())),
    }
}

/// The smallest configuration boots nowhere; without a word about it, a kernel gets the one that virtual hosts of the lab need.
fn fragments(paths: &[PathBuf], has_base: bool) -> anyhow::Result<Vec<NamedFile>> {
    if !paths.is_empty() || has_base {
        return paths.iter().map(|path| named(path)).collect();
    }
    eprintln!("configuration: tinyconfig with the lab's own fragment (kernels/lab.config); others by --base and --config");
    Ok(vec![library::kernel_config()])
}

fn named(path: &Path) -> anyhow::Result<NamedFile> {
    let act = || format!("failed to read the configuration {}", path.display());
    if fs::metadata(path).with_context(act)?.len() > MAX_CONFIG_BYTES {
        bail!("{} is longer than {} MiB; is it the right file?", path.display(), MAX_CONFIG_BYTES >> 20);
    }
    let text = fs::read_to_string(path).with_context(act)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(NamedFile { name, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(subject: &str) -> Patch {
        Patch { file: NamedFile { name: "0001.patch".into(), text: String::new() }, subjects: vec![subject.to_owned()] }
    }

    #[test]
    fn a_kernel_is_called_after_what_it_is_made_of() {
        let name = |commit: &str, subjects: &[&str]| {
            let patches: Vec<Patch> = subjects.iter().map(|subject| patch(subject)).collect();
            default_name(commit, &patches).unwrap().to_string()
        };
        assert_eq!(name("v6.1.170", &[]), "v6.1.170");
        assert_eq!(name("v6.1.170", &["a: b", "ext4: journal at RT"]), "v6.1.170-ext4-journal-at-rt");
        assert_eq!(name("830b3c68c1fb1e9176028d02ef86f3cf76aa2476", &[]), "830b3c68c1fb");
        assert_eq!(name("origin/master~3", &["<>"]), "origin-master~3");
        assert!(default_name("~x", &[]).unwrap_err().to_string().contains("--name"));
    }

    #[test]
    fn a_request_has_what_the_options_say() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let args = |base: Option<&str>, fragments: Vec<PathBuf>| BuildArgs {
            git: Some("https://git.example.org/linux.git".into()),
            commit: Some("v6.1".into()),
            patches: Vec::new(),
            base: base.map(str::to_owned),
            fragments,
            salt: Some("again".into()),
            no_wait: false,
        };
        let plain = request(None, args(None, vec![])).unwrap();
        assert_eq!((plain.base, plain.fragments[0].name.as_str()), (ConfigBase::Target("tinyconfig".into()), "lab.config"));
        let config = file("debian.config", "CONFIG_SMP=y\n");
        let whole = request(None, args(config.to_str(), vec![])).unwrap();
        assert_eq!(
            (whole.base, whole.fragments.len()),
            (ConfigBase::File(NamedFile { name: "debian.config".into(), text: "CONFIG_SMP=y\n".into() }), 0)
        );
        let more = request(None, args(Some("defconfig"), vec![file("debug", "CONFIG_KASAN=y\n")])).unwrap();
        assert_eq!((more.base, more.fragments[0].name.as_str()), (ConfigBase::Target("defconfig".into()), "debug"));
        assert!(request(None, BuildArgs { commit: Some("-x".into()), ..args(None, vec![]) }).is_err());
    }
}
