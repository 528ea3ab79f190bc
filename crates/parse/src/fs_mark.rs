//! `fs_mark`: one line for each loop, a rate of files made.
//! Owns the columns of fs_mark 3.x (`fs_mark.c`, `print_iteration_stats`), with and without `-v`.

use crate::{Better, Field, Parsed, Unit, text, text::decimal, tool::Parser};

pub(crate) const PARSER: Parser = Parser {
    name: "fs-mark",
    expected: "the table `FSUse% Count Size Files/sec App Overhead` with a line for each loop, as fs_mark prints it to standard output",
    fields: FIELDS,
    scopes: &[""],
    read,
};

const FIELDS: &[Field] = &[
    Field { name: "files", unit: Unit::Operations, better: Better::Neither, help: "files of all loops" },
    Field {
        name: "files_per_second",
        unit: Unit::OperationsPerSecond,
        better: Better::Higher,
        help: "files of all loops divided by the time that their rates stand for",
    },
    Field { name: "files_per_second_{min|max}", unit: Unit::OperationsPerSecond, better: Better::Higher, help: "slowest and fastest loop" },
    Field { name: "app_overhead_s", unit: Unit::Seconds, better: Better::Lower, help: "time outside of system calls, all loops" },
    Field {
        name: "{creat|write|fsync|sync|close|unlink}_{min|mean|max}_s",
        unit: Unit::Seconds,
        better: Better::Lower,
        help: "time of one call, with -v; mean over loops",
    },
];

const CALLS: [&str; 6] = ["creat", "write", "fsync", "sync", "close", "unlink"];

/// Columns before those of the calls: share in use, files so far, their size, rate, overhead.
const FIXED: usize = 5;

struct Loop {
    /// Of all loops up to this one.
    count: f64,
    rate: f64,
    overhead_us: f64,
    /// Minimum, mean, maximum of each call, microseconds; empty without `-v`.
    calls: Vec<f64>,
}

fn read(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut loops: Vec<Loop> = Vec::new();
    let mut in_table = false;
    for (line, content) in text::lines(output) {
        let trimmed = content.trim();
        if trimmed.starts_with("FSUse%") {
            in_table = true;
        } else if in_table && !trimmed.is_empty() && !trimmed.starts_with('#') {
            match row(trimmed) {
                Some(row) => loops.push(row),
                None => parsed.warn(line, format!("not a line of the table: {}", text::clip(trimmed))),
            }
        }
    }
    report(&loops, &mut parsed);
    parsed
}

fn row(line: &str) -> Option<Loop> {
    let numbers: Vec<f64> = line.split_whitespace().map(decimal).collect::<Option<_>>()?;
    let calls = numbers.get(FIXED..)?.to_vec();
    let is_whole = calls.is_empty() || calls.len() == 3 * CALLS.len();
    // A loop without a rate was torn, or made nothing.
    (is_whole && numbers[3] > 0.0).then(|| Loop { count: numbers[1], rate: numbers[3], overhead_us: numbers[4], calls })
}

fn report(loops: &[Loop], parsed: &mut Parsed) {
    let Some(last) = loops.last() else { return };
    // Count grows from loop to loop; each loop makes as many files as the others, with -k and without.
    let (mut before, mut seconds) = (0.0, 0.0);
    for one in loops {
        let files = if one.count > before { one.count - before } else { one.count };
        seconds += files / one.rate;
        before = one.count;
    }
    let files = last.count.max(loops.iter().map(|one| one.count).fold(0.0, f64::max));
    parsed.set("files", files);
    if seconds > 0.0 {
        parsed.set("files_per_second", files / seconds);
    }
    let rates = || loops.iter().map(|one| one.rate);
    parsed.set("files_per_second_min", rates().fold(f64::INFINITY, f64::min));
    parsed.set("files_per_second_max", rates().fold(0.0, f64::max));
    parsed.set("app_overhead_s", loops.iter().map(|one| one.overhead_us).sum::<f64>() * 1e-6);
    for (index, call) in CALLS.iter().enumerate() {
        let column = |at: usize| loops.iter().filter_map(move |one| one.calls.get(3 * index + at).copied());
        let n = column(0).count() as f64;
        if n > 0.0 && column(2).any(|max| max > 0.0) {
            parsed.set(format!("{call}_min_s"), column(0).fold(f64::INFINITY, f64::min) * 1e-6);
            parsed.set(format!("{call}_mean_s"), column(1).sum::<f64>() / n * 1e-6);
            parsed.set(format!("{call}_max_s"), column(2).fold(0.0, f64::max) * 1e-6);
        }
    }
}
