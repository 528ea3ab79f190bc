//! docs/states.md shows every state met by every event. Its tables and diagrams are made here from the `step` functions themselves, so
//! that they cannot drift from the code: when one changes, this test prints the block to put in its place.

use std::collections::BTreeSet;
use std::fmt::Debug;

use blklab_model::build::{self, BuildEvent, BuildFailure, BuildFault, BuildState, MAX_BUILD_ATTEMPTS};
use blklab_model::disk::{self, DiskEvent, DiskHealth};
use blklab_model::experiment::state::{self as experiment, ExperimentEvent, ExperimentState};
use blklab_model::host::{self, HostEvent, HostHealth};
use blklab_model::job::{self, JobEvent, JobState};
use blklab_model::outcome::{Failure, Fault, Outcome};
use blklab_model::time::TimestampMs;
use blklab_model::transition::Refused;
use blklab_model::trial::{self, MAX_ATTEMPTS, TrialEvent, TrialState};

const PAGE: &str = include_str!("../../../docs/states.md");

/// What happens in a state: the next one, or a refusal.
type Answer<S> = Result<S, Refused>;

/// One state machine, as much of it as a page shows.
struct Machine<S> {
    name: &'static str,
    /// Every state once.
    states: Vec<S>,
    /// Every event once, or once for each condition that makes a difference.
    events: Vec<&'static str>,
    word: fn(&S) -> &'static str,
    /// The states in which a thing may begin.
    first: Vec<S>,
}

#[test]
fn hosts() {
    let because = |reason: &str| reason.to_owned();
    let events =
        [HostEvent::ReportedClean, HostEvent::ReportedDirty(because("new")), HostEvent::Quarantine(because("new")), HostEvent::Release];
    let event_word = |event: &HostEvent| match event {
        HostEvent::ReportedClean => "ReportedClean",
        HostEvent::ReportedDirty(_) => "ReportedDirty",
        HostEvent::Quarantine(_) => "Quarantine",
        HostEvent::Release => "Release",
    };
    let machine = Machine {
        name: "host",
        states: vec![HostHealth::Healthy, HostHealth::Dirty { reason: because("old") }, HostHealth::Quarantined { reason: because("old") }],
        events: events.iter().map(event_word).collect(),
        word: |health| match health {
            HostHealth::Healthy => "healthy",
            HostHealth::Dirty { .. } => "dirty",
            HostHealth::Quarantined { .. } => "quarantined",
        },
        first: vec![HostHealth::Healthy],
    };
    machine.check(|health, at| host::step(health, events[at].clone()));
}

#[test]
fn disks() {
    let refused = |reason: &str| DiskHealth::Refused { reason: reason.to_owned() };
    let events = [
        ("Reported usable", DiskEvent::Reported(DiskHealth::Usable)),
        ("Reported refused", DiskEvent::Reported(refused("new"))),
        ("Reported missing", DiskEvent::Reported(DiskHealth::Missing)),
        ("Quarantine", DiskEvent::Quarantine("new".to_owned())),
        ("Release", DiskEvent::Release),
    ];
    for (label, event) in &events {
        let word = match event {
            DiskEvent::Reported(_) => "Reported",
            DiskEvent::Quarantine(_) => "Quarantine",
            DiskEvent::Release => "Release",
        };
        assert!(label.starts_with(word), "{label}");
    }
    let machine = Machine {
        name: "disk",
        states: vec![DiskHealth::Usable, refused("old"), DiskHealth::Missing, DiskHealth::Quarantined { reason: "old".to_owned() }],
        events: events.iter().map(|(label, _)| *label).collect(),
        word: |health| match health {
            DiskHealth::Usable => "usable",
            DiskHealth::Refused { .. } => "refused",
            DiskHealth::Missing => "missing",
            DiskHealth::Quarantined { .. } => "quarantined",
        },
        first: vec![DiskHealth::Usable, refused("old"), DiskHealth::Missing],
    };
    machine.check(|health, at| disk::step(health, events[at].1.clone()));
}

#[test]
fn jobs() {
    /// A lease that runs out in the middle of what the events' clocks say.
    const UNTIL: TimestampMs = TimestampMs(1_000);
    let host = || "lab-1".parse().unwrap();
    let events = [
        ("Claimed", JobEvent::Claimed(host()), TimestampMs(999)),
        ("Renewed", JobEvent::Renewed, TimestampMs(999)),
        ("Tick before the lease ends", JobEvent::Tick, TimestampMs(999)),
        ("Tick at its end or later", JobEvent::Tick, UNTIL),
        ("Abandoned", JobEvent::Abandoned, TimestampMs(999)),
        ("AllOver", JobEvent::AllOver, TimestampMs(999)),
        ("Cancelled", JobEvent::Cancelled, TimestampMs(999)),
    ];
    for (label, event, _) in &events {
        let word = match event {
            JobEvent::Claimed(_) => "Claimed",
            JobEvent::Renewed => "Renewed",
            JobEvent::Tick => "Tick",
            JobEvent::Abandoned => "Abandoned",
            JobEvent::AllOver => "AllOver",
            JobEvent::Cancelled => "Cancelled",
        };
        assert!(label.starts_with(word), "{label}");
    }
    let machine = Machine {
        name: "job",
        states: vec![JobState::Queued, JobState::Leased { host: host(), until: UNTIL }, JobState::Done, JobState::Cancelled],
        events: events.iter().map(|(label, ..)| *label).collect(),
        word: JobState::word,
        first: vec![JobState::Queued],
    };
    machine.check(|state, at| {
        let (_, event, now) = &events[at];
        job::step(state, event.clone(), *now)
    });
}

#[test]
fn trials() {
    let failure = |fault, message: &str| Failure { fault, step: "mkfs".to_owned(), message: message.to_owned() };
    let failed = |fault| TrialEvent::Reported(Outcome::Failed(failure(fault, "new")));
    let (early, last) = (1..=MAX_ATTEMPTS - 1, MAX_ATTEMPTS..=MAX_ATTEMPTS + 1);
    let any = 1..=MAX_ATTEMPTS + 1;
    let events = [
        ("Begun", TrialEvent::Begun, any.clone()),
        ("Reported completed", TrialEvent::Reported(Outcome::Completed), any.clone()),
        ("Reported fault of kernel", failed(Fault::Kernel), any.clone()),
        ("Reported fault of workload", failed(Fault::Workload), any.clone()),
        ("Reported fault of lab, attempt 1 or 2", failed(Fault::Lab), early.clone()),
        ("Reported fault of lab, attempt 3", failed(Fault::Lab), last.clone()),
        ("Released, attempt 1 or 2", TrialEvent::Released, early),
        ("Released, attempt 3", TrialEvent::Released, last),
        ("Cancelled", TrialEvent::Cancelled, any),
    ];
    assert_eq!(MAX_ATTEMPTS, 3, "the labels above name attempts");
    for (label, event, _) in &events {
        let word = match event {
            TrialEvent::Begun => "Begun",
            TrialEvent::Reported(Outcome::Completed) => "Reported completed",
            TrialEvent::Reported(Outcome::Failed(failure)) => match failure.fault {
                Fault::Kernel => "Reported fault of kernel",
                Fault::Workload => "Reported fault of workload",
                Fault::Lab => "Reported fault of lab",
            },
            TrialEvent::Released => "Released",
            TrialEvent::Cancelled => "Cancelled",
        };
        assert!(label.starts_with(word), "{label}");
    }
    let machine = Machine {
        name: "trial",
        states: vec![
            TrialState::Queued,
            TrialState::Running,
            TrialState::Completed,
            TrialState::Failed(failure(Fault::Workload, "old")),
            TrialState::Cancelled,
        ],
        events: events.iter().map(|(label, ..)| *label).collect(),
        word: TrialState::word,
        first: vec![TrialState::Queued],
    };
    machine.check(|state, at| {
        let (label, event, attempts) = &events[at];
        let answers: Vec<_> = attempts.clone().map(|attempt| trial::step(state, event.clone(), attempt)).collect();
        assert!(answers.iter().all(|answer| *answer == answers[0]), "the attempt makes a difference to {state:?} at `{label}`");
        answers[0].clone()
    });
}

#[test]
fn experiments() {
    let events = [ExperimentEvent::JobClaimed, ExperimentEvent::AllOver, ExperimentEvent::Cancelled];
    let event_word = |event: &ExperimentEvent| match event {
        ExperimentEvent::JobClaimed => "JobClaimed",
        ExperimentEvent::AllOver => "AllOver",
        ExperimentEvent::Cancelled => "Cancelled",
    };
    let machine = Machine {
        name: "experiment",
        states: ExperimentState::ALL.to_vec(),
        events: events.iter().map(event_word).collect(),
        word: |state| state.word(),
        first: vec![ExperimentState::Queued],
    };
    machine.check(|state, at| experiment::step(*state, events[at]));
}

#[test]
fn builds() {
    /// A lease that runs out in the middle of what the events' clocks say.
    const UNTIL: TimestampMs = TimestampMs(1_000);
    let (before, host) = (TimestampMs(999), || "lab-1".parse().unwrap());
    let failed = |fault| BuildEvent::Failed(BuildFailure { fault, message: "new".to_owned() });
    let (early, last, any) = (1..=MAX_BUILD_ATTEMPTS - 1, MAX_BUILD_ATTEMPTS..=MAX_BUILD_ATTEMPTS + 1, 1..=MAX_BUILD_ATTEMPTS + 1);
    let events = [
        ("Claimed", BuildEvent::Claimed(host()), before, any.clone()),
        ("Renewed", BuildEvent::Renewed, before, any.clone()),
        ("Tick before the lease ends", BuildEvent::Tick, before, any.clone()),
        ("Tick at its end or later, attempt 1 or 2", BuildEvent::Tick, UNTIL, early.clone()),
        ("Tick at its end or later, attempt 3", BuildEvent::Tick, UNTIL, last.clone()),
        ("Abandoned, attempt 1 or 2", BuildEvent::Abandoned, before, early.clone()),
        ("Abandoned, attempt 3", BuildEvent::Abandoned, before, last.clone()),
        ("Built", BuildEvent::Built { reused: false }, before, any.clone()),
        ("Failed: does not apply", failed(BuildFault::DoesNotApply), before, any.clone()),
        ("Failed: does not configure", failed(BuildFault::DoesNotConfigure), before, any.clone()),
        ("Failed: does not compile", failed(BuildFault::DoesNotCompile), before, any.clone()),
        ("Failed: infrastructure, attempt 1 or 2", failed(BuildFault::Infrastructure), before, early),
        ("Failed: infrastructure, attempt 3", failed(BuildFault::Infrastructure), before, last),
        ("Cancel", BuildEvent::Cancel, before, any),
    ];
    assert_eq!(MAX_BUILD_ATTEMPTS, 3, "the labels above name attempts");
    for (label, event, ..) in &events {
        let word = match event {
            BuildEvent::Claimed(_) => "Claimed".to_owned(),
            BuildEvent::Renewed => "Renewed".to_owned(),
            BuildEvent::Tick => "Tick".to_owned(),
            BuildEvent::Abandoned => "Abandoned".to_owned(),
            BuildEvent::Built { .. } => "Built".to_owned(),
            BuildEvent::Failed(failure) => format!("Failed: {}", failure.fault.words()),
            BuildEvent::Cancel => "Cancel".to_owned(),
        };
        assert!(label.starts_with(&word), "{label}");
    }
    let old = BuildFailure { fault: BuildFault::DoesNotApply, message: "old".to_owned() };
    let machine = Machine {
        name: "build",
        states: vec![
            BuildState::Queued,
            BuildState::Leased { host: host(), until: UNTIL },
            BuildState::Built { reused: true },
            BuildState::Failed(old),
            BuildState::Cancelled,
        ],
        events: events.iter().map(|(label, ..)| *label).collect(),
        word: BuildState::word,
        first: vec![BuildState::Queued],
    };
    machine.check(|state, at| {
        let (label, event, now, attempts) = &events[at];
        let answers: Vec<_> = attempts.clone().map(|attempt| build::step(state, event.clone(), attempt, *now)).collect();
        assert!(answers.iter().all(|answer| *answer == answers[0]), "the attempt makes a difference to {state:?} at `{label}`");
        answers[0].clone()
    });
}

impl<S: PartialEq + Debug> Machine<S> {
    /// Compares the page with what `step` answers to each state and the event of that number.
    fn check(&self, step: impl Fn(&S, usize) -> Answer<S>) {
        let words: BTreeSet<&str> = self.states.iter().map(self.word).collect();
        assert_eq!(words.len(), self.states.len(), "two states of a {} share a word", self.name);
        let wanted = format!("{}\n{}", self.table(&step), self.diagram(&step));
        let (begin, end) = (format!("<!-- begin {} -->\n", self.name), format!("<!-- end {} -->", self.name));
        let block = PAGE.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end)).map(|(block, _)| block);
        let block = block.unwrap_or_else(|| panic!("docs/states.md has no block between `{}` and `{end}`", begin.trim_end()));
        assert!(block == wanted, "docs/states.md is not what the code does; the block of the {} is:\n\n{begin}{wanted}{end}\n", self.name);
    }

    /// A row for each event, a column for each state.
    fn table(&self, step: &impl Fn(&S, usize) -> Answer<S>) -> String {
        let answer = |state: &S, event: usize| match step(state, event) {
            Ok(next) if next == *state => "stays",
            Ok(next) => (self.word)(&next),
            Err(_) => "-",
        };
        let row = |first: &str, cells: Vec<String>| format!("| {first} | {} |\n", cells.join(" | "));
        let head = row("event", self.states.iter().map(|state| format!("in {}", (self.word)(state))).collect());
        let rule = format!("|---|{}\n", "---|".repeat(self.states.len()));
        let rows = (0..).zip(&self.events).map(|(number, event)| {
            let answers = self.states.iter().map(|state| answer(state, number).to_owned());
            row(event, answers.collect())
        });
        [head, rule].into_iter().chain(rows).collect()
    }

    /// Arrows between different states; the events that lead the same way share one.
    fn diagram(&self, step: &impl Fn(&S, usize) -> Answer<S>) -> String {
        let mut lines = vec!["```mermaid".to_owned(), "stateDiagram-v2".to_owned()];
        lines.extend(self.first.iter().map(|first| format!("    [*] --> {}", (self.word)(first))));
        for from in &self.states {
            let word = (self.word)(from);
            let ways: Vec<(&str, &str)> = (0..self.events.len())
                .filter_map(|event| Some(((self.word)(&step(from, event).ok()?), self.events[event])))
                .filter(|(to, _)| *to != word)
                .collect();
            for to in self.states.iter().map(self.word) {
                let events: Vec<&str> = ways.iter().filter(|(way, _)| *way == to).map(|(_, event)| *event).collect();
                if !events.is_empty() {
                    lines.push(format!("    {word} --> {to}: {}", events.join(" / ")));
                }
            }
            if ways.is_empty() {
                lines.push(format!("    {word} --> [*]"));
            }
        }
        lines.push("```\n".to_owned());
        lines.join("\n")
    }
}
