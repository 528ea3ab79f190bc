//! `hyperfine --export-json`: times of commands, every run of them. Owns the shape of hyperfine 1.x; user and system time are means there, so
//! only the times of the wall clock are results.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Data, ReadError, Repetition, ResultSet, Series, Summary};
use crate::Better;
use crate::parsed::warn;

#[derive(Deserialize)]
struct Export {
    results: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Benchmark {
    command: String,
    mean: f64,
    stddev: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    #[serde(default)]
    times: Vec<f64>,
    #[serde(default)]
    exit_codes: Vec<Option<i32>>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

pub(super) fn is_export(head: &str) -> bool {
    let compact: String = head.chars().filter(|c| !c.is_whitespace()).take(400).collect();
    compact.starts_with("{\"results\":[{\"command\":")
}

pub(super) fn read(text: &str) -> Result<ResultSet, ReadError> {
    let export: Export = serde_json::from_str(text)
        .map_err(|error| ReadError::at(error.line(), &error.to_string(), "export it again: hyperfine --export-json FILE COMMAND..."))?;
    let mut set = ResultSet::default();
    for benchmark in export.results {
        let failed = benchmark.exit_codes.iter().filter(|code| **code != Some(0)).count();
        if failed > 0 {
            warn(
                &mut set.warnings,
                1,
                format!("{failed} runs of `{}` failed, and are in its times", crate::text::clip(&benchmark.command)),
            );
        }
        let mut cell = benchmark.parameters;
        cell.insert("command".to_owned(), benchmark.command);
        let Benchmark { mean, stddev: sd, min, max, .. } = benchmark;
        let values = || benchmark.times.iter().map(|value| Repetition { value: *value, round: None }).collect();
        let data = if benchmark.times.is_empty() { Data::Summary(Summary { n: None, mean, sd, min, max }) } else { Data::Values(values()) };
        set.series.push(Series { label: None, cell, metric: "time".to_owned(), unit: "s".to_owned(), better: Some(Better::Lower), data });
    }
    Ok(set)
}
