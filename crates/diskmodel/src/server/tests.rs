//! The server against clients that are good, careless and hostile.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::testing::{Client, command, greet, option, option_reply};

const MIB: u64 = 1 << 20;

/// How long a test waits for what must happen.
const SOON: Duration = Duration::from_secs(20);

const FUA: u16 = 1;

struct Lab {
    server: Server,
    folder: tempfile::TempDir,
}

/// A disk of 64 MiB; times shrunk so that tests are quick.
fn lab(preset: &str, slowdown: f64) -> Lab {
    let folder = tempfile::tempdir().unwrap();
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(folder.path().join("disk.img")).unwrap();
    let model = DiskModel::preset(preset).unwrap().slowed(slowdown);
    let server = Server::start(&folder.path().join("disk.sock"), file, 64 * MIB, &model, 1).unwrap();
    Lab { server, folder }
}

impl Lab {
    fn client(&self) -> Client {
        let mut client = Client::connect(self.server.socket()).unwrap();
        client.socket().set_read_timeout(Some(SOON)).unwrap();
        client
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("disk.img")
    }
}

#[test]
fn what_is_written_is_read_back() {
    let lab = lab("sata-hdd", 0.01);
    let mut client = lab.client();
    assert_eq!((client.bytes, client.flags), (64 * MIB, 0b1_0111_1101), "rotational, with flush, FUA, trim and zeroes");
    let data: Vec<u8> = (0..MIB).map(|n| (n * 7 % 251) as u8).collect();
    assert_eq!(client.call(command::WRITE, 0, 12_345, MIB as u32, &data).unwrap().0, 0);
    assert_eq!(client.call(command::WRITE, FUA, 40 * MIB, 512, &[9; 512]).unwrap().0, 0);
    assert_eq!(client.call(command::FLUSH, 0, 0, 0, &[]).unwrap().0, 0);
    assert_eq!(client.call(command::READ, 0, 12_345, MIB as u32, &[]).unwrap(), (0, data.clone()));
    assert_eq!(client.call(command::WRITE_ZEROES, 0, 12_345, 4096, &[]).unwrap().0, 0);
    assert_eq!(client.call(command::READ, 0, 12_345, 4097, &[]).unwrap().1, [vec![0; 4096], vec![data[4096]]].concat());
    assert_eq!(client.call(command::TRIM, 0, MIB, MIB as u32, &[]).unwrap().0, 0);
    client.send(command::DISCONNECT, 0, 0, 0, 0, &[]).unwrap();
    assert_eq!(client.socket().read(&mut [0]).unwrap(), 0, "the server closes");
    assert_eq!(fs::metadata(lab.image()).unwrap().len(), 64 * MIB);
    let stats = lab.server.stats();
    assert_eq!((stats.reads, stats.writes, stats.flushes, stats.trims, stats.errors), (2, 3, 1, 1, 0));
    assert_eq!(stats.written_bytes, MIB + 512 + 4096);
    assert_eq!(stats.depth, [7]);
    assert!(stats.busy > Duration::ZERO && stats.busy <= stats.elapsed);
}

#[test]
fn a_reply_comes_when_the_disk_is_done() {
    let lab = lab("sata-hdd", 10.0);
    let mut client = lab.client();
    let begin = Instant::now();
    assert_eq!(client.call(command::READ, 0, 50 * MIB, 4096, &[]).unwrap().0, 0);
    let took = begin.elapsed();
    // The overhead and the shortest of all seeks.
    let shortest = Duration::from_millis(1 + 10);
    assert!(took > shortest, "{took:?}");
    assert!(lab.server.stats().distance.iter().any(|service| service.requests == 1 && service.mean_ms() > 11.0));
}

#[test]
fn reads_of_many_overtake_each_other() {
    let lab = lab("sata-hdd", 0.2);
    let mut client = lab.client();
    let offsets: Vec<u64> = (0..24).map(|n| n * 37 % 61 * MIB).collect();
    for (cookie, offset) in offsets.iter().enumerate() {
        client.send(command::READ, 0, cookie as u64, *offset, 4096, &[]).unwrap();
    }
    let order: Vec<u64> = offsets.iter().map(|_| client.receive(|_| 4096).unwrap().0.0).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..24).collect::<Vec<u64>>(), "each once");
    assert_ne!(order, sorted, "not in the order in which they came");
    assert!(lab.server.stats().depth.len() >= 4);
}

#[test]
fn what_cannot_be_served_is_refused_and_nothing_else_suffers() {
    let lab = lab("nvme-ssd", 1.0);
    let mut client = lab.client();
    let end = 64 * MIB;
    assert_eq!(client.call(command::READ, 0, end - 100, 512, &[]).unwrap().0, 22);
    assert_eq!(client.call(command::READ, 0, u64::MAX, 1, &[]).unwrap().0, 22);
    assert_eq!(client.call(command::READ, 0, 0, u32::MAX, &[]).unwrap().0, 22);
    assert_eq!(client.call(command::WRITE, 0, end, 512, &[1; 512]).unwrap().0, 28);
    assert_eq!(client.call(command::WRITE_ZEROES, 0, 0, u32::MAX, &[]).unwrap().0, 28);
    assert_eq!(client.call(command::TRIM, 0, end, u32::MAX, &[]).unwrap().0, 22);
    assert_eq!(client.call(5, 0, 0, 512, &[]).unwrap().0, 22);
    assert_eq!(client.call(command::READ, 0, end - 512, 512, &[]).unwrap(), (0, vec![0; 512]));
    assert_eq!(client.call(command::READ, 0, 0, 0, &[]).unwrap(), (0, vec![]));
    assert_eq!(lab.server.stats().refused, 7);
}

#[test]
fn errors_of_the_file_reach_the_client() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.img");
    fs::write(&path, vec![1; 4096]).unwrap();
    // Writing to a file that was opened for reading fails with EBADF: as good an I/O error as any.
    let file = File::open(&path).unwrap();
    let model = DiskModel::preset("nvme-ssd").unwrap();
    let server = Server::start(&folder.path().join("s"), file, 4096, &model, 1).unwrap();
    let mut client = Client::connect(server.socket()).unwrap();
    assert_eq!(client.call(command::WRITE, 0, 0, 512, &[1; 512]).unwrap().0, 5);
    assert_eq!(client.call(command::READ, 0, 0, 2, &[]).unwrap(), (0, vec![1, 1]));
    // The file shrinks under the server.
    OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
    assert_eq!(client.call(command::READ, 0, 0, 512, &[]).unwrap().0, 5);
    assert_eq!(server.stats().errors, 2);
}

#[test]
fn a_client_may_vanish_and_come_back() {
    let lab = lab("sata-hdd", 1.0);
    for _ in 0..3 * MAX_CONNECTIONS {
        let mut client = lab.client();
        for cookie in 0..8 {
            client.send(command::READ, 0, cookie, cookie * 7 * MIB, 4096, &[]).unwrap();
        }
        drop(client);
        // The slot of the last one is free as soon as the server has noticed.
        wait_until("room for a client", || lab.server.shared.clients().connections.len() < MAX_CONNECTIONS);
    }
    let mut client = lab.client();
    assert_eq!(client.call(command::READ, 0, 0, 4096, &[]).unwrap().0, 0);
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody_else() {
    let lab = lab("nvme-ssd", 1.0);
    let mut lazy = lab.client();
    for cookie in 0..100 {
        lazy.send(command::READ, 0, cookie, 0, 1 << 20, &[]).unwrap();
    }
    let mut client = lab.client();
    for _ in 0..20 {
        assert_eq!(client.call(command::READ, 0, 0, 4096, &[]).unwrap().0, 0);
    }
    for _ in 0..100 {
        assert_eq!(lazy.receive(|_| 1 << 20).unwrap().0.1, 0, "and gets all of it in the end");
    }
}

#[test]
fn too_many_clients_are_turned_away() {
    let lab = lab("nvme-ssd", 1.0);
    let clients: Vec<Client> = (0..MAX_CONNECTIONS).map(|_| lab.client()).collect();
    assert!(Client::connect(lab.server.socket()).is_err());
    drop(clients);
    wait_until("a free slot", || Client::connect(lab.server.socket()).is_ok());
}

#[test]
fn options_are_answered_by_the_protocol() {
    let lab = lab("nvme-ssd", 1.0);
    let mut socket = greet(lab.server.socket(), 0b11).unwrap();
    // Structured replies, TLS and an option of the future: not here.
    for unknown in [5, 8, 10, 99] {
        option(&mut socket, unknown, &[]).unwrap();
        assert_eq!(option_reply(&mut socket).unwrap().0, (1 << 31) + 1);
    }
    option(&mut socket, 3, &[]).unwrap();
    assert_eq!(option_reply(&mut socket).unwrap(), (2, vec![0; 4]));
    assert_eq!(option_reply(&mut socket).unwrap().0, 1);
    for malformed in [&[][..], &[0, 0, 0, 9, 1], &[0, 0, 0, 0, 0, 5], &[255; 6]] {
        option(&mut socket, 6, malformed).unwrap();
        assert_eq!(option_reply(&mut socket).unwrap().0, (1 << 31) + 3);
    }
    option(&mut socket, 6, &[0, 0, 0, 1, b'x', 0, 1, 0, 3]).unwrap();
    assert_eq!(option_reply(&mut socket).unwrap().1[..10], [0, 0, 0, 0, 0, 0, 4, 0, 0, 0]);
    assert_eq!(option_reply(&mut socket).unwrap().1[..10], [0, 3, 0, 0, 0, 1, 0, 0, 16, 0]);
    assert_eq!(option_reply(&mut socket).unwrap().0, 1);
    option(&mut socket, 2, &[]).unwrap();
    assert_eq!(option_reply(&mut socket).unwrap().0, 1);
    assert_eq!(socket.read(&mut [0]).unwrap(), 0, "aborted");
}

#[test]
fn the_old_option_leads_to_requests_too() {
    let lab = lab("nvme-ssd", 1.0);
    for (client_flags, zeroes) in [(0b01, 124), (0b11, 0)] {
        let mut socket = greet(lab.server.socket(), client_flags).unwrap();
        option(&mut socket, 1, b"any name").unwrap();
        let mut answer = vec![0; 10 + zeroes];
        socket.read_exact(&mut answer).unwrap();
        assert_eq!(answer[..8], (64 * MIB).to_be_bytes());
        socket.write_all(&[0x25, 0x60, 0x95, 0x13, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        let mut reply = [0; 16];
        socket.read_exact(&mut reply).unwrap();
        assert_eq!(reply, [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
}

#[test]
fn stopping_is_quick_and_leaves_nothing() {
    let lab = lab("sata-hdd", 1000.0);
    let mut client = lab.client();
    client.send(command::READ, 0, 1, 32 * MIB, 4096, &[]).unwrap();
    let mut mute = UnixStream::connect(lab.server.socket()).unwrap();
    mute.read_exact(&mut [0; 18]).unwrap();
    wait_until("the request", || lab.server.stats().reads == 1);
    let (socket, begin) = (lab.server.socket().to_owned(), Instant::now());
    drop(lab.server);
    assert!(begin.elapsed() < STOP_LIMIT, "a seek of 10 s does not hold it up");
    assert!(!socket.exists());
    assert_eq!(client.receive(|_| 4096).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    assert_eq!(mute.read(&mut [0]).unwrap(), 0, "a client in the middle of its negotiation");
}

#[test]
fn a_dead_socket_is_replaced_and_a_living_one_respected() {
    let lab = lab("nvme-ssd", 1.0);
    let again = |name: &str| {
        let file = OpenOptions::new().read(true).write(true).open(lab.image()).unwrap();
        Server::start(&lab.folder.path().join(name), file, MIB, &DiskModel::preset("nvme-ssd").unwrap(), 1)
    };
    assert_eq!(again("disk.sock").unwrap_err().kind(), ErrorKind::AddrInUse);
    drop(UnixListener::bind(lab.folder.path().join("dead.sock")).unwrap());
    assert!(again("dead.sock").is_ok());
    fs::write(lab.folder.path().join("file"), "precious").unwrap();
    assert_eq!(again("file").unwrap_err().kind(), ErrorKind::AddrInUse);
    assert_eq!(fs::read_to_string(lab.folder.path().join("file")).unwrap(), "precious");
    let error = again(&"long".repeat(40)).unwrap_err();
    assert!(error.to_string().starts_with("failed to listen on /"), "{error}");
}

#[test]
fn a_trial_begins_with_new_numbers() {
    let lab = lab("nvme-ssd", 1.0);
    let mut client = lab.client();
    client.call(command::READ, 0, 0, 4096, &[]).unwrap();
    lab.server.reseed(5);
    assert_eq!(lab.server.stats().requests(), 0);
    client.call(command::FLUSH, 0, 0, 0, &[]).unwrap();
    assert_eq!(lab.server.stats().flushes, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever comes, good clients are served afterwards.
    #[test]
    fn hostile_bytes_hurt_nobody(
        negotiates in prop::bool::ANY,
        bytes in prop::collection::vec(prop_oneof![
            prop::collection::vec(any::<u8>(), 1..40),
            Just(b"IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0".to_vec()),
            Just(b"IHAVEOPT\0\0\0\x06\xff\xff\xff\xff".to_vec()),
            Just(b"IHAVEOPT\0\0\0\x01\0\0\0\0".to_vec()),
            (any::<u16>(), 0u16..8, any::<u64>(), any::<u32>()).prop_map(|(flags, command, offset, length)| {
                let mut raw = vec![0x25, 0x60, 0x95, 0x13];
                raw.extend(flags.to_be_bytes());
                raw.extend(command.to_be_bytes());
                raw.extend([1; 8]);
                raw.extend((offset % (70 * MIB)).to_be_bytes());
                raw.extend((length % (40 << 20)).to_be_bytes());
                raw
            }),
        ], 1..8),
    ) {
        thread_local!(static LAB: Lab = lab("nvme-ssd", 1.0));
        LAB.with(|lab| {
            wait_until("room for a client", || lab.server.shared.clients().connections.len() < MAX_CONNECTIONS - 1);
            let mut hostile = if negotiates { lab.client().socket().try_clone().unwrap() } else { greet(lab.server.socket(), 0b11).unwrap() };
            for bytes in bytes {
                // The server may have closed already.
                if hostile.write_all(&bytes).is_err() {
                    break;
                }
            }
            let mut client = lab.client();
            assert_eq!(client.call(command::READ, 0, 4096, 512, &[]).unwrap().0, 0);
        });
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < SOON, "no {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// QEMU's own client is the one that matters.
#[test]
fn qemu_reads_what_it_wrote() {
    let lab = lab("fc-array", 0.1);
    let address = format!("nbd+unix:///?socket={}", lab.server.socket().display());
    #[expect(clippy::disallowed_methods, reason = "a test of this crate, which runs no program otherwise")]
    let mut qemu = std::process::Command::new("qemu-io");
    for command in [
        "write -P 7 1M 3M",
        "write -f -P 8 2M 4k",
        "read -P 7 1M 1M",
        "read -P 8 2M 4k",
        "flush",
        "write -z 1M 64k",
        "read -P 0 1M 64k",
        "discard 3M 64k",
        "read -P 7 3136k 4k",
    ] {
        qemu.args(["-c", command]);
    }
    match qemu.args(["-f", "raw", &address]).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => eprintln!("skipped: qemu-io is not installed (Debian: qemu-utils)"),
        Err(error) => panic!("failed to run qemu-io: {error}"),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && !text.contains("failed"), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
            let stats = lab.server.stats();
            assert!(stats.reads >= 4 && stats.writes >= 3 && stats.flushes >= 1, "{stats:?}");
            assert_eq!((stats.errors, stats.refused), (0, 0));
        }
    }
}
