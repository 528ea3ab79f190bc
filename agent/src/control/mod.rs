//! `blklab-agent control`: speaks for hosts whose power, kernel and console it holds. For each of them it keeps a session with the
//! coordinator; the host itself is booted for every job, watched from outside, and asked to run trials by the agent inside of it.
//!
//! | question | module |
//! |---|---|
//! | which hosts, which disks? | [`config`] |
//! | which kernel must run, and what becomes of a trial whose kernel dies? | [`host`] |
//! | what does it take to boot a kernel somewhere? | [`boot`]; virtual hosts: [`qemu`] |
//! | what happened to a kernel? | [`verdict`], from its [`console`] |
//! | how many hosts work at once? | [`slots`] |

pub mod boot;
pub mod config;
pub mod console;
pub mod host;
pub mod qemu;
pub mod slots;
mod spawner;
pub mod verdict;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use blklab_diskmodel::{DiskModel, PRESETS};
use blklab_model::id::HostName;
use blklab_model::kernel::Clock;
use blklab_model::source::suggest;

use crate::config::Config;
use crate::host::{StateError, lock, private_folder};
use crate::session::{self, SessionError};
use crate::stop::Stop;
use crate::sys::SysError;
use boot::{Boot, BootFiles};
use config::{BootConfig, ControlConfig, HostConfig, QemuConfig};
use host::ControlledHost;
use qemu::{Engine, Images, Qemu};
use slots::Slots;

/// Between two attempts to boot the known-good kernel of a host.
const RETRY_PERIOD: Duration = Duration::from_secs(30);

/// Why a controller does not start, or ends.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// Its folder.
    #[error(transparent)]
    State(#[from] StateError),
    /// Something of the system.
    #[error("failed to {0}")]
    Sys(#[from] SysError),
    /// What virtual hosts boot.
    #[error("{0}")]
    Image(String),
    /// The session of a host.
    #[error("host {host}: {error}")]
    Session {
        /// Its name.
        host: HostName,
        /// Why it ended.
        error: SessionError,
    },
}

/// The model of a disk: a preset, or a file.
pub fn disk_model(text: &str) -> Result<DiskModel, String> {
    match DiskModel::preset(text) {
        Some(model) => Ok(model),
        None if text.contains(['/', '.']) => DiskModel::load(Path::new(text)).map_err(|error| error.to_string()),
        None => {
            Err(format!("there is no disk model `{text}`; {}, or the path of a file", suggest(text, PRESETS.iter().map(|(name, _)| *name))))
        }
    }
}

/// Serves all hosts of a configuration until asked to stop. Everything that it started has ended when this returns.
pub async fn serve(config: ControlConfig, stop: Stop, pauses: session::Pauses) -> Result<(), ControlError> {
    let prepared = tokio::task::spawn_blocking({
        let (config, stop) = (config.clone(), stop.clone());
        move || {
            let agent = std::env::current_exe().map_err(SysError::io("find the agent's own program"))?;
            prepare(&config, &agent, &stop)
        }
    });
    let (hosts, lock) = prepared.await.map_err(|error| ControlError::Image(error.to_string()))??;
    // The sessions of all hosts share this thread: they wait nearly always, and what they do not wait for runs on threads of its own.
    let local = tokio::task::LocalSet::new();
    let mut sessions = tokio::task::JoinSet::new();
    for (host_config, runner) in hosts {
        let (config, stop) = (agent_config(&config, &host_config.name), stop.clone());
        let session = async move {
            let name = config.name.clone();
            serve_host(config, runner, stop, pauses).await.map_err(|error| ControlError::Session { host: name, error })
        };
        sessions.spawn_local_on(session, &local);
    }
    let all = async {
        let mut first = Ok(());
        while let Some(ended) = sessions.join_next().await {
            let ended = ended.unwrap_or_else(|error| Err(ControlError::Image(error.to_string())));
            if let Err(error) = ended {
                tracing::error!("{error}");
                // One host whose name is taken does not end the others; the controller ends with its error when all have ended.
                first = first.and(Err(error));
            }
        }
        first
    };
    let ended = local.run_until(all).await;
    drop(lock);
    ended
}

/// A host is offered when it is known what it is.
async fn serve_host(config: Config, mut runner: ControlledHost, stop: Stop, pauses: session::Pauses) -> Result<(), SessionError> {
    loop {
        let asked = stop.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let looked = runner.take_inventory(&asked);
            (runner, looked)
        });
        let (back, looked) = looked.await.map_err(|error| SessionError::Panic(error.to_string()))?;
        runner = back;
        match looked {
            Ok(()) => break,
            Err(reason) => tracing::error!(host = %config.name, reason, "not offered; trying again in {} s", RETRY_PERIOD.as_secs()),
        }
        tokio::select! {
            () = tokio::time::sleep(RETRY_PERIOD) => {}
            () = stop.asked() => return Ok(()),
        }
    }
    session::serve(&config, runner, stop, pauses).await
}

/// Takes the folder, and makes everything that does not need a running host. `agent` is this program: it is packed for virtual hosts, and
/// starts them. The folder is taken for as long as the file lives.
pub fn prepare(config: &ControlConfig, agent: &Path, stop: &Stop) -> Result<(Vec<(HostConfig, ControlledHost)>, fs::File), ControlError> {
    private_folder(&config.state_dir)?;
    let lock = lock(&config.state_dir)?;
    let (images, known_good) = Images::make(config, agent).map_err(ControlError::Image)?;
    let slots = Slots::new(config.parallel);
    let probe = |engine: Engine, limit: Duration| probe(config, &images, &known_good, engine, limit, stop);
    let engine = qemu::choose(config.accelerator, probe).map_err(ControlError::Image)?;
    let mut hosts = Vec::new();
    for host in &config.hosts {
        let folder = folder_of(&config.state_dir, host.name.as_str());
        let boot: Box<dyn Boot> = match &host.boot {
            BootConfig::Qemu(qemu) => Box::new(Qemu::new(qemu.clone(), engine, images.clone(), folder.join("run"))?),
        };
        let cache = host::kernel_cache(&config.state_dir);
        hosts.push((host.clone(), ControlledHost::new(host.name.clone(), boot, known_good.clone(), cache, slots.clone())));
    }
    Ok((hosts, lock))
}

/// Boots the known-good kernel once, without disks.
fn probe(config: &ControlConfig, images: &Images, kernel: &BootFiles, engine: Engine, limit: Duration, stop: &Stop) -> Result<(), String> {
    let machine =
        QemuConfig { memory_bytes: config::DEFAULT_MEMORY_BYTES, cpus: 1, clock: Clock::Real, boot_limit: limit, disks: Vec::new() };
    let folder = config.state_dir.join("probe");
    let mut qemu = Qemu::new(machine, engine, images.clone(), folder.clone()).map_err(|error| format!("failed to {error}"))?;
    let token = "probe";
    let answered = qemu.start(kernel, token, stop).map_err(|crash| crash.title).and_then(|mut running| {
        let answered = match running.next(limit) {
            Some(boot::Event::Guest(_)) => Ok(()),
            Some(boot::Event::Over(ending)) => Err(verdict::judge(&ending, &running.console()).title),
            None => Err(format!("a probe boot did not answer within {} s", limit.as_secs())),
        };
        running.end();
        answered
    });
    let _ = fs::remove_dir_all(folder);
    answered
}

/// What a session needs to know of the host that it speaks for.
fn agent_config(config: &ControlConfig, name: &HostName) -> Config {
    Config {
        name: name.clone(),
        coordinator: config.coordinator.clone(),
        ca_file: config.ca_file.clone(),
        token_file: config.token_file.clone(),
        state_dir: folder_of(&config.state_dir, name.as_str()),
        // The disks are the host's own.
        disks: Vec::new(),
        loop_disks: Vec::new(),
    }
}

/// The folder of a host: its token and spool, and in `run` its sockets and its console.
fn folder_of(state_dir: &Path, host: &str) -> PathBuf {
    state_dir.join("hosts").join(host)
}
