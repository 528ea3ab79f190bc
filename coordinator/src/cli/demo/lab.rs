//! The demo's processes: a supervisor that lives as long as its standard input, and from the other side a handle on it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::Instant;

use super::super::Ended;
use super::{DemoArgs, config};
use crate::client::Client;
use crate::server::ADDRESS_FILE;

/// A process that ends this often is broken, and starting it again does not help.
const MAX_RESTARTS: u32 = 20;

/// An agent gives disks and mounts back before it ends.
const AGENT_STOPS_WITHIN: Duration = Duration::from_secs(30);

/// The coordinator closes its database.
const COORDINATOR_STOPS_WITHIN: Duration = Duration::from_secs(10);

/// How often the lab is asked whether it is ready.
const POLL: Duration = Duration::from_millis(100);

/// A coordinator that can be talked to.
pub(super) struct Server {
    pub(super) url: String,
    pub(super) token: String,
}

/// The supervisor as the demo sees it.
pub(super) struct Lab {
    child: Child,
    /// Closed to end the lab; held open by this process alone, so any end of it ends the lab.
    lifeline: Option<ChildStdin>,
    folder: PathBuf,
    agent: PathBuf,
}

#[derive(Args)]
pub(in crate::cli) struct LabArgs {
    folder: PathBuf,
    agent: PathBuf,
    port: u16,
    /// Package of the kernel that virtual hosts know to be good; none for a lab on loop disks.
    known_good: Option<PathBuf>,
}

/// Makes the folder and starts the supervisor.
pub(super) async fn spawn(args: &DemoArgs) -> anyhow::Result<Lab> {
    let me = std::env::current_exe().context("failed to find this program")?;
    let agent = agent_program(args)?;
    let folder = args.folder.join(format!("blklab-demo-{}", std::process::id()));
    fs::create_dir(&folder).with_context(|| format!("failed to make {}; choose another place with --folder", folder.display()))?;
    let mut child = command(&me)
        .args([Path::new("demo-lab"), &folder, &agent, Path::new(&args.port.to_string())])
        .args(args.kernel.first())
        .stdin(Stdio::piped())
        // Its own group: a Ctrl-C at the terminal is for the demo, which then ends the lab in order.
        .process_group(0)
        .spawn()
        .context("failed to start the processes of the demo")?;
    let lifeline = child.stdin.take();
    Ok(Lab { child, lifeline, folder, agent })
}

impl Lab {
    /// The folder of everything that the demo makes.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Waits for an end that nobody asked for.
    pub(super) async fn ended(&mut self) -> String {
        match self.child.wait().await {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }

    /// Ends the lab and waits until everything is given back; what a killed supervisor left is given back here.
    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        drop(self.lifeline.take());
        self.child.wait().await.context("failed to wait for the processes of the demo")?;
        if self.folder.exists() {
            give_back(&self.folder, &self.agent).await?;
        }
        Ok(())
    }
}

/// Waits until the coordinator answers and so many hosts have enrolled.
pub(super) async fn ready(folder: &Path, hosts: usize, within: Duration) -> anyhow::Result<Server> {
    let deadline = Instant::now() + within;
    while Instant::now() < deadline {
        if let Some(server) = server(folder) {
            let there = Client::new(&server.url, None)?.hosts().await.unwrap_or_default();
            if there.iter().filter(|line| line.online).count() >= hosts {
                return Ok(server);
            }
        }
        tokio::time::sleep(POLL).await;
    }
    bail!("the lab was not ready within {} s; the lines above say what it waits for", within.as_secs())
}

/// What the agent says of this machine's disks; it needs no root for that.
pub(super) async fn inventory(folder: &Path, args: &DemoArgs) -> anyhow::Result<String> {
    let config = folder.join("agent.toml");
    let deadline = Instant::now() + COORDINATOR_STOPS_WITHIN;
    while !config.exists() && Instant::now() < deadline {
        tokio::time::sleep(POLL).await;
    }
    let output = command(&agent_program(args)?).args(["inventory", "--config"]).arg(&config).output().await;
    let output = output.context("failed to run the agent's inventory")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn agent_program(args: &DemoArgs) -> anyhow::Result<PathBuf> {
    let me = std::env::current_exe().context("failed to find this program")?;
    let agent = args.agent.clone().unwrap_or_else(|| me.with_file_name("blklab-agent"));
    if !agent.is_file() {
        bail!("there is no agent at {}; build it with `cargo build --release --workspace`, or name it with --agent", agent.display());
    }
    Ok(agent)
}

fn server(folder: &Path) -> Option<Server> {
    let data = folder.join("data");
    let address = fs::read_to_string(data.join(ADDRESS_FILE)).ok()?;
    let token = fs::read_to_string(data.join("submit.token")).ok()?;
    Some(Server { url: format!("http://{}", address.trim()), token: token.trim().to_owned() })
}

/// The supervisor itself.
pub(in crate::cli) async fn lab(args: LabArgs) -> anyhow::Result<Ended> {
    let lived = tokio::select! {
        result = keep_alive(&args) => result,
        () = end_of_stdin() => Ok(()),
    };
    // Both children are dropped, and with them asked to end; what they leave behind is removed here.
    let gone = give_back(&args.folder, &args.agent).await;
    lived.and(gone).map(|()| Ended::Well)
}

/// Starts both processes and starts each again when it ends: a demo survives `kill -9` of either.
async fn keep_alive(args: &LabArgs) -> anyhow::Result<()> {
    let me = std::env::current_exe().context("failed to find this program")?;
    let data = args.folder.join("data");
    let mut listen = format!("127.0.0.1:{}", args.port);
    let start_coordinator = |listen: &str| {
        let mut command = command(&me);
        command.args(["coordinator", "--die-with-parent", "--listen", listen, "--data"]).arg(&data).env("BLKLAB_LOG", "warn");
        Process::start(command, "coordinator", COORDINATOR_STOPS_WITHIN)
    };
    let mut coordinator = start_coordinator(&listen)?;
    // With port 0 the first one takes a free port; its successors must listen there too.
    listen = first_address(&data, &mut coordinator).await?;
    let url = format!("http://{listen}");
    let (role, file, text) = match &args.known_good {
        None => ("run", args.folder.join("agent.toml"), config::agent_config(&args.folder, &url)),
        Some(kernel) => ("control", args.folder.join("control.toml"), config::control_config(&args.folder, &url, kernel)),
    };
    fs::write(&file, text).with_context(|| format!("failed to write {}", file.display()))?;
    let start_agent = || {
        let mut command = command(&args.agent);
        command.args([role, "--die-with-parent", "--config"]).arg(&file).env("BLKLAB_LOG", "warn");
        Process::start(command, "agent", AGENT_STOPS_WITHIN)
    };
    if args.known_good.is_none() && !is_root() {
        bail!("the coordinator ended ({})", coordinator.wait().await);
    }
    let mut agent = start_agent()?;
    for _ in 0..MAX_RESTARTS {
        tokio::select! {
            status = coordinator.wait() => {
                eprintln!("demo: the coordinator ended ({status}); starting it again");
                coordinator = start_coordinator(&listen)?;
            }
            status = agent.wait() => {
                eprintln!("demo: the agent ended ({status}); starting it again");
                agent = start_agent()?;
            }
        }
        tokio::time::sleep(POLL).await;
    }
    bail!("the processes of the demo ended {MAX_RESTARTS} times")
}

async fn first_address(data: &Path, coordinator: &mut Process) -> anyhow::Result<String> {
    loop {
        if let Ok(address) = fs::read_to_string(data.join(ADDRESS_FILE)) {
            return Ok(address.trim().to_owned());
        }
        tokio::select! {
            status = coordinator.wait() => bail!("the coordinator did not start ({status})"),
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

/// On a thread of its own: a read that the runtime waits for would hold its end back.
async fn end_of_stdin() {
    let (ended, end) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let mut bytes = [0; 64];
        while matches!(std::io::stdin().read(&mut bytes), Ok(n) if n > 0) {}
        drop(ended);
    });
    let _ = end.await;
}

/// Lets the agent remove what it made, then removes the folder. An agent that has lost its parent gives things back by itself and
/// holds its folder until it is done, so this is tried for as long as that may take.
async fn give_back(folder: &Path, agent: &Path) -> anyhow::Result<()> {
    let deadline = Instant::now() + AGENT_STOPS_WITHIN;
    while made_disks(folder) {
        let config = folder.join("agent.toml");
        let output = command(agent).args(["clean", "--config"]).arg(&config).env("BLKLAB_LOG", "warn").output().await;
        let output = output.context("failed to run the agent's clean-up")?;
        if output.status.success() {
            break;
        }
        if Instant::now() > deadline {
            let why = String::from_utf8_lossy(&output.stderr);
            bail!("the agent could not give everything back; its notes are kept in {}: {}", folder.display(), why.trim());
        }
        tokio::time::sleep(POLL).await;
    }
    fs::remove_dir_all(folder).with_context(|| format!("failed to remove {}", folder.display()))
}

/// Did an agent ever work here? Without root none can.
fn made_disks(folder: &Path) -> bool {
    is_root() && folder.join("agent").exists() && folder.join("agent.toml").exists()
}

pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A child that is asked to end, and waited for, when it is dropped.
struct Process {
    child: Child,
    name: &'static str,
    stops_within: Duration,
}

impl Process {
    fn start(mut command: Command, name: &'static str, stops_within: Duration) -> anyhow::Result<Process> {
        let child = command.stdin(Stdio::null()).spawn().with_context(|| format!("failed to start the {name}"))?;
        Ok(Process { child, name, stops_within })
    }

    async fn wait(&mut self) -> String {
        match self.child.wait().await {
            Ok(status) => ExitStatus::to_string(&status),
            Err(error) => error.to_string(),
        }
    }
}

impl Drop for Process {
    /// Blocks: this happens once, at the end, and what comes after needs the process gone.
    fn drop(&mut self) {
        let Some(pid) = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw) else { return };
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let deadline = std::time::Instant::now() + self.stops_within;
        while std::time::Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(POLL);
        }
        eprintln!("demo: the {} did not end within {} s; killing it", self.name, self.stops_within.as_secs());
        let _ = self.child.start_kill();
        while matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(POLL);
        }
    }
}

fn command(program: &Path) -> Command {
    Command::new(program)
}
