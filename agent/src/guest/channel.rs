//! The line to the controller: a virtio-serial port, or the standard streams.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock;
use crate::sys::files::read_if_there;
use crate::sys::roots::Roots;

/// Name of the virtio-serial port.
pub const PORT_NAME: &str = "blklab";

/// The driver may still be probing when the agent starts.
const PORT_PATIENCE: Duration = Duration::from_secs(20);

/// Between two looks at a port whose other end is not connected, which reads as an end of file (drivers/char/virtio_console.c).
const RECONNECT_PERIOD: Duration = Duration::from_millis(50);

/// Opens the port that the controller listens to.
pub fn port(roots: &Roots) -> io::Result<(PortReader, File)> {
    let deadline = clock::monotonic() + PORT_PATIENCE;
    let path = loop {
        if let Some(path) = find(roots) {
            break path;
        }
        if clock::monotonic() > deadline {
            let reason = format!("no virtio-serial port named `{PORT_NAME}`; does this kernel have virtio_console?");
            return Err(io::Error::new(io::ErrorKind::NotFound, reason));
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    Ok((PortReader(file.try_clone()?), file))
}

fn find(roots: &Roots) -> Option<PathBuf> {
    let ports = std::fs::read_dir(roots.sys.join("class/virtio-ports")).ok()?;
    let is_ours = |path: &Path| read_if_there(&path.join("name")).is_some_and(|name| name == PORT_NAME);
    let ours = ports.flatten().map(|entry| entry.path()).find(|path| is_ours(path))?;
    Some(roots.dev.join(ours.file_name()?))
}

/// A port that waits while nobody is connected.
#[derive(Debug)]
pub struct PortReader(File);

impl Read for PortReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Ok(0) => std::thread::sleep(RECONNECT_PERIOD),
                other => return other,
            }
        }
    }
}

/// Standard input and output as files, for an agent that was started over ssh. Whatever else prints to standard output from here on goes
/// to standard error, so that it cannot break a message.
pub fn standard_streams() -> io::Result<(File, File)> {
    let duplicate = |stream: &dyn AsFd| -> io::Result<File> { Ok(File::from(rustix::io::fcntl_dupfd_cloexec(stream.as_fd(), 3)?)) };
    let (input, output) = (duplicate(&rustix::stdio::stdin())?, duplicate(&rustix::stdio::stdout())?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok((input, output))
}
