//! `dbench`: throughput of a replayed trace of file-server calls, and the latency of each kind.
//! Owns the shapes of dbench 3 and 4 (`dbench.c`); its MB are 10^6 bytes.

use crate::{Better, Field, Parsed, Unit, text, text::decimal, tool::Parser};

pub(crate) const PARSER: Parser = Parser {
    name: "dbench",
    expected: "the line `Throughput 292.8 MB/sec  2 clients  2 procs  max_latency=292.0 ms` at the end of what dbench prints",
    fields: FIELDS,
    scopes: &[""],
    read,
};

const FIELDS: &[Field] = &[
    Field {
        name: "bytes_per_second",
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
        help: "bytes read and written after the warm-up",
    },
    Field { name: "max_latency_s", unit: Unit::Seconds, better: Better::Lower, help: "slowest call" },
    Field { name: "clients", unit: Unit::Count, better: Better::Neither, help: "processes that replay the trace" },
    Field { name: "op.{*}.operations", unit: Unit::Operations, better: Better::Neither, help: "calls of a kind: `op.Flush.operations`" },
    Field { name: "op.{*}.latency_{mean|max}_s", unit: Unit::Seconds, better: Better::Lower, help: "latency of a kind of call" },
];

fn read(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut in_table = false;
    for (line, content) in text::lines(output) {
        let words: Vec<&str> = content.split_whitespace().collect();
        match words.as_slice() {
            ["Throughput", rate, "MB/sec", rest @ ..] => {
                if let Some(rate) = decimal(rate) {
                    parsed.set("bytes_per_second", rate * 1e6);
                }
                summary(rest, &mut parsed);
            }
            ["Operation", "Count", ..] => in_table = true,
            [kind, count, mean, max] if in_table => match (decimal(count), decimal(mean), decimal(max)) {
                (Some(count), Some(mean), Some(max)) => {
                    parsed.set(format!("op.{kind}.operations"), count);
                    parsed.set(format!("op.{kind}.latency_mean_s"), mean * 1e-3);
                    parsed.set(format!("op.{kind}.latency_max_s"), max * 1e-3);
                }
                (_, _, _) => parsed.warn(line, format!("not a line of the table: {}", text::clip(content.trim()))),
            },
            _ => {}
        }
    }
    if !parsed.values.is_empty() && !parsed.values.contains_key("bytes_per_second") {
        parsed.warn(text::lines(output).count(), "no line with the throughput: dbench was ended early");
    }
    parsed
}

/// `2 clients  2 procs  max_latency=291.995 ms`; version 3 says `4 procs` only.
fn summary(words: &[&str], parsed: &mut Parsed) {
    for pair in words.windows(2) {
        if let [number, "clients" | "procs"] = pair
            && let Some(clients) = decimal(number)
            && !parsed.values.contains_key("clients")
        {
            parsed.set("clients", clients);
        }
        if let [latency, "ms"] = pair
            && let Some(ms) = latency.strip_prefix("max_latency=").and_then(decimal)
        {
            parsed.set("max_latency_s", ms * 1e-3);
        }
    }
}
