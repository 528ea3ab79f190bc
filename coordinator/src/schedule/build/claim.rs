//! A builder asks for work.

use std::time::Duration;

use blklab_model::build::{self, BuildEvent};
use blklab_model::host::HostHealth;
use blklab_wire::agent::{Claim, MAX_CLAIM_WAIT_MS};
use blklab_wire::build::BuildSpec;

use super::{BuildError, of_host_abandoned};
use crate::lab::Lab;
use crate::schedule::agent::{AgentError, authenticate};
use crate::store;

/// Waits for a build for the host, at most as long as it asks.
pub async fn claim(lab: &Lab, token: &str, claim: Claim) -> Result<Option<BuildSpec>, BuildError> {
    let mut changes = lab.watch();
    let wait = Duration::from_millis(claim.wait_ms.min(MAX_CLAIM_WAIT_MS));
    let deadline = tokio::time::Instant::now() + wait;
    loop {
        changes.mark_unchanged();
        if let Some(spec) = try_claim(lab, token, &claim).await? {
            return Ok(Some(spec));
        }
        let change = tokio::time::timeout_at(deadline, changes.changed()).await;
        if !matches!(change, Ok(Ok(()))) {
            return Ok(None);
        }
    }
}

async fn try_claim(lab: &Lab, token: &str, claim: &Claim) -> Result<Option<BuildSpec>, BuildError> {
    // Most looks find nothing: they should not wait for the one writer.
    let mut tx = lab.store.read().await?;
    let row = authenticate(&mut tx, &claim.host, token, &claim.incarnation).await?;
    if !row.host.facts.builder {
        return Err(AgentError::NoBuilder(claim.host.clone()).into());
    }
    match row.host.health {
        HostHealth::Healthy => {}
        HostHealth::Dirty { .. } | HostHealth::Quarantined { .. } => return Ok(None),
    }
    if store::build_list_open(&mut tx).await?.is_empty() {
        return Ok(None);
    }
    drop(tx);

    let mut tx = lab.store.write().await?;
    // A builder that asks for work holds none: what is still leased to it was lost on the way.
    of_host_abandoned(lab, &mut tx, &claim.host).await?;
    let Some(record) = store::build_queued(&mut tx).await? else {
        tx.commit().await?;
        return Ok(None);
    };
    let attempt = record.attempt + 1;
    let Ok(leased) = build::step(&record.state, BuildEvent::Claimed(claim.host.clone()), attempt, lab.now()) else { return Ok(None) };
    if !store::build_state_set(&mut tx, record.id, &record.state, &leased, attempt, lab.now()).await? {
        return Ok(None);
    }
    tx.commit().await?;
    lab.changed();
    tracing::info!(build = %record.id, host = %claim.host, "build claimed");
    Ok(Some(BuildSpec { build: record.id, attempt, request: record.request }))
}
