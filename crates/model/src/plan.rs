//! From cells to jobs: rounds with a random order, so that drift of host and disk hits all arms alike (statistics.md 0.1).
//!
//! A round is one pass over all arms of all cells. Inside a round each host gets one job for each kernel, in random order; inside a
//! job cells come in random order and the arms of a cell next to each other in random order. So the trials of one comparison are
//! as close in time as the boots allow, and no arm is always first. A job is one boot of its kernel: there are no fewer boots in which
//! every round has every kernel. With several runs per boot the job passes over its cells so often, each time in an order of its own.

pub mod estimate;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::id::HostName;
use crate::kernel::Kernel;
use crate::matrix::Cell;

/// A job before it has an id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedJob {
    /// Who runs it.
    pub host: HostName,
    /// What must be running.
    pub kernel: Kernel,
    /// Which round, from 0.
    pub round: u32,
    /// In this order.
    pub trials: Vec<PlannedTrial>,
}

/// A trial before it has an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Number of the cell.
    pub cell: u32,
    /// Number of the arm in the cell.
    pub arm: u32,
    /// Number of the run of its cell and arm: `round * runs_per_boot + run`.
    pub run: u32,
    /// Fills `{seed}` of the workload: equal for all arms of a cell in a run.
    pub seed: u64,
}

/// Plans `rounds` rounds over `cells`, with `runs_per_boot` runs in each. The same seed gives the same plan, on every machine and in every version of the generator
/// (ChaCha is specified by RFC 8439, its seeding by rand_core).
pub fn plan(cells: &[Cell], rounds: u32, runs_per_boot: u32, seed: u64) -> Vec<PlannedJob> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut hosts: Vec<&HostName> = cells.iter().map(|cell| &cell.host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let mut jobs = Vec::new();
    for round in 0..rounds {
        for host in &hosts {
            let here: Vec<&Cell> = cells.iter().filter(|cell| cell.host == **host).collect();
            jobs.extend(plan_round(&here, host, round, runs_per_boot, &mut rng));
        }
    }
    jobs
}

fn plan_round(cells: &[&Cell], host: &HostName, round: u32, runs_per_boot: u32, rng: &mut ChaCha8Rng) -> Vec<PlannedJob> {
    let runs = round * runs_per_boot..(round + 1) * runs_per_boot;
    let seeds: Vec<Vec<u64>> = runs.clone().map(|_| cells.iter().map(|_| rng.next_u64() >> 1).collect()).collect();
    let mut kernels: Vec<&Kernel> = cells.iter().flat_map(|cell| cell.arms.iter().map(|arm| &arm.setting.kernel)).collect();
    kernels.sort_unstable();
    kernels.dedup();
    kernels.shuffle(rng);
    let job = |kernel: &&Kernel| {
        let mut trials = Vec::new();
        for (run, seeds) in runs.clone().zip(&seeds) {
            let mut order: Vec<usize> = (0..cells.len()).collect();
            order.shuffle(rng);
            trials.extend(order.into_iter().flat_map(|index| shuffled_arms(cells[index], kernel, run, seeds[index], rng)));
        }
        PlannedJob { host: host.clone(), kernel: (*kernel).clone(), round, trials }
    };
    kernels.iter().map(job).collect()
}

fn shuffled_arms(cell: &Cell, kernel: &Kernel, run: u32, seed: u64, rng: &mut ChaCha8Rng) -> Vec<PlannedTrial> {
    let mut arms: Vec<PlannedTrial> = (0u32..)
        .zip(&cell.arms)
        .filter(|(_, arm)| arm.setting.kernel == *kernel)
        .map(|(arm, _)| PlannedTrial { cell: cell.number, arm, run, seed })
        .collect();
    arms.shuffle(rng);
    arms
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::matrix::expand;
    use crate::testing::{booting_host, experiment, host, workloads};

    fn cells() -> Vec<Cell> {
        let change = ("scheduler = [\"none\", \"bfq\"]", "scheduler = [\"none\", \"bfq\", \"kyber\"]\nparameters.size = [\"1M\", \"2M\"]");
        let asked = experiment(&[change, ("[\"ext4\"]", "[\"ext4\", \"xfs\"]")]);
        expand(&asked, &workloads(&["reader"]), &[host("a", &["sata-hdd"]), host("b", &["sata-hdd"])], 1).unwrap().cells
    }

    /// Three kernels are compared under two schedulers, on three hosts of which the last measures one kernel fewer.
    fn cells_of_kernels() -> Vec<Cell> {
        let kernels = ("[matrix]", "[matrix]\nkernel = [\"base\", \"patched\", \"other\"]");
        let asked = experiment(&[("\"scheduler\"", "\"kernel\""), kernels, ("[\"sata-hdd\"]", "[\"sata-hdd\", \"ssd\", \"nvme\"]")]);
        let hosts = [booting_host("a", &["sata-hdd"]), booting_host("b", &["ssd"]), booting_host("c", &["nvme"])];
        let mut cells = expand(&asked, &workloads(&["reader"]), &hosts, 1).unwrap().cells;
        for cell in cells.iter_mut().filter(|cell| cell.host.as_str() == "c") {
            cell.arms.pop();
        }
        cells
    }

    #[test]
    fn each_order_of_the_kernels_comes_up_on_each_host() {
        let mut orders: BTreeMap<(String, Vec<String>), u32> = BTreeMap::new();
        let jobs = plan(&cells_of_kernels(), 300, 1, 5);
        for round in 0..300 {
            for host in ["a", "b", "c"] {
                let here = jobs.iter().filter(|job| job.round == round && job.host.as_str() == host);
                *orders.entry((host.to_owned(), here.map(|job| job.kernel.label().to_owned()).collect())).or_default() += 1;
            }
        }
        // 300 draws of 6 orders: 50 expected, standard deviation 6.5; of 2 orders: 150, 8.7.
        assert_eq!(orders.len(), 6 + 6 + 2);
        assert!(
            orders.iter().all(|((host, _), n)| if host == "c" { (115..=185).contains(n) } else { (24..=76).contains(n) }),
            "{orders:?}"
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_plan() {
        assert_eq!(plan(&cells(), 5, 1, 7), plan(&cells(), 5, 1, 7));
        assert_ne!(plan(&cells(), 5, 1, 7), plan(&cells(), 5, 1, 8));
    }

    #[test]
    fn arms_of_a_cell_are_neighbours_and_share_a_seed() {
        for job in plan(&cells(), 4, 1, 3) {
            for arms in job.trials.chunks(3) {
                assert!(arms.iter().all(|trial| trial.cell == arms[0].cell && trial.seed == arms[0].seed));
            }
        }
    }

    #[test]
    fn no_arm_is_always_first() {
        let mut first: BTreeMap<u32, u32> = BTreeMap::new();
        for job in plan(&cells(), 100, 1, 3) {
            for arms in job.trials.chunks(3) {
                *first.entry(arms[0].arm).or_default() += 1;
            }
        }
        // 400 draws of 3: 133 expected, standard deviation 9.4.
        assert!(first.len() == 3 && first.values().all(|n| (95..=172).contains(n)), "{first:?}");
    }

    proptest! {
        /// Whatever the seed: on each host the boots of a round follow one another, each kernel once, and rounds come in their order.
        #[test]
        fn kernels_of_a_round_are_neighbours_and_boots_are_as_few_as_can_be(seed: u64, rounds in 1u32..6) {
            let cells = cells_of_kernels();
            let jobs = plan(&cells, rounds, 1, seed);
            let mut boots = 0;
            for host in ["a", "b", "c"] {
                let here: Vec<&PlannedJob> = jobs.iter().filter(|job| job.host.as_str() == host).collect();
                prop_assert!(here.is_sorted_by_key(|job| job.round));
                let on_host = cells.iter().filter(|cell| cell.host.as_str() == host);
                let mut wanted: Vec<&Kernel> = on_host.flat_map(|cell| cell.arms.iter().map(|arm| &arm.setting.kernel)).collect();
                wanted.sort_unstable();
                wanted.dedup();
                for round in here.chunk_by(|one, other| one.round == other.round) {
                    let mut booted: Vec<&Kernel> = round.iter().map(|job| &job.kernel).collect();
                    booted.sort_unstable();
                    prop_assert_eq!(&booted, &wanted);
                }
                boots += wanted.len() * rounds as usize;
            }
            prop_assert_eq!(jobs.len(), boots);
        }

        /// Whatever the seed: each arm of each cell exactly once a run, on the cell's host, in a job of the round of that run.
        #[test]
        fn every_arm_once_a_run(seed: u64, rounds in 1u32..4, runs in 1u32..4) {
            let cells = cells_of_kernels();
            let mut seen: BTreeMap<(u32, u32, u32), u32> = BTreeMap::new();
            for job in plan(&cells, rounds, runs, seed) {
                prop_assert!(job.trials.is_sorted_by_key(|trial| trial.run));
                for trial in &job.trials {
                    prop_assert_eq!(&cells[trial.cell as usize].host, &job.host);
                    prop_assert_eq!(trial.run / runs, job.round);
                    *seen.entry((trial.run, trial.cell, trial.arm)).or_default() += 1;
                }
            }
            let arms: usize = cells.iter().map(|cell| cell.arms.len()).sum();
            prop_assert_eq!(seen.len(), arms * (rounds * runs) as usize);
            prop_assert!(seen.values().all(|n| *n == 1));
        }
    }
}
