//! How long something will take: the trials of an experiment itself and, where those are not enough, of earlier ones on the same hosts.

use blklab_model::id::{ExperimentId, HostName};
use blklab_model::matrix::Cell;
use blklab_model::plan::PlannedJob;
use blklab_model::plan::estimate::{History, Work};
use blklab_model::record::{ExperimentRecord, TrialRecord};
use blklab_model::time::{SpanMs, TimestampMs};

use super::kept::Basis;
use crate::lab::Lab;
use crate::store::{self, StoreError, Tx};

/// Earlier experiments that are looked through: what is older was measured by other agents on other kernels.
const LOOK_BACK: u32 = 10;

/// Experiments with more trials than this are not looked through: one of that size is months of a host, and takes seconds to read.
const MAX_TRIALS: u32 = 20_000;

/// What earlier experiments say is read again after so long: they may have gone on meanwhile.
const FRESH: SpanMs = SpanMs::seconds(60);

impl Lab {
    /// Milliseconds that a plan takes once it begins, if anything like it was ever seen.
    pub(crate) async fn planned_takes_ms(&self, tx: &mut Tx, cells: &[Cell], jobs: &[PlannedJob]) -> Result<Option<u64>, StoreError> {
        let earlier = read_earlier(tx, None).await?;
        Ok(Work::planned(cells, jobs).takes_ms(&History::default(), &earlier))
    }

    /// Milliseconds until an experiment is over, from the moment it has its hosts for itself; none when it is over, and when nothing like
    /// the rest of it was ever seen. `trials` are read where the caller has none.
    pub(crate) async fn eta_ms(
        &self,
        tx: &mut Tx,
        experiment: &ExperimentRecord,
        over: u32,
        trials: Option<&[TrialRecord]>,
    ) -> Result<Option<u64>, StoreError> {
        if experiment.state.is_over() {
            return Ok(None);
        }
        let (basis, now) = (Basis { state: experiment.state, over }, self.now());
        let since = TimestampMs(now.0 - FRESH.0);
        if let Some(known) = self.etas.get(experiment.id, basis, since) {
            return Ok(known);
        }
        let eta = match trials {
            Some(trials) => read_eta(tx, experiment, trials).await?,
            None => {
                let trials = store::trial_list(tx, experiment.id).await?;
                read_eta(tx, experiment, &trials).await?
            }
        };
        self.etas.put(experiment.id, basis, now, eta);
        Ok(eta)
    }
}

async fn read_eta(tx: &mut Tx, experiment: &ExperimentRecord, trials: &[TrialRecord]) -> Result<Option<u64>, StoreError> {
    let cells = store::cell_list(tx, experiment.id).await?;
    let jobs = store::job_list(tx, experiment.id).await?;
    let mut own = History::default();
    own.add(&cells, trials, experiment.started);
    let work = Work::open(&cells, &jobs, trials);
    if work.is_known_to(&own) {
        return Ok(work.takes_ms(&own, &History::default()));
    }
    let earlier = read_earlier(tx, Some(experiment.id)).await?;
    Ok(work.takes_ms(&own, &earlier))
}

/// What the newest experiments before `before` have seen, and the last boots of hosts.
async fn read_earlier(tx: &mut Tx, before: Option<ExperimentId>) -> Result<History, StoreError> {
    let mut history = History::default();
    let experiments = store::experiment_list(tx, LOOK_BACK, before).await?;
    let ids: Vec<ExperimentId> = experiments.iter().map(|experiment| experiment.id).collect();
    let counts = store::trial_counts(tx, &ids).await?;
    for experiment in experiments {
        let is_readable = counts.get(&experiment.id).is_some_and(|counts| counts.over() > 0 && counts.total() <= MAX_TRIALS);
        if is_readable {
            let cells = store::cell_list(tx, experiment.id).await?;
            let trials = store::trial_list(tx, experiment.id).await?;
            history.add(&cells, &trials, experiment.started);
        }
    }
    for row in store::host_list(tx).await? {
        let host: &HostName = &row.host.name;
        if let Some(ms) = row.last_boot.and_then(|boot| boot.boot_ms) {
            history.add_boot(host, ms);
        }
    }
    Ok(history)
}
