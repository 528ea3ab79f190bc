//! `blklab`: the lab for people.

use std::process::ExitCode;

fn main() -> ExitCode {
    blklab_coordinator::cli::main()
}
