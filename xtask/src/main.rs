//! Habits of the repository: what `make` calls. Logic lives here and not in shell.
//!
//! It builds in seconds because it depends on nothing, so that it can install what the rest of the build needs.

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
        ["dev", rest @ ..] => dev(rest),
        ["test"] => test::all(test::Strictness::SkipWhatCannotRun),
        ["test", "--strict"] => test::all(test::Strictness::FailWhatCannotRun),
        ["lint"] => test::lint(),
        ["doc"] => test::doc(),
        ["bench", rest @ ..] => bench(rest),
        _ => {
            eprintln!("usage: make demo | test | bench | lint | fmt | dev | doc   (see `make help`)");
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

/// A release build, then the tour.
fn demo(arguments: &[&str]) -> Result<(), Failed> {
    packages::install(&packages::DEMO)?;
    cargo(&["build", "--release", "--workspace", "--bins"])?;
    program("target/release/blklab", &[&["demo"], arguments].concat())
}

/// The demo's lab from a debug build: quick to change.
fn dev(arguments: &[&str]) -> Result<(), Failed> {
    packages::install(&packages::DEMO)?;
    cargo(&["build", "--workspace", "--bins"])?;
    program("target/debug/blklab", &[&["demo"], arguments].concat())
}

fn bench(arguments: &[&str]) -> Result<(), Failed> {
    cargo(&[&["run", "--release", "--package", "blklab-lab-tests", "--bin", "bench", "--"], arguments].concat())
}
