//! What a controller and the agent inside its host say to each other: JSON, a line each, over a virtio-serial port or the standard streams
//! of an ssh command. Both ends are the same program (the controller brings it along), so this is no part of the lab's public protocol.

use std::io::{BufRead, Write};
use std::time::Duration;

use blklab_model::disk::Disk;
use blklab_model::host::HostFacts;
use blklab_model::id::{DiskClass, HostName};
use blklab_wire::agent::{MAX_REPORT_BYTES, TrialSpec};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cycle::run::Cycle;

/// Both ends must have the same one: an agent that was left on a host by an older controller is told so instead of misunderstood.
pub const GUEST_PROTOCOL: u32 = 1;

/// How often the guest says that it lives, by its own clock.
pub const ALIVE_EVERY: Duration = Duration::from_secs(2);

/// Longest line: a report with its outputs, and room for the words around it.
const MAX_LINE_BYTES: u64 = MAX_REPORT_BYTES as u64 + (1 << 20);

/// From the guest to its controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromGuest {
    /// The first word: the kernel runs, and this is what it says of itself.
    Ready(Ready),
    /// Answer to [`ToGuest::Setup`].
    Inventory {
        /// Facts of the host.
        facts: Box<HostFacts>,
        /// The disks of the setup, in its order; one that the kernel does not find is missing.
        disks: Vec<Disk>,
    },
    /// The agent lives.
    Alive,
    /// The trial enters a phase.
    Phase(String),
    /// The trial is over.
    Done(Box<Cycle>),
    /// The agent cannot work here.
    Cannot(String),
}

/// What a kernel says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// [`GUEST_PROTOCOL`].
    pub protocol: u32,
    /// `uname -r`.
    pub release: String,
    /// GNU build id from `/sys/kernel/notes`, hexadecimal; empty when the kernel has none.
    pub build_id: String,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// The controller's token on `/proc/cmdline`; empty when there is none.
    pub token: String,
}

/// From the controller to the guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToGuest {
    /// Which disks to use; sent once, after [`FromGuest::Ready`].
    Setup(Setup),
    /// Run a trial.
    Trial(Box<TrialSpec>),
    /// End the running trial.
    Stop,
    /// Switch the machine off.
    PowerOff,
}

/// What the guest needs to know before its first trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Name of the host in the lab.
    pub host: HostName,
    /// The only disks that it may touch.
    pub disks: Vec<SetupDisk>,
    /// Say [`FromGuest::Alive`] and pet the watchdog; not under a clock that leaps over idle time, where both would only spin.
    pub alive: bool,
}

/// A disk as the controller attached it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupDisk {
    /// The serial number that the kernel will show.
    pub serial: String,
    /// Its class in the lab.
    pub class: DiskClass,
    /// Where its seed goes before each trial, for disks that are modelled inside the guest.
    pub seed_file: Option<String>,
}

/// Writes a message.
pub fn send(writer: &mut impl Write, message: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    writer.write_all(&line)?;
    writer.flush()
}

/// Reads a message; none at the end of the stream.
pub fn receive<T: DeserializeOwned>(reader: &mut impl BufRead) -> std::io::Result<Option<T>> {
    let mut line = Vec::new();
    let read = std::io::Read::take(&mut *reader, MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
    if read == 0 {
        return Ok(None);
    }
    serde_json::from_slice(&line).map(Some).map_err(|error| {
        let text: String = String::from_utf8_lossy(&line).chars().take(200).collect();
        std::io::Error::new(std::io::ErrorKind::InvalidData, format!("no message ({error}): {text}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_line() {
        let messages = [FromGuest::Alive, FromGuest::Phase("mkfs".into()), FromGuest::Cannot("a\nb".into())];
        let mut bytes = Vec::new();
        for message in &messages {
            send(&mut bytes, message).unwrap();
        }
        let mut reader = bytes.as_slice();
        for message in messages {
            assert_eq!(receive::<FromGuest>(&mut reader).unwrap(), Some(message));
        }
        assert_eq!(receive::<FromGuest>(&mut reader).unwrap(), None);
        assert!(receive::<FromGuest>(&mut b"[ 1.0] a kernel message\n".as_slice()).unwrap_err().to_string().contains("a kernel message"));
    }
}
