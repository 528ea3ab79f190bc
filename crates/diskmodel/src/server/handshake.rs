//! The beginning of a connection: fixed newstyle negotiation, up to the export.

use std::io::{self, Read, Write};

use super::protocol::{
    CLIENT_NO_ZEROES, GREETING, HANDSHAKE_FLAGS, INFO_BLOCK_SIZE, INFO_EXPORT, MAX_PAYLOAD, OPT_ABORT, OPT_EXPORT_NAME, OPT_GO, OPT_INFO,
    OPT_LIST, OPTION_MAGIC, OPTION_REPLY_MAGIC, REP_ACK, REP_ERR_INVALID, REP_ERR_UNSUP, REP_INFO, REP_SERVER, take,
};

/// Options in one negotiation; QEMU and libnbd send up to five.
const MAX_OPTIONS: usize = 64;

/// Data of one option, in bytes: the protocol's 4096 for a name, and as much for the rest.
const MAX_OPTION_BYTES: u32 = 8192;

/// The smallest request that makes sense, and the one that works best, in bytes.
const MIN_BLOCK: u32 = 1;
const PREFERRED_BLOCK: u32 = 4096;

/// What a client is told about the disk. There is one export; any name means it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Export {
    pub(super) bytes: u64,
    pub(super) flags: u16,
}

/// How a negotiation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Negotiated {
    /// Requests follow.
    Transmission,
    /// The client did not want more.
    Over,
}

/// Negotiates.
///
/// # Errors
/// The client broke the protocol or went away.
pub(super) fn negotiate(stream: &mut (impl Read + Write), export: Export) -> io::Result<Negotiated> {
    let mut greeting = GREETING.to_be_bytes().to_vec();
    greeting.extend(OPTION_MAGIC.to_be_bytes());
    greeting.extend(HANDSHAKE_FLAGS.to_be_bytes());
    stream.write_all(&greeting)?;
    let client_flags = u32::from_be_bytes(read(stream)?);
    if client_flags & !u32::from(HANDSHAKE_FLAGS) != 0 {
        return Err(broken("unknown client flags"));
    }
    for _ in 0..MAX_OPTIONS {
        if u64::from_be_bytes(read(stream)?) != OPTION_MAGIC {
            return Err(broken("no option where one was due"));
        }
        let option = u32::from_be_bytes(read(stream)?);
        let length = u32::from_be_bytes(read(stream)?);
        if length > MAX_OPTION_BYTES {
            return Err(broken("an option with too much data"));
        }
        let mut data = vec![0; length as usize];
        stream.read_exact(&mut data)?;
        match option {
            OPT_EXPORT_NAME => {
                stream.write_all(&old_answer(export, client_flags))?;
                return Ok(Negotiated::Transmission);
            }
            OPT_ABORT => {
                // The client may be gone already, which is its right.
                let _gone = reply(stream, option, REP_ACK, &[]);
                return Ok(Negotiated::Over);
            }
            OPT_LIST if data.is_empty() => {
                // One export, whose name is empty.
                reply(stream, option, REP_SERVER, &0u32.to_be_bytes())?;
                reply(stream, option, REP_ACK, &[])?;
            }
            OPT_LIST => reply(stream, option, REP_ERR_INVALID, &[])?,
            OPT_INFO | OPT_GO => {
                if !is_info_request(&data) {
                    reply(stream, option, REP_ERR_INVALID, &[])?;
                    continue;
                }
                reply(stream, option, REP_INFO, &export_info(export))?;
                reply(stream, option, REP_INFO, &block_size_info())?;
                reply(stream, option, REP_ACK, &[])?;
                if option == OPT_GO {
                    return Ok(Negotiated::Transmission);
                }
            }
            _ => reply(stream, option, REP_ERR_UNSUP, &[])?,
        }
    }
    Err(broken("too many options"))
}

fn old_answer(export: Export, client_flags: u32) -> Vec<u8> {
    let mut answer = export.bytes.to_be_bytes().to_vec();
    answer.extend(export.flags.to_be_bytes());
    if client_flags & CLIENT_NO_ZEROES == 0 {
        answer.extend([0; 124]);
    }
    answer
}

/// A name with its length, and a list of wishes with theirs. All is told whatever is wished.
fn is_info_request(data: &[u8]) -> bool {
    let Some((length, rest)) = take::<4>(data) else { return false };
    let Some(rest) = rest.get(u32::from_be_bytes(length) as usize..) else { return false };
    let Some((wishes, rest)) = take::<2>(rest) else { return false };
    rest.len() == 2 * usize::from(u16::from_be_bytes(wishes))
}

fn export_info(export: Export) -> Vec<u8> {
    let mut info = INFO_EXPORT.to_be_bytes().to_vec();
    info.extend(export.bytes.to_be_bytes());
    info.extend(export.flags.to_be_bytes());
    info
}

fn block_size_info() -> Vec<u8> {
    let mut info = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
    for size in [MIN_BLOCK, PREFERRED_BLOCK, MAX_PAYLOAD] {
        info.extend(size.to_be_bytes());
    }
    info
}

fn reply(stream: &mut impl Write, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    let mut message = OPTION_REPLY_MAGIC.to_be_bytes().to_vec();
    message.extend(option.to_be_bytes());
    message.extend(kind.to_be_bytes());
    message.extend((data.len() as u32).to_be_bytes());
    message.extend(data);
    stream.write_all(&message)
}

fn read<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut raw = [0; N];
    stream.read_exact(&mut raw)?;
    Ok(raw)
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
