//! Runs programs, showing each line before it runs.

use std::path::Path;
use std::process::{Command, Stdio};

/// What failed, for people.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) String);

/// Runs cargo with arguments.
pub(crate) fn cargo(arguments: &[&str]) -> Result<(), Failed> {
    cargo_with(&[], arguments)
}

/// Runs cargo with further environment variables.
pub(crate) fn cargo_with(environment: &[(&str, &str)], arguments: &[&str]) -> Result<(), Failed> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let shown: Vec<String> = environment.iter().map(|(name, value)| format!("{name}=\"{value}\" ")).collect();
    eprintln!("+ {}cargo {}", shown.concat(), arguments.join(" "));
    finish(command(&cargo).args(arguments).envs(environment.iter().copied()), "cargo")
}

/// Runs a program with arguments.
pub(crate) fn program(program: &str, arguments: &[&str]) -> Result<(), Failed> {
    eprintln!("+ {program} {}", arguments.join(" "));
    finish(command(program).args(arguments), program)
}

/// Runs a program in a folder.
pub(crate) fn program_in(folder: &Path, program: &str, arguments: &[&str]) -> Result<(), Failed> {
    eprintln!("+ {program} {}   (in {})", arguments.join(" "), folder.display());
    finish(command(program).args(arguments).current_dir(folder), program)
}

/// What a program prints.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Result<String, Failed> {
    match command(program).args(arguments).output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => Err(Failed(format!("{program} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))),
        Err(error) => Err(Failed(format!("{program} cannot be run: {error}"))),
    }
}

/// Is a program on the path?
pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Debian keeps mkfs and losetup where a user's path does not look, and PostgreSQL in a folder for each version.
    let more = ["/usr/sbin", "/sbin"].into_iter().map(std::path::PathBuf::from);
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
    std::env::split_paths(&path).chain(more).chain(versions).any(|folder| folder.join(program).is_file())
}

/// Does a program succeed? Its output is not shown.
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let status = command(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn finish(command: &mut Command, name: &str) -> Result<(), Failed> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failed(format!("{name} failed ({status})"))),
        Err(error) => Err(Failed(format!("{name} cannot be run: {error}"))),
    }
}

#[expect(clippy::disallowed_methods, reason = "running commands is what xtask is for")]
fn command(program: &str) -> Command {
    Command::new(program)
}
