//! `blklab-agent check`: everything that would stop the agent, found before it is started.

use std::io::Write;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use super::inventory;
use crate::config::Config;
use crate::sys::cgroup::Hierarchy;
use crate::sys::roots::Roots;
use crate::sys::{SysError, block, command, files, mount};

/// A coordinator that takes longer is not one to work with.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);

/// Programs without which no trial runs.
const NEEDED: [&str; 2] = ["blkid", "losetup"];

/// Prints a line for each thing looked at; the exit status is 1 when one must be put right.
pub(super) fn check(config: &Config) -> anyhow::Result<ExitCode> {
    let findings = findings(config);
    let mut out = std::io::stdout().lock();
    for (what, result) in &findings {
        match result {
            Ok(()) => writeln!(out, "ok   {what}")?,
            Err(reason) => writeln!(out, "FIX  {what}: {reason}")?,
        }
    }
    Ok(if findings.iter().all(|(_, result)| result.is_ok()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

type Finding = (String, Result<(), String>);

fn findings(config: &Config) -> Vec<Finding> {
    let roots = Roots::live();
    let mut findings = vec![
        ("root".to_owned(), is_root()),
        (format!("token in {}", config.token_file.display()), has_token(config)),
        (format!("coordinator at {}", config.coordinator), answers(&config.coordinator)),
    ];
    findings.extend(NEEDED.map(|program| (format!("program {program}"), is_installed(program))));
    findings.extend(config.loop_disks.iter().map(|disk| {
        let folder = config.folder_of(disk);
        let checked = if disk.limits.is_none() { Ok(()) } else { can_limit(&roots, &folder) };
        (format!("loop disk {} in {}", disk.id, folder.display()), checked)
    }));
    match inventory::list(config) {
        Ok((listings, missing)) => {
            findings.extend(listings.into_iter().filter_map(|disk| disk.finding()));
            findings.extend(
                missing
                    .into_iter()
                    .map(|id| (format!("disk {id}"), Err("it is listed and not there; check its cable and its id".to_owned()))),
            );
        }
        Err(error) => findings.push(("disks".to_owned(), Err(format!("{error:#}")))),
    }
    findings
}

fn is_root() -> Result<(), String> {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err("the agent mounts, formats and limits disks; run it as root".to_owned()) }
}

fn has_token(config: &Config) -> Result<(), String> {
    let own = files::read_if_there(&config.state_dir.join("token"));
    match own.or_else(|| files::read_if_there(&config.token_file)) {
        Some(_) => Ok(()),
        None => Err("it is not there, or empty; put the lab's enrolment token into it".to_owned()),
    }
}

fn answers(coordinator: &str) -> Result<(), String> {
    let (scheme, host) = coordinator.split_once("://").unwrap_or(("http", coordinator));
    let host = host.split('/').next().unwrap_or(host);
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.chars().all(|c| c.is_ascii_digit()));
    let default_port = if scheme == "https" { 443 } else { 80 };
    let address = if has_port { host.to_owned() } else { format!("{host}:{default_port}") };
    let found = address.to_socket_addrs().ok().and_then(|mut found| found.next());
    let address = found.ok_or("its name cannot be resolved; use an IP address")?;
    let connected = TcpStream::connect_timeout(&address, CONNECT_LIMIT);
    connected.map(drop).map_err(|error| format!("{error}; start it with `blklab coordinator`, the agent waits for it meanwhile"))
}

fn is_installed(program: &str) -> Result<(), String> {
    match command::find(program) {
        Some(_) => Ok(()),
        None => Err(SysError::MissingProgram { program: program.to_owned() }.to_string()),
    }
}

/// The folder may not be there yet; the one that it will be made in decides.
fn can_limit(roots: &Roots, folder: &Path) -> Result<(), String> {
    let mounted = mount::mounted(&roots.proc).map_err(|error| error.to_string())?;
    if Hierarchy::find(&mounted).word().is_empty() {
        return Err("no limits can be set: the host has neither the blkio controller of cgroup v1 nor the io controller of v2".to_owned());
    }
    let existing = folder.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(folder);
    block::disk_below(roots, existing).map(drop).map_err(|error| format!("failed to {error}"))
}
