//! The built-in tasks: what a workload can do without any program on the host. They run in a process of their own, as programs do, so
//! that priorities, limits and time-outs hold for them alike (see [`crate::launch`]).

mod aligned;
mod latency;
mod noise;
mod overwrite;
mod read;
mod tree;
mod write;

pub use noise::Noise;

use std::path::Path;

use blklab_model::workload::command::Builtin;
use blklab_parse::BuiltinResult;

use crate::clock;
use crate::stop::Stop;
use latency::Histogram;

/// A built-in task that could not go on.
#[derive(Debug, thiserror::Error)]
pub enum BuiltinError {
    /// A file operation.
    #[error("{act}: {source}")]
    Io {
        /// `read /mnt/file`.
        act: String,
        /// Why not.
        source: std::io::Error,
    },
    /// Arguments that do not fit what is there.
    #[error("{message}")]
    Unfit {
        /// What, with the remedy.
        message: String,
    },
}

impl BuiltinError {
    fn io<E: Into<std::io::Error>>(act: &'static str, path: &Path) -> impl FnOnce(E) -> Self {
        let act = format!("{act} {}", path.display());
        move |source| BuiltinError::Io { act, source: source.into() }
    }
}

type Result<T> = std::result::Result<T, BuiltinError>;

/// What a task has done so far.
#[derive(Debug, Default)]
struct Tally {
    bytes: u64,
    operations: u64,
    latencies: Histogram,
}

impl Tally {
    /// Runs one operation and counts it with its latency. It gives the bytes that it moved, or none when there was nothing to do.
    fn operation(&mut self, work: impl FnOnce() -> Result<Option<u64>>) -> Result<Option<u64>> {
        let before = clock::monotonic();
        let moved = work()?;
        if let Some(bytes) = moved {
            self.latencies.record(clock::monotonic() - before);
            self.bytes += bytes;
            self.operations += 1;
        }
        Ok(moved)
    }
}

/// Runs a task to its end, or until `stop` is asked: then it counts what it has done, which is how an endless background load ends.
pub fn run(task: &Builtin, stop: &Stop) -> Result<BuiltinResult> {
    let before = clock::monotonic();
    let (name, tally) = match task {
        Builtin::WriteFile { path, bytes } => ("write-file", write::file(Path::new(path), *bytes, stop)?),
        Builtin::MakeTree { path, files, file_bytes } => ("make-tree", write::tree(Path::new(path), *files, *file_bytes, stop)?),
        Builtin::LinearRead { path, block_bytes, limit_bytes, direct } => {
            let mode = if *direct { read::Mode::Direct } else { read::Mode::Cached };
            ("linear-read", read::linear(Path::new(path), *block_bytes, *limit_bytes, mode, stop)?)
        }
        Builtin::TreeRead { path, block_bytes } => ("tree-read", read::tree(Path::new(path), *block_bytes, stop)?),
        Builtin::TreeCopy { from, to, forever } => {
            let times = if *forever { tree::Times::UntilStopped } else { tree::Times::Once };
            ("tree-copy", tree::copy(Path::new(from), Path::new(to), times, stop)?)
        }
        Builtin::RandomOverwrite { path, block_bytes, operations, read_first, seed } => {
            let order = if *read_first { overwrite::Order::ReadThenWrite } else { overwrite::Order::Write };
            let plan = overwrite::Plan { block_bytes: *block_bytes, operations: *operations, order, seed: *seed };
            ("random-overwrite", overwrite::random(Path::new(path), &plan, stop)?)
        }
    };
    let elapsed_s = (clock::monotonic() - before).as_secs_f64();
    let latency_s = tally.latencies.summary();
    Ok(BuiltinResult { task: name.to_owned(), bytes: tally.bytes, operations: tally.operations, elapsed_s, latency_s })
}
