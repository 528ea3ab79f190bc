//! Talks to a coordinator for the command line.

use anyhow::{Context, bail};
use std::path::Path;

use blklab_model::build::{BuildRecord, BuildRequest};
use blklab_model::id::{BuildId, ExperimentId, KernelName};
use blklab_model::kernel::{Blob, KernelRecord};
use blklab_model::report::Report;
use blklab_wire::agent::Refusal;
use blklab_wire::people::{AddKernel, BuildAccepted, BuildLine, ExperimentLine, HostLine, Import, Progress, Submit, Submitted};
use serde::de::DeserializeOwned;

use crate::kernels::MAX_BLOB_BYTES;

/// No answer takes longer: the slowest is the report of a large matrix.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

/// For a file of a kernel, some 400 MB at most, through a line of 1 MB/s.
const UPLOAD_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(600);

/// Bytes of a file sent at once.
const PIECE: usize = 256 << 10;

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

    /// Imports values as an experiment.
    pub async fn import(&self, import: &Import) -> anyhow::Result<Submitted> {
        self.send(self.http.post(self.url("/api/v1/imports")).json(import)).await?.json().await.context("failed to read the answer")
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

    /// Sends a file of a kernel unless it is there already; true when it was sent.
    pub async fn put_blob(&self, file: &Path, blob: &Blob) -> anyhow::Result<bool> {
        // The coordinator would say so too, but break the connection off while the file is still being sent.
        if blob.bytes > MAX_BLOB_BYTES {
            let (file, bytes) = (file.display(), blob.bytes);
            bail!("{file} has {bytes} bytes, more than {MAX_BLOB_BYTES}\n  help: strip debugging information (INSTALL_MOD_STRIP=1)");
        }
        let url = self.url(&format!("/api/v1/blobs/{}", blob.sha256));
        let there = self.http.head(&url).send().await.with_context(|| self.away())?;
        let length = there.headers().get(reqwest::header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if there.status().is_success() && length == Some(blob.bytes) {
            return Ok(false);
        }
        let opened = tokio::fs::File::open(file).await.with_context(|| format!("failed to open {}", file.display()))?;
        let pieces = futures_util::stream::try_unfold(opened, async |mut file| {
            let mut piece = Vec::with_capacity(PIECE);
            let read = tokio::io::AsyncReadExt::read_buf(&mut file, &mut piece).await?;
            Ok::<_, std::io::Error>((read > 0).then_some((piece, file)))
        });
        let body = reqwest::Body::wrap_stream(pieces);
        let request = self.http.put(url).header(reqwest::header::CONTENT_LENGTH, blob.bytes).timeout(UPLOAD_TIMEOUT).body(body);
        self.send(request).await.with_context(|| format!("failed to send {}", file.display()))?;
        Ok(true)
    }

    /// Adds a kernel whose files were sent.
    pub async fn add_kernel(&self, kernel: &AddKernel) -> anyhow::Result<KernelRecord> {
        self.send(self.http.post(self.url("/api/v1/kernels")).json(kernel)).await?.json().await.context("failed to read the answer")
    }

    /// Kernels, the newest first.
    pub async fn kernels(&self) -> anyhow::Result<Vec<KernelRecord>> {
        self.get("/api/v1/kernels").await
    }

    /// One kernel.
    pub async fn kernel(&self, name: &KernelName) -> anyhow::Result<KernelRecord> {
        self.get(&format!("/api/v1/kernels/{name}")).await
    }

    /// Removes a kernel.
    pub async fn remove_kernel(&self, name: &KernelName) -> anyhow::Result<()> {
        self.send(self.http.delete(self.url(&format!("/api/v1/kernels/{name}")))).await.map(|_| ())
    }

    /// Asks for a kernel to be built.
    pub async fn build(&self, request: &BuildRequest, submitter: &str) -> anyhow::Result<BuildAccepted> {
        let request = self.http.post(self.url("/api/v1/builds")).query(&[("submitter", submitter)]).json(request);
        self.send(request).await?.json().await.context("failed to read the answer")
    }

    /// The newest builds.
    pub async fn builds(&self) -> anyhow::Result<Vec<BuildLine>> {
        self.get("/api/v1/builds").await
    }

    /// One build.
    pub async fn build_record(&self, id: BuildId) -> anyhow::Result<BuildRecord> {
        self.get(&format!("/api/v1/builds/{id}")).await
    }

    /// Stops a build.
    pub async fn cancel_build(&self, id: BuildId) -> anyhow::Result<()> {
        self.send(self.http.post(self.url(&format!("/api/v1/builds/{id}/cancel")))).await.map(|_| ())
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

    fn away(&self) -> String {
        format!("failed to reach the coordinator at {}; start one with `blklab coordinator`, or name it with --server", self.server)
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.send(self.http.get(self.url(path))).await?.json().await.with_context(|| format!("failed to read the answer of {path}"))
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> anyhow::Result<reqwest::Response> {
        let request = match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let response = request.send().await.with_context(|| self.away())?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        // A full disk is a refusal with a reason.
        if status.is_server_error() && status != reqwest::StatusCode::INSUFFICIENT_STORAGE {
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
