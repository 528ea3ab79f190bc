//! The seam between deciding about a host and having one: what it takes to boot a kernel somewhere. [`super::qemu`] has virtual hosts.

use std::path::PathBuf;
use std::time::Duration;

use blklab_model::crash::Crash;
use blklab_model::kernel::{BootMethod, Clock};

use super::verdict::Ending;
use crate::guest::message::{FromGuest, SetupDisk, ToGuest};
use crate::stop::Stop;

/// A kernel as files, ready to be booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootFiles {
    /// For messages.
    pub name: String,
    /// bzImage or vmlinux.
    pub image: PathBuf,
    /// Tar of `lib/modules/RELEASE`.
    pub modules: Option<PathBuf>,
    /// Further words for its command line.
    pub arguments: String,
}

/// A way to boot kernels on one host.
pub trait Boot: Send {
    /// Which way.
    fn method(&self) -> BootMethod;

    /// What times are measured by there.
    fn clock(&self) -> Clock;

    /// The disks that the kernel is to find, in the order of the configuration.
    fn disks(&self) -> Vec<SetupDisk>;

    /// How long a kernel may take until its agent answers.
    fn boot_limit(&self) -> Duration;

    /// Starts a kernel. It has `blklab.token=TOKEN` on its command line. Whatever ran before is gone.
    fn start(&mut self, kernel: &BootFiles, token: &str, stop: &Stop) -> Result<Box<dyn Running>, Crash>;
}

/// A kernel that runs, or did.
pub trait Running: Send {
    /// Tells the agent in it something.
    fn send(&mut self, message: &ToGuest) -> std::io::Result<()>;

    /// Waits for something to happen; none when nothing did within `limit`.
    fn next(&mut self, limit: Duration) -> Option<Event>;

    /// Everything that was kept of its console.
    fn console(&self) -> String;

    /// Before a trial: modelled disks start from the same state for the same seed.
    fn seed(&mut self, seed: u64);

    /// Faults of the lab that the kernel could not see (a backing file without space, a model that broke), since the last call.
    fn lab_fault(&mut self) -> Option<String>;

    /// Ends it, whatever it does; gently if it still listens.
    fn end(self: Box<Self>);
}

/// What a running kernel does.
#[derive(Debug)]
pub enum Event {
    /// Its agent says something.
    Guest(FromGuest),
    /// It is over.
    Over(Ending),
}
