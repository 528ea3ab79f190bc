//! A builder says how a build ended.

use blklab_model::build::{self, BuildEvent, BuildFailure, BuildFault, BuildRecord};
use blklab_model::host::Host;
use blklab_model::id::HostName;
use blklab_model::kernel::{Blob, KernelRecord};
use blklab_wire::build::{BuildOutcome, BuildReceipt, BuildReport, BuiltKernel, Known};

use super::BuildError;
use crate::kernels::{check_blobs, check_identity, named};
use crate::lab::Lab;
use crate::schedule::agent::AgentError;
use crate::store::{self, Tx};
use crate::token;

/// Is there a kernel with this signature, with all its files?
pub async fn known(lab: &Lab, token: &str, known: &Known) -> Result<bool, BuildError> {
    let mut tx = lab.store.read().await?;
    builder(&mut tx, &known.host, token).await?;
    for kernel in store::kernel_list_of_id(&mut tx, &known.id).await? {
        if check_blobs(lab, named(&kernel.image, kernel.modules.as_ref(), kernel.config.as_ref())).await.is_ok() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes the end of a build in: kernel, log and state in one transaction. Sent twice, or late, it is answered the same way and changes
/// nothing more.
///
/// The agent may have been restarted since the build: its token counts, its incarnation does not.
pub async fn report(lab: &Lab, token: &str, report: BuildReport) -> Result<BuildReceipt, BuildError> {
    let mut tx = lab.store.write().await?;
    builder(&mut tx, &report.host, token).await?;
    let record = store::build_get(&mut tx, report.build).await?.ok_or(BuildError::Unknown(report.build))?;
    if record.state.is_over() || report.attempt > record.attempt {
        return Ok(BuildReceipt { counted: false });
    }
    let log = existing(lab, report.log).await;
    let event = match report.outcome {
        BuildOutcome::Built(built) => add_built(lab, &mut tx, &record, *built, log.clone()).await?,
        BuildOutcome::Reused(id) => {
            let twin = store::kernel_list_of_id(&mut tx, &id).await?.into_iter().next();
            match twin {
                Some(twin) => {
                    let kernel = KernelRecord { name: record.request.name.clone(), log: log.clone(), created: lab.now(), ..twin };
                    add(&mut tx, &kernel, true).await?
                }
                None => infrastructure("the kernel that it would have been equal to was removed meanwhile".to_owned()),
            }
        }
        BuildOutcome::Failed(failure) => BuildEvent::Failed(failure),
    };
    let passing = matches!(&event, BuildEvent::Failed(failure) if failure.fault.is_retried());
    if passing && report.attempt != record.attempt {
        // Another builder is at it.
        return Ok(BuildReceipt { counted: false });
    }
    let next = build::step(&record.state, event, record.attempt, lab.now())?;
    if let Some(log) = &log {
        store::build_log_set(&mut tx, record.id, log).await?;
    }
    store::build_state_set(&mut tx, record.id, &record.state, &next, record.attempt, lab.now()).await?;
    tx.commit().await?;
    lab.changed();
    tracing::info!(build = %record.id, host = %report.host, state = next.word(), "build reported");
    Ok(BuildReceipt { counted: true })
}

async fn add_built(lab: &Lab, tx: &mut Tx, record: &BuildRecord, built: BuiltKernel, log: Option<Blob>) -> Result<BuildEvent, BuildError> {
    if let Err(message) = check_identity(built.id.as_str(), &built.release, &built.build_id) {
        // It would be built the same again.
        return Ok(BuildEvent::Failed(BuildFailure { fault: BuildFault::DoesNotConfigure, message }));
    }
    check_blobs(lab, named(&built.image, built.modules.as_ref(), Some(&built.config))).await?;
    let kernel = KernelRecord {
        name: record.request.name.clone(),
        id: built.id,
        release: built.release,
        build_id: built.build_id,
        source: built.source,
        toolchain: built.toolchain,
        image: built.image,
        modules: built.modules,
        arguments: String::new(),
        config: Some(built.config),
        log,
        created: lab.now(),
    };
    Ok(add(tx, &kernel, false).await?)
}

/// The name was free when the build was asked for, and nobody else can take it since; an old lab may know better.
async fn add(tx: &mut Tx, kernel: &KernelRecord, reused: bool) -> Result<BuildEvent, store::StoreError> {
    if store::kernel_insert(tx, kernel).await? {
        return Ok(BuildEvent::Built { reused });
    }
    let known = store::kernel_get(tx, &kernel.name).await?;
    if known.is_some_and(|known| known.id == kernel.id) {
        return Ok(BuildEvent::Built { reused });
    }
    Ok(infrastructure(format!("the name `{}` was taken meanwhile", kernel.name)))
}

fn infrastructure(message: String) -> BuildEvent {
    BuildEvent::Failed(BuildFailure { fault: BuildFault::Infrastructure, message })
}

/// A log that did not arrive takes nothing from what was built.
async fn existing(lab: &Lab, log: Option<Blob>) -> Option<Blob> {
    let log = log?;
    match check_blobs(lab, vec![("its log", log.clone())]).await {
        Ok(()) => Some(log),
        Err(error) => {
            tracing::warn!(%error, "a build came without its log");
            None
        }
    }
}

/// The builder that a message speaks for.
async fn builder(tx: &mut Tx, name: &HostName, token: &str) -> Result<Host, BuildError> {
    let row = store::host_get(tx, name).await?.filter(|row| token::has_digest(token, &row.token_sha256));
    let host = row.ok_or_else(|| AgentError::WrongToken(name.clone()))?.host;
    if host.facts.builder { Ok(host) } else { Err(AgentError::NoBuilder(name.clone()).into()) }
}
