//! How many runs a boot should have, from what earlier experiments saw.

use blklab_model::experiment::Experiment;
use blklab_model::kernel::Clock;
use blklab_model::record::ExperimentRecord;
use blklab_model::report::BootSpread;
use blklab_model::report::build::Inputs;
use blklab_model::report::spread;

use crate::store::{self, StoreError, Tx};

/// Earlier experiments that are looked through.
const LOOK_BACK: u32 = 50;

/// Without an earlier experiment that says it: two show how much runs of one boot differ, so that the next experiment knows.
const UNKNOWN: u32 = 2;

/// What the newest comparable experiment advises: one that shares a workload and a class of disks, and whose boots ran more than once.
pub(crate) async fn per_boot(tx: &mut Tx, wanted: &Experiment) -> Result<u32, StoreError> {
    // Virtual time has no noise to average.
    if wanted.clock == Clock::Virtual {
        return Ok(1);
    }
    for earlier in store::experiment_list(tx, LOOK_BACK, None).await? {
        if is_comparable(wanted, &earlier)
            && let Some(spread) = spread_of(tx, &earlier).await?
        {
            return Ok(spread.advised);
        }
    }
    Ok(UNKNOWN)
}

fn is_comparable(wanted: &Experiment, earlier: &ExperimentRecord) -> bool {
    let earlier = &earlier.definition;
    earlier.runs_per_boot() > 1
        && earlier.clock == wanted.clock
        && earlier.matrix.workloads.iter().any(|workload| wanted.matrix.workloads.contains(workload))
        && earlier.matrix.disk_classes.iter().any(|class| wanted.matrix.disk_classes.contains(class))
}

async fn spread_of(tx: &mut Tx, experiment: &ExperimentRecord) -> Result<Option<BootSpread>, StoreError> {
    let cells = store::cell_list(tx, experiment.id).await?;
    let trials = store::trial_list(tx, experiment.id).await?;
    let measurements = store::measurement_list(tx, experiment.id).await?;
    Ok(spread::of(&Inputs { experiment, cells: &cells, trials: &trials, measurements: &measurements, hosts: &[] }))
}
