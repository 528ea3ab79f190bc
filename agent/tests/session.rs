//! The agent's life with a coordinator that answers, refuses, forgets and goes away; on a machine that only remembers.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use blklab_agent::cycle::machine::Problem;
use blklab_agent::cycle::scripted::{Script, ScriptedMachine, mounted_trial};
use blklab_agent::session::{Pauses, SessionError, serve};
use blklab_agent::stop::Stop;
use blklab_model::filesystem::Format;
use blklab_model::outcome::{Failure, Fault, Outcome};
use blklab_wire::agent::TrialSpec;
use support::Coordinator;

/// No test has half a minute.
const SHORT: Pauses = Pauses { first: Duration::from_millis(1), longest: Duration::from_millis(1) };

/// An agent on a thread of its own.
struct Agent {
    machine: ScriptedMachine,
    stop: Stop,
    thread: std::thread::JoinHandle<Result<(), SessionError>>,
}

impl Agent {
    fn start(coordinator: &Coordinator, dir: &Path, script: Script) -> Self {
        Self::start_with(coordinator, dir, script, SHORT)
    }

    fn start_with(coordinator: &Coordinator, dir: &Path, script: Script, pauses: Pauses) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (machine, stop) = (ScriptedMachine::new(script), Stop::default());
        let config = coordinator.config(dir, "");
        std::fs::create_dir_all(&config.state_dir).unwrap();
        let (theirs, their_stop) = (machine.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(serve(&config, theirs, their_stop, pauses))
        });
        Agent { machine, stop, thread }
    }

    /// Waits for one that ends without being asked.
    fn ended_by_itself(self) -> (Result<(), SessionError>, Vec<String>) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.thread.is_finished() {
            assert!(Instant::now() < deadline, "the agent lives on");
            std::thread::sleep(Duration::from_millis(5));
        }
        (self.thread.join().unwrap(), self.machine.log())
    }

    fn end(self) -> (Result<(), SessionError>, Vec<String>) {
        self.stop.ask();
        (self.thread.join().unwrap(), self.machine.log())
    }
}

fn trial(number: u32) -> TrialSpec {
    TrialSpec { trial: format!("x1.c0.r{number}.a0").parse().unwrap(), ..mounted_trial() }
}

fn spooled(dir: &Path, folder: &str) -> usize {
    let entries = std::fs::read_dir(dir.join("state").join(folder)).unwrap();
    entries.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "json")).count()
}

#[test]
fn a_job_is_claimed_run_and_handed_in() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    coordinator.push_job(0, vec![trial(0), trial(1)]);
    let agent = Agent::start(&coordinator, dir.path(), Script::default());
    coordinator.wait_until("two reports are there", |inner| inner.reports.len() == 2);
    let (ended, log) = agent.end();
    ended.unwrap();
    assert_eq!(log.last().map(String::as_str), Some("close"), "everything is given back");
    let inner = coordinator.tell();
    assert!(inner.hellos[0].incarnation.starts_with("scripted."), "{}", inner.hellos[0].incarnation);
    assert_eq!(inner.hellos[0].disks.len(), 1);
    assert_eq!(inner.reports[0].outcome, Outcome::Completed);
    assert_eq!(inner.reports[0].elapsed.len(), 2);
    assert_eq!(inner.reports[1].trial, trial(1).trial);
    assert_eq!(spooled(dir.path(), "spool"), 0, "nothing waits");
    let token = dir.path().join("state/token");
    assert_eq!(std::fs::read_to_string(&token).unwrap(), support::OWN);
    assert_eq!(token.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn heartbeats_tell_the_trial_and_end_without_a_job() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    let agent = Agent::start(&coordinator, dir.path(), Script::default());
    coordinator.wait_until("it lives", |inner| inner.heartbeats.len() > 1);
    coordinator.push_job(0, (0..50).map(trial).collect());
    coordinator
        .wait_until("a heartbeat names a trial", |inner| inner.heartbeats.iter().any(|beat| beat.at.is_some() && beat.job.is_some()));
    coordinator.wait_until("all are handed in", |inner| inner.reports.len() == 50);
    agent.end().0.unwrap();
    assert_eq!(coordinator.tell().heartbeats.last().unwrap().job, None);
}

#[test]
fn a_wrong_token_is_fatal_and_says_where_the_right_one_goes() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    let config = coordinator.config(dir.path(), "");
    std::fs::write(&config.token_file, "guessed").unwrap();
    std::fs::create_dir_all(&config.state_dir).unwrap();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(serve(&config, ScriptedMachine::new(Script::default()), Stop::default(), SHORT)).unwrap_err();
    assert!(matches!(error, SessionError::WrongToken { .. }), "{error}");
    assert!(error.to_string().contains(&format!("into {}", config.token_file.display())), "{error}");
}

#[test]
fn a_taken_name_and_another_protocol_are_fatal() {
    for status in [409, 426] {
        let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
        coordinator.tell().refuse_hello = Some(status);
        let error = Agent::start(&coordinator, dir.path(), Script::default()).thread.join().unwrap().unwrap_err();
        match status {
            409 => assert!(matches!(error, SessionError::NameTaken { .. }), "{error}"),
            _other => assert!(matches!(error, SessionError::Protocol(_)), "{error}"),
        }
    }
}

/// Two clones of one virtual machine would otherwise take the name from each other for ever.
#[test]
fn an_agent_that_was_superseded_ends() {
    for of_heartbeats in [true, false] {
        let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
        let agent = Agent::start(&coordinator, dir.path(), Script::default());
        coordinator.wait_until("it claims", |inner| inner.claims > 0);
        let mut inner = coordinator.tell();
        if of_heartbeats {
            inner.refuse_heartbeats = Some(409)
        } else {
            inner.refuse_claims = Some(409)
        }
        drop(inner);
        let (ended, log) = agent.ended_by_itself();
        let error = ended.unwrap_err();
        assert!(matches!(error, SessionError::NameTaken { .. }), "{error}");
        assert_eq!(log.last().map(String::as_str), Some("close"), "everything is given back");
        assert_eq!(coordinator.tell().hellos.len(), 1, "it does not take the name back");
    }
}

#[test]
fn a_superseded_agent_does_not_sit_out_its_pause() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    coordinator.push_job(0, vec![trial(0)]);
    let script = Script::default().fail("mkfs.ext4", 0, Problem::lab("no medium"));
    let agent = Agent::start_with(&coordinator, dir.path(), script, Pauses::default());
    coordinator.wait_until("the fault is reported", |inner| inner.reports.len() == 1);
    coordinator.tell().refuse_heartbeats = Some(409);
    let error = agent.ended_by_itself().0.unwrap_err();
    assert!(matches!(error, SessionError::NameTaken { .. }), "{error}");
}

#[test]
fn a_coordinator_that_lost_its_memory_enrols_the_host_again() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    std::fs::create_dir_all(dir.path().join("state")).unwrap();
    std::fs::write(dir.path().join("state/token"), support::OWN).unwrap();
    coordinator.tell().has_forgotten = true;
    let agent = Agent::start(&coordinator, dir.path(), Script::default());
    coordinator.wait_until("it said hello", |inner| inner.hellos.len() == 1);
    agent.end().0.unwrap();
}

#[test]
fn reports_wait_in_the_spool_while_the_coordinator_is_away() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    coordinator.tell().is_away = true;
    let agent = Agent::start(&coordinator, dir.path(), Script::default());
    coordinator.wait_until("it was turned away", |inner| inner.turned_away > 0);
    coordinator.tell().is_away = false;
    coordinator.wait_until("it said hello", |inner| !inner.hellos.is_empty());
    // Reports are refused by absence, while claims still work: as when it dies right after handing out the job.
    coordinator.tell().refuse_reports = Some(503);
    coordinator.push_job(0, vec![trial(0), trial(1), trial(2)]);
    while spooled(dir.path(), "spool") < 3 {
        std::thread::yield_now();
    }
    agent.end().0.unwrap();
    assert_eq!(spooled(dir.path(), "spool"), 3, "nothing is lost when the agent ends");
    coordinator.tell().refuse_reports = None;
    let agent = Agent::start(&coordinator, dir.path(), Script::default());
    coordinator.wait_until("the next agent handed them in", |inner| inner.reports.len() == 3);
    agent.end().0.unwrap();
    assert_eq!(spooled(dir.path(), "spool"), 0);
}

#[test]
fn a_refused_report_is_put_aside_and_the_work_goes_on() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    coordinator.tell().refuse_reports = Some(400);
    coordinator.push_job(0, vec![trial(0)]);
    let agent = Agent::start(&coordinator, dir.path(), Script::default());
    while !dir.path().join("state/spool/refused/x1.c0.r0.a0-1.json").exists() {
        std::thread::yield_now();
    }
    coordinator.tell().refuse_reports = None;
    coordinator.push_job(1, vec![trial(1)]);
    coordinator.wait_until("the next report is there", |inner| inner.reports.len() == 1);
    agent.end().0.unwrap();
    assert_eq!(spooled(dir.path(), "spool/refused"), 1, "it is kept for a person to look at");
}

/// Rejections of the frame around the coordinator's handlers are plain text; a file that is no report is rejected before any handler runs.
#[test]
fn a_bad_file_in_the_spool_stops_nobody() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    let spool = dir.path().join("state/spool");
    std::fs::create_dir_all(&spool).unwrap();
    std::fs::write(spool.join("a-half-a-report.json"), "{\"host\":").unwrap();
    std::fs::write(spool.join("b-another-version.json"), "{}").unwrap();
    for (number, status) in [(0, 400), (1, 413), (2, 415), (3, 422)] {
        coordinator.tell().reject_reports.insert(trial(number).trial.to_string(), status);
    }
    coordinator.push_job(0, (0..5).map(trial).collect());
    let agent = Agent::start(&coordinator, dir.path(), Script::default());
    coordinator.wait_until("the good report is there", |inner| inner.reports.len() == 1);
    agent.end().0.unwrap();
    assert_eq!(coordinator.tell().reports[0].trial, trial(4).trial);
    assert_eq!((spooled(dir.path(), "spool"), spooled(dir.path(), "spool/refused")), (0, 6));
    assert_eq!(coordinator.tell().hellos.len(), 1, "it never thought that the coordinator was away");
}

#[test]
fn without_room_for_the_spool_reports_are_handed_in_directly() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    let agent = Agent::start(&coordinator, dir.path(), Script::default());
    coordinator.wait_until("it claims", |inner| inner.claims > 0);
    std::fs::remove_dir_all(dir.path().join("state/spool")).unwrap();
    coordinator.push_job(0, vec![trial(0), trial(1)]);
    coordinator.wait_until("both reports are there", |inner| inner.reports.len() == 2);
    agent.end().0.unwrap();
}

#[test]
fn a_dirty_host_takes_no_job_until_it_is_clean() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    let script = Script::default().fail("unmount", 1, Problem::lab("target is busy")).unclean("target is still busy");
    coordinator.push_job(0, vec![trial(0), trial(1)]);
    coordinator.push_job(1, vec![trial(2)]);
    let agent = Agent::start(&coordinator, dir.path(), script);
    let said = |inner: &support::Inner| inner.heartbeats.iter().any(|beat| beat.dirty.as_deref() == Some("target is still busy"));
    coordinator.wait_until("it says that it is dirty", said);
    let (ended, log) = agent.end();
    ended.unwrap();
    let inner = coordinator.tell();
    assert_eq!(inner.reports.len(), 1, "the measured trial counts, the next one is not begun");
    assert_eq!(inner.jobs.len(), 1, "the second job is not claimed");
    assert!(log.iter().any(|entry| entry == "clean"));
}

/// A restart of the agent heals no kernel.
#[test]
fn a_broken_kernel_gets_no_job_from_a_new_agent_either() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    coordinator.push_job(0, vec![trial(0)]);
    let agent = Agent::start(&coordinator, dir.path(), Script::default().broken_kernel("Oops: 0000 [#1]"));
    coordinator.wait_until("it says why", |inner| inner.heartbeats.iter().any(|beat| beat.dirty.as_deref() == Some("Oops: 0000 [#1]")));
    agent.end().0.unwrap();
    let inner = coordinator.tell();
    assert_eq!((inner.claims, inner.jobs.len()), (0, 1));
}

#[test]
fn a_host_that_can_be_cleaned_goes_on() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    coordinator.push_job(0, vec![trial(0), trial(1)]);
    let agent = Agent::start(&coordinator, dir.path(), Script::default().fail("unmount", 1, Problem::lab("target is busy")));
    coordinator.wait_until("both trials are handed in", |inner| inner.reports.len() == 2);
    agent.end().0.unwrap();
}

/// A loose cable must not burn every trial of the queue.
#[test]
fn after_a_fault_of_the_lab_the_job_is_left_and_the_host_introduced_anew() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    coordinator.push_job(0, vec![trial(0), trial(1)]);
    coordinator.push_job(1, vec![trial(2), trial(3)]);
    let script = Script::default().fail("mkfs.ext4", 0, Problem::lab("no medium")).fail("mkfs.ext4", 1, Problem::workload("bad option"));
    let agent = Agent::start(&coordinator, dir.path(), script);
    coordinator.wait_until("the second job is over", |inner| inner.reports.len() == 3);
    agent.end().0.unwrap();
    let inner = coordinator.tell();
    let trials: Vec<_> = inner.reports.iter().map(|report| report.trial).collect();
    assert_eq!(trials, [trial(0).trial, trial(2).trial, trial(3).trial], "a fault of the workload ends no job");
    assert_eq!(inner.hellos.len(), 2, "with a fresh inventory before the next claim");
}

#[test]
fn a_stop_ends_the_pause_after_a_fault_of_the_lab() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    coordinator.push_job(0, vec![trial(0)]);
    coordinator.push_job(1, vec![trial(1)]);
    let script = Script::default().fail("mkfs.ext4", 0, Problem::lab("no medium"));
    let agent = Agent::start_with(&coordinator, dir.path(), script, Pauses::default());
    coordinator.wait_until("the fault is reported", |inner| inner.reports.len() == 1);
    let beats = coordinator.tell().heartbeats.len();
    coordinator
        .wait_until("it lives on without a job", |inner| inner.heartbeats[beats..].iter().filter(|beat| beat.job.is_none()).count() > 2);
    assert_eq!(coordinator.tell().jobs.len(), 1, "and claims none");
    agent.end().0.unwrap();
}

#[test]
fn a_job_that_is_taken_back_ends_after_the_running_trial() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    coordinator.tell().drop_jobs = true;
    coordinator.push_job(0, (0..1000).map(trial).collect());
    let agent = Agent::start(&coordinator, dir.path(), Script::default());
    coordinator.wait_until("it holds a job", |inner| inner.heartbeats.iter().any(|beat| beat.job.is_some()));
    let claims = coordinator.tell().claims;
    coordinator.wait_until("it claims again", |inner| inner.claims > claims.max(1));
    agent.end().0.unwrap();
    assert!(coordinator.tell().reports.len() < 1000);
}

#[test]
fn a_trial_that_cannot_be_planned_is_a_result() {
    let (coordinator, dir) = (Coordinator::start(), tempfile::tempdir().unwrap());
    coordinator.push_job(0, vec![TrialSpec { format: Format::Raw, ..trial(0) }]);
    let agent = Agent::start(&coordinator, dir.path(), Script::default());
    coordinator.wait_until("it is reported", |inner| inner.reports.len() == 1);
    let inner = coordinator.tell();
    assert!(matches!(&inner.reports[0].outcome, Outcome::Failed(Failure { fault: Fault::Workload, .. })));
    drop(inner);
    agent.end().0.unwrap();
}
