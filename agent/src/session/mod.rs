//! The agent's life with its coordinator: say hello, claim jobs, run their trials, hand in reports. The only async code of the agent; each
//! trial runs as blocking code on a thread of its own, and between two trials nothing is sent, so that no upload disturbs a measurement.

pub(crate) mod backoff;
pub(crate) mod client;
pub(crate) mod heartbeat;
mod kernels;
pub(crate) mod link;
mod report;
mod runner;
mod spool;
mod token;

pub use client::ClientError;
pub use runner::{Order, Ran, ReadyKernel, Runner, not_begun};

use std::sync::Arc;
use std::time::Duration;

use blklab_model::outcome::{Failure, Fault, Outcome};
use blklab_wire::agent::{JobSpec, KernelSpec, MAX_CLAIM_WAIT_MS, TrialReport, TrialSpec};

use crate::config::Config;
use crate::stop::Stop;
use crate::sys::SysError;
use backoff::Backoff;
use link::{FAREWELL, Link};
use spool::Spool;

/// Between two attempts to clean a dirty host.
const CLEAN_PERIOD: Duration = Duration::from_secs(10);

/// After a trial that the lab spoiled, before the next job is claimed. A loose cable or a full disk spoils the next trial as well; without
/// a pause one host would burn all attempts of all trials within minutes.
const FIRST_PAUSE: Duration = Duration::from_secs(30);

/// The pause doubles with each further fault up to this; an admin who has cured it does not wait longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// How long to pause after faults of the lab; tests have no time for the real thing.
#[derive(Debug, Clone, Copy)]
pub struct Pauses {
    /// After the first.
    pub first: Duration,
    /// After many in a row.
    pub longest: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Pauses { first: FIRST_PAUSE, longest: LONGEST_PAUSE }
    }
}

/// Why an agent gives up. Everything else is waited for.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The coordinator does not know the token.
    #[error("the coordinator at {coordinator} refuses the token of this agent ({reason}); {remedy}")]
    WrongToken {
        /// Its address.
        coordinator: String,
        /// Its words.
        reason: String,
        /// Where the right one goes.
        remedy: String,
    },
    /// Another agent lives under the name.
    #[error("the name `{name}` is taken: {reason}; give this host another `name`, or stop the other agent")]
    NameTaken {
        /// The name.
        name: String,
        /// The coordinator's words.
        reason: String,
    },
    /// Agent and coordinator do not speak the same version.
    #[error("agent and coordinator do not understand each other: {0}; install the agent that came with the coordinator")]
    Protocol(String),
    /// The token, the spool or the client cannot be set up.
    #[error("failed to {0}")]
    Sys(#[from] SysError),
    /// The client cannot be made.
    #[error("failed to set up HTTP: {0}")]
    Http(#[from] ClientError),
    /// The blocking half died of a bug.
    #[error("a trial ended in a panic: {0}; `blklab-agent clean` gives back what it left")]
    Panic(String),
}

type Result<T> = std::result::Result<T, SessionError>;

/// Serves the coordinator until `stop` is asked. In the end everything that the machine made is given back.
pub async fn serve<M: Runner>(config: &Config, machine: M, stop: Stop, pauses: Pauses) -> Result<()> {
    let mut session = Session::new(config, machine, stop, pauses)?;
    let served = session.serve().await;
    let closed = session.on_machine(Runner::close).await?;
    if let Err(reason) = closed {
        tracing::error!(reason, "not everything could be given back; run `blklab-agent clean`");
    }
    served
}

struct Session<M> {
    link: Link,
    /// Always there but while a blocking task has it.
    machine: Option<M>,
    spool: Spool,
    /// Pauses after faults of the lab, in a row.
    lab_faults: Backoff,
}

/// Why the inner loop was left.
enum Left {
    Stopped,
    /// Say hello again: the coordinator went away or forgot us, or the host may no longer be what it was told.
    Anew,
}

/// How a job ended here.
enum JobEnd {
    /// All trials are handed in, or it is no longer ours.
    Over,
    /// The lab spoiled a trial. What is left of the job goes back.
    Spoiled,
}

impl<M: Runner> Session<M> {
    fn new(config: &Config, machine: M, stop: Stop, pauses: Pauses) -> Result<Self> {
        let link = Link::new(config, &machine.machine_id(), stop)?;
        link.status.set_dirty(machine.kernel_fault());
        Ok(Session {
            link,
            machine: Some(machine),
            spool: Spool::open(&config.state_dir)?,
            lab_faults: Backoff::between(pauses.first, pauses.longest),
        })
    }

    async fn serve(&mut self) -> Result<()> {
        while !self.link.stop.is_asked() {
            let Some(period) = self.hello().await? else { break };
            let heartbeat = self.link.beat(period);
            let left = self.work().await;
            heartbeat.abort();
            let left = left?;
            if let Some(reason) = self.link.status.superseded() {
                return Err(self.link.name_taken(reason));
            }
            match left {
                Left::Stopped => break,
                Left::Anew => {}
            }
        }
        // The coordinator hears at once that the job is free again; if it is away, it finds out by itself, and reports stay in the spool.
        self.link.status.set_job(None);
        let farewell = async {
            let _ = self.spool.drain(&self.link.client).await;
            let _ = self.link.client.heartbeat(&self.link.status).await;
        };
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
        Ok(())
    }

    async fn hello(&mut self) -> Result<Option<Duration>> {
        let (facts, disks, last_boot) = self.on_machine(|machine| (machine.facts(), machine.disks(), machine.last_boot())).await?;
        self.link.status.set_last_boot(last_boot);
        for disk in &disks {
            tracing::info!(disk = %disk.id, class = %disk.class, name = disk.facts.kernel_name, health = ?disk.health, "disk");
        }
        self.link.hello(facts, disks).await
    }

    /// Claims and runs jobs until something ends it.
    async fn work(&mut self) -> Result<Left> {
        self.link.status.found_again();
        let mut backoff = Backoff::default();
        loop {
            if self.link.stop.is_asked() {
                return Ok(Left::Stopped);
            }
            if self.link.status.superseded().is_some() {
                return Ok(Left::Anew);
            }
            if self.link.status.is_lost() {
                return Ok(self.lost(&mut backoff).await);
            }
            if let Err(error) = self.spool.drain(&self.link.client).await {
                tracing::warn!(%error, reports = self.spool.len(), "reports wait in the spool");
                return Ok(self.lost(&mut backoff).await);
            }
            if !self.clean_host().await? {
                if self.link.sleep(CLEAN_PERIOD).await {
                    return Ok(Left::Stopped);
                }
                continue;
            }
            let claimed = tokio::select! {
                claimed = self.link.client.claim(MAX_CLAIM_WAIT_MS) => claimed,
                () = self.link.stop.asked() => return Ok(Left::Stopped),
                () = self.link.status.until_superseded() => continue,
            };
            match claimed {
                Ok(Some(job)) => {
                    let end = self.run_job(&job).await?;
                    self.link.status.set_job(None);
                    match end {
                        JobEnd::Over => {}
                        JobEnd::Spoiled => return Ok(self.pause().await),
                    }
                }
                Ok(None) => {}
                Err(ClientError::Refused { status: 409, refusal }) => self.link.status.supersede(refusal.error),
                Err(error) => {
                    tracing::warn!(%error, "cannot claim");
                    return Ok(self.lost(&mut backoff).await);
                }
            }
        }
    }

    async fn lost(&self, backoff: &mut Backoff) -> Left {
        if self.link.sleep(backoff.next()).await { Left::Stopped } else { Left::Anew }
    }

    /// Heartbeats without a job go on meanwhile, so others may have it; after it the hello tells what the disks are like now.
    async fn pause(&mut self) -> Left {
        self.link.status.send_now();
        let wait = self.lab_faults.next();
        tracing::warn!("the lab spoiled a trial; the next job is claimed after a pause of {} s", wait.as_secs());
        if self.link.sleep(wait).await { Left::Stopped } else { Left::Anew }
    }

    async fn run_job(&mut self, job: &JobSpec) -> Result<JobEnd> {
        tracing::info!(job = %job.job, trials = job.trials.len(), "claimed");
        self.link.status.set_job(Some(job.job));
        let cache = self.on_machine(|machine| machine.kernel_cache()).await?;
        let kernel = match cache {
            Some(folder) => match kernels::fetch(&self.link.client, &folder, &job.kernel).await {
                Ok(kernel) => kernel,
                Err(error) => {
                    tracing::warn!(job = %job.job, %error, "left before its beginning");
                    return Ok(JobEnd::Spoiled);
                }
            },
            None => fixed(&job.kernel),
        };
        for spec in &job.trials {
            if self.link.stop.is_asked() || self.link.status.is_job_dropped() {
                tracing::info!(job = %job.job, "left before its end");
                break;
            }
            let Some(report) = self.run_trial(job, &kernel, spec).await? else { break };
            let outcome = report.outcome.clone();
            self.hand_in(report).await;
            if self.link.status.is_dirty() {
                // Told before it is cured, so that nobody wonders about it later.
                let _ = self.link.client.heartbeat(&self.link.status).await;
            }
            let is_clean = self.clean_host().await?;
            match outcome {
                Outcome::Completed => self.lab_faults.reset(),
                Outcome::Failed(Failure { fault: Fault::Lab, .. }) => return Ok(JobEnd::Spoiled),
                Outcome::Failed(Failure { fault: Fault::Kernel | Fault::Workload, .. }) => {}
            }
            if !is_clean {
                break;
            }
        }
        Ok(JobEnd::Over)
    }

    /// None when it was stopped: an unfinished trial is not reported, so that it is tried again.
    async fn run_trial(&mut self, job: &JobSpec, kernel: &ReadyKernel, spec: &TrialSpec) -> Result<Option<TrialReport>> {
        tracing::info!(trial = %spec.trial, attempt = spec.attempt, disks = ?spec.disks, scheduler = spec.scheduler.label, "begins");
        let (host, job) = (self.link.client.host().clone(), job.job);
        let started = self.on_machine(|machine| machine.now()).await?;
        let order = Order { job, kernel: kernel.clone(), spec: spec.clone() };
        let (stop, status, trial) = (self.link.stop.clone(), Arc::clone(&self.link.status), spec.trial);
        status.enter(trial, "check");
        status.send_now();
        let (Ran { cycle, boot }, last_boot) = self
            .on_machine(move |machine| {
                let ran = machine.trial(&order, &stop, &|phase| status.enter(trial, phase));
                (ran, machine.last_boot())
            })
            .await?;
        self.link.status.set_last_boot(last_boot);
        self.link.status.leave_trial();
        if let Some(reason) = &cycle.dirty {
            tracing::error!(reason, "the host is dirty");
            self.link.status.set_dirty(Some(reason.clone()));
        }
        let Some(outcome) = cycle.outcome else { return Ok(None) };
        match &outcome {
            Outcome::Completed => tracing::info!(trial = %spec.trial, "completed"),
            Outcome::Failed(failure) => {
                tracing::warn!(trial = %spec.trial, fault = failure.fault.word(), step = failure.step, failure.message, "failed")
            }
        }
        let mut report = TrialReport {
            host,
            job,
            trial: spec.trial,
            attempt: spec.attempt,
            outcome,
            started,
            phases: cycle.phases,
            window: cycle.record.window,
            elapsed: cycle.record.elapsed,
            outputs: cycle.record.outputs,
            environment: cycle.record.environment,
            boot,
        };
        report::fit(&mut report.outputs);
        Ok(Some(report))
    }

    /// First to the spool, then to the coordinator. With a full disk it must reach the coordinator before anything else is begun.
    async fn hand_in(&mut self, report: TrialReport) {
        let mut backoff = Backoff::default();
        while let Err(error) = self.spool.put(&report) {
            tracing::error!(trial = %report.trial, %error, "a report cannot be kept on disk; handing it in directly");
            match self.link.client.trial(&report::json(&report)).await {
                Ok(_) => return,
                Err(error) if error.refused_as().is_some_and(|status| status != 401) => {
                    tracing::error!(trial = %report.trial, %error, "the coordinator will never take this report; it is lost");
                    return;
                }
                Err(error) => {
                    tracing::error!(trial = %report.trial, %error, "nor can it be handed in; free some space on the disk of the state folder")
                }
            }
            if self.link.sleep(backoff.next()).await {
                return;
            }
        }
        if let Err(error) = self.spool.drain(&self.link.client).await {
            tracing::warn!(%error, reports = self.spool.len(), "the coordinator is away; reports wait in the spool");
        }
    }

    /// True when the host is clean, or was made so.
    async fn clean_host(&mut self) -> Result<bool> {
        if !self.link.status.is_dirty() {
            return Ok(true);
        }
        match self.on_machine(Runner::clean_trial).await? {
            Ok(()) => {
                tracing::info!("the host is clean again");
                self.link.status.set_dirty(None);
                Ok(true)
            }
            Err(reason) => {
                tracing::error!(reason, "the host is still dirty and takes no job");
                self.link.status.set_dirty(Some(reason));
                Ok(false)
            }
        }
    }

    /// Lends the machine to blocking code.
    async fn on_machine<T: Send + 'static>(&mut self, work: impl FnOnce(&mut M) -> T + Send + 'static) -> Result<T> {
        let mut machine = self.machine.take().ok_or_else(|| SessionError::Panic("the machine is lost".to_owned()))?;
        let joined = tokio::task::spawn_blocking(move || {
            let result = work(&mut machine);
            (machine, result)
        });
        let (machine, result) = joined.await.map_err(|error| SessionError::Panic(error.to_string()))?;
        self.machine = Some(machine);
        Ok(result)
    }
}

/// For a host that keeps no kernels: what it is asked to boot it will refuse, whatever the files.
fn fixed(kernel: &KernelSpec) -> ReadyKernel {
    match kernel {
        KernelSpec::AsBooted => ReadyKernel::AsBooted,
        KernelSpec::Boot(spec) => ReadyKernel::Boot { spec: Box::new(spec.clone()), image: std::path::PathBuf::new(), modules: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_from_half_a_minute_to_ten() {
        let pauses = Pauses::default();
        let mut backoff = Backoff::between(pauses.first, pauses.longest);
        assert_eq!([(); 7].map(|()| backoff.next().as_secs()), [30, 60, 120, 240, 480, 600, 600]);
    }
}
