//! Results of the Linux Kernel Performance tests (lkp-tests): JSON of `NAME.FIELD` and numbers. `matrix.json` has a list for each, one value a
//! run; the statistics of a single run (`fio.json` and its like) have a number, or a list of samples over its time.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Data, ReadError, Repetition, ResultSet, Series};
use crate::Better;
use crate::parsed::warn;

/// Words of a field's last part, each with its direction; the first that fits counts.
const DIRECTIONS: [(&str, Better); 14] = [
    ("latency", Better::Lower),
    ("_lat", Better::Lower),
    ("clat", Better::Lower),
    ("slat", Better::Lower),
    ("stall", Better::Lower),
    ("time.elapsed", Better::Lower),
    ("elapsed_time", Better::Lower),
    ("iops", Better::Higher),
    ("_bw", Better::Higher),
    ("throughput", Better::Higher),
    ("_per_sec", Better::Higher),
    ("files_per", Better::Higher),
    ("_mbps", Better::Higher),
    ("ops", Better::Higher),
];

/// Shares of a histogram (`latency_100us%`) are good or bad by their place, which a name does not tell.
fn direction(field: &str) -> Option<Better> {
    if field.ends_with('%') {
        return None;
    }
    DIRECTIONS.iter().find(|(word, _)| field.contains(word)).map(|(_, better)| *better)
}

/// An object of nothing but dotted names with numbers, or lists of numbers.
pub(super) fn is_stats(head: &str) -> bool {
    let trimmed = head.trim_start();
    let Some((name, rest)) = trimmed.strip_prefix('{').and_then(|rest| rest.trim_start().strip_prefix('"')?.split_once('"')) else {
        return false;
    };
    let value = rest.trim_start().strip_prefix(':').map(str::trim_start).unwrap_or_default();
    let first = value.strip_prefix('[').map_or(value, str::trim_start);
    name.contains('.') && !name.contains(' ') && first.starts_with(|c: char| c.is_ascii_digit() || c == '-')
}

pub(super) fn read(file_name: &str, text: &str) -> Result<ResultSet, ReadError> {
    let object: BTreeMap<String, Value> = serde_json::from_str(text)
        .map_err(|error| ReadError::at(error.line(), &error.to_string(), "expected an object of names with numbers, as lkp writes it"))?;
    // Over runs in a matrix, over the time of one run elsewhere.
    let is_matrix = file_name.contains("matrix");
    let mut set = ResultSet::default();
    let mut odd = 0;
    for (name, value) in object {
        let numbers: Vec<f64> = match &value {
            Value::Number(number) => number.as_f64().into_iter().collect(),
            Value::Array(list) => list.iter().filter_map(Value::as_f64).collect(),
            Value::Null | Value::Bool(_) | Value::String(_) | Value::Object(_) => Vec::new(),
        };
        let numbers: Vec<f64> = numbers.into_iter().filter(|number| number.is_finite()).collect();
        let Some((test, metric)) = name.split_once('.').filter(|_| !numbers.is_empty()) else {
            odd += 1;
            continue;
        };
        let values = if is_matrix { numbers } else { vec![numbers.iter().sum::<f64>() / numbers.len() as f64] };
        let lower = metric.to_ascii_lowercase();
        set.series.push(Series {
            label: None,
            cell: BTreeMap::from([("test".to_owned(), test.to_owned())]),
            metric: metric.to_owned(),
            unit: String::new(),
            better: direction(&lower),
            data: Data::Values(values.into_iter().map(|value| Repetition { value, round: None }).collect()),
        });
    }
    if odd > 0 {
        warn(&mut set.warnings, 1, format!("{odd} entries are no `NAME.FIELD` with numbers and are left out"));
    }
    if set.series.is_empty() {
        return Err(ReadError::at(1, "no `NAME.FIELD` with a number", "name matrix.json or the JSON of one test"));
    }
    Ok(set)
}
