//! Values of a trial from its raw outputs, as its workload's metrics ask. Pure: the same outputs give the same values.

use std::collections::BTreeMap;

use blklab_model::workload::Workload;
use blklab_model::workload::metric::{Better, Metric, MetricSource};
use blklab_parse::{Parsed, Tool};

/// Raw outputs of a trial by name, and the agent's own times.
#[derive(Debug)]
pub struct Raw {
    /// Number of disks.
    pub disks: u32,
    /// `rt.out`, `rt.err`, `monitor.txt`...
    pub outputs: BTreeMap<String, Vec<u8>>,
    /// Seconds from the common start to the end of each task.
    pub elapsed_s: BTreeMap<String, f64>,
}

/// Values by metric with remarks, or the first metric that has none.
#[derive(Debug, PartialEq)]
pub struct Values {
    /// Finite, in the metric's unit.
    pub values: BTreeMap<String, f64>,
    /// What the parsers remarked.
    pub warnings: Vec<String>,
}

/// A metric that the outputs do not hold: the workload did not do what its file promises.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("metric `{metric}`: {reason}")]
pub struct MissingMetric {
    /// The metric.
    pub metric: String,
    /// Why it has no value.
    pub reason: String,
}

/// Computes every metric of `workload`.
pub fn evaluate(workload: &Workload, raw: &Raw) -> Result<Values, MissingMetric> {
    let mut evaluation = Evaluation { workload, raw, parsed: BTreeMap::new(), warnings: Vec::new() };
    let mut values = BTreeMap::new();
    let (ratios, measured): (Vec<&Metric>, Vec<&Metric>) =
        workload.metrics.iter().partition(|metric| matches!(metric.source, MetricSource::Ratio { .. }));
    for metric in measured.into_iter().chain(ratios) {
        let value = evaluation.value(metric, &values).map_err(|reason| MissingMetric { metric: metric.name.clone(), reason })?;
        values.insert(metric.name.clone(), value);
    }
    Ok(Values { values, warnings: evaluation.warnings })
}

/// Checks parsers, fields, units and directions before anything runs: what is wrong, and what would be right.
pub fn check(workload: &Workload) -> Result<(), (String, String)> {
    for metric in &workload.metrics {
        let MetricSource::Parsed { parser, field, .. } = &metric.source else { continue };
        let at = |message: String| format!("metric `{}`: {message}", metric.name);
        let tool: Tool =
            parser.parse().map_err(|error: blklab_parse::UnknownTool| (at(format!("unknown parser `{parser}`")), error.to_string()))?;
        let info = blklab_parse::check_field(tool, field)
            .map_err(|error| (at(format!("`{parser}` has no field `{field}`")), error.to_string()))?;
        if info.unit.symbol() != metric.unit && !(info.unit.symbol().is_empty() && metric.unit == "1") {
            let unit = if info.unit.symbol().is_empty() { "1" } else { info.unit.symbol() };
            return Err((at(format!("unit `{}`", metric.unit)), format!("`{parser}` gives `{field}` in `{unit}`")));
        }
        let contradicts = match (info.better, metric.better) {
            (blklab_parse::Better::Higher, Better::Lower) | (blklab_parse::Better::Lower, Better::Higher) => true,
            (blklab_parse::Better::Higher, Better::Higher)
            | (blklab_parse::Better::Lower, Better::Lower)
            | (blklab_parse::Better::Neither, _) => false,
        };
        if contradicts {
            return Err((at(format!("`better` contradicts what `{field}` of `{parser}` means")), "turn it round".to_owned()));
        }
    }
    Ok(())
}

struct Evaluation<'a> {
    workload: &'a Workload,
    raw: &'a Raw,
    /// By load and parser: an output is read once, however many metrics look at it.
    parsed: BTreeMap<(String, String), Result<Parsed, String>>,
    warnings: Vec<String>,
}

impl Evaluation<'_> {
    fn value(&mut self, metric: &Metric, values: &BTreeMap<String, f64>) -> Result<f64, String> {
        let value = match &metric.source {
            MetricSource::Parsed { load, parser, field } => self.of_load(metric, load, |this, name| this.field(name, parser, field))?,
            MetricSource::Elapsed { load } => self.of_load(metric, load, |this, name| this.elapsed(name))?,
            MetricSource::Ratio { over, under } => values[over] / values[under],
        };
        if value.is_finite() { Ok(value) } else { Err(format!("the value is {value}")) }
    }

    /// The value of a load that ran once, or what the values of its disks are together.
    fn of_load(&mut self, metric: &Metric, load: &str, value: impl Fn(&mut Self, &str) -> Result<f64, String>) -> Result<f64, String> {
        let Some(combine) = metric.combine else { return value(self, load) };
        let instances = self.workload.loads().find(|candidate| candidate.name == load).map(|load| load.instances(self.raw.disks));
        let values: Result<Vec<f64>, String> = instances.unwrap_or_default().iter().map(|name| value(self, name)).collect();
        Ok(combine.apply(&values?))
    }

    fn elapsed(&self, load: &str) -> Result<f64, String> {
        self.raw.elapsed_s.get(load).copied().ok_or_else(|| format!("the agent gave no time of `{load}`"))
    }

    fn field(&mut self, load: &str, parser: &str, field: &str) -> Result<f64, String> {
        let key = (load.to_owned(), parser.to_owned());
        if !self.parsed.contains_key(&key) {
            let result = self.parse(load, parser);
            if let Ok(parsed) = &result {
                self.warnings.extend(parsed.warnings.iter().map(|warning| format!("{load}, line {}: {}", warning.line, warning.message)));
            }
            self.parsed.insert(key.clone(), result);
        }
        let parsed = self.parsed[&key].as_ref().map_err(Clone::clone)?;
        let found = parsed.values.get(field).copied();
        found.ok_or_else(|| format!("the output of `{load}` has no {parser} field `{field}`"))
    }

    /// Tools differ in which stream they report on (dd uses standard error), so both are read.
    fn parse(&self, load: &str, parser: &str) -> Result<Parsed, String> {
        let tool: Tool = parser.parse().map_err(|_| format!("unknown parser `{parser}`"))?;
        let streams = ["out", "err"].map(|stream| self.raw.outputs.get(&format!("{load}.{stream}")));
        let output: Vec<u8> = streams.into_iter().flatten().flatten().copied().collect();
        blklab_parse::parse(tool, &output).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use blklab_model::workload::metric::Combine;

    use super::*;

    fn workload() -> Workload {
        blklab_model::testing::workload("reader")
    }

    fn raw() -> Raw {
        let line = "1+0 records in\n1+0 records out\n8388608 bytes (8.4 MB, 8.0 MiB) copied, 0.500000 s, 16.8 MB/s\n";
        Raw {
            disks: 1,
            outputs: BTreeMap::from([("reader.err".to_owned(), line.as_bytes().to_vec()), ("reader.out".to_owned(), Vec::new())]),
            elapsed_s: BTreeMap::from([("reader".to_owned(), 0.51)]),
        }
    }

    #[test]
    fn values_come_from_output_and_clock() {
        let values = evaluate(&workload(), &raw()).unwrap().values;
        assert_eq!(values, BTreeMap::from([("rate".to_owned(), 16_777_216.0), ("time".to_owned(), 0.51)]));
    }

    #[test]
    fn values_of_several_disks_become_one() {
        let mut workload = workload();
        workload.tasks[0].each_disk = true;
        workload.metrics[0].combine = Some(Combine::Sum);
        workload.metrics[1].combine = Some(Combine::Max);
        let one = raw();
        let line = &one.outputs["reader.err"];
        let outputs = [1, 2].map(|disk| (format!("reader.{disk}.err"), line.clone())).into();
        let mut raw = Raw { disks: 2, outputs, elapsed_s: [("reader.1".to_owned(), 0.5), ("reader.2".to_owned(), 0.7)].into() };
        let values = evaluate(&workload, &raw).unwrap().values;
        assert_eq!(values, BTreeMap::from([("rate".to_owned(), 33_554_432.0), ("time".to_owned(), 0.7)]));
        raw.disks = 3;
        assert_eq!(evaluate(&workload, &raw).unwrap_err().metric, "rate", "a disk that says nothing is not left out");
    }

    #[test]
    fn a_metric_without_a_value_is_named() {
        let mut raw = raw();
        raw.outputs.insert("reader.err".to_owned(), b"dd: failed to open 'x'\n".to_vec());
        assert_eq!(evaluate(&workload(), &raw).unwrap_err().metric, "rate");
    }

    #[test]
    fn what_no_parser_gives_is_found_before_anything_runs() {
        let mut workload = workload();
        assert_eq!(check(&workload), Ok(()));
        workload.metrics[0].unit = "MB/s".into();
        assert_eq!(check(&workload).unwrap_err().1, "`dd` gives `bytes_per_second` in `B/s`");
        workload.metrics[0].unit = "B/s".into();
        workload.metrics[0].better = Better::Lower;
        assert!(check(&workload).unwrap_err().0.contains("contradicts"));
        workload.metrics[0].source = MetricSource::Parsed { load: "reader".into(), parser: "dd".into(), field: "speed".into() };
        assert!(check(&workload).unwrap_err().0.contains("no field `speed`"));
        workload.metrics[0].source = MetricSource::Parsed { load: "reader".into(), parser: "dede".into(), field: "speed".into() };
        assert!(check(&workload).unwrap_err().0.contains("unknown parser `dede`"));
    }
}
