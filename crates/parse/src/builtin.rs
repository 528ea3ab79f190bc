//! The agent's own tasks: the one JSON object that such a task prints, for both sides.
//! Owns the format; knows nothing of how a task runs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Better, Field, Parsed, Unit, json, tool::Parser};

/// What a built-in task prints when it ends: this, serialised as one line of JSON.
///
/// Keys that a reader does not know are ignored, so that an agent may be newer than its reader.
///
/// ```
/// # use blklab_parse::{builtin::LatencySummary, BuiltinResult, Tool, parse};
/// let result = BuiltinResult {
///     task: "linear-read".into(),
///     bytes: 1 << 20,
///     operations: 16,
///     elapsed_s: 0.5,
///     latency_s: Some(LatencySummary { mean: 0.031, p50: 0.030, p99: 0.042, max: 0.043 }),
/// };
/// let line = serde_json::to_vec(&result).unwrap();
/// let parsed = parse(Tool::Builtin, &line).unwrap();
/// assert_eq!(parsed.values["bytes_per_second"], 2_097_152.0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BuiltinResult {
    /// Name of the task, such as `linear-read`.
    pub task: String,
    /// Bytes of file data read or written by the task; a copy counts what it wrote.
    pub bytes: u64,
    /// Units of work: system calls of the linear and random tasks, files of the tree tasks.
    pub operations: u64,
    /// Seconds on the monotonic clock from before the first operation to after the last one.
    pub elapsed_s: f64,
    /// Latency of the operations; absent when the task did not measure it or had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_s: Option<LatencySummary>,
}

/// Latency of the operations of a task, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// The value that 99 of 100 operations do not exceed.
    pub p99: f64,
    /// The slowest operation.
    pub max: f64,
}

pub(crate) const PARSER: Parser = Parser {
    name: "builtin",
    expected: "one line of JSON with \"task\", \"bytes\", \"operations\" and \"elapsed_s\", as the agent prints it",
    fields: FIELDS,
    scopes: &[""],
    read,
};

const FIELDS: &[Field] = &[
    Field { name: "bytes", unit: Unit::Bytes, better: Better::Neither, help: "bytes of file data read or written" },
    Field { name: "operations", unit: Unit::Operations, better: Better::Neither, help: "system calls, or files of a tree task" },
    Field { name: "elapsed_s", unit: Unit::Seconds, better: Better::Lower, help: "time from the first operation to the last" },
    Field { name: "bytes_per_second", unit: Unit::BytesPerSecond, better: Better::Higher, help: "bytes divided by elapsed time" },
    Field {
        name: "operations_per_second",
        unit: Unit::OperationsPerSecond,
        better: Better::Higher,
        help: "operations divided by elapsed time",
    },
    Field { name: "latency_{mean|p50|p99|max}_s", unit: Unit::Seconds, better: Better::Lower, help: "latency of one operation" },
];

fn read(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let scan = json::scan(output, |value| value.get("task").is_some_and(Value::is_string));
    for (line, prose) in &scan.prose {
        parsed.warn(*line, format!("text beside the result: {}", crate::text::clip(prose)));
    }
    if let Some(torn) = &scan.torn {
        parsed.warn(torn.end_line, "the result breaks off here");
    }
    // A torn result that follows a whole one is the newer run's: a task prints once.
    if let Some(result) = scan.torn.or(scan.last) {
        report(&result, &mut parsed);
    }
    parsed
}

fn report(result: &json::Object, parsed: &mut Parsed) {
    let number = |path: &str| result.value.pointer(path).and_then(Value::as_f64);
    for key in ["bytes", "operations", "elapsed_s"] {
        match number(&format!("/{key}")) {
            Some(value) if value >= 0.0 => parsed.set(key, value),
            Some(_) | None => parsed.warn(result.line, format!("`{key}` is missing or no measurement")),
        }
    }
    for key in ["mean", "p50", "p99", "max"] {
        if let Some(value) = number(&format!("/latency_s/{key}")) {
            parsed.set(format!("latency_{key}_s"), value);
        }
    }
    let Some(elapsed_s) = parsed.values.get("elapsed_s").copied() else {
        return;
    };
    if elapsed_s == 0.0 {
        parsed.warn(result.line, "no time passed: there are no rates");
        return;
    }
    for key in ["bytes", "operations"] {
        if let Some(amount) = parsed.values.get(key).copied() {
            parsed.set(format!("{key}_per_second"), amount / elapsed_s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tool, parse};

    const RESULT: &str =
        r#"{"task":"tree-read","bytes":8192,"operations":4,"elapsed_s":2.0,"latency_s":{"mean":0.5,"p50":0.4,"p99":0.9,"max":0.95}}"#;

    #[test]
    fn a_result_becomes_values_and_rates() {
        let parsed = parse(Tool::Builtin, RESULT.as_bytes()).unwrap();
        assert_eq!(parsed.values["bytes_per_second"], 4096.0);
        assert_eq!(parsed.values["operations_per_second"], 2.0);
        assert_eq!(parsed.values["latency_p99_s"], 0.9);
        assert_eq!(parsed.values.len(), 9);
        assert_eq!(parsed.warnings, []);
    }

    #[test]
    fn the_format_does_not_drift() {
        let result: BuiltinResult = serde_json::from_str(RESULT).unwrap();
        assert_eq!(serde_json::to_string(&result).unwrap(), RESULT);
    }

    #[test]
    fn a_torn_result_gives_its_beginning() {
        let parsed = parse(Tool::Builtin, &RESULT.as_bytes()[..60]).unwrap();
        assert_eq!(parsed.values.keys().collect::<Vec<_>>(), ["bytes", "operations"]);
        assert_eq!(parsed.warnings[0].message, "the result breaks off here");
        assert_eq!(parsed.warnings[1].message, "`elapsed_s` is missing or no measurement");
    }

    #[test]
    fn a_newer_agent_may_say_more() {
        let line = RESULT.replacen('{', r#"{"cpu_s":0.1,"#, 1);
        let parsed = parse(Tool::Builtin, line.as_bytes()).unwrap();
        assert_eq!(parsed, parse(Tool::Builtin, RESULT.as_bytes()).unwrap());
    }

    #[test]
    fn no_time_gives_no_rate() {
        let line = RESULT.replace("2.0", "0");
        let parsed = parse(Tool::Builtin, line.as_bytes()).unwrap();
        assert!(!parsed.values.contains_key("bytes_per_second"));
        assert_eq!(parsed.warnings.len(), 1);
    }

    #[test]
    fn a_negative_time_is_no_measurement() {
        let line = RESULT.replace("2.0", "-2.0");
        let parsed = parse(Tool::Builtin, line.as_bytes()).unwrap();
        assert!(!parsed.values.contains_key("elapsed_s"));
        assert!(parsed.warnings[0].message.contains("`elapsed_s`"));
    }
}
