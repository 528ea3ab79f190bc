//! A host that is booted from outside: which kernel it must run, whether it does, and what becomes of a trial whose kernel dies.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blklab_model::crash::{Crash, CrashKind};
use blklab_model::disk::{Disk, DiskHealth};
use blklab_model::host::HostFacts;
use blklab_model::id::{HostName, JobId};
use blklab_model::kernel::Clock;
use blklab_model::outcome::{Failure, Fault, Outcome};
use blklab_model::time::TimestampMs;
use blklab_wire::agent::{BootProof, BootSpec, LastBoot, MAX_OUTPUT_BYTES, Output, PhaseTime};

use super::boot::{Boot, BootFiles, Event, Running};
use super::slots::Slots;
use super::verdict::{Cause, Ending, judge};
use crate::clock;
use crate::cycle::machine::Record;
use crate::cycle::run::Cycle;
use crate::guest::message::{ALIVE_EVERY, FromGuest, GUEST_PROTOCOL, Ready, Setup, ToGuest};
use crate::inventory::host;
use crate::session::{Order, Ran, ReadyKernel, Runner, not_begun};
use crate::stop::Stop;
use crate::sys::roots::Roots;

/// A guest that lives says so every [`ALIVE_EVERY`]; one that was silent for so long hangs. Longer than the watchdog, which gives the better
/// explanation (a backtrace).
const SILENCE: Duration = Duration::from_secs(120);

/// Under a clock that leaps nobody says that he lives. The longest trial of the library takes an hour.
const LONGEST_TRIAL: Duration = Duration::from_secs(4 * 3600);

/// A guest that is asked to stop may have to unwind first.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// Between two looks whether it was asked to stop.
const LOOK_PERIOD: Duration = Duration::from_millis(200);

/// The phase in which a kernel is booted.
const BOOT: &str = "boot";

/// A controlled host.
pub struct ControlledHost {
    name: HostName,
    boot: Box<dyn Boot>,
    known_good: BootFiles,
    kernel_cache: PathBuf,
    slots: Slots,
    live: Option<Live>,
    facts: HostFacts,
    disks: Vec<Disk>,
    last_boot: Option<LastBoot>,
    /// A kernel that did not boot: the other trials of its job need not try.
    refused: Option<(JobId, Failure)>,
    /// After a kernel died the known-good one shows that the host is well.
    must_recover: bool,
    /// The known-good kernel does not boot.
    sick: Option<String>,
}

/// A kernel that runs.
struct Live {
    running: Box<dyn Running>,
    /// For which job; none for the known-good kernel after a fault.
    job: Option<JobId>,
    proof: BootProof,
    /// The boot is charged to the trial that waited for it.
    charged: bool,
}

/// Why a boot did not come to its end.
enum NotBooted {
    Crashed(Box<Crash>, String),
    Stopped,
}

impl ControlledHost {
    /// A host that has not been booted.
    pub fn new(name: HostName, boot: Box<dyn Boot>, known_good: BootFiles, kernel_cache: PathBuf, slots: Slots) -> Self {
        ControlledHost {
            name,
            boot,
            known_good,
            kernel_cache,
            slots,
            live: None,
            facts: HostFacts::default(),
            disks: Vec::new(),
            last_boot: None,
            refused: None,
            must_recover: true,
            sick: None,
        }
    }

    /// Boots the known-good kernel to learn what the host is.
    pub fn take_inventory(&mut self, stop: &Stop) -> Result<(), String> {
        let slots = self.slots.clone();
        let Some(_slot) = slots.take(stop) else { return Ok(()) };
        self.recover(stop)
    }

    /// The known-good kernel boots, so the host is well and whatever failed before was the other kernel's fault.
    fn recover(&mut self, stop: &Stop) -> Result<(), String> {
        match self.boot_kernel(&ReadyKernel::AsBooted, None, stop) {
            Ok(()) => {
                self.must_recover = false;
                self.sick = None;
                Ok(())
            }
            Err(NotBooted::Stopped) => Ok(()),
            Err(NotBooted::Crashed(crash, _)) => {
                let reason = format!("the known-good kernel `{}` does not run: {}", self.known_good.name, crash.failure(BOOT).message);
                self.sick = Some(reason.clone());
                Err(reason)
            }
        }
    }

    fn boot_kernel(&mut self, kernel: &ReadyKernel, job: Option<JobId>, stop: &Stop) -> Result<(), NotBooted> {
        self.end_live();
        let (files, wanted) = self.files(kernel);
        let token = token().map_err(|reason| NotBooted::Crashed(Box::new(lab(reason)), String::new()))?;
        let began = clock::monotonic();
        let booted = match self.boot.start(&files, &token, stop) {
            Ok(mut running) => match self.wait_until_ready(running.as_mut(), wanted, &token, stop) {
                Ok(ready) => Ok((running, ready)),
                Err(not_booted) => {
                    running.end();
                    Err(not_booted)
                }
            },
            Err(crash) => Err(NotBooted::Crashed(Box::new(crash), String::new())),
        };
        let boot_ms = u64::try_from((clock::monotonic() - began).as_millis()).unwrap_or(u64::MAX);
        match booted {
            Ok((running, ready)) => {
                tracing::info!(host = %self.name, kernel = files.name, release = ready.release, boot_ms, "booted");
                self.last_boot = Some(LastBoot { kernel: ready.release.clone(), boot_ms: Some(boot_ms), outcome: "booted".to_owned() });
                let proof = BootProof { release: ready.release, build_id: ready.build_id, boot_id: ready.boot_id, token, boot_ms };
                self.live = Some(Live { running, job, proof, charged: false });
                Ok(())
            }
            Err(not_booted) => {
                if let NotBooted::Crashed(crash, _) = &not_booted {
                    let outcome = format!("{}: {}", crash.kind.words(), crash.title);
                    tracing::warn!(host = %self.name, kernel = files.name, outcome, "not booted");
                    self.last_boot = Some(LastBoot { kernel: files.name, boot_ms: None, outcome });
                }
                Err(not_booted)
            }
        }
    }

    fn files<'a>(&self, kernel: &'a ReadyKernel) -> (BootFiles, Option<&'a BootSpec>) {
        match kernel {
            ReadyKernel::AsBooted => (self.known_good.clone(), None),
            ReadyKernel::Boot { spec, image, modules } => (
                BootFiles {
                    name: spec.name.to_string(),
                    image: image.clone(),
                    modules: modules.clone(),
                    arguments: spec.arguments.clone(),
                },
                Some(spec),
            ),
        }
    }

    /// Until the kernel has proven what it is and has found its disks.
    fn wait_until_ready(
        &mut self,
        running: &mut dyn Running,
        wanted: Option<&BootSpec>,
        token: &str,
        stop: &Stop,
    ) -> Result<Ready, NotBooted> {
        let deadline = clock::monotonic() + self.boot.boot_limit();
        let mut proven: Option<Ready> = None;
        let crashed = |running: &dyn Running, ending: &Ending| {
            let console = running.console();
            NotBooted::Crashed(Box::new(judge(ending, &console)), console)
        };
        loop {
            if stop.is_asked() {
                return Err(NotBooted::Stopped);
            }
            let answered = proven.is_some();
            match running.next(LOOK_PERIOD) {
                Some(Event::Over(ending)) => return Err(crashed(running, &ending)),
                Some(Event::Guest(FromGuest::Ready(ready))) => {
                    if let Err(reason) = check(&ready, wanted, token) {
                        return Err(NotBooted::Crashed(Box::new(lab(reason)), running.console()));
                    }
                    let disks = self.boot.disks();
                    let setup = Setup { host: self.name.clone(), disks, alive: self.boot.clock() == Clock::Real };
                    if let Err(error) = running.send(&ToGuest::Setup(setup)) {
                        let ending = Ending { answered: true, cause: Cause::Cut(error.to_string()), ..Ending::default() };
                        return Err(crashed(running, &ending));
                    }
                    proven = Some(ready);
                }
                Some(Event::Guest(FromGuest::Inventory { facts, disks })) => {
                    let Some(ready) = proven.take() else { continue };
                    let lost: Vec<&str> =
                        disks.iter().filter(|disk| disk.health == DiskHealth::Missing).map(|disk| disk.facts.serial.as_str()).collect();
                    if !lost.is_empty() {
                        let reason = format!("it finds no disk {}; is the driver in it?", lost.join(", "));
                        let ending = Ending { answered: true, cause: Cause::Refused(reason), ..Ending::default() };
                        return Err(crashed(running, &ending));
                    }
                    if wanted.is_none() {
                        self.facts = HostFacts { boot: self.boot.method(), clock: self.boot.clock(), ..*facts };
                        self.disks = disks;
                    }
                    return Ok(ready);
                }
                Some(Event::Guest(FromGuest::Cannot(reason))) => {
                    let ending = Ending { answered: true, cause: Cause::Refused(reason), ..Ending::default() };
                    return Err(crashed(running, &ending));
                }
                Some(Event::Guest(FromGuest::Alive | FromGuest::Phase(_) | FromGuest::Done(_))) | None => {}
            }
            if clock::monotonic() > deadline {
                return Err(crashed(running, &Ending { answered, ..Ending::default() }));
            }
        }
    }

    fn end_live(&mut self) {
        if let Some(live) = self.live.take() {
            live.running.end();
        }
    }

    /// The kernel that the order asks for runs, or this is how the trial ended.
    fn ready(&mut self, order: &Order, stop: &Stop, enter: &dyn Fn(&str)) -> Result<(), Box<Cycle>> {
        if let Some((job, failure)) = &self.refused
            && *job == order.job
        {
            return Err(Box::new(not_begun(failure.clone())));
        }
        if self.live.as_ref().is_some_and(|live| live.job == Some(order.job)) {
            return Ok(());
        }
        enter(BOOT);
        if self.must_recover {
            self.recover(stop).map_err(|reason| {
                let failure = Failure { fault: Fault::Lab, step: BOOT.to_owned(), message: reason.clone() };
                Box::new(Cycle { dirty: Some(reason), ..not_begun(failure) })
            })?;
        }
        match self.boot_kernel(&order.kernel, Some(order.job), stop) {
            Ok(()) => Ok(()),
            Err(NotBooted::Stopped) => Err(Box::new(stopped())),
            Err(NotBooted::Crashed(crash, console)) => {
                let failure = crash.failure(BOOT);
                self.must_recover = true;
                if failure.fault == Fault::Kernel {
                    let told = Failure { message: format!("{}: {}", crash.kind.words(), crash.title), ..failure.clone() };
                    self.refused = Some((order.job, told));
                }
                let mut cycle = not_begun(failure);
                cycle.record.outputs.extend(console_output(&console));
                Err(Box::new(cycle))
            }
        }
    }

    fn run(&mut self, order: &Order, stop: &Stop, enter: &dyn Fn(&str)) -> Cycle {
        let is_silent = self.boot.clock() == Clock::Virtual;
        let Some(live) = &mut self.live else { return stopped() };
        live.running.seed(order.spec.seed);
        live.running.lab_fault();
        let mut phase = "check".to_owned();
        let ended = match live.running.send(&ToGuest::Trial(Box::new(order.spec.clone()))) {
            Ok(()) => follow(live.running.as_mut(), is_silent, stop, &mut |now| {
                enter(now);
                now.clone_into(&mut phase);
            }),
            // Its end, if it ended, is heard next.
            Err(error) => match live.running.next(LOOK_PERIOD) {
                Some(Event::Over(ending)) => Followed::Over(ending),
                Some(Event::Guest(_)) | None => {
                    Followed::Over(Ending { answered: true, cause: Cause::Cut(error.to_string()), ..Ending::default() })
                }
            },
        };
        let lab_fault = live.running.lab_fault();
        let mut cycle = match ended {
            Followed::Done(cycle) => *cycle,
            Followed::Stopped => {
                self.end_live();
                return stopped();
            }
            Followed::Over(ending) => {
                let console = live.running.console();
                let mut cycle = not_begun(judge(&ending, &console).failure(&phase));
                cycle.record.outputs.extend(console_output(&console));
                cycle
            }
        };
        if let (Some(Outcome::Failed(failure)), Some(reason)) = (&cycle.outcome, lab_fault) {
            let message = format!("{reason}\nthen, {}: {}", failure.step, failure.message);
            cycle.outcome = Some(Outcome::Failed(Failure { fault: Fault::Lab, step: "disk model".to_owned(), message }));
        }
        self.charge_boot(&mut cycle);
        self.after(&mut cycle);
        cycle
    }

    /// The first trial of a boot shows what it cost.
    fn charge_boot(&mut self, cycle: &mut Cycle) {
        let Some(live) = self.live.as_mut().filter(|live| !live.charged) else { return };
        live.charged = true;
        cycle.phases.insert(0, PhaseTime { phase: BOOT.to_owned(), ms: live.proof.boot_ms });
    }

    /// A kernel that broke, or that could not be cleaned, is not used again: the next trial gets a fresh boot.
    fn after(&mut self, cycle: &mut Cycle) {
        let is_broken = matches!(&cycle.outcome, Some(Outcome::Failed(Failure { fault: Fault::Kernel | Fault::Lab, .. })));
        if is_broken || cycle.dirty.is_some() {
            self.must_recover |= is_broken;
            cycle.dirty = None;
            self.end_live();
        }
    }

    fn proof(&self) -> Option<BootProof> {
        self.live.as_ref().map(|live| live.proof.clone())
    }
}

impl Runner for ControlledHost {
    fn facts(&mut self) -> HostFacts {
        self.facts.clone()
    }

    fn disks(&mut self) -> Vec<Disk> {
        self.disks.clone()
    }

    fn machine_id(&self) -> String {
        host::machine_id(&Roots::live())
    }

    fn kernel_cache(&self) -> Option<PathBuf> {
        Some(self.kernel_cache.clone())
    }

    fn trial(&mut self, order: &Order, stop: &Stop, enter: &dyn Fn(&str)) -> Ran {
        enter("wait");
        let slots = self.slots.clone();
        let Some(_slot) = slots.take(stop) else { return Ran { cycle: stopped(), boot: None } };
        if let Err(cycle) = self.ready(order, stop, enter) {
            return Ran { cycle: *cycle, boot: None };
        }
        let boot = self.proof();
        let mut cycle = self.run(order, stop, enter);
        note_boot(&mut cycle.record, order, boot.as_ref());
        Ran { cycle, boot }
    }

    fn kernel_fault(&self) -> Option<String> {
        self.sick.clone()
    }

    fn clean_trial(&mut self) -> Result<(), String> {
        self.end_live();
        if self.sick.is_none() {
            return Ok(());
        }
        self.recover(&Stop::default())
    }

    fn close(&mut self) -> Result<(), String> {
        self.end_live();
        Ok(())
    }

    fn last_boot(&self) -> Option<LastBoot> {
        self.last_boot.clone()
    }

    fn now(&self) -> TimestampMs {
        clock::now()
    }
}

/// Nothing of a host outlives its controller.
impl Drop for ControlledHost {
    fn drop(&mut self) {
        self.end_live();
    }
}

/// How a trial was followed to its end.
enum Followed {
    Done(Box<Cycle>),
    Over(Ending),
    Stopped,
}

fn follow(running: &mut dyn Running, is_silent: bool, stop: &Stop, enter: &mut dyn FnMut(&str)) -> Followed {
    let began = clock::monotonic();
    let patience = if is_silent { LONGEST_TRIAL } else { SILENCE.max(ALIVE_EVERY) };
    let mut heard = began;
    let mut asked: Option<Duration> = None;
    loop {
        let now = clock::monotonic();
        if stop.is_asked() && asked.is_none() {
            let _ = running.send(&ToGuest::Stop);
            asked = Some(now);
        }
        if asked.is_some_and(|since| now - since > STOP_PATIENCE) {
            return Followed::Stopped;
        }
        if now - heard > patience || now - began > LONGEST_TRIAL {
            return Followed::Over(Ending { answered: true, cause: Cause::Silent, ..Ending::default() });
        }
        match running.next(LOOK_PERIOD) {
            Some(Event::Guest(message)) => {
                heard = clock::monotonic();
                match message {
                    FromGuest::Phase(phase) => enter(&phase),
                    FromGuest::Done(_) if asked.is_some() => return Followed::Stopped,
                    FromGuest::Done(cycle) => return Followed::Done(cycle),
                    FromGuest::Cannot(reason) => {
                        return Followed::Over(Ending { answered: true, cause: Cause::Cut(reason), ..Ending::default() });
                    }
                    // Sent once, at the beginning; what came while nobody listened says nothing about now.
                    FromGuest::Alive | FromGuest::Ready(_) | FromGuest::Inventory { .. } => {}
                }
            }
            Some(Event::Over(_)) if asked.is_some() => return Followed::Stopped,
            Some(Event::Over(ending)) => return Followed::Over(ending),
            None => {}
        }
    }
}

/// Is what runs what was ordered?
fn check(ready: &Ready, wanted: Option<&BootSpec>, token: &str) -> Result<(), String> {
    if ready.protocol != GUEST_PROTOCOL {
        return Err(format!("the agent in it speaks protocol {}, this controller {GUEST_PROTOCOL}", ready.protocol));
    }
    if ready.token != token {
        return Err(format!("another boot answers than the one that was ordered (its token is `{}`)", ready.token));
    }
    let Some(wanted) = wanted else { return Ok(()) };
    if ready.release != wanted.release || ready.build_id != wanted.build_id {
        return Err(format!(
            "another kernel runs than `{}`: release {} with build id {}, not {} with {}",
            wanted.name, ready.release, ready.build_id, wanted.release, wanted.build_id
        ));
    }
    Ok(())
}

fn lab(title: String) -> Crash {
    Crash { kind: CrashKind::Lab, title, excerpt: String::new() }
}

fn stopped() -> Cycle {
    Cycle { outcome: None, phases: Vec::new(), record: Record::default(), dirty: None }
}

fn console_output(console: &str) -> Option<Output> {
    if console.is_empty() {
        return None;
    }
    let kept = &console.as_bytes()[..console.len().min(MAX_OUTPUT_BYTES)];
    let truncated_bytes = (console.len() - kept.len()) as u64;
    Some(Output { name: "console.txt".to_owned(), base64: STANDARD.encode(kept), truncated_bytes })
}

/// What was booted belongs to the record of a trial.
fn note_boot(record: &mut Record, order: &Order, boot: Option<&BootProof>) {
    match &order.kernel {
        ReadyKernel::AsBooted => record.note("kernel.name", "known-good"),
        ReadyKernel::Boot { spec, .. } => {
            record.note("kernel.name", spec.name.to_string());
            record.note("kernel.id", spec.id.to_string());
        }
    }
    if let Some(boot) = boot {
        record.note("kernel.build_id", boot.build_id.clone());
        record.note("boot.id", boot.boot_id.clone());
        record.note("boot.ms", boot.boot_ms.to_string());
    }
}

/// 128 random bits: nobody's kernel has them on its command line by chance.
fn token() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Where the files of kernels are kept.
pub(super) fn kernel_cache(state_dir: &Path) -> PathBuf {
    state_dir.join("kernels")
}
