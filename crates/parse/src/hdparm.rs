//! `hdparm -t`, `-T`: sequential reads of a device, and of its cache.
//! Owns the shapes of hdparm 5 to 9 (`hdparm.c`, `time_device`); its MB are 2^20 bytes.

use crate::{Better, Field, Parsed, Unit, text, text::decimal, tool::Parser};

pub(crate) const PARSER: Parser = Parser {
    name: "hdparm",
    expected: "a line such as `Timing buffered disk reads: 200 MB in  0.70 seconds = 285.66 MB/sec`: run hdparm with -t, -T or --direct",
    fields: FIELDS,
    scopes: &[""],
    read,
};

const FIELDS: &[Field] = &[
    Field { name: "{buffered|direct|cached}.bytes", unit: Unit::Bytes, better: Better::Neither, help: "bytes read" },
    Field { name: "{buffered|direct|cached}.elapsed_s", unit: Unit::Seconds, better: Better::Lower, help: "time that it took" },
    Field {
        name: "{buffered|direct|cached}.bytes_per_second",
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
        help: "as printed; several devices: of the last one",
    },
];

fn read(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    for (line, content) in text::lines(output) {
        let Some((what, numbers)) = content.trim().strip_prefix("Timing ").and_then(|rest| rest.split_once(':')) else { continue };
        let kind = match what {
            "buffered disk reads" => "buffered",
            "O_DIRECT disk reads" => "direct",
            "cached reads" | "buffer-cache reads" | "O_DIRECT cached reads" => "cached",
            other => {
                parsed.warn(line, format!("an unknown kind of read: {}", text::clip(other)));
                continue;
            }
        };
        // `64 MB in  2.22 seconds =28.83 MB/sec` of old versions has no space behind the sign.
        let spaced = numbers.replace('=', " = ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        match words.as_slice() {
            [amount, unit, "in", seconds, "seconds", "=", rate, per_second] => {
                let values = [
                    ("bytes", scaled(amount, unit)),
                    ("elapsed_s", decimal(seconds)),
                    ("bytes_per_second", per_second.strip_suffix("/sec").and_then(|unit| scaled(rate, unit))),
                ];
                for (field, value) in values {
                    if let Some(value) = value {
                        parsed.set(format!("{kind}.{field}"), value);
                    }
                }
            }
            _ => parsed.warn(line, format!("torn: {}", text::clip(content.trim()))),
        }
    }
    parsed
}

fn scaled(number: &str, unit: &str) -> Option<f64> {
    let factor = match unit {
        "kB" | "KB" => 1024.0,
        "MB" => 1_048_576.0,
        "GB" => 1_073_741_824.0,
        _other => return None,
    };
    decimal(number).map(|number| number * factor)
}
