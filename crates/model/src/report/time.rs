//! Where the time of an experiment went: measuring, and all that has to be done for it.

use serde::{Deserialize, Serialize};

use crate::crash::BOOT_STEP;
use crate::record::TrialRecord;

/// The phase in which tasks run: what is measured.
const MEASURED: &str = "workload";

/// Milliseconds of hosts by phase, over the last attempt of each trial that reported one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TimeSpent {
    /// Phases in the order in which trials have them.
    pub phases: Vec<(String, u64)>,
}

impl TimeSpent {
    /// All of it.
    pub fn total_ms(&self) -> u64 {
        self.phases.iter().map(|(_, ms)| ms).sum()
    }

    /// In which tasks ran.
    pub fn measured_ms(&self) -> u64 {
        self.of(MEASURED)
    }

    /// In which kernels were booted.
    pub fn boot_ms(&self) -> u64 {
        self.of(BOOT_STEP)
    }

    /// The share that was not measured, from 0 to 1; none before there is any time.
    pub fn overhead(&self) -> Option<f64> {
        let total = self.total_ms();
        (total > 0).then(|| 1.0 - self.measured_ms() as f64 / total as f64)
    }

    fn of(&self, wanted: &str) -> u64 {
        self.phases.iter().filter(|(phase, _)| phase == wanted).map(|(_, ms)| ms).sum()
    }
}

/// Adds the phases of all trials up.
pub(super) fn spent(trials: &[TrialRecord]) -> TimeSpent {
    let mut spent = TimeSpent::default();
    // The longest list first: it has every phase in its place, a trial that failed early has not.
    let mut details: Vec<_> = trials.iter().filter_map(|trial| trial.details.as_ref()).collect();
    details.sort_by_key(|details| std::cmp::Reverse(details.phases.len()));
    for (phase, ms) in details.into_iter().flat_map(|details| &details.phases) {
        match spent.phases.iter_mut().find(|(known, _)| known == phase) {
            Some((_, sum)) => *sum += ms,
            None => spent.phases.push((phase.clone(), *ms)),
        }
    }
    spent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Story, experiment, host, workloads};

    #[test]
    fn overhead_is_what_is_not_measured() {
        let hosts = vec![host("a", &["sata-hdd"])];
        let mut story = Story::finished(experiment(&[("rounds = 6", "rounds = 3")]), workloads(&["reader"]), hosts, |_, _, _, _| 1.0);
        assert_eq!(spent(&story.trials).overhead(), None);
        for (number, trial) in story.trials.iter_mut().enumerate() {
            let mut phases = vec![("mkfs".to_owned(), 500), ("workload".to_owned(), 1_000)];
            if number == 1 {
                phases.insert(0, (BOOT_STEP.to_owned(), 6_000));
            }
            trial.details.as_mut().unwrap().phases = phases;
        }
        let spent = spent(&story.trials);
        assert_eq!(spent.phases, [("boot", 6_000), ("mkfs", 3_000), ("workload", 6_000)].map(|(phase, ms)| (phase.to_owned(), ms)));
        assert_eq!((spent.total_ms(), spent.measured_ms(), spent.boot_ms()), (15_000, 6_000, 6_000));
        assert!((spent.overhead().unwrap() - 0.6).abs() < 1e-9);
    }
}
