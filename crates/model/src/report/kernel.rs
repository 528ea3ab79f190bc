//! Kernels of an experiment: which ran, how often they were booted, and in which arms they failed. A kernel that panics where the baseline
//! does not is a regression of its own kind, which no statistics of values can see: there are none.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::CellReport;
use super::build::Inputs;
use crate::crash::{BOOT_STEP, CrashKind};
use crate::id::{JobId, KernelName, TrialId};
use crate::kernel::{Kernel, KernelRecord};
use crate::matrix::CellKind;
use crate::outcome::{Failure, Fault};
use crate::record::TrialRecord;
use crate::trial::TrialState;

/// A kernel of the lab that the experiment names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportKernel {
    /// As it was at submission.
    pub kernel: KernelRecord,
    /// Boots in which trials ran.
    pub boots: u32,
    /// Jobs in which it did not come up.
    pub failed_boots: u32,
    /// Mean time from the order to the agent's answer, milliseconds.
    pub boot_ms: Option<u64>,
}

/// Kernel faults under one value of the compared axis, beside those of the baseline in the same cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFaults {
    /// The value.
    pub label: String,
    /// Trials that ended, faults of the lab apart: they say nothing of a kernel.
    pub ended: u32,
    /// Of those: failed by the kernel.
    pub failed: u32,
    /// The same of the baseline.
    pub base_ended: u32,
    /// Likewise.
    pub base_failed: u32,
    /// What was said, with how often, the most frequent first.
    pub titles: Vec<(String, u32)>,
    /// A trial with the most frequent one.
    pub example: Option<TrialId>,
}

impl KernelFaults {
    /// Does the kernel fail more often than under the baseline?
    pub fn is_regression(&self) -> bool {
        self.share() > self.base_share()
    }

    /// Less often?
    pub fn is_improvement(&self) -> bool {
        self.share() < self.base_share()
    }

    fn share(&self) -> f64 {
        f64::from(self.failed) / f64::from(self.ended.max(1))
    }

    fn base_share(&self) -> f64 {
        f64::from(self.base_failed) / f64::from(self.base_ended.max(1))
    }

    /// `panicked`, or what else happened to those that failed.
    pub fn verb(&self) -> &'static str {
        let mut kinds: Vec<Option<CrashKind>> = self.titles.iter().map(|(title, _)| CrashKind::of_title(title)).collect();
        kinds.dedup();
        match kinds.as_slice() {
            [Some(kind)] => kind.past(),
            _ => "failed by the kernel",
        }
    }

    /// The most frequent title without the word that [`KernelFaults::verb`] says already.
    pub fn title(&self) -> &str {
        let title = self.titles.first().map_or("", |(title, _)| title);
        match CrashKind::of_title(title) {
            Some(_) if self.verb() != "failed by the kernel" => title.split_once(": ").map_or(title, |(_, rest)| rest),
            Some(_) | None => title,
        }
    }
}

/// The kernels with their boots, in the order of the experiment file.
pub(super) fn kernels(inputs: &Inputs<'_>) -> Vec<ReportKernel> {
    let experiment = inputs.experiment;
    let named = experiment.definition.matrix.kernels.iter().filter_map(|kernel| match kernel {
        Kernel::Built(name) => experiment.kernels.get(name),
        Kernel::AsBooted => None,
    });
    named.map(|kernel| with_boots(kernel, inputs)).collect()
}

fn with_boots(kernel: &KernelRecord, inputs: &Inputs<'_>) -> ReportKernel {
    let mut boots: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failed: BTreeSet<JobId> = BTreeSet::new();
    for trial in inputs.trials.iter().filter(|trial| runs_on(trial, &kernel.name, inputs)) {
        if let Some(boot) = trial.details.as_ref().and_then(|details| details.boot.as_ref()) {
            boots.insert(&boot.id, boot.ms);
        }
        if kernel_fault(trial).is_some_and(|failure| failure.step == BOOT_STEP) {
            failed.insert(trial.job);
        }
    }
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    ReportKernel {
        kernel: kernel.clone(),
        boots: count(boots.len()),
        failed_boots: count(failed.len()),
        boot_ms: boots.values().sum::<u64>().checked_div(boots.len() as u64),
    }
}

fn runs_on(trial: &TrialRecord, name: &KernelName, inputs: &Inputs<'_>) -> bool {
    let arm = inputs.cells.get(trial.id.cell.cell as usize).and_then(|cell| cell.arms.get(trial.id.arm as usize));
    arm.is_some_and(|arm| matches!(&arm.setting.kernel, Kernel::Built(of) if of == name))
}

fn kernel_fault(trial: &TrialRecord) -> Option<&Failure> {
    match &trial.state {
        TrialState::Failed(failure) if failure.fault == Fault::Kernel => Some(failure),
        TrialState::Failed(_) | TrialState::Queued | TrialState::Running | TrialState::Completed | TrialState::Cancelled => None,
    }
}

/// Faults by candidate, the largest excess over the baseline first; only where the kernel failed at all.
pub(super) fn faults(cells: &[CellReport]) -> Vec<KernelFaults> {
    let mut by_label: BTreeMap<&str, Vec<(&CellReport, u32)>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.kind == CellKind::Compare) {
        for (number, arm) in (0u32..).zip(&cell.arms).skip(1) {
            by_label.entry(&arm.label).or_default().push((cell, number));
        }
    }
    let mut faults: Vec<KernelFaults> = by_label.into_iter().map(|(label, arms)| of_candidate(label, &arms)).collect();
    faults.retain(|faults| faults.failed + faults.base_failed > 0);
    let excess = |faults: &KernelFaults| faults.base_share() - faults.share();
    faults.sort_by(|a, b| excess(a).total_cmp(&excess(b)));
    faults
}

fn of_candidate(label: &str, arms: &[(&CellReport, u32)]) -> KernelFaults {
    let mut faults =
        KernelFaults { label: label.to_owned(), ended: 0, failed: 0, base_ended: 0, base_failed: 0, titles: Vec::new(), example: None };
    let mut titles: BTreeMap<&str, (u32, TrialId)> = BTreeMap::new();
    let mut base_titles: BTreeMap<&str, (u32, TrialId)> = BTreeMap::new();
    for (cell, arm) in arms {
        for trial in &cell.trials {
            let (ended, failed, titles) = match trial.arm {
                0 => (&mut faults.base_ended, &mut faults.base_failed, &mut base_titles),
                other if other == *arm => (&mut faults.ended, &mut faults.failed, &mut titles),
                _ => continue,
            };
            let fault = trial.failure.as_ref().map(|failure| failure.fault);
            *ended += u32::from(match fault {
                Some(Fault::Lab) => false,
                Some(Fault::Kernel | Fault::Workload) => true,
                None => trial.state == TrialState::Completed.word(),
            });
            if let Some(failure) = trial.failure.as_ref().filter(|failure| failure.fault == Fault::Kernel) {
                *failed += 1;
                titles.entry(failure.title()).or_insert((0, trial.id)).0 += 1;
            }
        }
    }
    // Where only the baseline fails its words are told.
    let mut titles: Vec<(&str, (u32, TrialId))> = if titles.is_empty() { base_titles } else { titles }.into_iter().collect();
    titles.sort_by_key(|(_, (times, _))| std::cmp::Reverse(*times));
    faults.example = titles.first().map(|(_, (_, trial))| *trial);
    faults.titles = titles.into_iter().map(|(title, (times, _))| (title.to_owned(), times)).collect();
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::Crash;
    use crate::testing::{Story, booting_host, experiment, id, noise, workloads};

    /// Two kernels on a host, six rounds; the trials of `patched` in the first `panics` rounds end in a panic.
    fn story(panics: u32) -> Story {
        let kernels = ("[matrix]", "[matrix]\nkernel = [\"base\", \"patched\"]");
        let asked = experiment(&[("\"scheduler\"", "\"kernel\""), kernels, ("[\"none\", \"bfq\"]", "[\"none\"]")]);
        let mut story = Story::finished(asked, workloads(&["reader"]), vec![booting_host("a", &["sata-hdd"])], |_, arm, round, _| {
            100e6 * noise(arm, round)
        });
        for trial in story.trials.iter_mut().filter(|trial| trial.id.arm == 1 && trial.id.run < panics) {
            let crash = Crash {
                kind: CrashKind::Panic,
                title: "Kernel panic - not syncing: Fatal exception".into(),
                excerpt: format!("[    {}.0] bfq_dispatch_request+0x1b/0x40", trial.id.run),
            };
            trial.state = TrialState::Failed(crash.failure("workload"));
        }
        story
    }

    #[test]
    fn a_kernel_that_panics_in_one_arm_is_the_headline() {
        let report = story(3).report();
        let faults = &report.kernel_faults[0];
        assert_eq!((faults.failed, faults.ended, faults.base_failed, faults.base_ended), (3, 6, 0, 6));
        assert!(faults.is_regression() && report.is_regression());
        assert_eq!(faults.titles, [("panic: Kernel panic - not syncing: Fatal exception".to_owned(), 3)], "whatever the console says");
        assert_eq!(
            report.headline,
            "Kernel regression: 3 of 6 trials of patched panicked (Kernel panic - not syncing: Fatal exception), none of 6 of base. \
             No change shown: patched against base, 0 unchanged of 1 comparison; 1 cannot be told."
        );
        let quiet = story(0).report();
        assert!(quiet.kernel_faults.is_empty() && !quiet.is_regression());
        assert_eq!(quiet.headline, "No change in 1 comparison: patched against base.");
    }

    #[test]
    fn a_panic_is_told_before_anything_was_compared() {
        let mut story = story(1);
        story.experiment.state = crate::experiment::state::ExperimentState::Running;
        for trial in story.trials.iter_mut().filter(|trial| trial.id.run > 0) {
            trial.state = TrialState::Queued;
        }
        let headline = story.report().headline;
        assert!(headline.starts_with("So far: kernel regression: 1 of 1 trial of patched panicked"), "{headline}");
    }

    #[test]
    fn faults_of_lab_and_workload_are_not_the_kernels() {
        let mut story = story(0);
        for (trial, fault) in story.trials.iter_mut().filter(|trial| trial.id.arm == 1).zip([Fault::Lab, Fault::Workload]) {
            trial.state = TrialState::Failed(Failure { fault, step: "x".into(), message: "y".into() });
        }
        assert_eq!(story.report().kernel_faults, []);
    }

    #[test]
    fn a_patch_that_ends_panics_is_told_too_and_one_that_changes_none() {
        let mut story = story(2);
        for trial in &mut story.trials {
            trial.id.arm = 1 - trial.id.arm;
        }
        let report = story.report();
        assert!(report.kernel_faults[0].is_improvement() && !report.is_regression());
        assert!(
            report.headline.starts_with("The kernel fails less: none of 6 trials of patched, 2 of 6 of base panicked"),
            "{}",
            report.headline
        );
        let failure = |message: &str| TrialState::Failed(Failure { fault: Fault::Kernel, step: "boot".into(), message: message.into() });
        for trial in &mut story.trials {
            trial.state = failure("hang: its agent does not answer any more");
        }
        let report = story.report();
        assert!(report.headline.starts_with("The kernel hung in 6 of 6 trials of patched, and in 6 of 6 of base"), "{}", report.headline);
        assert_eq!(report.kernels.iter().map(|kernel| (kernel.boots, kernel.failed_boots)).collect::<Vec<_>>(), [(6, 6), (6, 6)]);
    }

    #[test]
    fn boots_are_counted_by_kernel() {
        let report = story(0).report();
        let [base, patched] = report.kernels.as_slice() else { panic!("{:?}", report.kernels) };
        assert_eq!((&base.kernel.name, base.boots, base.failed_boots, base.boot_ms), (&id("base"), 6, 0, Some(6_300)));
        assert_eq!((&patched.kernel.name, patched.boots), (&id("patched"), 6));
    }
}
