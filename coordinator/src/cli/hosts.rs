//! `blklab hosts`.

use blklab_model::disk::DiskHealth;
use blklab_model::host::HostHealth;
use blklab_wire::people::HostLine;
use clap::Args;

use super::{Ended, Server, print};

#[derive(Args)]
pub(super) struct HostsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

pub(super) async fn run(args: HostsArgs) -> anyhow::Result<Ended> {
    let hosts = args.server.client()?.hosts().await?;
    if args.json {
        print::line(&serde_json::to_string_pretty(&hosts)?);
        return Ok(Ended::Well);
    }
    if hosts.is_empty() {
        eprintln!("no hosts yet; start an agent on one: blklab-agent run --config agent.toml");
        return Ok(Ended::Well);
    }
    print::table(&["HOST", "STATE", "DISK", "CLASS", "SIZE", "SCHEDULERS", "STATE OF THE DISK"], &rows(&hosts));
    Ok(Ended::Well)
}

fn rows(hosts: &[HostLine]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for line in hosts {
        let (name, state) = (line.host.name.to_string(), host_state(line));
        if line.host.disks.is_empty() {
            rows.push(vec![
                name.clone(),
                state.clone(),
                "-".into(),
                "-".into(),
                "-".into(),
                "-".into(),
                "no disk on its allow-list".into(),
            ]);
        }
        for disk in &line.host.disks {
            let size = format!("{} MiB", disk.facts.size_bytes >> 20);
            let schedulers = disk.facts.schedulers.join(" ");
            rows.push(vec![
                name.clone(),
                state.clone(),
                disk.id.to_string(),
                disk.class.to_string(),
                size,
                schedulers,
                disk_state(&disk.health),
            ]);
        }
    }
    rows
}

fn host_state(line: &HostLine) -> String {
    let state = match &line.host.health {
        HostHealth::Healthy => line.at.clone().unwrap_or_else(|| "idle".to_owned()),
        HostHealth::Dirty { reason } => format!("dirty: {reason}"),
        HostHealth::Quarantined { reason } => format!("quarantined: {reason}"),
    };
    if line.online { state } else { format!("offline ({state})") }
}

fn disk_state(health: &DiskHealth) -> String {
    match health {
        DiskHealth::Usable => "usable".to_owned(),
        DiskHealth::Refused { reason } => format!("refused: {reason}"),
        DiskHealth::Missing => "missing".to_owned(),
        DiskHealth::Quarantined { reason } => format!("quarantined: {reason}"),
    }
}
