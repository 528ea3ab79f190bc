//! A disk model behind an NBD socket: each reply is held back until the simulated disk is done.
//!
//! Plain threads: one that accepts, one that lets replies go on time, two for each client (one of which nearly always sleeps).

mod alarm;
mod backing;
mod buffers;
mod connection;
mod core;
mod handshake;
mod protocol;
mod stats;

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use self::backing::Backing;
use self::connection::Connection;
use self::core::Core;
use self::handshake::Export;
pub use self::stats::{Service, Stats};
use crate::disk::Disk;
use crate::model::DiskModel;

/// Clients at a time. QEMU opens one connection for a disk; a few more are for looking at it.
const MAX_CONNECTIONS: usize = 8;

/// Stopping waits this long for the threads: only one that hangs in the file system below the backing file takes longer, and is left
/// to end by itself.
const STOP_LIMIT: Duration = Duration::from_secs(2);

/// After a failed accept(2), as when the process has no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A disk that is being served. Dropping it stops the threads, closes the connections and removes the socket.
#[derive(Debug)]
pub struct Server {
    socket: PathBuf,
    listener: Arc<UnixListener>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    core: Core,
    clients: Mutex<Clients>,
    /// A thread ended.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Clients {
    connections: Vec<Arc<Connection>>,
    threads: usize,
    over: bool,
}

impl Server {
    /// Serves `bytes` bytes of `backing` as a disk of this model, on a unix socket that only this user can open.
    ///
    /// A backing file that is shorter is made longer, sparsely. A socket that a dead process left is replaced. Serving is by threads of
    /// their own: this returns at once, and clients may connect from then on. Any export name means the disk.
    ///
    /// # Errors
    /// The socket cannot be made (its path is longer than the 107 bytes of unix(7), somebody listens there), the file cannot be
    /// extended, or no thread can be started; the message says which.
    pub fn start(socket: &Path, backing: File, bytes: u64, model: &DiskModel, seed: u64) -> io::Result<Server> {
        let fail = |act: &str, error: io::Error| io::Error::new(error.kind(), format!("failed to {act} {}: {error}", socket.display()));
        let backing = Backing::new(backing, bytes).map_err(|error| fail("extend the file behind", error))?;
        let listener = Arc::new(listen(socket).map_err(|error| fail("listen on", error))?);
        let export = Export { bytes, flags: protocol::transmission_flags(model.is_rotational()) };
        let core = Core::new(backing, export, Disk::new(model, bytes, seed)).map_err(|error| fail("make a timer for", error))?;
        let shared = Arc::new(Shared { core, clients: Mutex::default(), ended: Condvar::new() });
        let server = Server { socket: socket.to_owned(), listener, shared };
        let (pacer, accepter, listener) = (Arc::clone(&server.shared), Arc::clone(&server.shared), Arc::clone(&server.listener));
        server.shared.spawn("disk-pace", move || pacer.core.pace()).map_err(|error| fail("start a thread for", error))?;
        server.shared.spawn("disk-accept", move || accepter.accept(&listener)).map_err(|error| fail("start a thread for", error))?;
        Ok(server)
    }

    /// The socket to connect to.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Begins a new stream of chance and new [`Stats`]; called at the start of each trial, so that repetitions meet the same platter
    /// angle and the same slow requests. Caches of reads are emptied; cached writes stay and are written.
    pub fn reseed(&self, seed: u64) {
        self.shared.core.reseed(seed);
    }

    /// What was served since the start, or since the last [`Server::reseed`].
    pub fn stats(&self) -> Stats {
        self.shared.core.stats()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.core.end();
        // accept(2) on a listening socket that was shut down returns, with an error.
        let _shut = rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both);
        let connections = {
            let mut clients = self.shared.clients();
            clients.over = true;
            std::mem::take(&mut clients.connections)
        };
        for connection in connections {
            connection.close();
        }
        let deadline = Instant::now() + STOP_LIMIT;
        let mut clients = self.shared.clients();
        while clients.threads > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            clients = self.shared.ended.wait_timeout(clients, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        // Somebody may have tidied up before.
        let _removed = fs::remove_file(&self.socket);
    }
}

impl Shared {
    fn accept(self: &Arc<Shared>, listener: &UnixListener) {
        loop {
            match listener.accept() {
                Ok((socket, _)) => self.welcome(socket),
                Err(_) if self.clients().over => return,
                Err(_) => thread::sleep(ACCEPT_PAUSE),
            }
            if self.clients().over {
                return;
            }
        }
    }

    /// Takes a client, if there is room for it; otherwise its socket is closed.
    fn welcome(self: &Arc<Shared>, socket: UnixStream) {
        let connection = Arc::new(Connection::new(socket));
        {
            let mut clients = self.clients();
            if clients.over || clients.connections.len() >= MAX_CONNECTIONS {
                return;
            }
            clients.connections.push(Arc::clone(&connection));
        }
        let (shared, reader, writer) = (Arc::clone(self), Arc::clone(&connection), Arc::clone(&connection));
        let reads = self.spawn("disk-read", move || {
            core::hurry();
            // Whoever breaks the protocol or vanishes is let go; what it asked is answered or dropped.
            let _gone = reader.serve(&shared.core);
            reader.close();
            shared.clients().connections.retain(|other| !Arc::ptr_eq(other, &reader));
        });
        let shared = Arc::clone(self);
        let writes = reads.and_then(|()| self.spawn("disk-write", move || writer.write(shared.core.buffers())));
        if writes.is_err() {
            connection.close();
            self.clients().connections.retain(|other| !Arc::ptr_eq(other, &connection));
        }
    }

    fn spawn(self: &Arc<Shared>, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.clients().threads += 1;
        let counted = Counted(Arc::clone(self));
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _counted = counted;
            work();
        });
        spawned.map(|_| ())
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that counts as long as this lives, even when it panics or was never started.
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.clients().threads -= 1;
        self.0.ended.notify_all();
    }
}

fn listen(socket: &Path) -> io::Result<UnixListener> {
    let listener = match UnixListener::bind(socket) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_abandoned(socket) => {
            fs::remove_file(socket)?;
            UnixListener::bind(socket)?
        }
        other => other?,
    };
    fs::set_permissions(socket, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// A socket that nobody listens on.
fn is_abandoned(socket: &Path) -> bool {
    let is_socket = fs::symlink_metadata(socket).is_ok_and(|metadata| metadata.file_type().is_socket());
    is_socket && UnixStream::connect(socket).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests;
