//! The agent inside a host that is booted from outside: it says which kernel runs, offers the disks that it is told of, and runs the
//! trials that it is given. It keeps nothing and knows no coordinator: when its kernel dies, its controller tells what happened.

pub mod channel;
pub mod init;
pub mod message;
pub mod proof;

use std::fs;
use std::io::{BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use blklab_model::disk::{Disk, DiskFacts, DiskHealth};
use blklab_model::id::DiskId;
use blklab_model::outcome::{Failure, Fault};
use blklab_wire::agent::TrialSpec;

use crate::clock;
use crate::config::{AllowedDisk, Config};
use crate::cycle::machine::Machine;
use crate::cycle::plan::plan;
use crate::cycle::run::{self, Cycle};
use crate::host::LabHost;
use crate::inventory;
use crate::launch::Launcher;
use crate::session::not_begun;
use crate::stop::Stop;
use crate::sys::roots::Roots;
use message::{ALIVE_EVERY, FromGuest, Setup, SetupDisk, ToGuest, receive, send};

/// How long a disk may take to appear after the agent started: SCSI and NVMe probe on their own threads.
const DISK_PATIENCE: Duration = Duration::from_secs(15);

/// Why the guest ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// The controller asks to switch the machine off.
    PowerOff,
    /// The controller is gone.
    Disconnected,
}

/// Serves the controller until it goes, or asks to switch off. `state_dir` is where the agent keeps its journal.
pub fn serve(input: impl Read + Send + 'static, output: impl Write + Send + 'static, state_dir: PathBuf) -> std::io::Result<End> {
    let roots = Roots::live();
    let writer = Writer(Arc::new(Mutex::new(Box::new(output))));
    writer.send(&FromGuest::Ready(proof::ready(&roots)))?;
    let stop = Stop::default();
    let inbox = read(input, stop.clone());
    let Ok(Word::Message(ToGuest::Setup(setup))) = inbox.recv() else { return Ok(End::Disconnected) };
    if setup.alive {
        keep_saying_alive(writer.clone());
    }
    let mut host = match start(&setup, state_dir, &roots, &stop) {
        Ok(host) => host,
        Err(reason) => {
            writer.send(&FromGuest::Cannot(reason))?;
            return Ok(End::Disconnected);
        }
    };
    let disks = offered(&mut host, &setup, &roots);
    writer.send(&FromGuest::Inventory { facts: Box::new(Machine::facts(&host)), disks })?;
    let end = serve_trials(&mut host, &setup, &inbox, &writer, &stop)?;
    let _ = Machine::close(&mut host);
    Ok(end)
}

/// Words of the controller; [`ToGuest::Stop`] is not among them, since it must reach a running trial.
enum Word {
    Message(ToGuest),
    Gone,
}

fn read(input: impl Read + Send + 'static, stop: Stop) -> Receiver<Word> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(input);
        loop {
            match receive::<ToGuest>(&mut reader) {
                Ok(Some(ToGuest::Stop)) => stop.ask(),
                Ok(Some(message @ (ToGuest::Setup(_) | ToGuest::Trial(_) | ToGuest::PowerOff))) => {
                    if matches!(message, ToGuest::PowerOff) {
                        stop.ask();
                    }
                    if sender.send(Word::Message(message)).is_err() {
                        return;
                    }
                }
                Ok(None) | Err(_) => {
                    stop.ask();
                    let _ = sender.send(Word::Gone);
                    return;
                }
            }
        }
    });
    receiver
}

fn serve_trials(host: &mut LabHost, setup: &Setup, inbox: &Receiver<Word>, writer: &Writer, stop: &Stop) -> std::io::Result<End> {
    loop {
        match inbox.recv() {
            Ok(Word::Message(ToGuest::Trial(spec))) => {
                let cycle = trial(host, setup, &spec, stop, writer);
                writer.send(&FromGuest::Done(Box::new(cycle)))?;
            }
            Ok(Word::Message(ToGuest::PowerOff)) => return Ok(End::PowerOff),
            // Told twice, which changes nothing.
            Ok(Word::Message(ToGuest::Setup(_) | ToGuest::Stop)) => {}
            Ok(Word::Gone) | Err(mpsc::RecvError) => return Ok(End::Disconnected),
        }
    }
}

fn trial(host: &mut LabHost, setup: &Setup, spec: &TrialSpec, stop: &Stop, writer: &Writer) -> Cycle {
    if let Err(failure) = seed_disks(setup, spec) {
        return not_begun(failure);
    }
    match plan(spec) {
        // A phase that cannot be told will be followed by a report that cannot be told; that one ends the guest.
        Ok(steps) => run::run(&steps, host, stop, &|phase| {
            let _ = writer.send(&FromGuest::Phase(phase.word().to_owned()));
        }),
        Err(failure) => not_begun(failure),
    }
}

/// Disks that are modelled in here start each trial from the same state.
fn seed_disks(setup: &Setup, spec: &TrialSpec) -> Result<(), Failure> {
    for file in setup.disks.iter().filter_map(|disk| disk.seed_file.as_ref()) {
        fs::write(file, spec.seed.to_string()).map_err(|error| Failure {
            fault: Fault::Lab,
            step: "seed the disk model".to_owned(),
            message: format!("{file}: {error}"),
        })?;
    }
    Ok(())
}

fn start(setup: &Setup, state_dir: PathBuf, roots: &Roots, stop: &Stop) -> Result<LabHost, String> {
    let program = std::env::current_exe().map_err(|error| format!("the agent's own program cannot be found: {error}"))?;
    let found = wait_for_disks(setup, roots);
    let disks = setup.disks.iter().zip(found).filter_map(|(disk, id)| Some(AllowedDisk { id: id?, class: disk.class.clone() })).collect();
    let config = Config {
        name: setup.host.clone(),
        // The guest never speaks to the coordinator.
        coordinator: String::new(),
        ca_file: None,
        token_file: PathBuf::new(),
        state_dir,
        disks,
        loop_disks: Vec::new(),
    };
    LabHost::start(config, Launcher { program }, stop).map_err(|error| error.to_string())
}

/// The ids of the disks, in the order of the setup; none for those that do not appear.
fn wait_for_disks(setup: &Setup, roots: &Roots) -> Vec<Option<DiskId>> {
    let deadline = clock::monotonic() + DISK_PATIENCE;
    loop {
        let there = inventory::scan(roots);
        let id_of = |disk: &SetupDisk| there.iter().find(|found| found.facts.serial == disk.serial).and_then(|found| found.id.clone());
        let ids: Vec<_> = setup.disks.iter().map(id_of).collect();
        if ids.iter().all(Option::is_some) || clock::monotonic() > deadline {
            return ids;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Every disk of the setup, in its order.
fn offered(host: &mut LabHost, setup: &Setup, roots: &Roots) -> Vec<Disk> {
    let offered = Machine::disks(host);
    let there = inventory::scan(roots);
    let one = |wanted: &SetupDisk| {
        let id = there.iter().find(|found| found.facts.serial == wanted.serial).and_then(|found| found.id.clone());
        offered.iter().find(|disk| Some(&disk.id) == id.as_ref()).cloned().unwrap_or_else(|| missing(wanted))
    };
    setup.disks.iter().map(one).collect()
}

fn missing(wanted: &SetupDisk) -> Disk {
    let plain: String = wanted.serial.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let id = format!("serial-{plain}").parse().expect("a plain word is a disk id");
    let facts = DiskFacts { serial: wanted.serial.clone(), ..DiskFacts::default() };
    Disk { id, class: wanted.class.clone(), facts, health: DiskHealth::Missing }
}

/// Says `Alive` and pets the watchdog until the line breaks.
fn keep_saying_alive(writer: Writer) {
    std::thread::spawn(move || {
        // A kernel without the driver is watched by its controller alone.
        let mut watchdog = fs::OpenOptions::new().write(true).open("/dev/watchdog").ok();
        while writer.send(&FromGuest::Alive).is_ok() {
            if let Some(watchdog) = &mut watchdog {
                let _ = watchdog.write_all(b"1");
            }
            std::thread::sleep(ALIVE_EVERY);
        }
    });
}

/// The line to the controller, shared by the trial and the sign of life.
#[derive(Clone)]
struct Writer(Arc<Mutex<Box<dyn Write + Send>>>);

impl Writer {
    fn send(&self, message: &FromGuest) -> std::io::Result<()> {
        send(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), message)
    }
}
