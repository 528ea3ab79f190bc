//! Everything that must pass.

use crate::run::{Failed, cargo, cargo_with, succeeds};
use crate::{kernels, packages};

/// Known to understand `deny.toml`.
const CARGO_DENY_VERSION: &str = "0.20.2";

/// What happens to a suite that cannot run here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// It is skipped with a printed reason.
    SkipWhatCannotRun,
    /// It fails: in CI nothing is skipped in silence.
    FailWhatCannotRun,
}

/// Lints, tests, documentation.
pub(crate) fn all(strictness: Strictness) -> Result<(), Failed> {
    let needs = [packages::BUILD.as_slice(), &packages::LOCAL, &packages::VIRTUAL, &packages::TEST].concat();
    match (packages::install(&needs), strictness) {
        (Ok(()), _) => {}
        (Err(failed), Strictness::FailWhatCannotRun) => return Err(failed),
        (Err(Failed(why)), Strictness::SkipWhatCannotRun) => eprintln!("going on without: {why}"),
    }
    match (kernels::fetch(), strictness) {
        (Ok(_), _) => {}
        (Err(failed), Strictness::FailWhatCannotRun) => return Err(failed),
        (Err(Failed(why)), Strictness::SkipWhatCannotRun) => eprintln!("going on without virtual hosts: {why}"),
    }
    lint()?;
    let require = match strictness {
        Strictness::SkipWhatCannotRun => "0",
        Strictness::FailWhatCannotRun => "1",
    };
    let environment = [("BLKLAB_REQUIRE_ROOT", require), ("BLKLAB_REQUIRE_POSTGRES", require), ("BLKLAB_REQUIRE_VMS", require)];
    cargo(&["build", "--workspace", "--all-features", "--bins"])?;
    cargo_with(&environment, &["test", "--workspace", "--all-features"])?;
    doc()
}

/// Formatting, clippy, licences and bans.
pub(crate) fn lint() -> Result<(), Failed> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"])?;
    if !succeeds("cargo", &["deny", "--version"]) {
        eprintln!("installing cargo-deny, which checks licences and banned crates");
        cargo(&["install", "cargo-deny", "--locked", "--no-default-features", "--version", CARGO_DENY_VERSION])?;
    }
    cargo(&["deny", "check", "licenses", "bans", "sources"])
}

/// API documentation of our own crates.
pub(crate) fn doc() -> Result<(), Failed> {
    cargo_with(&[("RUSTDOCFLAGS", "-D warnings")], &["doc", "--workspace", "--no-deps", "--all-features"])
}
