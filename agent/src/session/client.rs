//! HTTP to the coordinator: one function a message, every one with a time limit. What is not a success is either a refusal in the
//! coordinator's own words, or an absence that may end by itself.

use std::path::Path;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use blklab_model::id::HostName;
use blklab_wire::agent::{Claim, Heartbeat, HeartbeatReply, Hello, JobSpec, Refusal, TrialReceipt, Welcome};
use reqwest::{Certificate, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::heartbeat::{Snapshot, Status};
use crate::config::Config;

const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// For small messages. Also the longest that a farewell or a heartbeat can hang.
const SHORT_LIMIT: Duration = Duration::from_secs(10);

/// For a report of up to 32 MiB through a slow network.
const UPLOAD_LIMIT: Duration = Duration::from_secs(120);

/// For a kernel with its modules, some 60 MB, through a slow network.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(600);

/// Characters of an answer that is no JSON which go into a message; a proxy's page may be long.
const QUOTED: usize = 300;

/// An answer that did not bring what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection, no answer in time, or a coordinator in trouble (5xx): try again later.
    #[error("the coordinator does not answer: {0}")]
    Away(String),
    /// The coordinator understood and said no.
    #[error("refused ({status}): {}{}", refusal.error, help(refusal))]
    Refused {
        /// HTTP status.
        status: u16,
        /// Its words.
        refusal: Refusal,
    },
    /// A 4xx without a [`Refusal`]: the frame around the coordinator's handlers (a body that does not fit the message), or a proxy.
    #[error("rejected ({status}): {text}")]
    Rejected {
        /// HTTP status.
        status: u16,
        /// The beginning of the answer.
        text: String,
    },
    /// An answer that is none of the coordinator's: another program listens there.
    #[error("what answers is not a blklab coordinator: {0}")]
    Garbled(String),
    /// The client cannot be built.
    #[error("{0}")]
    Setup(String),
}

impl ClientError {
    /// The status of an answer that says that this request is wrong, and will be however often it is sent.
    pub(super) fn refused_as(&self) -> Option<u16> {
        match self {
            ClientError::Refused { status, .. } | ClientError::Rejected { status, .. } => Some(*status),
            ClientError::Away(_) | ClientError::Garbled(_) | ClientError::Setup(_) => None,
        }
    }
}

fn help(refusal: &Refusal) -> String {
    if refusal.help.is_empty() { String::new() } else { format!("; {}", refusal.help) }
}

type Result<T> = std::result::Result<T, ClientError>;

/// A client for one host.
#[derive(Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    base: String,
    host: HostName,
    incarnation: String,
    token: RwLock<String>,
}

impl Client {
    pub(super) fn new(config: &Config, incarnation: &str, token: &str) -> Result<Self> {
        let setup = |error: reqwest::Error| ClientError::Setup(words(&error));
        let mut builder = reqwest::Client::builder().connect_timeout(CONNECT_LIMIT).timeout(SHORT_LIMIT).no_proxy();
        if let Some(file) = &config.ca_file {
            builder = builder.tls_certs_only(certificates(file)?);
        } else if config.coordinator.starts_with("http://") {
            // Without this a host without certificates of its own could not even speak plain HTTP.
            builder = builder.tls_certs_only([]);
        }
        Ok(Client {
            http: builder.build().map_err(setup)?,
            base: format!("{}/api/v1/agent", config.coordinator),
            host: config.name.clone(),
            incarnation: incarnation.to_owned(),
            token: RwLock::new(token.to_owned()),
        })
    }

    pub(super) fn incarnation(&self) -> &str {
        &self.incarnation
    }

    pub(super) fn host(&self) -> &HostName {
        &self.host
    }

    pub(super) fn set_token(&self, token: &str) {
        token.clone_into(&mut self.token.write().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) async fn hello(&self, hello: &Hello) -> Result<Welcome> {
        self.post("hello", json(hello), SHORT_LIMIT).await
    }

    pub(super) async fn heartbeat(&self, status: &Status) -> Result<HeartbeatReply> {
        let Snapshot { job, at, dirty, last_boot } = status.snapshot();
        let heartbeat =
            Heartbeat { host: self.host.clone(), incarnation: self.incarnation.clone(), job, at, dirty, build: None, last_boot };
        self.post("heartbeat", json(&heartbeat), SHORT_LIMIT).await
    }

    pub(super) async fn claim(&self, wait_ms: u64) -> Result<Option<JobSpec>> {
        let claim = Claim { host: self.host.clone(), incarnation: self.incarnation.clone(), wait_ms };
        self.post("claim", json(&claim), Duration::from_millis(wait_ms) + SHORT_LIMIT).await
    }

    /// Hands in a report, which is JSON already.
    pub(super) async fn trial(&self, report: &[u8]) -> Result<TrialReceipt> {
        self.post("trial", report.to_vec(), UPLOAD_LIMIT).await
    }

    /// Fetches a file of a kernel; `take` gets its bytes in order.
    pub(super) async fn blob(&self, sha256: &str, mut take: impl FnMut(&[u8]) -> std::io::Result<()>) -> Result<()> {
        let token = self.token.read().unwrap_or_else(PoisonError::into_inner).clone();
        let request = self.http.get(format!("{}/blobs/{sha256}", self.base)).bearer_auth(token).timeout(DOWNLOAD_LIMIT);
        let mut answer = request.send().await.map_err(|error| ClientError::Away(words(&error)))?;
        let status = answer.status();
        if !status.is_success() {
            let body = answer.bytes().await.map_err(|error| ClientError::Away(words(&error)))?;
            return Err(refusal(status, &body));
        }
        while let Some(chunk) = answer.chunk().await.map_err(|error| ClientError::Away(words(&error)))? {
            take(&chunk).map_err(|error| ClientError::Setup(format!("a file cannot be written: {error}")))?;
        }
        Ok(())
    }

    async fn post<T: DeserializeOwned>(&self, message: &str, body: Vec<u8>, limit: Duration) -> Result<T> {
        let token = self.token.read().unwrap_or_else(PoisonError::into_inner).clone();
        let request = self.http.post(format!("{}/{message}", self.base)).bearer_auth(token).timeout(limit);
        let sent = request.header("content-type", "application/json").body(body).send().await;
        let answer = sent.map_err(|error| ClientError::Away(words(&error)))?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(|error| ClientError::Away(words(&error)))?;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|error| ClientError::Garbled(format!("{message}: {error}")));
        }
        Err(refusal(status, &body))
    }
}

fn refusal(status: StatusCode, body: &[u8]) -> ClientError {
    if status.is_server_error() {
        return ClientError::Away(format!("HTTP {status}"));
    }
    if let Ok(refusal) = serde_json::from_slice(body) {
        return ClientError::Refused { status: status.as_u16(), refusal };
    }
    if status.is_client_error() {
        let text = String::from_utf8_lossy(body).trim().chars().take(QUOTED).collect();
        return ClientError::Rejected { status: status.as_u16(), text };
    }
    ClientError::Garbled(format!("HTTP {status} without a reason"))
}

fn json(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("messages are plain data")
}

fn certificates(file: &Path) -> Result<Vec<Certificate>> {
    let setup = |error: &dyn std::fmt::Display| ClientError::Setup(format!("ca_file {}: {error}", file.display()));
    let pem = std::fs::read(file).map_err(|error| setup(&error))?;
    Certificate::from_pem_bundle(&pem).map_err(|error| setup(&error))
}

/// reqwest keeps the interesting part (`connection refused`) in the source of its errors.
fn words(error: &dyn std::error::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
