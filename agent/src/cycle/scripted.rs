//! A machine that only remembers what it was told to do, and fails where its script says so. For tests of the cycle, of the session, and
//! of a whole lab in one process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use blklab_model::disk::{Disk, DiskFacts, DiskHealth};
use blklab_model::filesystem::Format;
use blklab_model::host::HostFacts;
use blklab_model::scheduler::{QueueTunables, Scheduler, Tunables};
use blklab_model::time::TimestampMs;
use blklab_model::workload::Target;
use blklab_model::workload::command::{Command, IoPriority};
use blklab_model::workload::resolve::{ResolvedLoad, ResolvedWorkload};
use blklab_wire::agent::{TaskElapsed, TrialSpec, Window};

use super::machine::{Halt, Machine, Problem, Record};
use super::step::Action;
use crate::stop::Stop;

/// What goes wrong, and when.
#[derive(Debug, Clone, Default)]
pub struct Script {
    failures: Vec<(String, usize, Problem)>,
    stop_at: Option<String>,
    unclean: Option<String>,
    kernel_fault: Option<String>,
}

impl Script {
    /// Fails the `occurrence`-th action of this name, counted from 0.
    #[must_use]
    pub fn fail(mut self, action: &str, occurrence: usize, problem: Problem) -> Self {
        self.failures.push((action.to_owned(), occurrence, problem));
        self
    }

    /// Behaves as if a stop was asked during this action.
    #[must_use]
    pub fn stop_at(mut self, action: &str) -> Self {
        self.stop_at = Some(action.to_owned());
        self
    }

    /// The kernel broke before the agent was started.
    #[must_use]
    pub fn broken_kernel(mut self, line: &str) -> Self {
        self.kernel_fault = Some(line.to_owned());
        self
    }

    /// Cleaning fails with this text.
    #[must_use]
    pub fn unclean(mut self, reason: &str) -> Self {
        self.unclean = Some(reason.to_owned());
        self
    }
}

/// A machine of memory.
#[derive(Debug, Clone)]
pub struct ScriptedMachine {
    script: Script,
    log: Arc<Mutex<Vec<String>>>,
    clock_ms: Arc<Mutex<u64>>,
}

impl ScriptedMachine {
    /// Follows a script; clones share the log and the clock.
    pub fn new(script: Script) -> Self {
        ScriptedMachine { script, log: Arc::default(), clock_ms: Arc::default() }
    }

    /// The names of all actions so far.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Each action takes ten milliseconds.
    fn remember(&self, name: &str) -> usize {
        *self.clock_ms.lock().unwrap_or_else(PoisonError::into_inner) += 10;
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let occurrence = log.iter().filter(|entry| *entry == name).count();
        log.push(name.to_owned());
        occurrence
    }
}

impl Machine for ScriptedMachine {
    fn facts(&self) -> HostFacts {
        HostFacts {
            kernel_release: "6.18.0-scripted".into(),
            cpus: 4,
            tools: vec!["dd".into(), "mkfs.ext4".into()],
            ..HostFacts::default()
        }
    }

    fn disks(&mut self) -> Vec<Disk> {
        let facts = DiskFacts {
            kernel_name: "sdb".into(),
            size_bytes: 1 << 30,
            schedulers: vec!["none".into(), "bfq".into()],
            ..DiskFacts::default()
        };
        vec![Disk { id: disk_id(), class: "sata-hdd".parse().expect("a class"), facts, health: DiskHealth::Usable }]
    }

    fn machine_id(&self) -> String {
        "scripted".into()
    }

    fn act(&mut self, action: &Action, _limit: Duration, record: &mut Record, _stop: &Stop) -> Result<(), Halt> {
        let name = action.to_string();
        let occurrence = self.remember(&name);
        if self.script.stop_at.as_ref() == Some(&name) {
            return Err(Halt::Stopped);
        }
        let failure = self.script.failures.iter().find(|(failing, at, _)| *failing == name && *at == occurrence);
        if let Some((_, _, problem)) = failure {
            return Err(problem.clone().into());
        }
        if let Action::Measure { tasks } = action {
            let start_ms = self.monotonic_ms();
            record.window = Some(Window { start_ms, end_ms: start_ms + 1000 });
            record.elapsed = tasks.iter().map(|task| TaskElapsed { task: task.name.clone(), seconds: 1.0 }).collect();
        }
        Ok(())
    }

    fn kernel_fault(&self) -> Option<String> {
        self.script.kernel_fault.clone()
    }

    fn clean_trial(&mut self) -> Result<(), String> {
        self.remember("clean");
        self.script.unclean.clone().or_else(|| self.kernel_fault()).map_or(Ok(()), Err)
    }

    fn close(&mut self) -> Result<(), String> {
        self.remember("close");
        Ok(())
    }

    fn now(&self) -> TimestampMs {
        TimestampMs(i64::try_from(self.monotonic_ms()).unwrap_or(i64::MAX))
    }

    fn monotonic_ms(&self) -> u64 {
        *self.clock_ms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A trial with everything that one can have: a file system, tunables, a background load, two tasks.
pub fn mounted_trial() -> TrialSpec {
    let tunables = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Tunables>();
    TrialSpec {
        memory_cap_bytes: None,
        seed: 0,
        trial: "x1.c0.r0.a0".parse().expect("a trial"),
        attempt: 1,
        disks: vec![disk_id()],
        scheduler: Scheduler { name: "bfq".into(), tunables: tunables(&[("low_latency", "0")]), label: "bfq".into() },
        tunables: QueueTunables { values: tunables(&[("read_ahead_kb", "128")]), label: "ra 128".into() },
        format: Format::Made { kind: "ext4".into(), mkfs: vec!["-b".into(), "4096".into()], mount: "noatime".into(), journal_ioprio: None },
        workload: ResolvedWorkload {
            name: "two-readers".parse().expect("a workload"),
            version: 1,
            target: Target::Mounted,
            tools: vec!["dd".into()],
            space_bytes: 32 << 20,
            disks: 1,
            prepare: vec![load("prepare-1", None), load("prepare-2", None)],
            background: vec![load("copy", None)],
            tasks: vec![load("rt", Some(IoPriority::Realtime(0))), load("be", Some(IoPriority::BestEffort(7)))],
        },
    }
}

/// A trial with as little as one can have.
pub fn raw_trial() -> TrialSpec {
    let mounted = mounted_trial();
    let workload = ResolvedWorkload {
        target: Target::Raw,
        prepare: Vec::new(),
        background: Vec::new(),
        tasks: vec![load("reader", None)],
        ..mounted.workload.clone()
    };
    TrialSpec {
        memory_cap_bytes: None,
        seed: 0,
        scheduler: Scheduler { tunables: HashMap::new().into_iter().collect(), ..mounted.scheduler.clone() },
        tunables: QueueTunables::default(),
        format: Format::Raw,
        workload,
        ..mounted
    }
}

fn load(name: &str, io_priority: Option<IoPriority>) -> ResolvedLoad {
    ResolvedLoad { name: name.into(), disk: 0, command: Command::Argv(vec!["true".into()]), io_priority, start_after_ms: 0, timeout_s: 60 }
}

fn disk_id() -> blklab_model::id::DiskId {
    "wwn-0x5000".parse().expect("a disk id")
}
