//! Agents come and go: hello, heartbeat, and who may speak for a host.

use blklab_model::disk;
use blklab_model::host::{self, HEARTBEAT_EVERY, Host, HostEvent, HostHealth};
use blklab_model::id::HostName;
use blklab_model::job::{self, JobEvent};
use blklab_model::trial::{self, TrialEvent};
use blklab_wire::PROTOCOL;
use blklab_wire::agent::{Heartbeat, HeartbeatReply, Hello, TrialPhase, Welcome};

use super::{build, release};
use crate::lab::Lab;
use crate::store::{self, HostRow, StoreError, Tx};
use crate::token;

/// Why an agent is refused.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Nobody's.
    #[error("this token belongs to no host")]
    UnknownToken,
    /// Neither the host's token nor, for a new name, the enrolment token.
    #[error("this token does not belong to host `{0}`")]
    WrongToken(HostName),
    /// The enrolment token with a name that is taken.
    #[error("the name `{0}` is taken by a host that is enrolled already")]
    NameTaken(HostName),
    /// Another agent is alive under this name.
    #[error("another agent is alive under the name `{host}`, heard {seconds} s ago")]
    Alive {
        /// The name.
        host: HostName,
        /// Seconds since it was heard.
        seconds: i64,
    },
    /// A newer agent took the name over.
    #[error("a newer agent has taken over the name `{0}`")]
    Superseded(HostName),
    /// It does not say that it builds kernels.
    #[error("host `{0}` is no builder")]
    NoBuilder(HostName),
    /// Another version of the messages.
    #[error("the agent speaks protocol {0}, this coordinator {PROTOCOL}")]
    Protocol(u32),
    /// Not the agent's fault.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Is this a token of some host, or the enrolment token? Strangers need not be listened to.
pub async fn check_token(lab: &Lab, token: &str) -> Result<(), AgentError> {
    if lab.tokens.lets_enrol(token) {
        return Ok(());
    }
    let mut tx = lab.store.read().await?;
    let known = store::host_list(&mut tx).await?.iter().any(|row| token::has_digest(token, &row.token_sha256));
    if known { Ok(()) } else { Err(AgentError::UnknownToken) }
}

/// Is this the token of a host that builds kernels? Others need not send files.
pub async fn check_builder(lab: &Lab, token: &str) -> Result<(), AgentError> {
    let mut tx = lab.store.read().await?;
    let hosts = store::host_list(&mut tx).await?;
    let row = hosts.into_iter().find(|row| token::has_digest(token, &row.token_sha256)).ok_or(AgentError::UnknownToken)?;
    if row.host.facts.builder { Ok(()) } else { Err(AgentError::NoBuilder(row.host.name)) }
}

/// An agent has started. Enrols a new host, or takes a known one over from its former agent, whose work is queued again.
pub async fn hello(lab: &Lab, token: &str, hello: Hello) -> Result<Welcome, AgentError> {
    if hello.protocol != PROTOCOL {
        return Err(AgentError::Protocol(hello.protocol));
    }
    let mut tx = lab.store.write().await?;
    let known = store::host_get(&mut tx, &hello.host).await?;
    let (row, new_token) = match known {
        None if lab.tokens.lets_enrol(token) => {
            let own = token::draw();
            (enrol(lab, &hello, &own), Some(own))
        }
        None => return Err(AgentError::WrongToken(hello.host)),
        Some(row) => take_over(lab, &mut tx, token, &hello, row).await?,
    };
    store::host_put(&mut tx, &row).await?;
    tx.commit().await?;
    lab.changed();
    tracing::info!(host = %row.host.name, disks = row.host.disks.len(), "agent says hello");
    Ok(Welcome { token: new_token, heartbeat_ms: HEARTBEAT_EVERY.0.unsigned_abs() })
}

/// The agent lives: renews its lease and notes where it is.
pub async fn heartbeat(lab: &Lab, token: &str, beat: Heartbeat) -> Result<HeartbeatReply, AgentError> {
    let mut tx = lab.store.write().await?;
    let row = authenticate(&mut tx, &beat.host, token, &beat.incarnation).await?;
    let now = lab.now();
    let phase = beat.at.as_ref().map(|at| format!("{} {}", at.trial, at.phase));
    let seen = store::Seen { job: beat.job, phase: phase.as_deref(), build: beat.build, last_boot: beat.last_boot.as_ref() };
    store::host_seen(&mut tx, &beat.host, now, seen).await?;
    let event = match &beat.dirty {
        Some(reason) => HostEvent::ReportedDirty(reason.clone()),
        None => HostEvent::ReportedClean,
    };
    let health = host::step(&row.host.health, event).unwrap_or_else(|_| row.host.health.clone());
    if health != row.host.health {
        store::host_health_set(&mut tx, &beat.host, &row.host.health, &health).await?;
    }
    let mut drop_job = false;
    if let Some(id) = beat.job {
        drop_job = !renew(lab, &mut tx, &beat.host, id).await?;
        if let (false, Some(at)) = (drop_job, &beat.at) {
            begin(&mut tx, at).await?;
        }
    }
    let drop_build = match beat.build {
        Some(id) => !build::renew(lab, &mut tx, &beat.host, id).await?,
        None => false,
    };
    tx.commit().await?;
    if row.phase != phase || row.last_boot != beat.last_boot {
        lab.changed();
    }
    Ok(HeartbeatReply { drop_job, drop_build })
}

/// The host that a message speaks for, if its token and incarnation are right.
pub(super) async fn authenticate(tx: &mut Tx, host: &HostName, token: &str, incarnation: &str) -> Result<HostRow, AgentError> {
    let row = store::host_get(tx, host).await?.ok_or_else(|| AgentError::WrongToken(host.clone()))?;
    if !token::has_digest(token, &row.token_sha256) {
        return Err(AgentError::WrongToken(host.clone()));
    }
    if row.incarnation != incarnation {
        return Err(AgentError::Superseded(host.clone()));
    }
    Ok(row)
}

fn enrol(lab: &Lab, hello: &Hello, own_token: &str) -> HostRow {
    let host = Host {
        name: hello.host.clone(),
        facts: hello.facts.clone(),
        disks: hello.disks.clone(),
        health: HostHealth::Healthy,
        enrolled: lab.now(),
        last_seen: lab.now(),
    };
    HostRow {
        host,
        incarnation: hello.incarnation.clone(),
        token_sha256: token::digest(own_token),
        job: None,
        phase: None,
        build: None,
        last_boot: None,
    }
}

/// A known host starts anew. An agent that comes with the enrolment token from the machine that the name belongs to has lost its own
/// token (the answer to its enrolment, or its folder) and is given a new one.
async fn take_over(lab: &Lab, tx: &mut Tx, token: &str, hello: &Hello, mut row: HostRow) -> Result<(HostRow, Option<String>), AgentError> {
    let same_machine = machine(&row.incarnation) == machine(&hello.incarnation);
    let proven = token::has_digest(token, &row.token_sha256);
    if !proven && !lab.tokens.lets_enrol(token) {
        return Err(AgentError::WrongToken(hello.host.clone()));
    }
    if !proven && !same_machine {
        return Err(AgentError::NameTaken(hello.host.clone()));
    }
    // On its own machine an agent with its own token has its folder to itself, so the former one is gone.
    let former_is_gone = proven && same_machine;
    if !former_is_gone && row.host.is_online(lab.now()) {
        let seconds = (lab.now() - row.host.last_seen).0 / 1000;
        return Err(AgentError::Alive { host: hello.host.clone(), seconds });
    }
    let new_token = (!proven).then(token::draw);
    if let Some(token) = &new_token {
        row.token_sha256 = token::digest(token);
    }
    if row.incarnation != hello.incarnation {
        release::jobs_of_host(lab, tx, &hello.host).await?;
        build::of_host_abandoned(lab, tx, &hello.host).await?;
    }
    row.host.disks = merge_disks(&row.host, hello);
    row.host.facts = hello.facts.clone();
    row.host.last_seen = lab.now();
    row.incarnation = hello.incarnation.clone();
    row.job = None;
    row.phase = None;
    row.build = None;
    Ok((row, new_token))
}

/// The agent's inventory, but a quarantine of a disk stays.
fn merge_disks(known: &Host, hello: &Hello) -> Vec<disk::Disk> {
    let merge = |reported: &disk::Disk| {
        let mut merged = reported.clone();
        if let Some(before) = known.disks.iter().find(|disk| disk.id == reported.id) {
            let event = disk::DiskEvent::Reported(reported.health.clone());
            merged.health = disk::step(&before.health, event).unwrap_or_else(|_| reported.health.clone());
        }
        merged
    };
    hello.disks.iter().map(merge).collect()
}

/// The part of an incarnation that names the machine.
fn machine(incarnation: &str) -> &str {
    incarnation.split_once('.').map_or(incarnation, |(machine, _)| machine)
}

/// Renews the lease of a job; false when it is no longer this host's.
async fn renew(lab: &Lab, tx: &mut Tx, host: &HostName, id: blklab_model::id::JobId) -> Result<bool, StoreError> {
    let Some(record) = store::job_get(tx, id).await? else { return Ok(false) };
    let held = matches!(&record.state, job::JobState::Leased { host: holder, .. } if holder == host);
    if !held {
        return Ok(false);
    }
    match job::step(&record.state, JobEvent::Renewed, lab.now()) {
        Ok(renewed) => store::job_state_set(tx, id, &record.state, &renewed).await,
        Err(_) => Ok(false),
    }
}

/// Notes that a trial is under way. A heartbeat that comes after the trial's report changes nothing.
async fn begin(tx: &mut Tx, at: &TrialPhase) -> Result<(), StoreError> {
    let Some(record) = store::trial_get(tx, at.trial).await? else { return Ok(()) };
    if let Ok(state) = trial::step(&record.state, TrialEvent::Begun, record.attempt) {
        store::trial_state_set(tx, at.trial, &record.state, &state, record.attempt + 1).await?;
    }
    Ok(())
}
