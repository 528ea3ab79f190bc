//! `composite.xml` of the Phoronix Test Suite: results of tests under several systems. Owns the elements of pts-core 5 to 10.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Data, ReadError, Repetition, ResultSet, Series, Summary};
use crate::parsed::warn;
use crate::{Better, text};

#[derive(Deserialize)]
struct Suite {
    #[serde(rename = "Result", default)]
    results: Vec<TestResult>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TestResult {
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    scale: String,
    #[serde(default)]
    proportion: String,
    #[serde(default)]
    data: Entries,
}

#[derive(Default, Deserialize)]
struct Entries {
    #[serde(rename = "Entry", default)]
    list: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    identifier: String,
    #[serde(default)]
    value: String,
    #[serde(default)]
    raw_string: String,
}

pub(super) fn is_composite(head: &str) -> bool {
    head.contains("<PhoronixTestSuite")
}

pub(super) fn read(xml: &str) -> Result<ResultSet, ReadError> {
    let suite: Suite = quick_xml::de::from_str(xml)
        .map_err(|error| ReadError::at(1, &error.to_string(), "name the composite.xml of a saved result, whole"))?;
    let mut set = ResultSet::default();
    let mut without = 0;
    for result in suite.results {
        let mut cell = BTreeMap::from([("test".to_owned(), result.title)]);
        if !result.description.is_empty() {
            cell.insert("options".to_owned(), result.description);
        }
        let better = match result.proportion.as_str() {
            "HIB" => Some(Better::Higher),
            "LIB" => Some(Better::Lower),
            _other => None,
        };
        for entry in result.data.list {
            let Some(data) = data(&entry) else {
                without += 1;
                continue;
            };
            let series = Series {
                label: Some(entry.identifier),
                cell: cell.clone(),
                metric: if result.scale.is_empty() { "result".to_owned() } else { result.scale.clone() },
                unit: result.scale.clone(),
                better,
                data,
            };
            let same = |known: &Series| (&known.label, &known.cell, &known.metric) == (&series.label, &series.cell, &series.metric);
            if set.series.iter().any(same) {
                warn(&mut set.warnings, 1, format!("a second result of `{}` is left out", text::clip(&cell["test"])));
            } else {
                set.series.push(series);
            }
        }
    }
    if without > 0 {
        warn(&mut set.warnings, 1, format!("{without} entries have no number: the test failed, or gives a picture or words"));
    }
    if set.series.is_empty() {
        return Err(ReadError::at(1, "no result with a number", "run the test again, or name another result file"));
    }
    Ok(set)
}

/// Every run where they were kept, else the value that was published.
fn data(entry: &Entry) -> Option<Data> {
    let runs: Option<Vec<f64>> = entry.raw_string.split(':').map(|run| text::decimal(run.trim())).collect();
    if let Some(runs) = runs.filter(|runs| !runs.is_empty()) {
        return Some(Data::Values(runs.into_iter().map(|value| Repetition { value, round: None }).collect()));
    }
    let mean = text::decimal(entry.value.trim())?;
    Some(Data::Summary(Summary { n: None, mean, sd: None, min: None, max: None }))
}
