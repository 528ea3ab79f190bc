//! Carries out a plan. A failure ends it; then everything is undone in reverse order, also after success. An undo that fails does not
//! stop the others, but its host is dirty.

use std::time::Duration;

use blklab_model::outcome::{Failure, Fault, Outcome};
use blklab_wire::agent::PhaseTime;
use serde::{Deserialize, Serialize};

use super::machine::{Halt, Machine, Problem, Record};
use super::step::{Action, Phase, Step};
use crate::stop::Stop;

/// An undo may have to wait for killed processes, and for dirty pages of a slow disk.
const UNDO_LIMIT: Duration = Duration::from_secs(600);

/// How a cycle ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cycle {
    /// None when it was stopped: then it counts as never begun.
    pub outcome: Option<Outcome>,
    /// Time of each phase, in order.
    pub phases: Vec<PhaseTime>,
    /// What it brought to light.
    pub record: Record,
    /// What could not be undone.
    pub dirty: Option<String>,
}

/// Runs `steps` on `machine`; `enter` is told of each new phase.
pub fn run(steps: &[Step], machine: &mut dyn Machine, stop: &Stop, enter: &dyn Fn(Phase)) -> Cycle {
    let mut runner =
        Runner { machine, stop, record: Record::default(), phases: Phases { times: Vec::new(), current: None, enter }, undo: Vec::new() };
    let failed = steps.iter().try_for_each(|step| runner.step(step)).err();
    let (dirty, undo_fault) = runner.unwind();
    runner.phases.leave(runner.machine.monotonic_ms());
    let outcome = match (failed, undo_fault) {
        (Some(Ending::Stopped), _) => None,
        // A kernel that hangs or oopses while the trial is taken down is a result, and the better explanation of an earlier failure.
        (None, Some(fault)) => Some(Outcome::Failed(fault)),
        (Some(Ending::Failed(first)), Some(fault)) if first.fault != Fault::Kernel => Some(Outcome::Failed(Failure {
            message: format!("{}\nbefore that, {}: {}", fault.message, first.step, first.message),
            ..fault
        })),
        (Some(Ending::Failed(failure)), _) => Some(Outcome::Failed(failure)),
        (None, None) => Some(Outcome::Completed),
    };
    Cycle { outcome, phases: runner.phases.times, record: runner.record, dirty }
}

enum Ending {
    Failed(Failure),
    Stopped,
}

struct Runner<'a> {
    machine: &'a mut dyn Machine,
    stop: &'a Stop,
    record: Record,
    phases: Phases<'a>,
    undo: Vec<Action>,
}

impl Runner<'_> {
    fn step(&mut self, step: &Step) -> Result<(), Ending> {
        if self.stop.is_asked() {
            return Err(Ending::Stopped);
        }
        self.phases.enter(step.phase, self.machine.monotonic_ms());
        // The undo is owed before the deed: a deed that fails half-way leaves something, too.
        self.undo.extend(step.undo.clone());
        match self.machine.act(&step.action, step.limit, &mut self.record, self.stop) {
            Ok(()) => {
                // A step that is an undo settles what it undoes.
                self.undo.retain(|undo| *undo != step.action);
                Ok(())
            }
            Err(Halt::Failed(problem)) => Err(Ending::Failed(failure(&step.action, problem))),
            Err(Halt::Stopped) => Err(Ending::Stopped),
        }
    }

    /// Undoes everything; gives what could not be undone, and the kernel's fault that came out.
    fn unwind(&mut self) -> (Option<String>, Option<Failure>) {
        self.phases.enter(Phase::GiveBack, self.machine.monotonic_ms());
        let mut dirty = Vec::new();
        let mut kernel_fault = None;
        while let Some(action) = self.undo.pop() {
            self.undo.retain(|undo| *undo != action);
            // Undoing is not stopped: a host must not be left half-way.
            let Err(Halt::Failed(problem)) = self.machine.act(&action, UNDO_LIMIT, &mut self.record, &Stop::default()) else { continue };
            dirty.push(format!("{action}: {}", problem.message));
            if problem.fault == Fault::Kernel && kernel_fault.is_none() {
                kernel_fault = Some(failure(&action, problem));
            }
        }
        ((!dirty.is_empty()).then(|| dirty.join("; ")), kernel_fault)
    }
}

fn failure(action: &Action, problem: Problem) -> Failure {
    let step = match (action, &problem.load) {
        (Action::Measure { .. }, Some(load)) => format!("task {load}"),
        (Action::StopBackground, Some(load)) => format!("background {load}"),
        (action, _) => action.to_string(),
    };
    Failure { fault: problem.fault, step, message: problem.message }
}

/// The clock of the phases.
struct Phases<'a> {
    times: Vec<PhaseTime>,
    current: Option<(Phase, u64)>,
    enter: &'a dyn Fn(Phase),
}

impl Phases<'_> {
    fn enter(&mut self, phase: Phase, now_ms: u64) {
        if self.current.is_some_and(|(current, _)| current == phase) {
            return;
        }
        self.leave(now_ms);
        self.current = Some((phase, now_ms));
        (self.enter)(phase);
    }

    fn leave(&mut self, now_ms: u64) {
        if let Some((phase, since_ms)) = self.current.take() {
            self.times.push(PhaseTime { phase: phase.word().to_owned(), ms: now_ms.saturating_sub(since_ms) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::super::plan::plan;
    use super::super::scripted::{Script, ScriptedMachine, mounted_trial, raw_trial};
    use super::*;

    fn run_with(script: Script) -> (Cycle, Vec<String>) {
        let mut machine = ScriptedMachine::new(script);
        let cycle = run(&plan(&mounted_trial()).unwrap(), &mut machine, &Stop::default(), &|_| ());
        (cycle, machine.log())
    }

    #[test]
    fn a_good_trial_runs_its_steps_and_undoes_them_in_reverse() {
        let (cycle, log) = run_with(Script::default());
        assert_eq!(cycle.outcome, Some(Outcome::Completed));
        assert_eq!(cycle.dirty, None);
        insta::assert_snapshot!(log.join("\n"));
    }

    #[test]
    fn phases_are_timed_and_announced_in_order() {
        let seen = RefCell::new(Vec::new());
        let mut machine = ScriptedMachine::new(Script::default());
        let cycle = run(&plan(&raw_trial()).unwrap(), &mut machine, &Stop::default(), &|phase| seen.borrow_mut().push(phase.word()));
        let timed: Vec<_> = cycle.phases.iter().map(|phase| phase.phase.as_str()).collect();
        assert_eq!(timed, *seen.borrow());
        assert!(cycle.phases.iter().all(|phase| phase.ms > 0), "{:?}", cycle.phases);
    }

    /// Whatever step fails: its undo and those of all steps before it run, each once, latest first, and nothing after it does.
    #[test]
    fn every_step_may_fail_and_all_before_it_is_undone() {
        let steps = plan(&mounted_trial()).unwrap();
        for (index, failing) in steps.iter().enumerate() {
            let name = failing.action.to_string();
            let occurrence = steps[..index].iter().filter(|step| step.action == failing.action).count();
            let (cycle, log) = run_with(Script::default().fail(&name, occurrence, Problem::lab("scripted")));
            let Some(Outcome::Failed(failure)) = cycle.outcome else { panic!("{name} did not fail") };
            assert!(name.starts_with(&failure.step), "{name} was reported as {}", failure.step);
            let mut owed: Vec<Action> = Vec::new();
            for step in &steps[..=index] {
                owed.extend(step.undo.clone());
                if step != failing {
                    owed.retain(|undo| *undo != step.action);
                }
            }
            owed.reverse();
            let mut expected: Vec<String> = steps[..=index].iter().map(|step| step.action.to_string()).collect();
            let mut undone = Vec::new();
            for action in owed {
                if !undone.contains(&action) {
                    expected.push(action.to_string());
                    undone.push(action);
                }
            }
            assert_eq!(log, expected, "failing at {name}");
        }
    }

    #[test]
    fn a_failed_undo_makes_the_host_dirty_and_the_others_still_run() {
        let (cycle, log) = run_with(Script::default().fail("unmount", 1, Problem::lab("target is busy")));
        assert_eq!(cycle.outcome, Some(Outcome::Completed), "the measurement is good all the same");
        assert_eq!(cycle.dirty.as_deref(), Some("unmount: target is busy"));
        assert_eq!(log.last().map(String::as_str), Some("collect kernel log"));
    }

    #[test]
    fn an_oops_found_at_the_end_is_the_result() {
        let oops = Problem::kernel("BUG: kernel NULL pointer dereference");
        let (cycle, _) = run_with(Script::default().fail("collect kernel log", 0, oops.clone()));
        assert!(matches!(cycle.outcome, Some(Outcome::Failed(Failure { fault: Fault::Kernel, .. }))));
        let (cycle, _) = run_with(Script::default().fail("collect kernel log", 0, oops).fail(
            "tasks rt, be",
            0,
            Problem::workload("timed out").of("rt"),
        ));
        let Some(Outcome::Failed(failure)) = cycle.outcome else { panic!() };
        assert_eq!(failure.fault, Fault::Kernel);
        assert!(failure.message.ends_with("before that, task rt: timed out"), "{}", failure.message);
    }

    #[test]
    fn a_stop_ends_the_trial_without_an_outcome() {
        let stop = Stop::default();
        let mut machine = ScriptedMachine::new(Script::default().stop_at("tasks rt, be"));
        let cycle = run(&plan(&mounted_trial()).unwrap(), &mut machine, &stop, &|_| ());
        assert_eq!(cycle.outcome, None);
        assert_eq!(machine.log().last().map(String::as_str), Some("collect kernel log"), "everything is undone");
    }
}
