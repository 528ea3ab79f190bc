//! A builder's life with its coordinator. Heartbeats go on whatever happens; builds run as blocking code on a thread of their own. A build
//! that was begun is finished while the coordinator is away, and handed in when it is back.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use blklab_model::build::BuildFault;
use blklab_model::host::HostFacts;
use blklab_wire::agent::MAX_CLAIM_WAIT_MS;
use blklab_wire::build::{BuildOutcome, BuildReceipt, BuildSpec};

use super::config::BuilderConfig;
use super::leftover;
use super::parcel::{self, Parcel};
use crate::build::{self, Failure, Folder, Hooks, Manifest, ModuleSource, Signature, local, manifest, tools};
use crate::host::{StateError, lock, private_folder};
use crate::inventory::host;
use crate::session::backoff::Backoff;
use crate::session::client::{Client, ClientError};
use crate::session::link::{FAREWELL, Link};
use crate::session::{Pauses, SessionError};
use crate::stop::Stop;
use crate::sys::SysError;
use crate::sys::cgroup::Hierarchy;
use crate::sys::roots::Roots;

/// After a build that this builder spoiled, before the next one is claimed: a full disk spoils that as well, and a build has only three
/// attempts. Short, since the author of a mistyped tag waits for all of them.
const FIRST_PAUSE: Duration = Duration::from_secs(10);

/// The pause doubles up to this; an admin who has cured it does not wait longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// The pauses of a builder.
pub const PAUSES: Pauses = Pauses { first: FIRST_PAUSE, longest: LONGEST_PAUSE };

/// Why a builder does not start, or ends.
#[derive(Debug, thiserror::Error)]
pub enum BuilderError {
    /// Its folder.
    #[error(transparent)]
    State(#[from] StateError),
    /// The cache folder.
    #[error("{0}")]
    Cache(Failure),
    /// Programs that every build needs: without them this builder would spoil what another one can make.
    #[error("no kernel can be built here: {0}")]
    Tools(String),
    /// A module that every kernel is to get.
    #[error("failed to {0}")]
    Sys(#[from] SysError),
    /// The coordinator.
    #[error(transparent)]
    Session(#[from] SessionError),
}

type Result<T> = std::result::Result<T, BuilderError>;

/// Serves the coordinator until `stop` is asked. A build that is under way then is ended; the lab asks for it again.
pub async fn serve(config: &BuilderConfig, stop: Stop, pauses: Pauses) -> Result<()> {
    if let Some(missing) = tools::missing(&tools::ALWAYS) {
        return Err(BuilderError::Tools(missing));
    }
    private_folder(&config.state_dir)?;
    let _lock = lock(&config.state_dir)?;
    let modules = config.modules.iter().map(|folder| local::module(folder)).collect::<std::result::Result<_, _>>()?;
    let roots = Roots::live();
    let mut builder = Builder {
        link: Link::new(&config.of_session(), &host::machine_id(&roots), stop)?,
        facts: HostFacts { builder: true, ..host::facts(&roots, &Hierarchy::WithoutLimits(None)) },
        folder: Arc::new(take(config.cache_dir.clone()).await?),
        out: config.out(),
        limits: config.limits.clone(),
        modules,
        faults: Backoff::between(pauses.first, pauses.longest),
    };
    builder.serve().await
}

/// Takes the cache folder, from the programs of a former builder where those are still at work.
async fn take(cache: PathBuf) -> Result<Folder> {
    let taken = tokio::task::spawn_blocking(move || {
        let ended = leftover::end(&cache);
        if ended > 0 {
            tracing::warn!(ended, "programs of a build whose builder was killed were ended");
        }
        Folder::open(&cache)
    });
    taken.await.map_err(|error| SessionError::Panic(error.to_string()))?.map_err(BuilderError::Cache)
}

struct Builder {
    link: Link,
    facts: HostFacts,
    folder: Arc<Folder>,
    /// Where the last kernel is.
    out: PathBuf,
    limits: build::Limits,
    modules: Vec<ModuleSource>,
    /// Pauses after faults of the infrastructure, in a row.
    faults: Backoff,
}

/// What becomes of the session.
enum Next {
    /// Claim again.
    Claim,
    /// Say hello again: the coordinator went away or forgot us.
    Anew,
    Stop,
}

impl Builder {
    async fn serve(&mut self) -> Result<()> {
        while !self.link.stop.is_asked() {
            let Some(period) = self.link.hello(self.facts.clone(), Vec::new()).await? else { break };
            let heartbeat = self.link.beat(period);
            let next = self.work().await;
            heartbeat.abort();
            let next = next?;
            if let Some(reason) = self.link.status.superseded() {
                return Err(self.link.name_taken(reason).into());
            }
            match next {
                Next::Claim | Next::Anew => {}
                Next::Stop => break,
            }
        }
        // Seen to be idle at once; the build comes back with its lease.
        self.link.status.set_build(None);
        let _ = tokio::time::timeout(FAREWELL, self.link.client.heartbeat(&self.link.status)).await;
        Ok(())
    }

    /// Claims and makes builds until something ends it.
    async fn work(&mut self) -> Result<Next> {
        self.link.status.found_again();
        let mut backoff = Backoff::default();
        loop {
            if self.link.stop.is_asked() {
                return Ok(Next::Stop);
            }
            if self.link.status.superseded().is_some() {
                return Ok(Next::Anew);
            }
            if self.link.status.is_lost() {
                return Ok(self.wait(backoff.next(), Next::Anew).await);
            }
            let claimed = tokio::select! {
                claimed = self.link.client.claim_build(MAX_CLAIM_WAIT_MS) => claimed,
                () = self.link.stop.asked() => return Ok(Next::Stop),
                () = self.link.status.until_superseded() => continue,
            };
            match claimed {
                Ok(Some(spec)) => match self.job(spec).await? {
                    Next::Claim => {}
                    next @ (Next::Anew | Next::Stop) => return Ok(next),
                },
                Ok(None) => {}
                Err(ClientError::Refused { status: 409, refusal }) => self.link.status.supersede(refusal.error),
                Err(error) => {
                    tracing::warn!(%error, "cannot claim");
                    return Ok(self.wait(backoff.next(), Next::Anew).await);
                }
            }
        }
    }

    async fn wait(&self, pause: Duration, next: Next) -> Next {
        if self.link.sleep(pause).await { Next::Stop } else { next }
    }

    /// From the claim to the receipt.
    async fn job(&mut self, spec: BuildSpec) -> Result<Next> {
        let build = spec.build;
        tracing::info!(%build, attempt = spec.attempt, kernel = %spec.request.name, "claimed");
        self.link.status.set_build(Some(build));
        self.link.status.send_now();
        let parcel = self.build(spec).await?;
        let mut is_spoiled = false;
        let next = match parcel {
            None => {
                tracing::info!(%build, "left before its end");
                Next::Claim
            }
            Some(parcel) => {
                is_spoiled = told(&parcel);
                self.hand_in(parcel).await
            }
        };
        self.link.status.set_build(None);
        self.link.status.send_now();
        match next {
            Next::Claim if is_spoiled => {
                let pause = self.faults.next();
                tracing::warn!("the next build is claimed after a pause of {} s", pause.as_secs());
                Ok(self.wait(pause, Next::Claim).await)
            }
            next @ (Next::Claim | Next::Anew | Next::Stop) => {
                self.faults.reset();
                Ok(next)
            }
        }
    }

    /// None when it was stopped: by whoever ends this builder, or because the lab no longer wants it from here.
    async fn build(&self, spec: BuildSpec) -> Result<Option<Parcel>> {
        let stop = Stop::default();
        let (runtime, client, asked) = (tokio::runtime::Handle::current(), Arc::clone(&self.link.client), stop.clone());
        let (folder, out) = (Arc::clone(&self.folder), self.out.clone());
        let task = parcel::spec(&spec.request, self.modules.clone(), self.limits.clone());
        let mut building = tokio::task::spawn_blocking(move || {
            let build = spec.build;
            let hooks = Hooks {
                known: &|signature| known(&runtime, &client, signature, Manifest::read(&out).as_ref()),
                enter: &|action| tracing::info!(%build, "{action}"),
                stop: &asked,
            };
            let report = build::build(&task, &folder, &out, &hooks);
            parcel::parcel(client.host(), &spec, report, &out)
        });
        loop {
            tokio::select! {
                built = &mut building => return Ok(built.map_err(|error| SessionError::Panic(error.to_string()))?),
                () = self.link.stop.asked(), if !stop.is_asked() => stop.ask(),
                () = self.link.status.until_build_dropped(), if !stop.is_asked() => stop.ask(),
            }
        }
    }

    /// Sends the files, then the report, for as long as it takes: the work of hours is not thrown away because the coordinator is away. It
    /// is, when that fails and the lab no longer wants it from here.
    async fn hand_in(&mut self, mut parcel: Parcel) -> Next {
        let build = parcel.report.build;
        let mut backoff = Backoff::default();
        let mut next = Next::Claim;
        loop {
            match deliver(&self.link.client, &parcel).await {
                Ok(receipt) => {
                    tracing::info!(%build, counted = receipt.counted, "handed in");
                    return next;
                }
                Err(Undelivered { file: Some(file), error }) if is_final(&error) => {
                    tracing::error!(%build, file = %file.display(), %error, "the coordinator will never take this file");
                    parcel = parcel.refused(&file, &error.to_string());
                    // It may be damaged: the next attempt makes it anew.
                    let _ = std::fs::remove_file(self.out.join(manifest::MANIFEST));
                    continue;
                }
                Err(Undelivered { file: None, error }) if is_final(&error) => {
                    tracing::error!(%build, %error, "the coordinator will never take this report");
                    return next;
                }
                Err(Undelivered { error, .. }) => {
                    tracing::warn!(%build, %error, "not handed in yet");
                    // Only a hello gets another token.
                    if error.refused_as() == Some(UNAUTHORISED) {
                        next = Next::Anew;
                    }
                }
            }
            if self.link.status.is_build_dropped() {
                tracing::info!(%build, "no longer wanted from here");
                return next;
            }
            if self.link.sleep(backoff.next()).await {
                return Next::Stop;
            }
            if matches!(next, Next::Anew) && !matches!(self.link.hello(self.facts.clone(), Vec::new()).await, Ok(Some(_))) {
                return Next::Anew;
            }
        }
    }
}

/// RFC 9110, 15.5.2.
const UNAUTHORISED: u16 = 401;

/// RFC 9110, 15.5.9: the line was too slow.
const TIMED_OUT: u16 = 408;

/// Says how it went; true when the builder spoiled it.
fn told(parcel: &Parcel) -> bool {
    let build = parcel.report.build;
    match &parcel.report.outcome {
        BuildOutcome::Built(kernel) => tracing::info!(%build, release = kernel.release, build_id = kernel.build_id, "built"),
        BuildOutcome::Reused(id) => tracing::info!(%build, kernel = id.short(), "the lab has this kernel already"),
        BuildOutcome::Failed(failure) => {
            tracing::warn!(%build, fault = failure.fault.words(), "failed: {}", failure.message);
            return failure.fault == BuildFault::Infrastructure;
        }
    }
    false
}

/// Where a kernel with this signature is, if anywhere. While the coordinator is away it is built: that may be in vain, waiting surely is.
fn known(runtime: &tokio::runtime::Handle, client: &Client, signature: &Signature, here: Option<&Manifest>) -> Option<String> {
    match runtime.block_on(client.knows_kernel(&parcel::kernel_id(signature))) {
        Ok(true) => return Some(parcel::LAB.to_owned()),
        Ok(false) => {}
        Err(error) => tracing::warn!(%error, "cannot ask whether the lab has this kernel"),
    }
    here.is_some_and(|here| here.signature == *signature).then(|| parcel::HERE.to_owned())
}

/// Why a parcel has not arrived.
struct Undelivered {
    /// The file that was sent; none for the report itself.
    file: Option<PathBuf>,
    error: ClientError,
}

async fn deliver(client: &Client, parcel: &Parcel) -> std::result::Result<BuildReceipt, Undelivered> {
    for (file, blob) in &parcel.files {
        let sent = client.put_blob(file, blob).await.map_err(|error| Undelivered { file: Some(file.clone()), error })?;
        tracing::debug!(file = %file.display(), bytes = blob.bytes, sent, "file");
    }
    client.build(&parcel.report).await.map_err(|error| Undelivered { file: None, error })
}

/// Would it be refused for ever? A file that cannot be read here is such a case, too.
fn is_final(error: &ClientError) -> bool {
    match error {
        ClientError::Refused { status, .. } | ClientError::Rejected { status, .. } => !matches!(*status, UNAUTHORISED | TIMED_OUT),
        ClientError::Setup(_) => true,
        ClientError::Away(_) | ClientError::Garbled(_) => false,
    }
}
