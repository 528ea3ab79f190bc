//! `blklab build`: kernels that are being built, or were.

use std::time::Duration;

use anyhow::bail;
use blklab_model::build::{BuildRecord, BuildState, ConfigBase};
use blklab_model::id::BuildId;
use blklab_wire::people::BuildLine;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};

use super::watch::patiently;
use super::{Ended, Server, print};
use crate::client::Client;
use crate::render::when;

/// How often the coordinator is asked; a build takes minutes.
const EVERY: Duration = Duration::from_secs(2);

/// Time between two pictures of the sign that something goes on.
const TICK: Duration = Duration::from_millis(200);

#[derive(Args)]
pub(super) struct BuildArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List builds, the newest first.
    List(ListArgs),
    /// Say everything that is known of a build.
    Show(OneArgs),
    /// Wait for a build to end.
    Watch(OneArgs),
    /// Print the log of a build, as far as its builder has sent it.
    Log(OneArgs),
    /// Stop a build.
    Cancel(OneArgs),
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
struct OneArgs {
    /// Its number, such as b12
    id: BuildId,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

pub(super) async fn run(args: BuildArgs) -> anyhow::Result<Ended> {
    match args.command {
        Command::List(args) => list(args).await?,
        Command::Show(args) => show(args).await?,
        Command::Watch(args) => {
            follow(&args.server.client()?, args.id).await?;
            print::line(&format!("{} is built", args.id));
        }
        Command::Log(args) => print::text(&args.server.client()?.page(&format!("/api/v1/builds/{}/log", args.id)).await?),
        Command::Cancel(args) => args.server.client()?.cancel_build(args.id).await?,
    }
    Ok(Ended::Well)
}

async fn list(args: ListArgs) -> anyhow::Result<()> {
    let builds = args.server.client()?.builds().await?;
    if args.json {
        print::line(&serde_json::to_string_pretty(&builds)?);
    } else if builds.is_empty() {
        eprintln!("no builds yet; ask for one: blklab kernel add --git REPO --commit REVISION");
    } else {
        let row = |line: BuildLine| vec![line.id.to_string(), line.kernel.to_string(), line.state, when::utc(line.created), line.what];
        print::table(&["ID", "KERNEL", "STATE", "ASKED", "WHAT"], &builds.into_iter().map(row).collect::<Vec<_>>());
    }
    Ok(())
}

async fn show(args: OneArgs) -> anyhow::Result<()> {
    let build = args.server.client()?.build_record(args.id).await?;
    if args.json {
        print::line(&serde_json::to_string_pretty(&build)?);
    } else {
        print::text(&described(&build));
    }
    Ok(())
}

/// Waits until a build is over; one that gives no kernel is an error with the message for its author.
pub(super) async fn follow(client: &Client, id: BuildId) -> anyhow::Result<()> {
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template("{prefix} {spinner} {elapsed} {msg}").expect("a good template"));
    bar.set_prefix(id.to_string());
    bar.enable_steady_tick(TICK);
    let mut warned = false;
    let build = loop {
        let build = patiently(async || client.build_record(id).await).await?;
        if build.state.is_over() {
            break build;
        }
        bar.set_message(state(&build));
        if build.state == BuildState::Queued && !warned {
            warned = true;
            let hosts = patiently(async || client.hosts().await).await?;
            if !hosts.iter().any(|line| line.online && line.host.facts.builder) {
                bar.suspend(|| eprintln!("no builder is online: it waits until an agent that may build says hello (docs/kernels.md)"));
            }
        }
        tokio::time::sleep(EVERY).await;
    };
    bar.finish_and_clear();
    ended(client, &build)
}

fn ended(client: &Client, build: &BuildRecord) -> anyhow::Result<()> {
    let id = build.id;
    match &build.state {
        BuildState::Built { reused } => {
            if *reused {
                eprintln!("an identical kernel was here, so nothing was compiled");
            }
            Ok(())
        }
        BuildState::Failed(failure) => {
            let log = if build.log.is_some() {
                format!("\n  log: blklab build log {id}, or {}", client.url(&format!("/builds/{id}")))
            } else {
                String::new()
            };
            bail!("build {id} gives no kernel: {}\n{}{log}", failure.fault.words(), failure.message.trim_end())
        }
        BuildState::Cancelled => bail!("build {id} was cancelled"),
        BuildState::Queued | BuildState::Leased { .. } => bail!("build {id} is not over"),
    }
}

/// Where a build is, in words.
fn state(build: &BuildRecord) -> String {
    match &build.state {
        BuildState::Queued if build.attempt > 0 => format!("waits for a builder, attempt {}", build.attempt + 1),
        BuildState::Queued => "waits for a builder".to_owned(),
        BuildState::Leased { host, .. } => format!("{host} builds it, attempt {}", build.attempt),
        BuildState::Built { reused: false } => "built".to_owned(),
        BuildState::Built { reused: true } => "built: an identical kernel was here".to_owned(),
        BuildState::Failed(failure) => format!("failed: {}", failure.fault.words()),
        BuildState::Cancelled => "cancelled".to_owned(),
    }
}

/// A build in lines of `what: value`, and the message for its author.
fn described(build: &BuildRecord) -> String {
    let request = &build.request;
    let base = match &request.base {
        ConfigBase::Target(target) => target,
        ConfigBase::File(file) => &file.name,
    };
    let mut lines = vec![
        ("kernel", request.name.to_string()),
        ("state", state(build)),
        ("submitter", build.submitter.clone()),
        ("asked", when::utc(build.created)),
    ];
    lines.extend(build.started.map(|at| ("started", when::utc(at))));
    lines.extend(build.finished.map(|at| ("finished", when::utc(at))));
    lines.extend([("repository", request.repo.clone()), ("commit", request.commit.clone())]);
    lines.extend(request.patches.iter().map(|patch| ("patch", patch.name.clone())));
    lines.push(("base", base.clone()));
    lines.extend(request.fragments.iter().map(|fragment| ("fragment", fragment.name.clone())));
    lines.extend(request.salt.iter().map(|salt| ("salt", salt.clone())));
    let mut text: String = lines.iter().map(|(what, value)| format!("{what:<10}  {value}\n")).collect();
    if let BuildState::Failed(failure) = &build.state {
        text.push('\n');
        text.push_str(failure.message.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use blklab_model::build::{BuildFailure, BuildFault};
    use blklab_model::testing::build_request;
    use blklab_model::time::TimestampMs;

    use super::*;

    fn build(state: BuildState) -> BuildRecord {
        BuildRecord {
            id: BuildId(3),
            request: build_request("patched"),
            submitter: "a tester".into(),
            state,
            attempt: 1,
            log: None,
            created: TimestampMs(1_777_636_989_000),
            started: Some(TimestampMs(1_777_637_000_000)),
            finished: None,
        }
    }

    #[test]
    fn a_failed_build_says_why_to_its_author() {
        let failure = BuildFailure { fault: BuildFault::DoesNotApply, message: "0001-x.patch: hunk 2 of block/bfq-iosched.c\n".into() };
        let build = build(BuildState::Failed(failure));
        insta::assert_snapshot!(described(&build));
        let client = Client::new("http://lab:7400", None).unwrap();
        insta::assert_snapshot!(ended(&client, &build).unwrap_err(), @r"
        build b3 gives no kernel: does not apply
        0001-x.patch: hunk 2 of block/bfq-iosched.c
        ");
        assert!(ended(&client, &self::build(BuildState::Built { reused: true })).is_ok());
        assert!(ended(&client, &self::build(BuildState::Cancelled)).is_err());
    }
}
