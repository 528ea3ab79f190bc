//! A model of a real disk from what fio(1) measured on it.
//!
//! The simulation runs the same jobs as fio did, and the parameters are moved until it takes the same times. Parameters that no job
//! sees stay those of the preset that is most alike. Pure: reads no files.

mod jobs;
mod parallel;
mod parameter;
mod rotational;
mod simplex;

use std::fmt;

pub use jobs::{Job, job_file, jobs};

use self::parameter::Parameter;
use crate::exercise::{self, Exercise};
use crate::model::{DiskModel, Mechanics, PRESETS};

/// Size of the simulated disk, in bytes: a real disk, whose spans of 1 per cent do not fit into its buffer.
const DISK_BYTES: u64 = 1_000_000_000_000;

/// One stream of chance for all simulations, so that the cost is a function of the parameters alone.
const SEED: u64 = 1;

/// Values of the cost in each of two minimisations: six parameters with a good start settle within them, and it takes seconds.
const ARM_EVALUATIONS: usize = 90;
/// The same for disks without arms, which have nine and are simulated ten times as fast.
const NO_ARM_EVALUATIONS: usize = 200;

/// Requests of each job while parameters move: with the same chance each time, the mean moves smoothly with them.
const ARM_REQUESTS: u32 = 1000;
/// The same for disks without arms, whose times hardly scatter.
const NO_ARM_REQUESTS: u32 = 400;

/// Cached writes that have no flush: their rate says how large and how clever the cache is, which no parameter here can follow. They
/// are shown, and not fitted, for disks with arms.
const CACHED: [&str; 2] = ["random-write-1", "random-write-32"];

/// Pulls parameters that no job sees back to where they began, and is too weak to move those that one does: a parameter that is off by
/// a factor of 2 costs as much as one job that is off by 2 per cent.
const PULL: f64 = 1e-3;

/// Jobs that must be there; without them nothing can be said.
const NEEDED: [&str; 3] = ["random-read-1", "near-read-1", "sequential-read"];

/// Where random reads within 1 per cent of a disk are faster than all over it by this factor, distance matters: there is an arm.
const ARM_GAIN: f64 = 1.15;

/// What fio measured in one job.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Name of the job, as in [`jobs`].
    pub job: String,
    /// Requests a second; with `fsync=1` the flush of each counts into its time.
    pub iops: f64,
    /// Standard deviation of the time of a request, in milliseconds, where it is known.
    pub deviation_ms: Option<f64>,
}

/// What is known beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KindHint {
    /// Nothing: the jobs decide.
    #[default]
    FromJobs,
    /// There is an arm.
    Rotational,
    /// There is none.
    Parallel,
}

/// A model, and how well it fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The model.
    pub model: DiskModel,
    /// Each job that was measured, with what the model makes of it.
    pub residuals: Vec<Residual>,
    /// What a reader of the model should know.
    pub notes: Vec<String>,
}

/// A job, measured and simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct Residual {
    /// Name of the job.
    pub job: String,
    /// Requests a second of the disk.
    pub measured_iops: f64,
    /// Requests a second of the model.
    pub model_iops: f64,
}

/// Why nothing can be fitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoFit {
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl Residual {
    /// How much faster the model is, in per cent.
    pub fn difference_pct(&self) -> f64 {
        100.0 * (self.model_iops / self.measured_iops - 1.0)
    }
}

impl fmt::Display for NoFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  help: {}", self.message, self.help)
    }
}

impl std::error::Error for NoFit {}

/// Fits a model to observations; takes seconds.
///
/// # Errors
/// A job that is needed is missing, or a value is impossible.
pub fn fit(name: &str, observations: &[Observation], hint: KindHint) -> Result<Fitted, NoFit> {
    let seen = Seen::new(observations)?;
    let is_rotational = match hint {
        KindHint::Rotational => true,
        KindHint::Parallel => false,
        KindHint::FromJobs => seen.iops("near-read-1").unwrap_or(0.0) > ARM_GAIN * seen.iops("random-read-1").unwrap_or(0.0),
    };
    let mut notes = Vec::new();
    let start = if is_rotational { rotational::start(&seen, &mut notes) } else { parallel::start(&seen, &mut notes) };
    let parameters = if is_rotational { rotational::parameters(&seen) } else { parallel::parameters(&seen) };
    let mut model = settle(start, &parameters, &seen);
    model.name = name.to_owned();
    model.title = format!("{name}, fitted to fio runs");
    for value in numbers(&mut model) {
        *value = rounded(*value);
    }
    // The file's own ranges have the last word.
    let model = DiskModel::parse(name, &model.to_toml())
        .map_err(|error| NoFit { message: format!("the fitted model cannot be used: {}", error.message), help: error.help })?;
    let residuals = seen.residuals(&model);
    Ok(Fitted { model, residuals, notes })
}

/// The observations, each with its job.
#[derive(Debug)]
struct Seen {
    jobs: Vec<(Job, Observation)>,
}

impl Seen {
    fn new(observations: &[Observation]) -> Result<Seen, NoFit> {
        let known = jobs();
        let of = |job: &Job| observations.iter().rfind(|seen| seen.job == job.name).cloned();
        let jobs: Vec<(Job, Observation)> = known.into_iter().filter_map(|job| of(&job).map(|seen| (job, seen))).collect();
        if let Some((job, seen)) = jobs.iter().find(|(_, seen)| !(seen.iops.is_finite() && seen.iops > 0.0)) {
            return Err(NoFit {
                message: format!("job {} has {} requests a second", job.name, seen.iops),
                help: "run it again; each job needs a positive rate".to_owned(),
            });
        }
        let seen = Seen { jobs };
        match NEEDED.iter().find(|name| seen.iops(name).is_none()) {
            None => Ok(seen),
            Some(name) => Err(NoFit {
                message: format!("no job is called {name}"),
                help: "run the job file of `blklab disk fit --print-jobs read`, and give its JSON".to_owned(),
            }),
        }
    }

    fn iops(&self, name: &str) -> Option<f64> {
        self.observation(name).map(|seen| seen.iops)
    }

    fn observation(&self, name: &str) -> Option<&Observation> {
        self.jobs.iter().find(|(job, _)| job.name == name).map(|(_, seen)| seen)
    }

    fn writes(&self) -> bool {
        self.jobs.iter().any(|(job, _)| job.writes())
    }

    /// Sum of the squared logarithms of simulated by measured rates.
    fn cost(&self, model: &DiskModel) -> f64 {
        let most = if model.is_rotational() { ARM_REQUESTS } else { NO_ARM_REQUESTS };
        let fitted = self.jobs.iter().filter(|(job, _)| !(model.is_rotational() && CACHED.contains(&job.name)));
        let squares = fitted.map(|(job, seen)| (simulate(model, job, most) / seen.iops).max(1e-12).ln().powi(2));
        squares.sum::<f64>()
    }

    fn residuals(&self, model: &DiskModel) -> Vec<Residual> {
        let residual = |(job, seen): &(Job, Observation)| Residual {
            job: seen.job.clone(),
            measured_iops: seen.iops,
            model_iops: simulate(model, job, u32::MAX),
        };
        self.jobs.iter().map(residual).collect()
    }
}

fn simulate(model: &DiskModel, job: &Job, most: u32) -> f64 {
    let exercise = Exercise { requests: job.exercise.requests.min(most), warm_up: job.exercise.warm_up.min(most), ..job.exercise.clone() };
    exercise::run(model, DISK_BYTES, &exercise, SEED).iops()
}

/// Moves the parameters until the jobs take the times that were measured.
fn settle(start: DiskModel, parameters: &[Parameter], seen: &Seen) -> DiskModel {
    let applied = |moves: &[f64]| {
        let mut model = start.clone();
        for (parameter, by) in parameters.iter().zip(moves) {
            parameter.scale(&mut model, by.exp());
        }
        model
    };
    let cost = |moves: &[f64]| {
        let model = applied(moves);
        let pull = PULL * moves.iter().map(|by| by * by).sum::<f64>();
        seen.cost(&model) + pull
    };
    let evaluations = if start.is_rotational() { ARM_EVALUATIONS } else { NO_ARM_EVALUATIONS };
    // A second start from where the first one ended gets out of corners that the simplex has folded into.
    let first = simplex::minimise(&vec![0.0; parameters.len()], evaluations, cost);
    let second = simplex::minimise(&first, evaluations, cost);
    applied(&second)
}

/// The preset whose rates are most alike, among those of the same kind.
fn nearest_preset(seen: &Seen, is_rotational: bool) -> DiskModel {
    let presets = PRESETS.iter().filter_map(|(name, _)| DiskModel::preset(name)).filter(|model| model.is_rotational() == is_rotational);
    presets.min_by(|a, b| seen.cost(a).total_cmp(&seen.cost(b))).expect("there is a preset of each kind")
}

/// All numbers with a unit, to round them.
fn numbers(model: &mut DiskModel) -> Vec<&mut f64> {
    match &mut model.mechanics {
        Mechanics::Rotational(inside) => rotational::numbers(inside),
        Mechanics::Parallel(inside) => parallel::numbers(inside),
    }
}

/// Three significant digits: more than fio's runs can tell.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let step = 10f64.powf(value.abs().log10().floor() - 2.0);
    let rounded = (value / step).round() * step;
    // Decimal fractions as they are written: 0.1 * 3 is not 0.3.
    format!("{rounded:.6}").parse().unwrap_or(rounded)
}

#[cfg(test)]
mod tests;
