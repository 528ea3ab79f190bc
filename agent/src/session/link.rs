//! A host's link to its coordinator: which token it shows, how it introduces itself, and what ends its waits. Sessions of hosts that run
//! trials and of hosts that build kernels are made of it.

use std::sync::Arc;
use std::time::Duration;

use blklab_model::disk::Disk;
use blklab_model::host::HostFacts;
use blklab_wire::agent::Hello;
use tokio::task::JoinHandle;

use super::backoff::Backoff;
use super::client::{Client, ClientError};
use super::heartbeat::{self, Status};
use super::token::Token;
use super::{Result, SessionError};
use crate::config::Config;
use crate::stop::Stop;
use crate::sys::SysError;

/// At the end of an agent, how long its last words may take.
pub(crate) const FAREWELL: Duration = Duration::from_secs(10);

/// What every session has.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) client: Arc<Client>,
    pub(crate) status: Arc<Status>,
    pub(crate) stop: Stop,
    coordinator: String,
    token: Token,
}

impl Link {
    /// Of a host on a machine; it is a new incarnation.
    pub(crate) fn new(config: &Config, machine_id: &str, stop: Stop) -> Result<Self> {
        let token = Token::load(config)?;
        let incarnation = format!("{machine_id}.{:016x}", random_u64()?);
        let client = Client::new(config, &incarnation, token.current())?;
        Ok(Link { client: Arc::new(client), status: Arc::default(), stop, coordinator: config.coordinator.clone(), token })
    }

    /// Introduces the host, waiting for the coordinator as long as it takes; gives the pace of heartbeats. None when asked to stop
    /// meanwhile.
    pub(crate) async fn hello(&mut self, facts: HostFacts, disks: Vec<Disk>) -> Result<Option<Duration>> {
        let hello = Hello {
            protocol: blklab_wire::PROTOCOL,
            host: self.client.host().clone(),
            incarnation: self.client.incarnation().to_owned(),
            facts,
            disks,
        };
        let mut backoff = Backoff::default();
        loop {
            match self.client.hello(&hello).await {
                Ok(welcome) => {
                    if let Some(token) = &welcome.token {
                        self.token.keep(token)?;
                        self.client.set_token(token);
                    }
                    tracing::info!(coordinator = self.coordinator, "the coordinator knows this host");
                    return Ok(Some(Duration::from_millis(welcome.heartbeat_ms)));
                }
                Err(ClientError::Refused { status: 401, refusal }) => {
                    let Some(enrolment) = self.token.fall_back() else { return Err(self.wrong_token(refusal.error)) };
                    tracing::warn!("the coordinator does not know this host's own token; trying the enrolment token");
                    self.client.set_token(&enrolment);
                }
                Err(ClientError::Refused { status: 409, refusal }) => return Err(self.name_taken(refusal.error)),
                Err(ClientError::Refused { status: 426, refusal }) => return Err(SessionError::Protocol(refusal.error)),
                Err(error) => {
                    let wait = backoff.next();
                    tracing::warn!(coordinator = self.coordinator, %error, "no answer; trying again in {} s", wait.as_secs());
                    if self.sleep(wait).await {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Sends heartbeats until aborted.
    pub(crate) fn beat(&self, period: Duration) -> JoinHandle<()> {
        heartbeat::start(Arc::clone(&self.client), Arc::clone(&self.status), period)
    }

    /// Another agent lives under the name.
    pub(crate) fn name_taken(&self, reason: String) -> SessionError {
        SessionError::NameTaken { name: self.client.host().to_string(), reason }
    }

    fn wrong_token(&self, reason: String) -> SessionError {
        SessionError::WrongToken { coordinator: self.coordinator.clone(), reason, remedy: self.token.remedy() }
    }

    /// True when asked to stop meanwhile. Ends early as well when another agent took the name.
    pub(crate) async fn sleep(&self, duration: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(duration) => false,
            () = self.status.until_superseded() => false,
            () = self.stop.asked() => true,
        }
    }
}

fn random_u64() -> std::result::Result<u64, SysError> {
    getrandom::u64().map_err(|error| SysError::Unsupported { act: "draw a random number".into(), reason: error.to_string() })
}
