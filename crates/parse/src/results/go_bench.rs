//! Benchmarks of Go, as `go test -bench` prints them and benchstat reads them: a line for each run of a benchmark.
//! Owns the format of golang.org/design/14313-benchmark-format; units that it does not know keep their name and have no direction.

use std::collections::BTreeMap;

use super::{Data, ReadError, Repetition, ResultSet, Series};
use crate::parsed::warn;
use crate::{Better, text};

/// Lines of configuration that tell what was run; others, like `goos`, tell where.
const OF_THE_CELL: [&str; 1] = ["pkg"];

pub(super) fn is_output(head: &str) -> bool {
    head.lines().any(|line| measured(line).is_some())
}

pub(super) fn read(output: &str) -> Result<ResultSet, ReadError> {
    let mut set = ResultSet::default();
    let mut places: BTreeMap<(BTreeMap<String, String>, String), usize> = BTreeMap::new();
    let mut configuration: BTreeMap<String, String> = BTreeMap::new();
    for (line, content) in text::lines(output) {
        if let Some((key, value)) = content.split_once(": ").filter(|(key, _)| OF_THE_CELL.contains(key)) {
            configuration.insert(key.to_owned(), value.trim().to_owned());
            continue;
        }
        let Some((name, pairs)) = measured(content) else {
            if content.starts_with("Benchmark") && content.contains("/op") {
                warn(&mut set.warnings, line, format!("not a result: {}", text::clip(content)));
            }
            continue;
        };
        let mut cell = configuration.clone();
        cell.insert("benchmark".to_owned(), name.to_owned());
        for (value, unit) in pairs {
            let (metric, unit, better, factor) = meaning(unit);
            let repetition = Repetition { value: value * factor, round: None };
            let at = *places.entry((cell.clone(), metric.to_owned())).or_insert(set.series.len());
            match set.series.get_mut(at) {
                Some(Series { data: Data::Values(values), .. }) => values.push(repetition),
                Some(Series { data: Data::Summary(_), .. }) | None => set.series.push(Series {
                    label: None,
                    cell: cell.clone(),
                    metric: metric.to_owned(),
                    unit: unit.to_owned(),
                    better,
                    data: Data::Values(vec![repetition]),
                }),
            }
        }
    }
    if set.series.is_empty() {
        return Err(ReadError::at(1, "no benchmark", "keep the lines `BenchmarkName-8  1000  1234 ns/op` that go test -bench prints"));
    }
    Ok(set)
}

/// `BenchmarkRead/4k-8   1000   1234 ns/op   56 B/op`: the name without `Benchmark`, and pairs of a value and its unit.
fn measured(line: &str) -> Option<(&str, Vec<(f64, &str)>)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, runs, rest @ ..] = words.as_slice() else { return None };
    let name = name.strip_prefix("Benchmark").filter(|name| !name.is_empty())?;
    runs.parse::<u64>().ok()?;
    let pairs: Vec<(f64, &str)> = rest.chunks_exact(2).map(|pair| Some((text::decimal(pair[0])?, pair[1]))).collect::<Option<_>>()?;
    (!pairs.is_empty() && rest.len().is_multiple_of(2)).then_some((name, pairs))
}

/// Metric, base unit, direction and factor of a printed unit.
fn meaning(unit: &str) -> (&str, &str, Option<Better>, f64) {
    match unit {
        "ns/op" => ("time per operation", "s", Some(Better::Lower), 1e-9),
        "MB/s" => ("throughput", "B/s", Some(Better::Higher), 1e6),
        "B/op" => ("bytes per operation", "B", Some(Better::Lower), 1.0),
        "allocs/op" => ("allocations per operation", "", Some(Better::Lower), 1.0),
        other => (other, other, None, 1.0),
    }
}
