//! The words of the NBD protocol, to and from bytes. Knows no sockets.
//!
//! From `doc/proto.md` of the reference implementation (github.com/NetworkBlockDevice/nbd). All numbers are big-endian.

/// First word of a server.
pub(super) const GREETING: u64 = 0x4e42_444d_4147_4943;
/// Second word of a server, and first of each option.
pub(super) const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// First word of the reply to an option.
pub(super) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;

/// Handshake flags: fixed newstyle, no zeroes.
pub(super) const HANDSHAKE_FLAGS: u16 = 0b11;
/// Client flag: the 124 zeroes after `NBD_OPT_EXPORT_NAME` are not wanted.
pub(super) const CLIENT_NO_ZEROES: u32 = 0b10;

pub(super) const OPT_EXPORT_NAME: u32 = 1;
pub(super) const OPT_ABORT: u32 = 2;
pub(super) const OPT_LIST: u32 = 3;
pub(super) const OPT_INFO: u32 = 6;
pub(super) const OPT_GO: u32 = 7;

pub(super) const REP_ACK: u32 = 1;
pub(super) const REP_SERVER: u32 = 2;
pub(super) const REP_INFO: u32 = 3;
pub(super) const REP_ERR_UNSUP: u32 = (1 << 31) + 1;
pub(super) const REP_ERR_INVALID: u32 = (1 << 31) + 3;

pub(super) const INFO_EXPORT: u16 = 0;
pub(super) const INFO_BLOCK_SIZE: u16 = 3;

const FLAG_HAS_FLAGS: u16 = 1;
const FLAG_SEND_FLUSH: u16 = 1 << 2;
const FLAG_SEND_FUA: u16 = 1 << 3;
const FLAG_ROTATIONAL: u16 = 1 << 4;
const FLAG_SEND_TRIM: u16 = 1 << 5;
const FLAG_SEND_WRITE_ZEROES: u16 = 1 << 6;
const FLAG_CAN_MULTI_CONN: u16 = 1 << 8;

/// Command flag: force unit access.
const CMD_FLAG_FUA: u16 = 1;
/// Command flag of `WRITE_ZEROES`: the range stays allocated.
const CMD_FLAG_NO_HOLE: u16 = 1 << 1;

/// The largest payload of a read or write, in bytes: what the protocol lets every client rely on.
pub(super) const MAX_PAYLOAD: u32 = 32 << 20;

/// A request on the wire, in bytes, without payload.
pub(super) const REQUEST_BYTES: usize = 28;
/// A simple reply on the wire, in bytes, without payload.
pub(super) const REPLY_BYTES: usize = 16;

/// What the export can do.
pub(super) fn transmission_flags(is_rotational: bool) -> u16 {
    let can = FLAG_HAS_FLAGS | FLAG_SEND_FLUSH | FLAG_SEND_FUA | FLAG_SEND_TRIM | FLAG_SEND_WRITE_ZEROES | FLAG_CAN_MULTI_CONN;
    if is_rotational { can | FLAG_ROTATIONAL } else { can }
}

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Read,
    Write,
    Disconnect,
    Flush,
    Trim,
    WriteZeroes,
    /// A command that we did not offer.
    Other(u16),
}

/// A request of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) command: Command,
    pub(super) fua: bool,
    pub(super) no_hole: bool,
    /// The client's word for the request.
    pub(super) cookie: u64,
    pub(super) offset: u64,
    pub(super) bytes: u32,
}

impl Header {
    /// None when this is no request.
    pub(super) fn decode(raw: &[u8; REQUEST_BYTES]) -> Option<Header> {
        let (magic, rest) = take::<4>(raw)?;
        let (flags, rest) = take::<2>(rest)?;
        let (command, rest) = take::<2>(rest)?;
        let (cookie, rest) = take::<8>(rest)?;
        let (offset, rest) = take::<8>(rest)?;
        let (bytes, _) = take::<4>(rest)?;
        let flags = u16::from_be_bytes(flags);
        let command = match u16::from_be_bytes(command) {
            0 => Command::Read,
            1 => Command::Write,
            2 => Command::Disconnect,
            3 => Command::Flush,
            4 => Command::Trim,
            6 => Command::WriteZeroes,
            other => Command::Other(other),
        };
        (u32::from_be_bytes(magic) == REQUEST_MAGIC).then_some(Header {
            command,
            fua: flags & CMD_FLAG_FUA != 0,
            no_hole: flags & CMD_FLAG_NO_HOLE != 0,
            cookie: u64::from_be_bytes(cookie),
            offset: u64::from_be_bytes(offset),
            bytes: u32::from_be_bytes(bytes),
        })
    }
}

/// Errors that a client may be told; the numbers are the protocol's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum ErrorCode {
    Io = 5,
    Invalid = 22,
    NoSpace = 28,
}

/// The head of a simple reply.
pub(super) fn reply_header(cookie: u64, error: Option<ErrorCode>) -> [u8; REPLY_BYTES] {
    let mut raw = [0; REPLY_BYTES];
    raw[..4].copy_from_slice(&REPLY_MAGIC.to_be_bytes());
    raw[4..8].copy_from_slice(&error.map_or(0, |error| error as u32).to_be_bytes());
    raw[8..].copy_from_slice(&cookie.to_be_bytes());
    raw
}

/// The next `N` bytes, and what follows.
pub(super) fn take<const N: usize>(raw: &[u8]) -> Option<([u8; N], &[u8])> {
    raw.split_first_chunk::<N>().map(|(head, rest)| (*head, rest))
}
