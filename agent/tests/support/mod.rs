//! A coordinator of a few lines, which the tests tell what to say. It knows nothing of experiments: it hands out jobs and keeps reports.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use blklab_agent::config::Config;
use blklab_wire::agent::{
    Claim, Heartbeat, HeartbeatReply, Hello, JobSpec, KernelSpec, MAX_REPORT_BYTES, Refusal, TrialReceipt, TrialReport, TrialSpec, Welcome,
};

/// The lab's enrolment token.
pub(crate) const ENROLMENT: &str = "enrolment-token";

/// The token that an enrolled host gets.
pub(crate) const OWN: &str = "own-token";

/// Longer than anything in the tests takes, even on a machine under load.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub(crate) struct Coordinator {
    pub(crate) address: SocketAddr,
    shared: Arc<(Mutex<Inner>, Condvar)>,
}

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) jobs: VecDeque<JobSpec>,
    pub(crate) hellos: Vec<Hello>,
    pub(crate) heartbeats: Vec<Heartbeat>,
    pub(crate) claims: usize,
    pub(crate) reports: Vec<TrialReport>,
    /// Answers 503 to everything.
    pub(crate) is_away: bool,
    /// How often it did.
    pub(crate) turned_away: usize,
    /// Answers this status to hello.
    pub(crate) refuse_hello: Option<u16>,
    /// Answers this status to heartbeats.
    pub(crate) refuse_heartbeats: Option<u16>,
    /// Answers this status to claims.
    pub(crate) refuse_claims: Option<u16>,
    /// Answers this status to reports.
    pub(crate) refuse_reports: Option<u16>,
    /// Answers these statuses to reports by trial, in plain text as axum's own rejections are.
    pub(crate) reject_reports: BTreeMap<String, u16>,
    /// Takes every job back.
    pub(crate) drop_jobs: bool,
    /// Forgot the hosts' own tokens.
    pub(crate) has_forgotten: bool,
}

impl Coordinator {
    pub(crate) fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let coordinator = Coordinator { address: listener.local_addr().unwrap(), shared: Arc::default() };
        let router = Router::new()
            .route("/api/v1/agent/hello", post(hello))
            .route("/api/v1/agent/heartbeat", post(heartbeat))
            .route("/api/v1/agent/claim", post(claim))
            .route("/api/v1/agent/trial", post(trial))
            .layer(DefaultBodyLimit::max(MAX_REPORT_BYTES))
            .with_state(coordinator.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async { axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), router).await.unwrap() });
        });
        coordinator
    }

    /// A configuration for an agent of this coordinator, with everything in `dir`.
    pub(crate) fn config(&self, dir: &std::path::Path, disks: &str) -> Config {
        blklab_agent::config::parse("agent.toml", &self.config_text(dir, disks)).unwrap()
    }

    pub(crate) fn config_text(&self, dir: &std::path::Path, disks: &str) -> String {
        std::fs::write(dir.join("enrolment"), ENROLMENT).unwrap();
        let dir = dir.display();
        let name = format!("test-{}", std::process::id());
        let address = self.address;
        format!(
            "name = \"{name}\"\ncoordinator = \"http://{address}\"\ntoken_file = \"{dir}/enrolment\"\nstate_dir = \"{dir}/state\"\n{disks}"
        )
    }

    pub(crate) fn tell(&self) -> MutexGuard<'_, Inner> {
        self.shared.0.lock().unwrap()
    }

    pub(crate) fn push_job(&self, number: u32, trials: Vec<TrialSpec>) {
        let job = format!("x1.j{number}").parse().unwrap();
        self.tell().jobs.push_back(JobSpec { job, kernel: KernelSpec::AsBooted, trials });
        self.shared.1.notify_all();
    }

    /// Waits until something is so.
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&Inner) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        let mut inner = self.tell();
        while !is_so(&inner) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain until {what}");
            inner = self.shared.1.wait_timeout(inner, left).unwrap().0;
        }
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) {
        change(&mut self.tell());
        self.shared.1.notify_all();
    }
}

fn refusal(status: u16, error: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    (status, Json(Refusal { error: error.to_owned(), help: String::new() })).into_response()
}

/// None when the request may pass.
fn stopped(coordinator: &Coordinator, headers: &HeaderMap) -> Option<Response> {
    let token = headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let mut inner = coordinator.tell();
    if inner.is_away {
        inner.turned_away += 1;
        coordinator.shared.1.notify_all();
        return Some(StatusCode::SERVICE_UNAVAILABLE.into_response());
    }
    let is_known = token == Some(ENROLMENT) || (token == Some(OWN) && !inner.has_forgotten);
    (!is_known).then(|| refusal(401, "unknown token"))
}

async fn hello(State(coordinator): State<Coordinator>, headers: HeaderMap, Json(hello): Json<Hello>) -> Response {
    let stop = stopped(&coordinator, &headers);
    let refused = coordinator.tell().refuse_hello;
    match (stop, refused) {
        (Some(response), _) => response,
        (None, Some(status)) => refusal(status, "another agent has this name"),
        (None, None) => {
            coordinator.change(|inner| {
                inner.hellos.push(hello);
                inner.has_forgotten = false;
            });
            Json(Welcome { token: Some(OWN.to_owned()), heartbeat_ms: 50 }).into_response()
        }
    }
}

async fn heartbeat(State(coordinator): State<Coordinator>, headers: HeaderMap, Json(heartbeat): Json<Heartbeat>) -> Response {
    if let Some(response) = stopped(&coordinator, &headers) {
        return response;
    }
    if let Some(status) = coordinator.tell().refuse_heartbeats {
        return refusal(status, "another agent took over");
    }
    let drop_job = coordinator.tell().drop_jobs && heartbeat.job.is_some();
    coordinator.change(|inner| inner.heartbeats.push(heartbeat));
    Json(HeartbeatReply { drop_job, drop_build: false }).into_response()
}

/// Answers at once: the tests have no time for a long poll, and the agent asks again.
async fn claim(State(coordinator): State<Coordinator>, headers: HeaderMap, Json(_claim): Json<Claim>) -> Response {
    if let Some(response) = stopped(&coordinator, &headers) {
        return response;
    }
    let refused = coordinator.tell().refuse_claims;
    if let Some(status) = refused {
        return refusal(status, "another agent took over");
    }
    let job = coordinator.tell().jobs.pop_front();
    coordinator.change(|inner| inner.claims += 1);
    if job.is_none() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Json(job).into_response()
}

async fn trial(State(coordinator): State<Coordinator>, headers: HeaderMap, Json(report): Json<TrialReport>) -> Response {
    if let Some(response) = stopped(&coordinator, &headers) {
        return response;
    }
    if let Some(status) = coordinator.tell().refuse_reports {
        return refusal(status, "malformed");
    }
    let rejected = coordinator.tell().reject_reports.get(&report.trial.to_string()).copied();
    if let Some(status) = rejected {
        return (StatusCode::from_u16(status).unwrap(), "Failed to deserialize the JSON body into the target type").into_response();
    }
    let is_new = !coordinator.tell().reports.iter().any(|known| known.trial == report.trial && known.attempt == report.attempt);
    coordinator.change(|inner| inner.reports.push(report));
    Json(TrialReceipt { counted: is_new }).into_response()
}
