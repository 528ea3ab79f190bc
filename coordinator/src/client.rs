//! Talks to a coordinator for the command line.

use anyhow::{Context, bail};
use blklab_model::id::ExperimentId;
use blklab_model::report::Report;
use blklab_wire::agent::Refusal;
use blklab_wire::people::{ExperimentLine, HostLine, Progress, Submit, Submitted};
use serde::de::DeserializeOwned;

/// No answer takes longer: the slowest is the report of a large matrix.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

/// A coordinator at an address.
pub struct Client {
    http: reqwest::Client,
    server: String,
    token: Option<String>,
}

/// The coordinator answered that it cannot.
#[derive(Debug, thiserror::Error)]
#[error("{server} answered {status}; its log says why")]
struct Unavailable {
    server: String,
    status: reqwest::StatusCode,
}

impl Client {
    /// A client of the coordinator at `server` (`http://127.0.0.1:7400`). The token is needed to submit and cancel only.
    pub fn new(server: &str, token: Option<String>) -> anyhow::Result<Client> {
        // A second installation is refused, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder().timeout(TIMEOUT);
        // Without TLS no certificate store is needed, and a host may have none.
        let builder = if server.starts_with("http://") { builder.tls_certs_only([]) } else { builder };
        let http = builder.build().context("failed to make an HTTP client")?;
        Ok(Client { http, server: server.trim_end_matches('/').to_owned(), token })
    }

    /// Absolute address of a path of the coordinator.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server)
    }

    /// Submits an experiment.
    pub async fn submit(&self, submit: &Submit) -> anyhow::Result<Submitted> {
        self.send(self.http.post(self.url("/api/v1/experiments")).json(submit)).await?.json().await.context("failed to read the answer")
    }

    /// Cancels an experiment.
    pub async fn cancel(&self, id: ExperimentId) -> anyhow::Result<()> {
        self.send(self.http.post(self.url(&format!("/api/v1/experiments/{id}/cancel")))).await.map(|_| ())
    }

    /// The newest experiments.
    pub async fn experiments(&self) -> anyhow::Result<Vec<ExperimentLine>> {
        self.get("/api/v1/experiments").await
    }

    /// Hosts.
    pub async fn hosts(&self) -> anyhow::Result<Vec<HostLine>> {
        self.get("/api/v1/hosts").await
    }

    /// How far an experiment is.
    pub async fn progress(&self, id: ExperimentId) -> anyhow::Result<Progress> {
        self.get(&format!("/api/v1/experiments/{id}/progress")).await
    }

    /// The report of an experiment.
    pub async fn report(&self, id: ExperimentId) -> anyhow::Result<Report> {
        self.get(&format!("/api/v1/experiments/{id}/report")).await
    }

    /// A page as text.
    pub async fn page(&self, path: &str) -> anyhow::Result<String> {
        self.send(self.http.get(self.url(path))).await?.text().await.context("failed to read the page")
    }

    /// Is this an error that passes: a coordinator that is away, that ended in the middle of its answer, or that had trouble of its own?
    pub fn is_passing(error: &anyhow::Error) -> bool {
        error
            .chain()
            .any(|cause| cause.is::<Unavailable>() || cause.downcast_ref::<reqwest::Error>().is_some_and(|error| !error.is_builder()))
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.send(self.http.get(self.url(path))).await?.json().await.with_context(|| format!("failed to read the answer of {path}"))
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> anyhow::Result<reqwest::Response> {
        let request = match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let response = request.send().await.with_context(|| {
            format!("failed to reach the coordinator at {}; start one with `blklab coordinator`, or name it with --server", self.server)
        })?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        if status.is_server_error() {
            return Err(Unavailable { server: self.server.clone(), status }.into());
        }
        let text = response.text().await.unwrap_or_default();
        match serde_json::from_str::<Refusal>(&text) {
            Ok(refusal) if refusal.help.is_empty() => bail!("{}", refusal.error),
            Ok(refusal) => bail!("{}\n  help: {}", refusal.error, refusal.help),
            Err(_) => bail!("{} answered {status}: {}", self.server, text.lines().next().unwrap_or_default()),
        }
    }
}
