//! Experiments for the store, made by the builders of the model: one call changes one thing.

use blklab_model::host::Host;
use blklab_model::id::ExperimentId;
use blklab_model::matrix::{Cell, expand};
use blklab_model::plan::{PlannedJob, plan};
use blklab_model::testing;
use blklab_model::time::TimestampMs;

use crate::store::{HostRow, NewExperiment, Store, experiment_insert};

/// A host as it is just after its agent said hello.
pub fn host_row(name: &str, classes: &[&str]) -> HostRow {
    let host = testing::host(name, classes);
    HostRow { host, incarnation: "machine.1".into(), token_sha256: "5e".repeat(32), job: None, phase: None, build: None, last_boot: None }
}

/// An experiment with its plan, ready to be inserted.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The experiment.
    pub new: NewExperiment,
    /// Its cells.
    pub cells: Vec<Cell>,
    /// Its plan.
    pub jobs: Vec<PlannedJob>,
}

impl Sample {
    /// Compares `none` with `bfq` in three rounds on a `sata-hdd` of the host `lab-1`: one cell, three jobs, six trials.
    pub fn small() -> Sample {
        Sample::on(&[testing::host("lab-1", &["sata-hdd"])], &[("rounds = 6", "rounds = 3")])
    }

    /// The experiment of the model's builders with texts of its file replaced, on these hosts.
    ///
    /// # Panics
    /// When the file is not a good one any more.
    pub fn on(hosts: &[Host], changes: &[(&str, &str)]) -> Sample {
        let definition = testing::experiment(changes);
        let workloads = testing::workloads(&["reader"]);
        let seed = u64::MAX - 1;
        let expansion = expand(&definition, &workloads, hosts, seed).expect("a good matrix");
        let jobs = plan(&expansion.cells, definition.rounds, definition.runs_per_boot(), seed);
        let new = NewExperiment {
            kernels: std::collections::BTreeMap::new(),
            definition,
            workloads,
            seed,
            submitter: "someone".into(),
            created: TimestampMs(1_000),
            impossible: expansion.impossible,
            file_name: "experiment.toml".into(),
            file_text: testing::experiment_file().into(),
            imported: None,
        };
        Sample { new, cells: expansion.cells, jobs }
    }

    /// The same with its cell repeated and planned in so many rounds.
    pub fn grown(mut self, cells: u32, rounds: u32) -> Sample {
        let cell = self.cells[0].clone();
        self.cells = (0..cells).map(|number| Cell { number, ..cell.clone() }).collect();
        self.jobs = plan(&self.cells, rounds, 1, self.new.seed);
        self
    }

    /// Inserts it in a transaction of its own.
    ///
    /// # Panics
    /// When the store refuses it.
    pub async fn insert(&self, store: &Store) -> ExperimentId {
        let mut tx = store.write().await.expect("a turn to write");
        let id = experiment_insert(&mut tx, &self.new, &self.cells, &self.jobs).await.expect("a good experiment");
        tx.commit().await.expect("a commit");
        id
    }
}
