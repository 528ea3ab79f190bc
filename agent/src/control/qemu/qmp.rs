//! The little of QMP that a virtual host needs: events about its end, and the order to quit (QEMU, docs/interop/qmp-spec.rst).

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde::Deserialize;

/// QEMU answers at once.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// What QEMU says of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QmpEvent {
    /// It shuts down; from inside (`guest-shutdown`, `guest-reset`, `guest-panic`) or from outside (`host-qmp-quit`, `host-signal`).
    Shutdown {
        /// Why.
        reason: String,
        /// Did the guest ask?
        guest: bool,
    },
    /// The guest says that it panicked.
    Panicked,
    /// The watchdog bit.
    Watchdog,
}

#[derive(Deserialize)]
struct Message {
    event: Option<String>,
    #[serde(default)]
    data: serde_json::Value,
}

/// A monitor after its greeting.
pub(super) struct Qmp {
    stream: UnixStream,
}

impl Qmp {
    /// Takes up the conversation.
    pub(super) fn greet(stream: UnixStream) -> std::io::Result<(Self, BufReader<UnixStream>)> {
        stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut qmp = Qmp { stream };
        qmp.order("qmp_capabilities")?;
        line.clear();
        reader.read_line(&mut line)?;
        // From here on events may take days.
        reader.get_ref().set_read_timeout(None)?;
        Ok((qmp, reader))
    }

    /// Ends QEMU at once.
    pub(super) fn quit(&mut self) -> std::io::Result<()> {
        self.order("quit")
    }

    fn order(&mut self, name: &str) -> std::io::Result<()> {
        writeln!(self.stream, "{{\"execute\":\"{name}\"}}")
    }
}

/// The event of a line, if it is one that matters.
pub(super) fn event(line: &str) -> Option<QmpEvent> {
    let message: Message = serde_json::from_str(line).ok()?;
    match message.event?.as_str() {
        "SHUTDOWN" => {
            let reason = message.data["reason"].as_str().unwrap_or_default().to_owned();
            Some(QmpEvent::Shutdown { guest: message.data["guest"].as_bool().unwrap_or(false), reason })
        }
        "GUEST_PANICKED" => Some(QmpEvent::Panicked),
        "WATCHDOG" => Some(QmpEvent::Watchdog),
        _other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read() {
        let shutdown =
            r#"{"timestamp": {"seconds": 1, "microseconds": 2}, "event": "SHUTDOWN", "data": {"guest": true, "reason": "guest-panic"}}"#;
        assert_eq!(event(shutdown), Some(QmpEvent::Shutdown { reason: "guest-panic".into(), guest: true }));
        assert_eq!(event(r#"{"event": "GUEST_PANICKED", "data": {"action": "poweroff"}}"#), Some(QmpEvent::Panicked));
        assert_eq!(event(r#"{"event": "WATCHDOG", "data": {"action": "inject-nmi"}}"#), Some(QmpEvent::Watchdog));
        assert_eq!(event(r#"{"return": {}}"#), None);
        assert_eq!(event("garbage"), None);
    }
}
