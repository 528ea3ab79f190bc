//! `pgbench`: transactions of a database.
//! Owns the report of pgbench 9.0 to 17 (`pgbench.c`, `printResults`).

use crate::{Better, Field, Parsed, Unit, text, text::decimal, tool::Parser};

pub(crate) const PARSER: Parser = Parser {
    name: "pgbench",
    expected: "the line `tps = 1801.9 (without initial connection time)` at the end of what pgbench prints",
    fields: FIELDS,
    scopes: &[""],
    read,
};

const FIELDS: &[Field] = &[
    Field {
        name: "transactions_per_second",
        unit: Unit::OperationsPerSecond,
        better: Better::Higher,
        help: "without the time to connect, where the version tells it apart",
    },
    Field { name: "transactions", unit: Unit::Operations, better: Better::Neither, help: "transactions that were processed" },
    Field {
        name: "transactions_{failed|skipped|late}",
        unit: Unit::Operations,
        better: Better::Lower,
        help: "failed, skipped, over the limit",
    },
    Field { name: "latency_{mean|stddev}_s", unit: Unit::Seconds, better: Better::Lower, help: "latency of a transaction" },
    Field { name: "lag_{mean|max}_s", unit: Unit::Seconds, better: Better::Lower, help: "behind the schedule of -R" },
    Field { name: "connection_s", unit: Unit::Seconds, better: Better::Lower, help: "time to connect" },
];

fn read(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut is_excluding = false;
    for (_, content) in text::lines(output) {
        let Some((what, value)) = content.split_once(" = ").or_else(|| content.split_once(": ")) else { continue };
        let number = value.split_whitespace().next().and_then(|word| decimal(word.split('/').next().unwrap_or(word)));
        let field = match what.trim() {
            "tps" => {
                let excludes = value.contains("without initial") || value.contains("excluding");
                // Version 13 and older say it twice, first with the time to connect.
                if is_excluding && !excludes {
                    continue;
                }
                is_excluding |= excludes;
                "transactions_per_second"
            }
            "number of transactions actually processed" => "transactions",
            "number of failed transactions" => "transactions_failed",
            "number of transactions skipped" => "transactions_skipped",
            name if name.starts_with("number of transactions above the") => "transactions_late",
            "latency average" => "latency_mean_s",
            "latency stddev" => "latency_stddev_s",
            "initial connection time" | "average connection time" => "connection_s",
            "rate limit schedule lag" => {
                lag(value, &mut parsed);
                continue;
            }
            _other => continue,
        };
        if let Some(number) = number {
            parsed.set(field, if field.ends_with("_s") { number * 1e-3 } else { number });
        }
    }
    if !parsed.values.is_empty() && !parsed.values.contains_key("transactions_per_second") {
        parsed.warn(text::lines(output).count(), "no line with `tps`: pgbench was ended early, or stopped by an error");
    }
    parsed
}

/// `avg 0.786 (max 34.062) ms`.
fn lag(value: &str, parsed: &mut Parsed) {
    let words: Vec<&str> = value.split_whitespace().collect();
    if let ["avg", mean, "(max", max, "ms"] = words.as_slice() {
        for (field, word) in [("lag_mean_s", *mean), ("lag_max_s", max.trim_end_matches(')'))] {
            if let Some(ms) = decimal(word) {
                parsed.set(field, ms * 1e-3);
            }
        }
    }
}
