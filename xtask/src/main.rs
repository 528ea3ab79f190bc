//! Habits of the repository: what `make` calls. Logic lives here and not in shell.
//!
//! It builds in seconds because it depends on nothing, so that it can install what the rest of the build needs.

mod fuzz;
mod kernels;
mod packages;
mod run;
mod test;

use std::process::ExitCode;

use run::{Failed, cargo, program};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["demo", rest @ ..] => demo(rest),
        ["demo-local", rest @ ..] => demo_local(rest),
        ["dev", rest @ ..] => dev(rest),
        ["test"] => test::all(test::Strictness::SkipWhatCannotRun),
        ["test", "--strict"] => test::all(test::Strictness::FailWhatCannotRun),
        ["lint"] => test::lint(),
        ["doc"] => test::doc(),
        ["fuzz"] => fuzz::all(),
        ["bench", rest @ ..] => bench(rest),
        _ => {
            eprintln!("usage: make demo | demo-local | test | bench | fuzz | lint | fmt | dev | doc   (see `make help`)");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed(what)) => {
            eprintln!("make: {what}");
            ExitCode::FAILURE
        }
    }
}

/// A release build, then the tour of a lab of virtual hosts that boot two real kernels.
fn demo(arguments: &[&str]) -> Result<(), Failed> {
    packages::install(&[packages::BUILD.as_slice(), packages::VIRTUAL.as_slice()].concat())?;
    let [older, newer] = kernels::fetch()?.map(|path| path.display().to_string());
    cargo(&["build", "--release", "--workspace", "--bins"])?;
    program("target/release/blklab", &[&["demo", "--kernel", &older, "--kernel", &newer], arguments].concat())
}

/// A release build, then the tour of a lab on loop disks of this machine.
fn demo_local(arguments: &[&str]) -> Result<(), Failed> {
    packages::install(&[packages::BUILD.as_slice(), packages::LOCAL.as_slice()].concat())?;
    cargo(&["build", "--release", "--workspace", "--bins"])?;
    program("target/release/blklab", &[&["demo"], arguments].concat())
}

/// The demo's lab from a debug build: quick to change.
fn dev(arguments: &[&str]) -> Result<(), Failed> {
    packages::install(&[packages::BUILD.as_slice(), packages::LOCAL.as_slice()].concat())?;
    cargo(&["build", "--workspace", "--bins"])?;
    program("target/debug/blklab", &[&["demo"], arguments].concat())
}

fn bench(arguments: &[&str]) -> Result<(), Failed> {
    cargo(&[&["run", "--release", "--package", "blklab-lab-tests", "--bin", "bench", "--"], arguments].concat())
}
