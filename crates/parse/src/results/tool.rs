//! Outputs of the tools that the lab reads, as results: one file is one run. Owns how jobs become cells.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};

use super::{Data, ReadError, Repetition, ResultSet, Series};
use crate::{Tool, check_field, parse};

/// An output that is read as a whole: fio's JSON with all its jobs has a few megabytes.
const MAX_BYTES: u64 = 256 << 20;

pub(super) fn read(tool: Tool, input: impl BufRead) -> Result<ResultSet, ReadError> {
    let mut bytes = Vec::new();
    let read = input.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if read as u64 > MAX_BYTES {
        return Err(ReadError::at(1, "more than 256 MiB", "this is no output of a run"));
    }
    let parsed = parse(tool, &bytes)?;
    // Values of all jobs together stand beside those of each job: the jobs say more.
    let by_job = parsed.values.keys().any(|name| name.starts_with("job."));
    let mut series = Vec::new();
    for (name, value) in &parsed.values {
        let Ok(field) = check_field(tool, name) else { continue };
        let (cell, metric) = match split_job(name) {
            Some((job, metric)) => (BTreeMap::from([("job".to_owned(), job.to_owned())]), metric),
            None if by_job => continue,
            None => (BTreeMap::new(), name.as_str()),
        };
        series.push(Series {
            label: None,
            cell,
            metric: metric.to_owned(),
            unit: field.unit.symbol().to_owned(),
            better: Some(field.better),
            data: Data::Values(vec![Repetition { value: *value, round: None }]),
        });
    }
    Ok(ResultSet { series, warnings: parsed.warnings })
}

/// `("reader", "read.iops")` of `job.reader.read.iops`. A job's name may hold dots, a metric's begins with its direction.
fn split_job(name: &str) -> Option<(&str, &str)> {
    let rest = name.strip_prefix("job.")?;
    let starts = [".read.", ".write.", ".trim."].into_iter().filter_map(|direction| rest.rfind(direction));
    let at = starts.max().or_else(|| rest.rfind('.'))?;
    Some((&rest[..at], &rest[at + 1..]))
}
