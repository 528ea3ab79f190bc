//! `blklab demo`: a whole lab on this machine.
//!
//! Three processes besides this one: [`lab`] keeps a coordinator and an agent alive in a folder of its own and ends when its
//! standard input does. So however this process ends - Ctrl-C, kill, a crash - the lab notices, gives everything back and goes.

mod config;
mod kernels;
mod lab;
mod needs;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use blklab_wire::people::{Overrides, Submit};
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::{Ended, print, submit, watch};
use crate::client::Client;
use crate::{library, render};

pub(super) use lab::{LabArgs, lab};

/// Experiments of the tour, in order: classic 4 with an A/A cell, classic 5.
const EXPERIMENTS: [&str; 2] = ["rt-be-readers", "single-reader"];

/// Rounds of `--quick`: the fewest that can show that nothing changed.
const QUICK_ROUNDS: u32 = 5;

/// The class of disks of `--quick`: the one on which schedulers matter most.
const QUICK_CLASS: &str = "sata-hdd";

/// The lab must be ready by then; the disks are made first.
const READY_WITHIN: Duration = Duration::from_secs(60);

#[derive(Args)]
#[command(after_help = "\
With two --kernel it shows what a lab is for: three virtual hosts with a SATA disk, an array and an SSD boot both kernels in turns and
compare them. This needs QEMU and no root.
Without them it compares I/O schedulers on loop disks of this machine, which needs root for loop devices, mounts, cgroups and schedulers;
otherwise it says what it cannot do and shows the rest. It makes three disks of 384 MiB below --folder and removes them again, however
it ends.")]
pub(super) struct DemoArgs {
    /// Debian package of a kernel; the first is the baseline
    #[arg(long, value_name = "DEB", num_args = 1)]
    kernel: Vec<PathBuf>,
    /// The fewest rounds on one class of disks
    #[arg(long)]
    quick: bool,
    /// Leave when the reports are printed instead of serving the pages until Ctrl-C
    #[arg(long)]
    exit: bool,
    /// Where to put the lab's folder; a real file system, not tmpfs
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    folder: PathBuf,
    /// Port of the pages on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 7400, value_name = "PORT")]
    port: u16,
    /// The agent's program [default: blklab-agent beside this one]
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
}

pub(super) async fn run(args: DemoArgs) -> anyhow::Result<Ended> {
    let is_virtual = match args.kernel.len() {
        0 => false,
        2 => true,
        n => bail!("{n} kernels were given; the demo compares two: --kernel OLDER.deb --kernel NEWER.deb"),
    };
    if !is_virtual {
        for line in needs::cannot_do() {
            eprintln!("demo: {line}");
        }
    }
    let mut lab = lab::spawn(&args).await?;
    let folder = lab.folder().to_owned();
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to wait for SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("failed to wait for SIGTERM")?;
    let outcome = tokio::select! {
        outcome = async {
            if is_virtual { kernels::tour(&args, &folder).await } else { tour(&args, &folder).await }
        } => outcome,
        _ = interrupt.recv() => Ok(Ended::Well),
        _ = terminate.recv() => Ok(Ended::Well),
        status = lab.ended() => Err(anyhow::anyhow!("the processes of the demo ended early ({status}); the lines above say why")),
    };
    eprintln!("demo: giving back what was made ...");
    lab.stop().await?;
    outcome
}

async fn tour(args: &DemoArgs, folder: &Path) -> anyhow::Result<Ended> {
    // Without root there is no agent.
    let server = lab::ready(folder, usize::from(lab::is_root()), READY_WITHIN).await?;
    let client = Client::new(&server.url, Some(server.token))?;
    eprintln!("demo: pages at {}/", server.url);
    if !lab::is_root() {
        return look_around(args, &lab::inventory(folder, args).await?, &server.url).await;
    }
    measure(&client, &EXPERIMENTS, args.quick).await?;
    serve(args, &server.url).await
}

/// Submits experiments, watches them and prints their reports.
async fn measure(client: &Client, experiments: &[&str], quick: bool) -> anyhow::Result<()> {
    let mut ids = Vec::new();
    for name in experiments {
        let submitted = client.submit(&submission(name, quick)).await?;
        eprintln!("demo: {} is {name}: {}", submitted.id, client.url(&submitted.path));
        submit::describe(&submitted);
        ids.push(submitted);
    }
    for submitted in &ids {
        watch::to_the_end(client, submitted.id).await?;
    }
    for submitted in &ids {
        let report = watch::patiently(async || client.report(submitted.id).await).await?;
        print::line("");
        print::text(&render::text::render(&report, &client.url("")));
    }
    Ok(())
}

/// What is left of the tour without root: this machine's disks, and the pages of an empty lab.
async fn look_around(args: &DemoArgs, inventory: &str, url: &str) -> anyhow::Result<Ended> {
    print::text(inventory);
    serve(args, url).await
}

async fn serve(args: &DemoArgs, url: &str) -> anyhow::Result<Ended> {
    print::line(&format!("\nPages: {url}/"));
    if args.exit {
        return Ok(Ended::Well);
    }
    eprintln!("demo: serving the pages until {}", if std::io::stdin().is_terminal() { "Ctrl-C" } else { "SIGINT or SIGTERM" });
    std::future::pending().await
}

fn submission(name: &str, quick: bool) -> Submit {
    let file = library::experiment(name).expect("the tour's experiments are shipped");
    let overrides = if quick {
        let only = [("disk_class".to_owned(), vec![QUICK_CLASS.to_owned()])].into();
        Overrides { rounds: Some(QUICK_ROUNDS), only, ..Overrides::default() }
    } else {
        Overrides::default()
    };
    Submit { file, workloads: Vec::new(), overrides, submitter: "demo".to_owned() }
}
