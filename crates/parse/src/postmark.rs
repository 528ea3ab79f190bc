//! `postmark`: small files made, read, appended to and deleted, as a mail server does.
//! Owns the report of PostMark 1.5 (`postmark-1.5x.c`); its kilobytes and megabytes are powers of 1024. Times are whole seconds.

use crate::{Better, Field, Parsed, Unit, text, text::decimal, tool::Parser};

pub(crate) const PARSER: Parser = Parser {
    name: "postmark",
    expected: "the report with `Time:`, `Files:` and `Data:` that postmark prints after `run`",
    fields: FIELDS,
    scopes: &[""],
    read,
};

const FIELDS: &[Field] = &[
    Field { name: "elapsed_s", unit: Unit::Seconds, better: Better::Lower, help: "whole run, in whole seconds" },
    Field { name: "transactions_s", unit: Unit::Seconds, better: Better::Lower, help: "transactions only, in whole seconds" },
    Field { name: "transactions_per_second", unit: Unit::OperationsPerSecond, better: Better::Higher, help: "as printed, a whole number" },
    Field { name: "files_{created|read|appended|deleted}", unit: Unit::Operations, better: Better::Neither, help: "files" },
    Field {
        name: "files_{created|read|appended|deleted}_per_second",
        unit: Unit::OperationsPerSecond,
        better: Better::Higher,
        help: "as printed, a whole number",
    },
    Field { name: "bytes_{read|written}", unit: Unit::Bytes, better: Better::Neither, help: "bytes of file data" },
    Field {
        name: "bytes_{read|written}_per_second",
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
        help: "bytes divided by the whole run",
    },
];

/// Below this many seconds a rate from whole seconds is off by more than a tenth.
const COARSE_S: f64 = 10.0;

fn read(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    for (line, content) in text::lines(output) {
        let words: Vec<&str> = content.split_whitespace().collect();
        match words.as_slice() {
            [seconds, "seconds", "total"] => {
                if let Some(seconds) = decimal(seconds) {
                    parsed.set("elapsed_s", seconds);
                    if seconds < COARSE_S {
                        parsed.warn(line, format!("{seconds} s in whole seconds is too coarse to compare: raise `set transactions`"));
                    }
                }
            }
            [seconds, "seconds", "of", "transactions", rate, "per", "second)"] => {
                set(&mut parsed, "transactions_s", decimal(seconds));
                set(&mut parsed, "transactions_per_second", bracketed(rate));
            }
            [count, what @ ("created" | "read" | "appended" | "deleted"), rate, "per", "second)"] => {
                set(&mut parsed, &format!("files_{what}"), decimal(count));
                set(&mut parsed, &format!("files_{what}_per_second"), bracketed(rate));
            }
            [number, unit, what @ ("read" | "written"), rate, rate_unit, "per", "second)"] => {
                set(&mut parsed, &format!("bytes_{what}"), bytes(decimal(number), unit));
                set(&mut parsed, &format!("bytes_{what}_per_second"), bytes(bracketed(rate), rate_unit));
            }
            _ => {}
        }
    }
    parsed
}

fn set(parsed: &mut Parsed, field: &str, value: Option<f64>) {
    if let Some(value) = value {
        parsed.set(field, value);
    }
}

/// `(2000`.
fn bracketed(word: &str) -> Option<f64> {
    decimal(word.strip_prefix('(')?)
}

fn bytes(number: Option<f64>, unit: &str) -> Option<f64> {
    let factor = match unit {
        "bytes" => 1.0,
        "kilobytes" => 1024.0,
        "megabytes" => 1_048_576.0,
        "gigabytes" => 1_073_741_824.0,
        _other => return None,
    };
    number.map(|number| number * factor)
}
