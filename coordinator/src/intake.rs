//! From a submission to planned rows: everything is checked before anything is stored, and it is stored in one transaction.

pub mod import;

use std::collections::BTreeMap;

use blklab_model::experiment::file::BadRuns;
use blklab_model::experiment::{Experiment, RunsPerBoot};
use blklab_model::host::Host;
use blklab_model::id::{KernelName, WorkloadName};
use blklab_model::kernel::KernelRecord;
use blklab_model::matrix::{self, Expansion, Impossible, MatrixError};
use blklab_model::plan::estimate::Work;
use blklab_model::plan::{self, PlannedJob};
use blklab_model::source::SourceError;
use blklab_model::workload::Workload;
use blklab_wire::people::{Overrides, Submit, Submitted};

use crate::analyse::runs;
use crate::lab::Lab;
use crate::store::{self, NewExperiment, StoreError};
use crate::{kernels, library};

/// Trials of one experiment: a year of one host at a minute each is half of it.
pub const MAX_TRIALS: usize = 1_000_000;

/// Why a submission is refused.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// A file is wrong.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The matrix is wrong.
    #[error("{file}: {error}")]
    Matrix {
        /// The experiment file.
        file: String,
        /// What is wrong.
        error: MatrixError,
    },
    /// No cell can be run.
    #[error("{file}: nothing of the matrix can be run:{}", listed(.impossible))]
    NothingPossible {
        /// The experiment file.
        file: String,
        /// Why not.
        impossible: Vec<Impossible>,
    },
    /// More than [`MAX_TRIALS`].
    #[error("{file}: {trials} trials, more than {MAX_TRIALS}; ask for fewer rounds or split the matrix")]
    TooMany {
        /// The experiment file.
        file: String,
        /// How many it would be.
        trials: usize,
    },
    /// Somebody removed or replaced a kernel while the plan was made.
    #[error("{file}: its kernels were changed meanwhile; submit again")]
    Changed {
        /// The experiment file.
        file: String,
    },
    /// An import that cannot be stored.
    #[error("failed to import: {what}")]
    BadImport {
        /// What is wrong, and what would cure it.
        what: String,
    },
    /// Not the submitter's fault.
    #[error("the plan was not made; try again")]
    Lost,
    /// Not the submitter's fault.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Accepts a submission, or says why not.
pub async fn accept(lab: &Lab, submit: Submit) -> Result<Submitted, IntakeError> {
    let file = submit.file.name.clone();
    let mut experiment = blklab_model::experiment::file::parse_at(&file, &submit.file.text, submit.overrides.scale.as_deref())?;
    override_values(&mut experiment, &submit.overrides, &file)?;
    let workloads = library::workloads(&submit.workloads)?;
    let seed = experiment.seed.unwrap_or_else(draw_seed);

    let mut tx = lab.store.read().await?;
    if experiment.runs_per_boot == RunsPerBoot::Auto {
        experiment.runs_per_boot = RunsPerBoot::Fixed(runs::per_boot(&mut tx, &experiment).await?);
    }
    let kernels = kernels::wanted(&mut tx, &experiment.matrix, &file).await??;
    let hosts = wanted_hosts(store::host_list(&mut tx).await?, &submit.overrides);
    drop(tx);
    // A large matrix takes its time: no request waits for it, and no transaction is open.
    let planned = tokio::task::spawn_blocking(move || plan_all(experiment, workloads, &hosts, seed, file));
    let Planned { experiment, workloads, expansion, jobs, trials, cautions } = planned.await.map_err(|_| IntakeError::Lost)??;
    let eta_ms = lab.planned_takes_ms(&mut lab.store.read().await?, &expansion.cells, &jobs).await?;
    let mut tx = lab.store.write().await?;
    if !kernels::frozen(&mut tx, &kernels).await? {
        return Err(IntakeError::Changed { file: submit.file.name });
    }
    let new = new_experiment(lab, experiment, workloads, kernels, seed, &expansion, submit);
    let id = store::experiment_insert(&mut tx, &new, &expansion.cells, &jobs).await?;
    tx.commit().await?;
    lab.changed();
    tracing::info!(experiment = %id, cells = expansion.cells.len(), trials, "experiment accepted");
    Ok(Submitted {
        id,
        path: format!("/experiments/{id}"),
        cells: count(expansion.cells.len()),
        trials: count(trials),
        cautions,
        impossible: expansion.impossible.iter().map(|i| format!("{}: {}", i.what, i.reason)).collect(),
        boots: Work::planned(&expansion.cells, &jobs).boots(),
        eta_ms,
    })
}

/// A submission that can be run.
struct Planned {
    experiment: Experiment,
    workloads: BTreeMap<WorkloadName, Workload>,
    expansion: Expansion,
    jobs: Vec<PlannedJob>,
    trials: usize,
    cautions: Vec<String>,
}

fn plan_all(
    experiment: Experiment,
    workloads: BTreeMap<WorkloadName, Workload>,
    hosts: &[Host],
    seed: u64,
    file: String,
) -> Result<Planned, IntakeError> {
    let expansion = match matrix::expand(&experiment, &workloads, hosts, seed) {
        Ok(expansion) => expansion,
        Err(error) => return Err(IntakeError::Matrix { file, error }),
    };
    if expansion.cells.is_empty() {
        return Err(IntakeError::NothingPossible { file, impossible: expansion.impossible });
    }
    let arms: usize = expansion.cells.iter().map(|cell| cell.arms.len()).sum();
    let trials = arms.saturating_mul(experiment.rounds as usize).saturating_mul(experiment.runs_per_boot() as usize);
    if trials > MAX_TRIALS {
        return Err(IntakeError::TooMany { file, trials });
    }
    let jobs = plan::plan(&expansion.cells, experiment.rounds, experiment.runs_per_boot(), seed);
    let cautions = matrix::memory::warnings(&experiment, &workloads, &expansion.cells, hosts);
    Ok(Planned { experiment, workloads, expansion, jobs, trials, cautions })
}

fn new_experiment(
    lab: &Lab,
    experiment: Experiment,
    mut workloads: BTreeMap<WorkloadName, Workload>,
    kernels: BTreeMap<KernelName, KernelRecord>,
    seed: u64,
    expansion: &Expansion,
    submit: Submit,
) -> NewExperiment {
    workloads.retain(|name, _| experiment.matrix.workloads.contains(name));
    NewExperiment {
        definition: experiment,
        workloads,
        kernels,
        seed,
        submitter: submit.submitter,
        created: lab.now(),
        impossible: expansion.impossible.clone(),
        file_name: submit.file.name,
        file_text: format!("{}{}", remark(&submit.overrides), submit.file.text),
        imported: None,
    }
}

/// Says at the head of the kept file what the command line changed, so that whoever submits it again knows. A seed is not said: the
/// report shows the one that was used.
fn remark(overrides: &Overrides) -> String {
    let mut flags: Vec<String> = overrides.scale.iter().map(|scale| format!("--scale {scale}")).collect();
    flags.extend(overrides.rounds.iter().map(|rounds| format!("--rounds {rounds}")));
    flags.extend(overrides.runs_per_boot.iter().map(|runs| format!("--runs-per-boot {runs}")));
    flags.extend(overrides.parameters.iter().map(|(name, value)| format!("--set {name}='{value}'")));
    flags.extend(overrides.only.iter().map(|(axis, values)| format!("--only {axis}='{}'", values.join(","))));
    flags.extend(overrides.hosts.iter().map(|host| format!("--host {host}")));
    // A value may hold a line break, and a remark is one line.
    let flags = flags.join(" ").replace(['\n', '\r'], " ");
    if flags.is_empty() { String::new() } else { format!("# Submitted with: {flags}\n") }
}

/// Values of the command line take the place of those of the file, and are checked like them.
fn override_values(experiment: &mut Experiment, overrides: &Overrides, file: &str) -> Result<(), SourceError> {
    if let Some(rounds) = overrides.rounds {
        let allowed = blklab_model::experiment::file::ROUNDS;
        if !allowed.contains(&rounds) {
            let message = format!("--rounds {rounds}");
            let help = format!("{} to {} rounds", allowed.start(), allowed.end());
            return Err(SourceError { file: file.to_owned(), line: None, message, help });
        }
        experiment.rounds = rounds;
    }
    for (axis, values) in &overrides.only {
        let wrong = |message: String| SourceError {
            file: file.to_owned(),
            line: None,
            message: format!("--only {axis}: {message}"),
            help: String::new(),
        };
        experiment.matrix.keep_only(axis, values).map_err(wrong)?;
        if *axis == experiment.compare.to_string() && !values.contains(&experiment.baseline) {
            return Err(wrong(format!("the baseline `{}` must stay", experiment.baseline)));
        }
    }
    if let Some(runs) = &overrides.runs_per_boot {
        let wrong = |help: BadRuns| SourceError {
            file: file.to_owned(),
            line: None,
            message: format!("--runs-per-boot {runs}"),
            help: help.to_string(),
        };
        experiment.runs_per_boot = runs.parse().map_err(wrong)?;
    }
    experiment.seed = overrides.seed.or(experiment.seed);
    for (name, value) in &overrides.parameters {
        experiment.parameters.insert(name.clone(), value.clone());
        for parameters in experiment.parameters_by_disk_class.values_mut() {
            parameters.remove(name);
        }
        experiment.matrix.parameters.remove(name);
    }
    Ok(())
}

fn wanted_hosts(hosts: Vec<store::HostRow>, overrides: &Overrides) -> Vec<Host> {
    let wanted = |host: &Host| overrides.hosts.is_empty() || overrides.hosts.contains(&host.name);
    hosts.into_iter().map(|row| row.host).filter(wanted).collect()
}

/// 53 bits: JSON readers keep such a number whole.
fn draw_seed() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the kernel gives random bytes");
    u64::from_le_bytes(bytes) >> 11
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn listed(impossible: &[Impossible]) -> String {
    /// A reader sees the pattern after so many.
    const SHOWN: usize = 8;
    let mut text: String = impossible.iter().take(SHOWN).map(|i| format!("\n  {}: {}", i.what, i.reason)).collect();
    if impossible.len() > SHOWN {
        text.push_str(&format!("\n  and {} more", impossible.len() - SHOWN));
    }
    text
}
