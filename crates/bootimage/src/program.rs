//! Programs that this crate calls: bytes in, bytes out, with a limit on time and on what they write.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Searched after the PATH of the caller, which for an ordinary user lacks the sbin folders.
const STANDARD_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Bytes kept of what a program complains.
const COMPLAINT_BYTES: u64 = 4096;

/// Where programs come from on Debian.
const PACKAGES: [(&str, &str); 9] = [
    ("bzip2", "bzip2"),
    ("depmod", "kmod"),
    ("gzip", "gzip"),
    ("ldd", "libc-bin"),
    ("lz4", "lz4"),
    ("lzop", "lzop"),
    ("modprobe", "kmod"),
    ("xz", "xz-utils"),
    ("zstd", "zstd"),
];

/// Why a program gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It is not installed.
    #[error("`{program}` is not installed{}", .package.map(|package| format!("; install the Debian package {package}")).unwrap_or_default())]
    Missing {
        /// Its name.
        program: String,
        /// Where it is from.
        package: Option<&'static str>,
    },
    /// The system.
    #[error("run `{program}`: {error}")]
    Io {
        /// Its name.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// It says no.
    #[error("`{program}`: {status}{}", .complaint.lines().next().map(|line| format!(", saying: {line}")).unwrap_or_default())]
    Failed {
        /// Its name.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// What it wrote to standard error.
        complaint: String,
    },
    /// It does not end.
    #[error("`{program}` did not end within {} s", .limit.as_secs())]
    TimeOut {
        /// Its name.
        program: String,
        /// How long it had.
        limit: Duration,
    },
    /// It writes more than can be true.
    #[error("`{program}` gives more than {} MiB", .limit_bytes >> 20)]
    TooLong {
        /// Its name.
        program: String,
        /// How much was taken.
        limit_bytes: u64,
    },
}

/// How far a program may go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Of its standard output.
    pub(crate) bytes: u64,
    /// Of its life.
    pub(crate) time: Duration,
}

/// The path of a program, if it is installed.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let given = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&given).chain(std::env::split_paths(STANDARD_PATH));
    folders.map(|folder| folder.join(name)).find(|path| is_executable(path))
}

/// Runs a program to its end with `input` on standard input, and writes its standard output to `output`.
pub(crate) fn run(
    name: &str,
    arguments: &[&OsStr],
    mut input: impl Read + Send,
    mut output: impl Write,
    limits: Limits,
) -> Result<u64, ProgramError> {
    let program = || name.to_owned();
    let io = |error| ProgramError::Io { program: program(), error };
    let path = find(name).ok_or_else(|| ProgramError::Missing { program: program(), package: package(name) })?;
    #[expect(clippy::disallowed_methods, reason = "the one place of this crate that runs programs")]
    let mut command = Command::new(path);
    command.args(arguments).env_clear().env("PATH", STANDARD_PATH).env("LC_ALL", "C").env("HOME", "/");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(io)?;
    let pid = Pid::from_child(&child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(mut stdout), Some(stderr)) = (stdin, stdout, stderr) else { unreachable!("all three are pipes") };

    let (copied, fed, complaint, is_late) = thread::scope(|scope| {
        let (done, ended) = mpsc::channel::<()>();
        // The child is reaped after this thread has ended, so its number is nobody else's.
        let watch = scope.spawn(move || {
            let is_late = ended.recv_timeout(limits.time) == Err(mpsc::RecvTimeoutError::Timeout);
            if is_late {
                let _ = kill_process(pid, Signal::KILL);
            }
            is_late
        });
        let feed = scope.spawn(move || io::copy(&mut input, &mut stdin).map(drop));
        let complaints = scope.spawn(move || kept(stderr));
        let copied = io::copy(&mut stdout.by_ref().take(limits.bytes + 1), &mut output);
        if !matches!(copied, Ok(bytes) if bytes <= limits.bytes) {
            let _ = kill_process(pid, Signal::KILL);
        }
        drop(stdout);
        let (fed, complaint) = (feed.join(), complaints.join());
        drop(done);
        (copied, fed, complaint, watch.join().unwrap_or(false))
    });
    let status = child.wait().map_err(io)?;
    if is_late {
        return Err(ProgramError::TimeOut { program: program(), limit: limits.time });
    }
    let bytes = copied.map_err(io)?;
    if bytes > limits.bytes {
        return Err(ProgramError::TooLong { program: program(), limit_bytes: limits.bytes });
    }
    if !status.success() {
        return Err(ProgramError::Failed { program: program(), status, complaint: complaint.unwrap_or_default() });
    }
    match fed {
        Ok(Ok(())) => Ok(bytes),
        // It had what it needed.
        Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes),
        Ok(Err(error)) => Err(io(error)),
        Err(_) => Err(io(io::Error::other("the thread that feeds it ended"))),
    }
}

/// The beginning; the rest is read, too, so that the program is not held up.
fn kept(mut stderr: impl Read) -> String {
    let mut beginning = Vec::new();
    let _ = stderr.by_ref().take(COMPLAINT_BYTES).read_to_end(&mut beginning);
    let _ = io::copy(&mut stderr, &mut io::sink());
    String::from_utf8_lossy(&beginning).into_owned()
}

fn package(program: &str) -> Option<&'static str> {
    PACKAGES.iter().find(|(name, _)| *name == program).map(|(_, package)| *package)
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { bytes: 1 << 20, time: Duration::from_secs(20) };

    fn sh(script: &str, input: &[u8], limits: Limits) -> Result<Vec<u8>, ProgramError> {
        let mut output = Vec::new();
        run("sh", &["-c".as_ref(), script.as_ref()], input, &mut output, limits)?;
        Ok(output)
    }

    #[test]
    fn bytes_go_through() {
        let input = vec![7; 300 << 10];
        assert_eq!(sh("cat", &input, LIMITS).unwrap(), input);
        assert_eq!(sh("head -c 5; exec true", &input, LIMITS).unwrap(), vec![7; 5], "it need not read everything");
    }

    #[test]
    fn failures_are_told_apart() {
        let failed = sh("echo bad data >&2; exit 3", b"", LIMITS).unwrap_err();
        assert_eq!(failed.to_string(), "`sh`: exit status: 3, saying: bad data");
        let late = sh("exec sleep 1000", b"", Limits { time: Duration::from_millis(50), ..LIMITS }).unwrap_err();
        assert!(matches!(late, ProgramError::TimeOut { .. }), "{late}");
        let endless = sh("exec cat /dev/zero", b"", LIMITS).unwrap_err();
        assert_eq!(endless.to_string(), "`sh` gives more than 1 MiB");
        let missing = run("no-such-program", &[], &b""[..], io::sink(), LIMITS).unwrap_err();
        assert_eq!(missing.to_string(), "`no-such-program` is not installed");
        assert!(PACKAGES.is_sorted());
    }
}
