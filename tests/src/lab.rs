//! A coordinator for one test.

use blklab_coordinator::client::Client;
use blklab_coordinator::clock::Clock;
use blklab_coordinator::http;
use blklab_coordinator::lab::Lab;
use blklab_coordinator::schedule::tick;
use blklab_model::kernel::{Blob, KernelRecord};
use blklab_model::time::{SpanMs, TimestampMs};
use blklab_wire::people::{AddKernel, NamedText, Overrides, Submit};
use sha2::{Digest, Sha256};
use tempfile::{NamedTempFile, TempDir};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::ScriptedHost;

/// Where the clock stands at first: 2026-01-01T00:00:00Z.
const BEGINNING: TimestampMs = TimestampMs(1_767_225_600_000);

/// A coordinator with its folder; both go when it is dropped.
pub struct TestLab {
    /// Its state, to look inside.
    pub lab: Lab,
    /// Its address, `http://127.0.0.1:PORT`.
    pub url: String,
    folder: TempDir,
    database: Option<String>,
    server: Server,
}

impl TestLab {
    /// A lab on SQLite.
    pub async fn new() -> TestLab {
        TestLab::on(None).await
    }

    /// A lab on a database.
    pub async fn on(database: Option<&str>) -> TestLab {
        let folder = TempDir::new().expect("a temporary folder");
        TestLab::start(folder, database.map(str::to_owned), Clock::fixed(BEGINNING)).await
    }

    /// The same lab after its coordinator was killed and started again.
    pub async fn restarted(self) -> TestLab {
        drop(self.server);
        let clock = self.lab.clock.clone();
        self.lab.store.close().await;
        TestLab::start(self.folder, self.database, clock).await
    }

    /// Moves the clock and lets the coordinator look.
    pub async fn pass(&self, span: SpanMs) {
        self.lab.clock.advance(span);
        tick::tick(&self.lab).await.expect("a tick");
    }

    /// A client with the submission token.
    pub fn client(&self) -> Client {
        Client::new(&self.url, Some(self.token("submit"))).expect("a client")
    }

    /// `enrol` or `submit`.
    pub fn token(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.folder.path().join(format!("{name}.token"))).expect("a token");
        text.trim().to_owned()
    }

    /// A host that has enrolled, with a disk of each class.
    pub async fn host(&self, name: &str, classes: &[&str]) -> ScriptedHost {
        let mut host = ScriptedHost::new(&self.url, blklab_model::testing::host(name, classes), &self.token("enrol"));
        host.hello().await.expect("a welcome");
        host
    }

    /// A host that boots kernels, with a disk of each class.
    pub async fn booting_host(&self, name: &str, classes: &[&str]) -> ScriptedHost {
        let mut host = ScriptedHost::new(&self.url, blklab_model::testing::booting_host(name, classes), &self.token("enrol"));
        host.hello().await.expect("a welcome");
        host
    }

    /// A host that builds kernels.
    pub async fn builder(&self, name: &str) -> ScriptedHost {
        let mut model = blklab_model::testing::host(name, &[]);
        model.facts.builder = true;
        let mut host = ScriptedHost::new(&self.url, model, &self.token("enrol"));
        host.hello().await.expect("a welcome");
        host
    }

    /// Sends bytes as a file of a kernel.
    pub async fn put_blob(&self, bytes: &[u8]) -> Blob {
        let file = NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), bytes).expect("a written file");
        let blob = blob(bytes);
        self.client().put_blob(file.path(), &blob).await.expect("a place for the file");
        blob
    }

    /// Adds a kernel with files of its own; `digit` makes its signature and build id.
    pub async fn add_kernel(&self, name: &str, digit: char) -> KernelRecord {
        self.add_kernel_or(name, digit).await.expect("a place for the kernel")
    }

    /// Likewise, where it may be refused.
    pub async fn add_kernel_or(&self, name: &str, digit: char) -> anyhow::Result<KernelRecord> {
        let model = blklab_model::testing::kernel(name, digit);
        let kernel = AddKernel {
            image: self.put_blob(format!("image {digit}").as_bytes()).await,
            modules: Some(self.put_blob(format!("modules {digit}").as_bytes()).await),
            config: Some(self.put_blob(b"CONFIG_PVH=y\n").await),
            name: model.name,
            id: model.id,
            release: model.release,
            build_id: model.build_id,
            source: model.source,
            toolchain: model.toolchain,
            arguments: model.arguments,
        };
        self.client().add_kernel(&kernel).await
    }

    /// The data folder.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    async fn start(folder: TempDir, database: Option<String>, clock: Clock) -> TestLab {
        let lab = Lab::open(folder.path(), database.as_deref(), clock).await.expect("a lab");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let router = http::router(lab.clone());
        let server = Server(tokio::spawn(async move { axum::serve(listener, router).await.expect("a server") }));
        TestLab { lab, url, folder, database, server }
    }
}

/// Digest and length of bytes.
pub fn blob(bytes: &[u8]) -> Blob {
    let sha256 = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Blob { sha256, bytes: bytes.len() as u64 }
}

/// The server's task, which ends with it.
struct Server(JoinHandle<()>);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Compares kernels, the first being the baseline, on `sata-hdd` with one scheduler.
pub fn kernel_submission(kernels: &[&str], changes: &[(&str, &str)]) -> Submit {
    let list = kernels.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let axis = format!("kernel = [{list}]\nscheduler = [\"none\"]");
    let mut all = vec![("compare = \"scheduler\"", "compare = \"kernel\""), ("scheduler = [\"none\", \"bfq\"]", axis.as_str())];
    all.extend(changes);
    submission(&all)
}

/// Submits the experiment of `blklab_model::testing` with its workload, some texts replaced.
pub fn submission(changes: &[(&str, &str)]) -> Submit {
    let mut text = blklab_model::testing::experiment_file().to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    Submit {
        file: NamedText { name: "experiment.toml".into(), text },
        workloads: vec![NamedText { name: "reader.toml".into(), text: blklab_model::testing::workload_file("reader") }],
        overrides: Overrides { seed: Some(7), ..Overrides::default() },
        submitter: "a tester".into(),
    }
}
