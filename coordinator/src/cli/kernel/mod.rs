//! `blklab kernel`: the kernels that the lab keeps.

mod add;
mod ask;
mod files;
mod patch;

use blklab_model::id::KernelName;
use blklab_model::kernel::{Blob, KernelRecord};
use clap::{Args, Subcommand};

use super::{Ended, Server, print};
use crate::render::when;

pub(super) use add::add_package;

#[derive(Args)]
pub(super) struct KernelArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Add a kernel: a Debian package, an image, or a commit with patches that a builder makes one of.
    Add(Box<add::AddArgs>),
    /// List kernels, the newest first.
    List(ListArgs),
    /// Say everything that is known of a kernel.
    Show(ShowArgs),
    /// Forget kernels; reports about them stay.
    Rm(RmArgs),
    /// Print the log of the build that made a kernel.
    Log(LogArgs),
}

#[derive(Args)]
struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

#[derive(Args)]
struct ShowArgs {
    /// Its name
    name: KernelName,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

#[derive(Args)]
struct RmArgs {
    /// Their names
    #[arg(required = true, value_name = "NAME")]
    names: Vec<KernelName>,
    #[command(flatten)]
    server: Server,
}

#[derive(Args)]
struct LogArgs {
    /// Its name
    name: KernelName,
    #[command(flatten)]
    server: Server,
}

pub(super) async fn run(args: KernelArgs) -> anyhow::Result<Ended> {
    match args.command {
        Command::Add(args) => add::run(*args).await,
        Command::List(args) => list(args).await,
        Command::Show(args) => show(args).await,
        Command::Rm(args) => remove(args).await,
        Command::Log(args) => log(args).await,
    }
}

async fn list(args: ListArgs) -> anyhow::Result<Ended> {
    let kernels = args.server.client()?.kernels().await?;
    if args.json {
        print::line(&serde_json::to_string_pretty(&kernels)?);
        return Ok(Ended::Well);
    }
    if kernels.is_empty() {
        eprintln!("no kernels yet; add one: blklab kernel add --deb linux-image-....deb");
        return Ok(Ended::Well);
    }
    let rows = kernels.iter().map(|kernel| {
        let id = kernel.id.short().to_owned();
        vec![
            kernel.name.to_string(),
            kernel.release.clone(),
            id,
            mebibytes(bytes(kernel)),
            when::utc(kernel.created),
            kernel.source.summary(),
        ]
    });
    print::table(&["NAME", "RELEASE", "ID", "SIZE", "ADDED", "SOURCE"], &rows.collect::<Vec<_>>());
    Ok(Ended::Well)
}

async fn show(args: ShowArgs) -> anyhow::Result<Ended> {
    let kernel = args.server.client()?.kernel(&args.name).await?;
    if args.json {
        print::line(&serde_json::to_string_pretty(&kernel)?);
        return Ok(Ended::Well);
    }
    print::text(&described(&kernel));
    Ok(Ended::Well)
}

async fn remove(args: RmArgs) -> anyhow::Result<Ended> {
    let client = args.server.client()?;
    for name in &args.names {
        client.remove_kernel(name).await?;
        print::line(&format!("removed {name}"));
    }
    Ok(Ended::Well)
}

async fn log(args: LogArgs) -> anyhow::Result<Ended> {
    let client = args.server.client()?;
    let kernel = client.kernel(&args.name).await?;
    let Some(log) = kernel.log else {
        anyhow::bail!("kernel `{}` has no log: the lab did not build it ({})", kernel.name, kernel.source.summary());
    };
    print::text(&client.page(&format!("/api/v1/blobs/{}", log.sha256)).await?);
    Ok(Ended::Well)
}

/// A kernel in lines of `what: value`.
fn described(kernel: &KernelRecord) -> String {
    use blklab_model::kernel::KernelSource as From;
    let file = |blob: &Blob| format!("{} (SHA-256 {})", mebibytes(blob.bytes), blob.sha256);
    let optional = |blob: &Option<Blob>, none: &str| blob.as_ref().map_or(none.to_owned(), file);
    let mut lines = vec![
        ("name", kernel.name.to_string()),
        ("release", kernel.release.clone()),
        ("build id", kernel.build_id.clone()),
        ("id", kernel.id.to_string()),
        ("added", when::utc(kernel.created)),
    ];
    match &kernel.source {
        From::Package { package, version } => lines.push(("package", format!("{package} {version}"))),
        From::Upload { file } => lines.push(("uploaded", file.clone())),
        From::Git { repo, commit, tree, patches } => {
            lines.extend([("repository", repo.clone()), ("commit", commit.clone())]);
            lines.extend(patches.iter().map(|subject| ("patch", subject.clone())));
            lines.push(("tree", tree.clone()));
        }
    }
    lines.extend([
        ("toolchain", if kernel.toolchain.is_empty() { "not known".to_owned() } else { kernel.toolchain.clone() }),
        ("image", file(&kernel.image)),
        ("modules", optional(&kernel.modules, "none: everything is built in")),
        ("config", optional(&kernel.config, "not kept")),
        ("log", optional(&kernel.log, "none: not built by the lab")),
    ]);
    if !kernel.arguments.is_empty() {
        lines.push(("arguments", kernel.arguments.clone()));
    }
    lines.iter().map(|(what, value)| format!("{what:<10}  {value}\n")).collect()
}

fn bytes(kernel: &KernelRecord) -> u64 {
    let files = [Some(&kernel.image), kernel.modules.as_ref(), kernel.config.as_ref(), kernel.log.as_ref()];
    files.into_iter().flatten().map(|blob| blob.bytes).sum()
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
