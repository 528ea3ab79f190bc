//! A small NBD client that keeps many requests under way, for tests and measurements.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A connection in the transmission phase.
#[derive(Debug)]
pub struct Client {
    socket: UnixStream,
    /// Size of the disk, in bytes.
    pub bytes: u64,
    /// Transmission flags.
    pub flags: u16,
}

/// A reply: the cookie of its request, its error (0 for none).
pub type Reply = (u64, u32);

/// Commands by their numbers in the protocol.
pub mod command {
    /// Data from the disk.
    pub const READ: u16 = 0;
    /// Data to the disk.
    pub const WRITE: u16 = 1;
    /// Good-bye.
    pub const DISCONNECT: u16 = 2;
    /// What was written stays.
    pub const FLUSH: u16 = 3;
    /// Not needed any more.
    pub const TRIM: u16 = 4;
    /// Zeroes.
    pub const WRITE_ZEROES: u16 = 6;
}

impl Client {
    /// Connects by `NBD_OPT_GO`.
    ///
    /// # Errors
    /// Nobody listens, or it is not an NBD server.
    pub fn connect(path: &Path) -> io::Result<Client> {
        let mut socket = greet(path, 0b11)?;
        // An empty name, and no wishes.
        option(&mut socket, 7, &[0; 6])?;
        let (mut bytes, mut flags) = (0, 0);
        loop {
            let (kind, data) = option_reply(&mut socket)?;
            match (kind, data.as_slice()) {
                (1, _) => return Ok(Client { socket, bytes, flags }),
                (3, [0, 0, rest @ ..]) if rest.len() == 10 => {
                    bytes = u64::from_be_bytes(rest[..8].try_into().expect("8 bytes"));
                    flags = u16::from_be_bytes(rest[8..].try_into().expect("2 bytes"));
                }
                (3, _) => {}
                (kind, _) => return Err(io::Error::other(format!("reply {kind:#x} to NBD_OPT_GO"))),
            }
        }
    }

    /// Sends a request without waiting; `data` follow it.
    ///
    /// # Errors
    /// The server is gone.
    pub fn send(&mut self, command: u16, flags: u16, cookie: u64, offset: u64, bytes: u32, data: &[u8]) -> io::Result<()> {
        let mut request = 0x2560_9513u32.to_be_bytes().to_vec();
        request.extend(flags.to_be_bytes());
        request.extend(command.to_be_bytes());
        request.extend(cookie.to_be_bytes());
        request.extend(offset.to_be_bytes());
        request.extend(bytes.to_be_bytes());
        request.extend(data);
        self.socket.write_all(&request)
    }

    /// Waits for the next reply; `data` is filled when it is that of a read.
    ///
    /// # Errors
    /// The server is gone.
    pub fn receive(&mut self, data: impl FnOnce(u64) -> usize) -> io::Result<(Reply, Vec<u8>)> {
        let mut raw = [0; 16];
        self.socket.read_exact(&mut raw)?;
        assert_eq!(raw[..4], 0x6744_6698u32.to_be_bytes(), "a simple reply");
        let error = u32::from_be_bytes(raw[4..8].try_into().expect("4 bytes"));
        let cookie = u64::from_be_bytes(raw[8..].try_into().expect("8 bytes"));
        let mut payload = vec![0; if error == 0 { data(cookie) } else { 0 }];
        self.socket.read_exact(&mut payload)?;
        Ok(((cookie, error), payload))
    }

    /// One request and its reply: the error number, 0 for none, and the data of a read.
    ///
    /// # Errors
    /// The server is gone.
    pub fn call(&mut self, command: u16, flags: u16, offset: u64, bytes: u32, data: &[u8]) -> io::Result<(u32, Vec<u8>)> {
        self.send(command, flags, 7, offset, bytes, data)?;
        let ((cookie, error), data) = self.receive(|_| if command == command::READ { bytes as usize } else { 0 })?;
        assert_eq!(cookie, 7);
        Ok((error, data))
    }

    /// The socket, to misuse it.
    pub fn socket(&mut self) -> &mut UnixStream {
        &mut self.socket
    }
}

/// Connects and reads the greeting.
///
/// # Errors
/// Nobody listens, or it is not an NBD server.
pub fn greet(path: &Path, client_flags: u32) -> io::Result<UnixStream> {
    let mut socket = UnixStream::connect(path)?;
    let mut greeting = [0; 18];
    socket.read_exact(&mut greeting)?;
    if &greeting[..16] != b"NBDMAGICIHAVEOPT" {
        return Err(io::Error::other("not an NBD server"));
    }
    socket.write_all(&client_flags.to_be_bytes())?;
    Ok(socket)
}

/// Sends an option.
///
/// # Errors
/// The server is gone.
pub fn option(socket: &mut UnixStream, option: u32, data: &[u8]) -> io::Result<()> {
    let mut message = b"IHAVEOPT".to_vec();
    message.extend(option.to_be_bytes());
    message.extend((data.len() as u32).to_be_bytes());
    message.extend(data);
    socket.write_all(&message)
}

/// Waits for the reply to an option: its kind and data.
///
/// # Errors
/// The server is gone.
pub fn option_reply(socket: &mut UnixStream) -> io::Result<(u32, Vec<u8>)> {
    let mut raw = [0; 20];
    socket.read_exact(&mut raw)?;
    let word = |at: usize| u32::from_be_bytes(raw[at..at + 4].try_into().expect("4 bytes"));
    let mut data = vec![0; word(16) as usize];
    socket.read_exact(&mut data)?;
    Ok((word(12), data))
}
