//! A host whose agent is the test: it speaks the protocol word by word, and may do everything wrong.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use blklab_model::host::Host;
use blklab_model::id::BuildId;
use blklab_model::kernel::Blob;
use blklab_model::outcome::Outcome;
use blklab_wire::PROTOCOL;
use blklab_wire::agent::{
    BootProof, Claim, Heartbeat, HeartbeatReply, Hello, JobSpec, KernelSpec, Output, Refusal, TaskElapsed, TrialPhase, TrialReceipt,
    TrialReport, TrialSpec, Welcome,
};
use blklab_wire::build::{BuildOutcome, BuildReceipt, BuildReport, BuildSpec};
use reqwest::StatusCode;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A scripted host.
pub struct ScriptedHost {
    /// What it says of itself.
    pub host: Host,
    /// See [`Hello::incarnation`].
    pub incarnation: String,
    /// The token that it shows.
    pub token: String,
    http: reqwest::Client,
    url: String,
}

/// What the coordinator answers when it refuses.
pub type Refused = (StatusCode, Refusal);

impl ScriptedHost {
    /// A host that has not said anything yet.
    pub fn new(url: &str, host: Host, token: &str) -> ScriptedHost {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().tls_certs_only([]).build().expect("a client");
        let incarnation = format!("{}-machine.1", host.name);
        ScriptedHost { host, incarnation, token: token.to_owned(), http, url: url.to_owned() }
    }

    /// The same agent after `kill -9` and a new start on the same machine.
    pub fn restart(&mut self) {
        let (machine, count) = self.incarnation.rsplit_once('.').expect("MACHINE.COUNT");
        let count: u32 = count.parse().expect("a number");
        self.incarnation = format!("{machine}.{}", count + 1);
    }

    /// Follows a coordinator that was started again elsewhere.
    pub fn follow(&mut self, url: &str) {
        self.url = url.to_owned();
    }

    /// Says hello and keeps the token it is given.
    pub async fn hello(&mut self) -> Result<Welcome, Refused> {
        let hello = Hello {
            protocol: PROTOCOL,
            host: self.host.name.clone(),
            incarnation: self.incarnation.clone(),
            facts: self.host.facts.clone(),
            disks: self.host.disks.clone(),
        };
        let welcome: Welcome = self.post("hello", &hello).await?;
        if let Some(token) = &welcome.token {
            self.token = token.clone();
        }
        Ok(welcome)
    }

    /// Asks for a job without waiting.
    pub async fn claim(&self) -> Result<Option<JobSpec>, Refused> {
        let claim = Claim { host: self.host.name.clone(), incarnation: self.incarnation.clone(), wait_ms: 0 };
        self.post("claim", &claim).await
    }

    /// Says that it works on a trial of a job.
    pub async fn heartbeat(&self, job: &JobSpec, trial: Option<&TrialSpec>) -> Result<HeartbeatReply, Refused> {
        let at = trial.map(|spec| TrialPhase { trial: spec.trial, phase: "workload".into() });
        self.beat(Heartbeat {
            host: self.host.name.clone(),
            incarnation: self.incarnation.clone(),
            job: Some(job.job),
            at,
            dirty: None,
            build: None,
            last_boot: None,
        })
        .await
    }

    /// Any heartbeat.
    pub async fn beat(&self, beat: Heartbeat) -> Result<HeartbeatReply, Refused> {
        self.post("heartbeat", &beat).await
    }

    /// Asks for a kernel build without waiting.
    pub async fn claim_build(&self) -> Result<Option<BuildSpec>, Refused> {
        let claim = Claim { host: self.host.name.clone(), incarnation: self.incarnation.clone(), wait_ms: 0 };
        self.post("builds/claim", &claim).await
    }

    /// Says that it works on a build.
    pub async fn heartbeat_of_build(&self, build: BuildId) -> Result<HeartbeatReply, Refused> {
        self.beat(Heartbeat {
            host: self.host.name.clone(),
            incarnation: self.incarnation.clone(),
            job: None,
            at: None,
            dirty: None,
            build: Some(build),
            last_boot: None,
        })
        .await
    }

    /// Says how a build ended.
    pub async fn report_build(&self, spec: &BuildSpec, outcome: BuildOutcome, log: Option<Blob>) -> Result<BuildReceipt, Refused> {
        let report = BuildReport { host: self.host.name.clone(), build: spec.build, attempt: spec.attempt, outcome, log };
        self.post("builds/report", &report).await
    }

    /// Sends a file under a name.
    pub async fn put_blob(&self, sha256: &str, bytes: &[u8]) -> Result<Blob, Refused> {
        let request = self.http.put(format!("{}/api/v1/agent/blobs/{sha256}", self.url)).bearer_auth(&self.token);
        answer(request.body(bytes.to_vec())).await
    }

    /// Fetches a file.
    pub async fn blob(&self, sha256: &str) -> Result<Vec<u8>, StatusCode> {
        let request = self.http.get(format!("{}/api/v1/agent/blobs/{sha256}", self.url)).bearer_auth(&self.token);
        let response = request.send().await.expect("an answer");
        let status = response.status();
        if status.is_success() { Ok(response.bytes().await.expect("a body").to_vec()) } else { Err(status) }
    }

    /// What the kernel of a job proves when it was booted as asked.
    pub fn proof(&self, job: &JobSpec) -> Option<BootProof> {
        match &job.kernel {
            KernelSpec::AsBooted => None,
            KernelSpec::Boot(kernel) => Some(BootProof {
                release: kernel.release.clone(),
                build_id: kernel.build_id.clone(),
                boot_id: format!("{}-boot-of-{}", self.host.name, job.job),
                token: format!("token-of-{}", job.job),
                boot_ms: 6_300,
            }),
        }
    }

    /// A report of a trial in which dd read at `rate` bytes a second.
    pub fn completed(&self, job: &JobSpec, spec: &TrialSpec, rate: f64) -> TrialReport {
        let seconds = 8_388_608.0 / rate;
        TrialReport {
            host: self.host.name.clone(),
            job: job.job,
            trial: spec.trial,
            attempt: spec.attempt,
            outcome: Outcome::Completed,
            started: blklab_model::time::TimestampMs(1_767_225_600_000 + i64::from(spec.trial.run) * 10_000),
            phases: Vec::new(),
            window: None,
            elapsed: vec![TaskElapsed { task: "reader".into(), seconds }],
            outputs: vec![Output { name: "reader.err".into(), base64: BASE64_STANDARD.encode(dd_output(seconds)), truncated_bytes: 0 }],
            environment: vec![("scheduler".into(), spec.scheduler.name.clone())],
            boot: self.proof(job),
        }
    }

    /// Uploads a report.
    pub async fn report(&self, report: &TrialReport) -> Result<TrialReceipt, Refused> {
        self.post("trial", report).await
    }

    /// Works until there is no job left; `rate` says how fast dd is in a trial. Returns the trials it ran.
    pub async fn work(&self, rate: impl Fn(&TrialSpec) -> f64) -> u32 {
        let mut done = 0;
        while let Some(job) = self.claim().await.expect("a claim") {
            for spec in &job.trials {
                self.heartbeat(&job, Some(spec)).await.expect("a heartbeat");
                let report = self.completed(&job, spec, rate(spec));
                assert!(self.report(&report).await.expect("a receipt").counted, "{}", spec.trial);
                done += 1;
            }
        }
        done
    }

    /// Sends any body to an address of the agents' API.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Refused> {
        self.post_raw(path, serde_json::to_vec(body).expect("JSON")).await
    }

    /// Likewise, byte by byte.
    pub async fn post_raw<T: DeserializeOwned>(&self, path: &str, body: Vec<u8>) -> Result<T, Refused> {
        let request = self.http.post(format!("{}/api/v1/agent/{path}", self.url)).bearer_auth(&self.token);
        answer(request.header("content-type", "application/json").body(body)).await
    }
}

async fn answer<T: DeserializeOwned>(request: reqwest::RequestBuilder) -> Result<T, Refused> {
    let response = request.send().await.expect("an answer");
    let status = response.status();
    let text = response.text().await.expect("a body");
    if status.is_success() {
        Ok(serde_json::from_str(&text).expect("the promised answer"))
    } else {
        Err((status, serde_json::from_str(&text).unwrap_or(Refusal { error: text, help: String::new() })))
    }
}

/// What GNU dd prints after reading 8 MiB in so many seconds.
pub fn dd_output(seconds: f64) -> String {
    format!("8+0 records in\n8+0 records out\n8388608 bytes (8.4 MB, 8.0 MiB) copied, {seconds:.6} s, 16.8 MB/s\n")
}
