//! Programs that the agent calls for its own ends (mkfs, blkid, losetup), each with a time limit; and the one place that builds commands.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use super::process::{Bell, Ended, Process};
use super::{Result, SysError};
use crate::clock;

/// Searched after the PATH that the agent was given: a service manager's PATH often lacks the sbin folders.
const STANDARD_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Bytes kept of what a helper program writes; the longest, `blkid -o export`, stays far below.
const OUTPUT_LIMIT: usize = 64 << 10;

/// Lines of standard error that go into a message.
const LAST_LINES: usize = 5;

/// Where a program comes from on Debian.
const PACKAGES: [(&str, &str); 28] = [
    ("blkid", "util-linux"),
    ("blkparse", "blktrace"),
    ("blktrace", "blktrace"),
    ("bonnie++", "bonnie++"),
    ("dbench", "dbench"),
    ("dd", "coreutils"),
    ("fio", "fio"),
    ("fs_mark", "fsmark"),
    ("hdparm", "hdparm"),
    ("ionice", "util-linux"),
    ("ioping", "ioping"),
    ("iostat", "sysstat"),
    ("iozone", "iozone3"),
    ("losetup", "mount"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("mkfs.ext2", "e2fsprogs"),
    ("mkfs.ext3", "e2fsprogs"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.f2fs", "f2fs-tools"),
    ("mkfs.xfs", "xfsprogs"),
    ("modprobe", "kmod"),
    ("nvme", "nvme-cli"),
    ("pgbench", "postgresql-contrib"),
    ("postmark", "postmark"),
    ("smartctl", "smartmontools"),
    ("sqlite3", "sqlite3"),
    ("sysbench", "sysbench"),
    ("tar", "tar"),
];

/// A command whose program is looked up now, with a small, equal environment on every host: no locale, no stray variables.
pub fn program(name: &str) -> Command {
    let path = find(name).unwrap_or_else(|| PathBuf::from(name));
    #[expect(clippy::disallowed_methods, reason = "the one place of the agent that builds commands")]
    let mut command = Command::new(path);
    // Messages of programs begin with their name as the workload wrote it.
    command.arg0(name);
    command.env_clear().env("PATH", search_path()).env("LC_ALL", "C").env("HOME", "/");
    command
}

/// Runs a helper program to its end; an exit status other than 0 is an error.
pub fn run(argv: &[&str], limit: Duration) -> Result<Ended> {
    let ended = run_any(argv, limit)?;
    if ended.status.success() {
        return Ok(ended);
    }
    Err(SysError::Program { command: argv.join(" "), status: ended.status.to_string(), stderr: ended.stderr.last_lines(LAST_LINES) })
}

/// Runs a helper program to its end, whatever its exit status means.
pub fn run_any(argv: &[&str], limit: Duration) -> Result<Ended> {
    let (name, args) = argv.split_first().expect("a helper command names its program");
    if find(name).is_none() {
        return Err(SysError::MissingProgram { program: (*name).to_owned() });
    }
    let bell = Bell::default();
    let mut command = program(name);
    command.args(args).stdin(Stdio::null());
    let process = Process::spawn(command, OUTPUT_LIMIT, &bell)?;
    let deadline = clock::monotonic() + limit;
    while process.ended().is_none() {
        let left = deadline.saturating_sub(clock::monotonic());
        if left.is_zero() {
            process.signal(Signal::KILL);
            process.finish()?;
            return Err(SysError::TimeOut { act: format!("run `{}`", argv.join(" ")), limit_s: limit.as_secs() });
        }
        bell.wait(left);
    }
    process.finish()
}

/// The path of a program, if it is installed.
pub fn find(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return is_executable(Path::new(name)).then(|| PathBuf::from(name));
    }
    env::split_paths(&search_path()).map(|folder| folder.join(name)).find(|path| is_executable(path))
}

/// ` (Debian package: xfsprogs)`, or nothing for a program that we do not know.
pub fn package_hint(program: &str) -> String {
    let package = PACKAGES.iter().find(|(name, _)| *name == program);
    package.map(|(_, package)| format!("; install the Debian package {package}")).unwrap_or_default()
}

/// Names of all programs on the search path.
pub fn installed() -> impl Iterator<Item = String> {
    let folders: Vec<PathBuf> = env::split_paths(&search_path()).collect();
    let entries = folders.into_iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    entries.filter(|entry| is_executable(&entry.path())).map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// `, saying: ...` for the end of an error message; nothing when the program was silent.
pub fn last_words(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!(", saying: {stderr}") }
}

fn search_path() -> String {
    match env::var("PATH") {
        Ok(path) if !path.is_empty() => format!("{path}:{STANDARD_PATH}"),
        Ok(_) | Err(_) => STANDARD_PATH.to_owned(),
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_failing_program_is_quoted() {
        let error = run(&["sh", "-c", "echo no such disk >&2; exit 3"], LONG).unwrap_err();
        assert_eq!(error.to_string(), "run `sh -c echo no such disk >&2; exit 3`: exit status: 3, saying: no such disk");
    }

    #[test]
    fn a_hanging_program_is_killed() {
        let error = run(&["sleep", "1000"], Duration::from_millis(50)).unwrap_err();
        assert!(matches!(error, SysError::TimeOut { .. }), "{error}");
    }

    #[test]
    fn a_missing_program_comes_with_its_package() {
        let error = SysError::MissingProgram { program: "mkfs.xfs".into() };
        assert_eq!(error.to_string(), "run `mkfs.xfs`: it is not installed; install the Debian package xfsprogs");
        assert!(PACKAGES.is_sorted());
    }
}
