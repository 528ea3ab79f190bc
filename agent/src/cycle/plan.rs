//! From a trial's specification to its steps. Pure: no disk is looked at, nothing is decided later that can be decided here.

use std::collections::BTreeSet;
use std::time::Duration;

use blklab_model::filesystem::Format;
use blklab_model::id::DiskId;
use blklab_model::outcome::{Failure, Fault};
use blklab_model::scheduler::Tunables;
use blklab_model::workload::Target;
use blklab_model::workload::resolve::ResolvedLoad;
use blklab_wire::agent::TrialSpec;

use super::step::{Action, Phase, Step};

/// For what only reads or writes a few small files.
const SHORT: Duration = Duration::from_secs(60);

/// For mkfs, mount, sync and their like: a large disk with a full cache before it may take minutes, more is a hang.
const LONG: Duration = Duration::from_secs(600);

/// Beyond the sum of the loads' own limits, for starting and ending them.
const MARGIN: Duration = Duration::from_secs(60);

/// The steps of a trial, or why it can have none.
pub fn plan(spec: &TrialSpec) -> Result<Vec<Step>, Failure> {
    if spec.disks.len() != spec.workload.disks as usize {
        let message = format!("the workload works on {} disks, but the trial gives it {}", spec.workload.disks, spec.disks.len());
        return Err(misfit(&message));
    }
    let mut steps = check(spec);
    match (&spec.workload.target, &spec.format) {
        (Target::Mounted, Format::Made { kind, mkfs, mount, journal_ioprio }) => {
            let options = quiet_options(kind, mount);
            let mount =
                || step(Phase::Mkfs, Action::Mount { kind: kind.clone(), options: options.clone() }, LONG).undone_by(Action::Unmount);
            steps.push(step(Phase::Mkfs, Action::MakeFilesystem { kind: kind.clone(), args: mkfs.clone() }, LONG));
            steps.push(mount());
            steps.push(step(Phase::Mkfs, Action::CheckSpace { bytes: spec.workload.space_bytes }, SHORT));
            steps.extend(prepare(spec));
            steps.push(step(Phase::Settle, Action::Unmount, LONG));
            steps.extend(set_queue(spec));
            steps.push(Step { phase: Phase::Settle, ..mount() });
            let priority = *journal_ioprio;
            steps.extend(priority.map(|priority| step(Phase::Settle, Action::SetJournalPriority { priority }, SHORT)));
            steps.extend(measure(spec));
            steps.extend(priority.map(|priority| step(Phase::Verify, Action::VerifyJournalPriority { priority }, SHORT)));
            let read_only = options.split(',').any(|option| option == "ro");
            steps.push(step(Phase::Verify, Action::VerifyMount { read_only }, SHORT));
        }
        (Target::Raw, Format::Raw) => {
            steps.extend(prepare(spec));
            steps.extend(set_queue(spec));
            steps.extend(measure(spec));
        }
        (Target::Mounted, Format::Raw) => return Err(misfit("the workload works on files, but the trial gives it a raw disk")),
        (Target::Raw, Format::Made { .. }) => return Err(misfit("the workload works on a raw disk, but the trial gives it a file system")),
    }
    Ok(steps)
}

fn check(spec: &TrialSpec) -> Vec<Step> {
    let tools = spec.workload.tools.iter().cloned().chain(spec.format.mkfs_program()).collect();
    let files = set_values(spec).into_keys().collect::<BTreeSet<_>>();
    let take = |disk: &DiskId| {
        let action = Action::TakeDisk { disk: disk.clone(), space_bytes: spec.workload.space_bytes };
        step(Phase::Check, action, SHORT).undone_by(Action::ReleaseDisks)
    };
    let mut steps = vec![
        step(Phase::Check, Action::MarkKernelLog, SHORT).undone_by(Action::CollectKernelLog),
        step(Phase::Check, Action::CheckTools { tools }, SHORT),
    ];
    steps.extend(spec.disks.iter().map(take));
    steps.extend([
        step(Phase::Check, Action::RememberQueues { files }, SHORT).undone_by(Action::RestoreQueues),
        step(Phase::Check, Action::OpenGroup, SHORT).undone_by(Action::CloseGroup),
        step(Phase::Mkfs, Action::Blank, LONG),
    ]);
    steps
}

fn prepare(spec: &TrialSpec) -> impl Iterator<Item = Step> {
    let loads = spec.workload.prepare.iter().map(|load| step(Phase::Prepare, Action::Prepare { load: load.clone() }, limit_of([load])));
    loads.chain([step(Phase::Settle, Action::Sync, LONG)])
}

/// The scheduler first: switching it resets `nr_requests` and makes `iosched/` anew.
fn set_queue(spec: &TrialSpec) -> impl Iterator<Item = Step> {
    let scheduler = step(Phase::Settle, Action::SetScheduler { name: spec.scheduler.name.clone() }, SHORT);
    let tunables = set_values(spec).into_iter().map(|(file, value)| step(Phase::Settle, Action::SetTunable { file, value }, SHORT));
    std::iter::once(scheduler).chain(tunables)
}

fn measure(spec: &TrialSpec) -> Vec<Step> {
    let workload = &spec.workload;
    let mut steps = vec![step(Phase::Settle, Action::DropCaches, LONG), step(Phase::Settle, Action::Limit, SHORT)];
    steps.extend(spec.memory_cap_bytes.map(|bytes| step(Phase::Settle, Action::CapMemory { bytes }, SHORT)));
    for load in &workload.background {
        steps.push(step(Phase::Workload, Action::StartBackground { load: load.clone() }, SHORT).undone_by(Action::StopBackground));
    }
    steps.push(step(Phase::Workload, Action::Measure { tasks: workload.tasks.clone() }, limit_of(&workload.tasks)));
    if !workload.background.is_empty() {
        steps.push(step(Phase::Workload, Action::StopBackground, SHORT));
    }
    let verify = Action::VerifyQueues { scheduler: spec.scheduler.name.clone(), tunables: set_values(spec) };
    steps.push(step(Phase::Verify, verify, SHORT));
    steps
}

/// Every file of `queue/` that the trial sets.
fn set_values(spec: &TrialSpec) -> Tunables {
    let of_scheduler = spec.scheduler.tunables.iter().map(|(name, value)| (format!("iosched/{name}"), value.clone()));
    let of_queue = spec.tunables.values.iter().map(|(name, value)| (name.clone(), value.clone()));
    of_scheduler.chain(of_queue).collect()
}

/// ext4 fills its inode tables in the background for minutes after the first mount (ext4(5), `init_itable`), which would run beside the
/// measured window; unless the experiment says a word on it, that is left out.
fn quiet_options(kind: &str, options: &str) -> String {
    if kind != "ext4" || options.contains("init_itable") {
        return options.to_owned();
    }
    if options.is_empty() { "noinit_itable".to_owned() } else { format!("{options},noinit_itable") }
}

fn limit_of<'a>(loads: impl IntoIterator<Item = &'a ResolvedLoad>) -> Duration {
    let longest = loads.into_iter().map(|load| load.timeout_s).max().unwrap_or(0);
    Duration::from_secs(longest.into()) + MARGIN
}

fn misfit(message: &str) -> Failure {
    Failure { fault: Fault::Workload, step: "plan".to_owned(), message: message.to_owned() }
}

fn step(phase: Phase, action: Action, limit: Duration) -> Step {
    Step { phase, action, limit, undo: None }
}

impl Step {
    fn undone_by(mut self, undo: Action) -> Self {
        self.undo = Some(undo);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::scripted::{mounted_trial, raw_trial};
    use super::*;

    fn lines(steps: &[Step]) -> String {
        let undo = |step: &Step| step.undo.as_ref().map(|undo| format!("  | undo: {undo}")).unwrap_or_default();
        let line = |step: &Step| format!("{:9} {:5} s  {}{}", step.phase.word(), step.limit.as_secs(), step.action, undo(step));
        steps.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_mounted_trial() {
        insta::assert_snapshot!(lines(&plan(&mounted_trial()).unwrap()));
    }

    #[test]
    fn a_raw_trial() {
        insta::assert_snapshot!(lines(&plan(&raw_trial()).unwrap()));
    }

    #[test]
    fn a_workload_gets_what_it_works_on_or_nothing() {
        let raw = TrialSpec { format: Format::Raw, ..mounted_trial() };
        assert_eq!(plan(&raw).unwrap_err().fault, Fault::Workload);
        let made = TrialSpec { format: mounted_trial().format, ..raw_trial() };
        assert_eq!(plan(&made).unwrap_err().fault, Fault::Workload);
        let two = TrialSpec { disks: [mounted_trial().disks, raw_trial().disks].concat(), ..mounted_trial() };
        assert_eq!(plan(&two).unwrap_err().message, "the workload works on 1 disks, but the trial gives it 2");
    }

    #[test]
    fn ext4_is_kept_quiet_unless_the_experiment_asks() {
        assert_eq!(quiet_options("ext4", "noatime"), "noatime,noinit_itable");
        assert_eq!(quiet_options("ext4", ""), "noinit_itable");
        assert_eq!(quiet_options("ext4", "init_itable=10"), "init_itable=10");
        assert_eq!(quiet_options("xfs", ""), "");
    }
}
