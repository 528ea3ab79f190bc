//! HTTP to the coordinator: one function a message, every one with a time limit. What is not a success is either a refusal in the
//! coordinator's own words, or an absence that may end by itself.

use std::path::Path;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use blklab_model::id::{HostName, KernelId};
use blklab_model::kernel::Blob;
use blklab_wire::agent::{Claim, Heartbeat, HeartbeatReply, Hello, JobSpec, Refusal, TrialReceipt, Welcome};
use blklab_wire::build::{BuildReceipt, BuildReport, BuildSpec, Known};
use reqwest::header::CONTENT_LENGTH;
use reqwest::{Certificate, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::heartbeat::{Snapshot, Status};
use crate::config::Config;

const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// For small messages. Also the longest that a farewell or a heartbeat can hang.
const SHORT_LIMIT: Duration = Duration::from_secs(10);

/// For a report of up to 32 MiB through a slow network.
const UPLOAD_LIMIT: Duration = Duration::from_secs(120);

/// For a file of a kernel, some 60 MB with the modules of a distribution, through a slow network; either way.
const FILE_LIMIT: Duration = Duration::from_secs(600);

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
    pub(crate) fn refused_as(&self) -> Option<u16> {
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
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    host: HostName,
    incarnation: String,
    token: RwLock<String>,
}

impl Client {
    pub(crate) fn new(config: &Config, incarnation: &str, token: &str) -> Result<Self> {
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

    pub(crate) fn incarnation(&self) -> &str {
        &self.incarnation
    }

    pub(crate) fn host(&self) -> &HostName {
        &self.host
    }

    pub(crate) fn set_token(&self, token: &str) {
        token.clone_into(&mut self.token.write().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) async fn hello(&self, hello: &Hello) -> Result<Welcome> {
        self.post("hello", json(hello), SHORT_LIMIT).await
    }

    pub(crate) async fn heartbeat(&self, status: &Status) -> Result<HeartbeatReply> {
        let Snapshot { job, at, dirty, build, last_boot } = status.snapshot();
        let heartbeat = Heartbeat { host: self.host.clone(), incarnation: self.incarnation.clone(), job, at, dirty, build, last_boot };
        self.post("heartbeat", json(&heartbeat), SHORT_LIMIT).await
    }

    pub(crate) async fn claim(&self, wait_ms: u64) -> Result<Option<JobSpec>> {
        self.post("claim", json(&self.claiming(wait_ms)), Duration::from_millis(wait_ms) + SHORT_LIMIT).await
    }

    fn claiming(&self, wait_ms: u64) -> Claim {
        Claim { host: self.host.clone(), incarnation: self.incarnation.clone(), wait_ms }
    }

    /// Hands in a report, which is JSON already.
    pub(crate) async fn trial(&self, report: &[u8]) -> Result<TrialReceipt> {
        self.post("trial", report.to_vec(), UPLOAD_LIMIT).await
    }

    pub(crate) async fn claim_build(&self, wait_ms: u64) -> Result<Option<BuildSpec>> {
        self.post("builds/claim", json(&self.claiming(wait_ms)), Duration::from_millis(wait_ms) + SHORT_LIMIT).await
    }

    /// Has the lab such a kernel?
    pub(crate) async fn knows_kernel(&self, id: &KernelId) -> Result<bool> {
        self.post("builds/known", json(&Known { host: self.host.clone(), id: id.clone() }), SHORT_LIMIT).await
    }

    pub(crate) async fn build(&self, report: &BuildReport) -> Result<BuildReceipt> {
        self.post("builds/report", json(report), SHORT_LIMIT).await
    }

    /// Fetches a file of a kernel; `take` gets its bytes in order.
    pub(crate) async fn blob(&self, sha256: &str, mut take: impl FnMut(&[u8]) -> std::io::Result<()>) -> Result<()> {
        let mut answer = good(self.http.get(self.blob_url(sha256)).bearer_auth(self.token()).timeout(FILE_LIMIT)).await?;
        while let Some(chunk) = answer.chunk().await.map_err(away)? {
            take(&chunk).map_err(|error| ClientError::Setup(format!("a file cannot be written: {error}")))?;
        }
        Ok(())
    }

    /// Sends a file of a kernel unless it is there already; true when it was sent.
    pub(crate) async fn put_blob(&self, file: &Path, blob: &Blob) -> Result<bool> {
        let url = self.blob_url(&blob.sha256);
        let there = match good(self.http.head(&url).bearer_auth(self.token())).await {
            Ok(there) => there.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok()),
            // Also what is refused for another reason: the answer to the file itself has the words.
            Err(ClientError::Refused { .. } | ClientError::Rejected { .. }) => None,
            Err(error @ (ClientError::Away(_) | ClientError::Garbled(_) | ClientError::Setup(_))) => return Err(error),
        };
        if there == Some(blob.bytes) {
            return Ok(false);
        }
        let opened = tokio::fs::File::open(file).await;
        let opened = opened.map_err(|error| ClientError::Setup(format!("{} cannot be read: {error}", file.display())))?;
        let request = self.http.put(url).bearer_auth(self.token()).timeout(FILE_LIMIT);
        // With its length the coordinator can refuse one that is too long before it comes.
        good(request.header(CONTENT_LENGTH, blob.bytes).body(opened)).await?;
        Ok(true)
    }

    fn blob_url(&self, sha256: &str) -> String {
        format!("{}/blobs/{sha256}", self.base)
    }

    fn token(&self) -> String {
        self.token.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn post<T: DeserializeOwned>(&self, message: &str, body: Vec<u8>, limit: Duration) -> Result<T> {
        let request = self.http.post(format!("{}/{message}", self.base)).bearer_auth(self.token()).timeout(limit);
        let answer = good(request.header("content-type", "application/json").body(body)).await?;
        let body = answer.bytes().await.map_err(away)?;
        serde_json::from_slice(&body).map_err(|error| ClientError::Garbled(format!("{message}: {error}")))
    }
}

/// An answer that brings what was asked for.
async fn good(request: RequestBuilder) -> Result<Response> {
    let answer = request.send().await.map_err(away)?;
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let body = answer.bytes().await.map_err(away)?;
    Err(refusal(status, &body))
}

fn away(error: reqwest::Error) -> ClientError {
    ClientError::Away(words(&error))
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
