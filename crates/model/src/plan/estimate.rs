//! How long the rest of a plan will take, from what earlier trials took. Hosts work side by side, so the slowest one counts.

use std::collections::BTreeMap;

use crate::experiment::Parameters;
use crate::id::{HostName, JobId, WorkloadName};
use crate::matrix::{Cell, Setting};
use crate::plan::PlannedJob;
use crate::record::{JobRecord, TrialRecord};
use crate::time::TimestampMs;
use crate::trial::TrialState;

/// A time between two reports of a host that is longer than this held no trial: the host was away.
const LONGEST_MS: i64 = 6 * 3600 * 1000;

/// What trials and boots took, milliseconds of the world's time: between one report of a host and its next, whatever its own clock says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    trials: BTreeMap<Key, Vec<u64>>,
    boots: BTreeMap<Option<HostName>, Vec<u64>>,
}

/// What a trial does, as exactly as it is known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    workload: WorkloadName,
    host: Option<HostName>,
    parameters: Option<Parameters>,
}

/// What one host still has to do.
#[derive(Debug, Clone, PartialEq, Default)]
struct Rest<'a> {
    trials: Vec<(&'a Cell, &'a Setting)>,
    boots: u32,
}

/// What is left of an experiment, host by host.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Work<'a>(BTreeMap<&'a HostName, Rest<'a>>);

impl<'a> Work<'a> {
    /// All of a plan.
    pub fn planned(cells: &'a [Cell], jobs: &'a [PlannedJob]) -> Work<'a> {
        let mut work = Work::default();
        for job in jobs {
            let rest = work.0.entry(&job.host).or_default();
            rest.boots += u32::from(job.kernel.is_booted());
            rest.trials.extend(job.trials.iter().filter_map(|trial| part(cells, trial.cell, trial.arm)));
        }
        work
    }

    /// What is not over. A job of which a trial is over has booted its kernel.
    pub fn open(cells: &'a [Cell], jobs: &'a [JobRecord], trials: &[TrialRecord]) -> Work<'a> {
        let mut of_job: BTreeMap<JobId, (Vec<&TrialRecord>, bool)> = BTreeMap::new();
        for trial in trials {
            let (open, has_begun) = of_job.entry(trial.job).or_default();
            if trial.state.is_over() { *has_begun = true } else { open.push(trial) }
        }
        let mut work = Work::default();
        for job in jobs {
            let Some((open, has_begun)) = of_job.get(&job.id).filter(|(open, _)| !open.is_empty()) else { continue };
            let rest = work.0.entry(&job.host).or_default();
            rest.boots += u32::from(job.kernel.is_booted() && !has_begun);
            rest.trials.extend(open.iter().filter_map(|trial| part(cells, trial.id.cell.cell, trial.id.arm)));
        }
        work
    }

    /// Boots of kernels that are still to come.
    pub fn boots(&self) -> u32 {
        self.0.values().map(|rest| rest.boots).sum()
    }

    /// Milliseconds until all is done, from trials of this experiment and of earlier ones; none when some of it has never been seen.
    pub fn takes_ms(&self, own: &History, earlier: &History) -> Option<u64> {
        let mut longest = 0;
        for (host, rest) in &self.0 {
            let mut ms = 0u64;
            for (cell, setting) in &rest.trials {
                ms = ms.saturating_add(trial_ms(cell, setting, own, earlier)?);
            }
            if rest.boots > 0 {
                let boot = own.boot(Some(host)).or_else(|| earlier.boot(Some(host))).or_else(|| own.boot(None))?;
                ms = ms.saturating_add(boot.saturating_mul(u64::from(rest.boots)));
            }
            longest = longest.max(ms);
        }
        Some(longest)
    }

    /// Can [`Work::takes_ms`] tell from this experiment alone?
    pub fn is_known_to(&self, own: &History) -> bool {
        self.takes_ms(own, &History::default()).is_some()
    }
}

impl History {
    /// Adds what an experiment that was begun at `started` has seen.
    pub fn add(&mut self, cells: &[Cell], trials: &[TrialRecord], started: Option<TimestampMs>) {
        let mut by_host: BTreeMap<&HostName, Vec<(&TrialRecord, &Cell)>> = BTreeMap::new();
        for trial in trials.iter().filter(|trial| trial.ended.is_some()) {
            if let Some(cell) = cells.get(trial.id.cell.cell as usize) {
                by_host.entry(&cell.host).or_default().push((trial, cell));
            }
        }
        for (host, mut ended) in by_host {
            ended.sort_by_key(|(trial, _)| trial.ended);
            let (mut before, mut boot) = (started, None);
            for (trial, cell) in ended {
                let now_in = trial.details.as_ref().and_then(|details| details.boot.as_ref());
                let booted = now_in.filter(|now| Some(&now.id) != boot).map(|now| now.ms);
                if let Some(ms) = booted {
                    self.add_boot(host, ms);
                }
                if let (Some(from), Some(to), TrialState::Completed) = (before, trial.ended, &trial.state)
                    && (0..LONGEST_MS).contains(&(to - from).0)
                    && let Some(arm) = cell.arms.get(trial.id.arm as usize)
                {
                    self.add_trial(cell, &arm.setting, (to - from).0.unsigned_abs().saturating_sub(booted.unwrap_or(0)));
                }
                boot = now_in.map(|now| &now.id).or(boot);
                before = trial.ended;
            }
        }
    }

    /// Adds the boot of a host.
    pub fn add_boot(&mut self, host: &HostName, ms: u64) {
        for key in [Some(host.clone()), None] {
            self.boots.entry(key).or_default().push(ms);
        }
    }

    fn add_trial(&mut self, cell: &Cell, setting: &Setting, ms: u64) {
        for key in [Key::exact(cell, setting), Key::on_host(cell), Key::anywhere(cell)] {
            self.trials.entry(key).or_default().push(ms);
        }
    }

    fn trial(&self, key: &Key) -> Option<u64> {
        self.trials.get(key).and_then(|values| median(values))
    }

    fn boot(&self, host: Option<&HostName>) -> Option<u64> {
        self.boots.get(&host.cloned()).and_then(|values| median(values))
    }
}

impl Key {
    fn exact(cell: &Cell, setting: &Setting) -> Key {
        Key { parameters: Some(setting.parameters.clone()), ..Key::on_host(cell) }
    }

    fn on_host(cell: &Cell) -> Key {
        Key { host: Some(cell.host.clone()), ..Key::anywhere(cell) }
    }

    fn anywhere(cell: &Cell) -> Key {
        Key { workload: cell.workload.clone(), host: None, parameters: None }
    }
}

/// The nearest thing that was seen. Another host says something only inside one experiment, whose parameters are chosen together.
fn trial_ms(cell: &Cell, setting: &Setting, own: &History, earlier: &History) -> Option<u64> {
    let (exact, on_host) = (Key::exact(cell, setting), Key::on_host(cell));
    let own_here = own.trial(&exact).or_else(|| own.trial(&on_host));
    let earlier_here = || earlier.trial(&exact).or_else(|| earlier.trial(&on_host));
    own_here.or_else(earlier_here).or_else(|| own.trial(&Key::anywhere(cell)))
}

fn part(cells: &[Cell], cell: u32, arm: u32) -> Option<(&Cell, &Setting)> {
    let cell = cells.get(cell as usize)?;
    Some((cell, &cell.arms.get(arm as usize)?.setting))
}

/// Robust against a host that was away for a while, which the mean is not.
fn median(values: &[u64]) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ExperimentId;
    use crate::kernel::Kernel;
    use crate::record::Boot;
    use crate::testing::{Story, booting_host, experiment, id, workloads};

    /// Two kernels and two schedulers on one host, four rounds: 8 jobs of 2 trials; each trial takes 2 s, each boot 6 s more.
    fn story() -> Story {
        let asked = experiment(&[("[matrix]", "[matrix]\nkernel = [\"base\", \"patched\"]"), ("rounds = 6", "rounds = 4")]);
        let mut story = Story::finished(asked, workloads(&["reader"]), vec![booting_host("a", &["sata-hdd"])], |_, _, _, _| 1.0);
        let mut now = TimestampMs(0);
        let mut job = None;
        for trial in &mut story.trials {
            let boot = if job == Some(trial.job) { 0 } else { 6_000 };
            job = Some(trial.job);
            now = now + crate::time::SpanMs(2_000 + boot);
            trial.ended = Some(now);
            trial.details.as_mut().unwrap().boot = Some(Boot { id: trial.job.to_string(), ms: 6_000 });
        }
        story
    }

    fn jobs(story: &Story) -> Vec<JobRecord> {
        let of = |number: u32, planned: PlannedJob| JobRecord {
            id: JobId { experiment: ExperimentId(1), job: number },
            host: planned.host,
            kernel: planned.kernel,
            round: planned.round,
            state: crate::job::JobState::Queued,
        };
        (0u32..).zip(crate::plan::plan(&story.cells, 4, 1, 1)).map(|(number, planned)| of(number, planned)).collect()
    }

    #[test]
    fn a_plan_takes_its_trials_and_its_boots() {
        let story = story();
        let mut earlier = History::default();
        earlier.add(&story.cells, &story.trials, story.experiment.started);
        let planned = crate::plan::plan(&story.cells, 4, 1, 2);
        let work = Work::planned(&story.cells, &planned);
        assert_eq!((work.boots(), work.takes_ms(&History::default(), &earlier)), (8, Some(16 * 2_000 + 8 * 6_000)));
        assert_eq!(work.takes_ms(&History::default(), &History::default()), None, "nothing like it was ever seen");
    }

    #[test]
    fn what_is_over_is_not_counted_again() {
        let mut story = story();
        let done = 5;
        for trial in &mut story.trials[done..] {
            trial.state = TrialState::Queued;
            (trial.ended, trial.details) = (None, None);
        }
        let mut own = History::default();
        own.add(&story.cells, &story.trials, story.experiment.started);
        let jobs = jobs(&story);
        let work = Work::open(&story.cells, &jobs, &story.trials);
        assert_eq!((work.boots(), work.takes_ms(&own, &History::default())), (5, Some(11 * 2_000 + 5 * 6_000)));
        assert!(work.is_known_to(&own));
    }

    #[test]
    fn hosts_work_side_by_side_and_an_unknown_boot_is_not_guessed() {
        let asked = experiment(&[("[matrix]", "[matrix]\nkernel = [\"base\"]"), ("[\"ext4\"]", "[\"ext4\", \"xfs\", \"raw\"]")]);
        let hosts = vec![booting_host("a", &["sata-hdd"]), booting_host("b", &["sata-hdd"])];
        let story = Story::finished(asked, workloads(&["reader"]), hosts, |_, _, _, _| 1.0);
        let planned = crate::plan::plan(&story.cells, 1, 1, 2);
        assert!(planned.iter().all(|job| job.kernel == Kernel::Built(id("base"))));
        let work = Work::planned(&story.cells, &planned);
        let mut own = History::default();
        own.add_trial(&story.cells[0], &story.cells[0].arms[0].setting, 1_000);
        assert_eq!(work.takes_ms(&own, &History::default()), None);
        own.add_boot(&story.cells[0].host, 5_000);
        assert_eq!(work.takes_ms(&own, &History::default()), Some(7_000), "one trial stands for both hosts of an experiment");
    }

    #[test]
    fn a_break_of_the_host_is_no_trial() {
        let mut story = story();
        for trial in &mut story.trials[8..] {
            trial.ended = trial.ended.map(|at| at + crate::time::SpanMs(LONGEST_MS));
        }
        let mut history = History::default();
        history.add(&story.cells, &story.trials, story.experiment.started);
        assert!(history.trials.values().flatten().all(|ms| *ms == 2_000), "{history:?}");
    }
}
