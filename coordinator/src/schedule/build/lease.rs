//! Leases of builds, as those of jobs: renewed by heartbeats, lost with time or with a restart of the builder.

use blklab_model::build::{self, BuildEvent, BuildRecord, BuildState};
use blklab_model::id::{BuildId, HostName};

use crate::lab::Lab;
use crate::store::{self, StoreError, Tx};

/// Renews the lease of a build; false when it is no longer this host's. A lease that ran out while the coordinator was away is given
/// again if nobody else has the build yet: its builder went on, and is nearer to the end than any other.
pub(in crate::schedule) async fn renew(lab: &Lab, tx: &mut Tx, host: &HostName, id: BuildId) -> Result<bool, StoreError> {
    match store::build_get(tx, id).await? {
        Some(record) if holds(&record, host) => {
            become_by(lab, tx, &record, BuildEvent::Renewed).await?;
            Ok(true)
        }
        Some(record) if record.state == BuildState::Queued && record.attempt > 0 => {
            become_by(lab, tx, &record, BuildEvent::Claimed(host.clone())).await
        }
        Some(_) | None => Ok(false),
    }
}

/// The builds that a host holds: it starts anew, or asks for another one.
pub(in crate::schedule) async fn of_host_abandoned(lab: &Lab, tx: &mut Tx, host: &HostName) -> Result<(), StoreError> {
    for record in store::build_list_open(tx).await?.iter().filter(|record| holds(record, host)) {
        become_by(lab, tx, record, BuildEvent::Abandoned).await?;
    }
    Ok(())
}

/// Leases that ran out; true when one did.
pub(in crate::schedule) async fn tick(lab: &Lab, tx: &mut Tx) -> Result<bool, StoreError> {
    let mut released = false;
    for record in store::build_list_open(tx).await? {
        released |= become_by(lab, tx, &record, BuildEvent::Tick).await?;
    }
    Ok(released)
}

fn holds(record: &BuildRecord, host: &HostName) -> bool {
    matches!(&record.state, BuildState::Leased { host: holder, .. } if holder == host)
}

/// Applies an event; true when the build changed.
async fn become_by(lab: &Lab, tx: &mut Tx, record: &BuildRecord, event: BuildEvent) -> Result<bool, StoreError> {
    let Ok(next) = build::step(&record.state, event, record.attempt, lab.now()) else { return Ok(false) };
    if next == record.state {
        return Ok(false);
    }
    if next.word() != record.state.word() {
        tracing::warn!(build = %record.id, state = next.word(), "build released");
    }
    store::build_state_set(tx, record.id, &record.state, &next, record.attempt, lab.now()).await
}
