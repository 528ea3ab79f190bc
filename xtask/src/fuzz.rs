//! A minute of fuzzing: what a parser meets when a tool's output is not what anybody expected.

use std::path::Path;

use crate::run::{Failed, cargo, cargo_with, succeeds};

/// Known to build with the toolchain of this repository.
const CARGO_FUZZ_VERSION: &str = "0.13.1";

/// Targets in `fuzz/`, each with the folders of real outputs that it starts from.
const TARGETS: [(&str, &[&str]); 3] = [
    ("tools", &["crates/parse/fixtures"]),
    ("results", &["crates/parse/fixtures-results", "crates/parse/fixtures"]),
    ("monitor", &["crates/parse/fixtures/monitor"]),
];

/// Seconds of each target: a minute in all.
const SECONDS: u32 = 20;

/// Runs every target; the parsers are safe code, so no sanitizer is needed and a stable toolchain can do it.
pub(crate) fn all() -> Result<(), Failed> {
    if !succeeds("cargo", &["fuzz", "--version"]) {
        eprintln!("installing cargo-fuzz, which runs libFuzzer");
        cargo(&["install", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ_VERSION])?;
    }
    for (target, seeds) in TARGETS {
        let corpus = format!("fuzz/corpus/{target}");
        std::fs::create_dir_all(&corpus).map_err(|error| Failed(format!("cannot make {corpus}: {error}")))?;
        let time = format!("-max_total_time={SECONDS}");
        let mut words = vec!["fuzz", "run", "--sanitizer", "none", target, corpus.as_str()];
        words.extend(seeds.iter().filter(|folder| Path::new(folder).is_dir()));
        words.extend(["--", &time, "-max_len=65536", "-timeout=10", "-print_final_stats=1"]);
        // cargo-fuzz asks for instrumentation by an option that stable compilers hide.
        cargo_with(&[("RUSTC_BOOTSTRAP", "1")], &words)?;
    }
    Ok(())
}
