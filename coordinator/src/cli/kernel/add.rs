//! `blklab kernel add`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use blklab_model::id::KernelName;
use blklab_model::kernel::{Blob, KernelRecord};
use blklab_wire::people::AddKernel;
use clap::{ArgGroup, Args};

use super::super::{Ended, Server, print};
use super::ask;
use super::files::{self, Prepared};
use crate::client::Client;

#[derive(Args)]
#[command(
    group(ArgGroup::new("source").required(true).args(["deb", "image", "git"])),
    after_help = "\
Examples:
  blklab kernel add --deb linux-image-6.1.0-40-amd64_6.1.153-1_amd64.deb
  blklab kernel add --image arch/x86/boot/bzImage --modules /tmp/mods --name mine
  blklab kernel add --git /srv/linux.git --commit v6.1.170 --name base
  blklab kernel add --git /srv/linux.git --commit v6.1.170 --patch 0001-fix.patch --no-wait"
)]
pub(super) struct AddArgs {
    /// What experiment files call it [default: its release; of a build, its commit and the subject of its last patch]
    #[arg(long, value_name = "NAME")]
    name: Option<KernelName>,
    /// Words for its command line, beside those that the boot needs; of a package or an image
    #[arg(long = "arguments", value_name = "WORDS", conflicts_with = "git", allow_hyphen_values = true)]
    arguments: Option<String>,
    /// A module that was built for it, such as lab_disk.ko; may be given several times; of a package or an image
    #[arg(long = "module", value_name = "FILE.ko", conflicts_with = "git")]
    extra_modules: Vec<PathBuf>,
    #[command(flatten)]
    package: PackageArgs,
    #[command(flatten)]
    image: ImageArgs,
    #[command(flatten)]
    build: ask::BuildArgs,
    #[command(flatten)]
    server: Server,
}

#[derive(Args)]
struct PackageArgs {
    /// Debian package: linux-image-RELEASE
    #[arg(long, value_name = "FILE", help_heading = "A Debian package")]
    deb: Option<PathBuf>,
}

#[derive(Args)]
#[command(next_help_heading = "An image")]
struct ImageArgs {
    /// Kernel image: bzImage, or vmlinux
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
    /// Its modules: lib/modules/RELEASE, or the folder that holds it [default: everything is built in]
    #[arg(long, value_name = "DIR", requires = "image")]
    modules: Option<PathBuf>,
    /// Its .config, to be kept with it
    #[arg(long, value_name = "FILE", requires = "image")]
    kconfig: Option<PathBuf>,
}

pub(super) async fn run(args: AddArgs) -> anyhow::Result<Ended> {
    let client = args.server.client()?;
    let arguments = args.arguments.unwrap_or_default();
    let extra = args.extra_modules;
    let prepared = match (args.package.deb, args.image.image) {
        (Some(deb), _) => prepare(move || files::package(&deb, &extra)).await?,
        (None, Some(image)) => {
            prepare(move || files::image(&image, args.image.modules.as_deref(), &extra, args.image.kconfig.as_deref())).await?
        }
        (None, None) => return ask::run(&client, args.name, args.build).await,
    };
    let name = match args.name {
        Some(name) => name,
        None => name_of_release(&prepared.release)?,
    };
    for note in &prepared.notes {
        eprintln!("note: {note}");
    }
    let kernel = send(&client, name, arguments, &prepared).await?;
    print::line(&added(&kernel));
    Ok(Ended::Well)
}

/// Adds the kernel of a Debian package under a name.
pub(in crate::cli) async fn add_package(client: &Client, name: &str, package: &Path) -> anyhow::Result<KernelRecord> {
    let name = name.parse().with_context(|| format!("failed to name a kernel `{name}`"))?;
    let package = package.to_owned();
    let prepared = prepare(move || files::package(&package, &[])).await?;
    send(client, name, String::new(), &prepared).await
}

/// Unpacking and packing take seconds of a processor.
async fn prepare(work: impl FnOnce() -> anyhow::Result<Prepared> + Send + 'static) -> anyhow::Result<Prepared> {
    tokio::task::spawn_blocking(work).await.context("the thread that reads it ended")?
}

/// Sends what is not there, then the kernel itself.
async fn send(client: &Client, name: KernelName, arguments: String, prepared: &Prepared) -> anyhow::Result<KernelRecord> {
    let id = prepared.id(&arguments);
    // Before megabytes are sent in vain.
    let taken = client.kernels().await?.into_iter().find(|kernel| kernel.name == name);
    if let Some(taken) = taken {
        if taken.id == id {
            eprintln!("kernel `{name}` is here already");
            return Ok(taken);
        }
        bail!(
            "the name `{name}` is taken by another kernel ({})\n  help: give this one another by --name, or remove that one: blklab kernel rm {name}",
            taken.source.summary()
        );
    }
    let files = [("image", Some(&prepared.image)), ("modules", prepared.modules.as_ref()), ("config", prepared.config.as_ref())];
    for (what, file) in files.into_iter().filter_map(|(what, file)| Some((what, file?))) {
        let was_sent = client.put_blob(&file.path, &file.blob).await?;
        let how = if was_sent { "sent" } else { "there already" };
        eprintln!("{what}: {} KiB, {how}", file.blob.bytes.div_ceil(1024));
    }
    let blob = |file: &files::Packed| -> Blob { file.blob.clone() };
    let kernel = AddKernel {
        name,
        id,
        release: prepared.release.clone(),
        build_id: prepared.build_id.clone(),
        source: prepared.source.clone(),
        toolchain: prepared.toolchain.clone(),
        image: blob(&prepared.image),
        modules: prepared.modules.as_ref().map(blob),
        arguments,
        config: prepared.config.as_ref().map(blob),
    };
    client.add_kernel(&kernel).await
}

fn name_of_release(release: &str) -> anyhow::Result<KernelName> {
    release.parse().with_context(|| format!("failed to name the kernel after its release `{release}`; give a name by --name"))
}

/// What is said of a kernel that is there.
pub(super) fn added(kernel: &KernelRecord) -> String {
    format!("{}  {}  {}  {}", kernel.name, kernel.release, kernel.id.short(), kernel.source.summary())
}
