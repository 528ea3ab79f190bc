//! A coordinator of a few lines with a queue of builds, which the tests tell what to say.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use blklab_model::build::BuildRequest;
use blklab_model::id::{BuildId, KernelId};
use blklab_wire::agent::{Claim, Heartbeat, HeartbeatReply, Hello, Refusal, Welcome};
use blklab_wire::build::{BuildReceipt, BuildReport, BuildSpec, Known};

use crate::builder::config::{self, BuilderConfig};

/// Longer than anything in the tests takes, even on a machine under load.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Clone)]
pub(super) struct Coordinator {
    address: SocketAddr,
    shared: Arc<(Mutex<Inner>, Condvar)>,
}

#[derive(Default)]
pub(super) struct Inner {
    pub(super) builds: VecDeque<BuildSpec>,
    pub(super) hellos: Vec<Hello>,
    pub(super) heartbeats: Vec<Heartbeat>,
    pub(super) claims: usize,
    pub(super) reports: Vec<BuildReport>,
    pub(super) blobs: BTreeMap<String, Vec<u8>>,
    /// Kernels that the lab has.
    pub(super) known: Vec<KernelId>,
    /// Takes every build back.
    pub(super) drop_builds: bool,
    /// Paths that are answered with a status. One that was answered so is counted.
    pub(super) refuse: BTreeMap<&'static str, u16>,
    pub(super) refused: usize,
}

impl Coordinator {
    pub(super) fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let coordinator = Coordinator { address: listener.local_addr().unwrap(), shared: Arc::default() };
        let agents = Router::new()
            .route("/hello", post(hello))
            .route("/heartbeat", post(heartbeat))
            .route("/builds/claim", post(claim))
            .route("/builds/known", post(known))
            .route("/builds/report", post(report))
            .route("/blobs/{sha256}", get(blob).put(put_blob))
            .layer(from_fn_with_state(coordinator.clone(), refuse))
            .layer(DefaultBodyLimit::max(64 << 20))
            .with_state(coordinator.clone());
        let router = Router::new().nest("/api/v1/agent", agents);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async { axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), router).await.unwrap() });
        });
        coordinator
    }

    /// A configuration for a builder of this coordinator, with everything in `dir`.
    pub(super) fn config(&self, dir: &std::path::Path) -> BuilderConfig {
        std::fs::write(dir.join("enrolment"), "enrolment-token").unwrap();
        let (dir, address) = (dir.display(), self.address);
        let text = format!(
            "name = \"builder\"\ncoordinator = \"http://{address}\"\ntoken_file = \"{dir}/enrolment\"\nstate_dir = \"{dir}/state\"\n"
        );
        let mut config = config::parse("builder.toml", &text).unwrap();
        config.limits.space_bytes = 0;
        config
    }

    pub(super) fn tell(&self) -> MutexGuard<'_, Inner> {
        self.shared.0.lock().unwrap()
    }

    pub(super) fn push(&self, number: u32, attempt: u32, request: BuildRequest) {
        self.change(|inner| inner.builds.push_back(BuildSpec { build: BuildId(number), attempt, request }));
    }

    /// Waits until something is so.
    pub(super) fn wait_until(&self, what: &str, is_so: impl Fn(&Inner) -> bool) {
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

async fn refuse(State(coordinator): State<Coordinator>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let status = coordinator.tell().refuse.iter().find(|(refused, _)| path.contains(*refused)).map(|(_, status)| *status);
    let Some(status) = status else { return next.run(request).await };
    coordinator.change(|inner| inner.refused += 1);
    let refusal = Refusal { error: format!("no {path}"), help: String::new() };
    (StatusCode::from_u16(status).unwrap(), Json(refusal)).into_response()
}

async fn hello(State(coordinator): State<Coordinator>, Json(hello): Json<Hello>) -> Json<Welcome> {
    coordinator.change(|inner| inner.hellos.push(hello));
    Json(Welcome { token: Some("own-token".to_owned()), heartbeat_ms: 50 })
}

async fn heartbeat(State(coordinator): State<Coordinator>, Json(heartbeat): Json<Heartbeat>) -> Json<HeartbeatReply> {
    let drop_build = coordinator.tell().drop_builds && heartbeat.build.is_some();
    coordinator.change(|inner| inner.heartbeats.push(heartbeat));
    Json(HeartbeatReply { drop_job: false, drop_build })
}

/// Answers at once: the tests have no time for a long poll, and the builder asks again.
async fn claim(State(coordinator): State<Coordinator>, Json(_claim): Json<Claim>) -> Json<Option<BuildSpec>> {
    let build = coordinator.tell().builds.pop_front();
    coordinator.change(|inner| inner.claims += 1);
    if build.is_none() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Json(build)
}

async fn known(State(coordinator): State<Coordinator>, Json(known): Json<Known>) -> Json<bool> {
    Json(coordinator.tell().known.contains(&known.id))
}

async fn report(State(coordinator): State<Coordinator>, Json(report): Json<BuildReport>) -> Json<BuildReceipt> {
    coordinator.change(|inner| inner.reports.push(report));
    Json(BuildReceipt { counted: true })
}

async fn blob(State(coordinator): State<Coordinator>, Path(sha256): Path<String>) -> Result<Vec<u8>, StatusCode> {
    coordinator.tell().blobs.get(&sha256).cloned().ok_or(StatusCode::NOT_FOUND)
}

async fn put_blob(State(coordinator): State<Coordinator>, Path(sha256): Path<String>, body: Bytes) -> StatusCode {
    let is_new = !coordinator.tell().blobs.contains_key(&sha256);
    assert!(is_new, "sent although it is there");
    coordinator.change(|inner| _ = inner.blobs.insert(sha256, body.to_vec()));
    StatusCode::CREATED
}
