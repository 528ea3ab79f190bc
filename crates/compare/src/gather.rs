//! From files to the arms of a side, one file at a time, so that only what counts is held. Owns the
//! rule of replication: a file is one run. Knows no file names.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use blklab_parse::Better;
use blklab_parse::results::{Data, Repetition, Series, Summary};

use crate::Arm;

/// Series of one side. More are refused: nobody reads a report of more, and a folder full of
/// something else must not fill the memory.
const MAX_SERIES: usize = 200_000;

/// Collects what the files of one side say.
///
/// Where several files have the same metric of the same cell, each file is one run: what it repeats
/// inside shares a boot, a cache and a file system, and counting it as independent runs gives 17 to 54 %
/// false alarms at a nominal 5 % (statistics, "boots and runs"). A single file's values are taken as
/// they are, since there is nothing else.
#[derive(Debug, Default)]
pub struct Gather {
    found: HashMap<Key, Found>,
    order: Vec<Key>,
    left_out: u64,
}

/// A side, gathered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gathered {
    /// By label in the order in which each first came; the label of files without one is empty.
    pub arms: Vec<Arm>,
    /// Series whose runs are averages of what one file repeats.
    pub averaged: Averaged,
    /// Series beyond the limit, left out.
    pub left_out: u64,
}

/// Cells and metrics.
pub type Averaged = BTreeSet<(BTreeMap<String, String>, String)>;

type Key = (String, BTreeMap<String, String>, String);

#[derive(Debug)]
struct Found {
    unit: String,
    better: Option<Better>,
    files: Vec<Data>,
}

impl Gather {
    /// Takes what one file says; `columns` are added to each of its cells.
    pub fn add(&mut self, columns: &BTreeMap<String, String>, series: Vec<Series>) {
        for one in series {
            let mut cell = one.cell;
            for (column, value) in columns {
                // What the file itself says goes before its name.
                cell.entry(column.clone()).or_insert_with(|| value.clone());
            }
            let key = (one.label.unwrap_or_default(), cell, one.metric);
            if let Some(found) = self.found.get_mut(&key) {
                found.better = found.better.or(one.better);
                found.add(one.data, &one.unit);
            } else if self.found.len() < MAX_SERIES {
                self.order.push(key.clone());
                self.found.insert(key, Found { unit: one.unit, better: one.better, files: vec![one.data] });
            } else {
                self.left_out += 1;
            }
        }
    }

    /// The arms of the side.
    pub fn finish(mut self) -> Gathered {
        let mut gathered = Gathered { left_out: self.left_out, ..Gathered::default() };
        for key in std::mem::take(&mut self.order) {
            let Some(found) = self.found.remove(&key) else { continue };
            let (label, cell, metric) = key;
            let (data, averaged) = found.runs();
            if averaged {
                gathered.averaged.insert((cell.clone(), metric.clone()));
            }
            let series = Series { label: None, cell, metric, unit: found.unit, better: found.better, data };
            match gathered.arms.iter_mut().find(|arm| arm.label == label) {
                Some(arm) => arm.series.push(series),
                None => gathered.arms.push(Arm { label, series: vec![series] }),
            }
        }
        gathered
    }
}

impl Found {
    /// A file in another unit counts as a metric of its own name nowhere: its values would be nonsense
    /// among the others, so they make the series invalid instead.
    fn add(&mut self, data: Data, unit: &str) {
        if unit == self.unit {
            self.files.push(data);
        } else {
            self.files.push(Data::Values(vec![Repetition { value: f64::NAN, round: None }]));
        }
    }

    /// The runs of all files, and whether values of a file had to be averaged.
    fn runs(&self) -> (Data, bool) {
        if let [only] = self.files.as_slice() {
            return (only.clone(), false);
        }
        let mut averaged = false;
        let runs = self.files.iter().filter_map(|data| match data {
            Data::Values(values) => {
                averaged |= values.len() > 1;
                run_of(values)
            }
            Data::Summary(Summary { mean, n, .. }) => {
                averaged |= *n != Some(1);
                Some(Repetition { value: *mean, round: None })
            }
        });
        (Data::Values(runs.collect()), averaged)
    }
}

/// One run of what a file repeats: its mean; the round stays if there is only one value.
fn run_of(values: &[Repetition]) -> Option<Repetition> {
    match values {
        [] => None,
        [only] => Some(*only),
        many => {
            let values: Vec<f64> = many.iter().map(|one| one.value).collect();
            let n = values.len() as f64;
            // Divided first: sums of large values would not be finite.
            Some(Repetition { value: values.iter().map(|v| v / n).sum(), round: None })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(metric: &str, values: &[f64]) -> Series {
        let values = values.iter().map(|value| Repetition { value: *value, round: None }).collect();
        Series {
            label: None,
            cell: BTreeMap::new(),
            metric: metric.into(),
            unit: "s".into(),
            better: Some(Better::Lower),
            data: Data::Values(values),
        }
    }

    fn values(gathered: &Gathered, at: usize) -> Vec<f64> {
        match &gathered.arms[0].series[at].data {
            Data::Values(values) => values.iter().map(|one| one.value).collect(),
            Data::Summary(summary) => vec![summary.mean],
        }
    }

    #[test]
    fn a_file_is_one_run() {
        let mut gather = Gather::default();
        gather.add(&BTreeMap::new(), vec![series("a", &[1.0]), series("b", &[1.0, 3.0])]);
        gather.add(&BTreeMap::new(), vec![series("a", &[2.0]), series("b", &[5.0])]);
        let gathered = gather.finish();
        assert_eq!((values(&gathered, 0), values(&gathered, 1)), (vec![1.0, 2.0], vec![2.0, 5.0]));
        assert_eq!(gathered.averaged, BTreeSet::from([(BTreeMap::new(), "b".to_owned())]));
    }

    #[test]
    fn the_values_of_a_single_file_stay() {
        let mut gather = Gather::default();
        gather.add(&BTreeMap::new(), vec![series("a", &[1.0, 2.0, 3.0])]);
        let gathered = gather.finish();
        assert_eq!(values(&gathered, 0), [1.0, 2.0, 3.0]);
        assert!(gathered.averaged.is_empty());
    }

    #[test]
    fn names_add_columns_but_do_not_override_what_a_file_says() {
        let mut own = series("a", &[1.0]);
        own.cell.insert("file".into(), "its own".into());
        let columns = BTreeMap::from([("file".to_owned(), "name".to_owned()), ("folder".to_owned(), "ssd".to_owned())]);
        let mut gather = Gather::default();
        gather.add(&columns, vec![own]);
        let cell = &gather.finish().arms[0].series[0].cell;
        assert_eq!((cell["file"].as_str(), cell["folder"].as_str()), ("its own", "ssd"));
    }

    #[test]
    fn values_in_another_unit_are_not_mixed_in() {
        let mut gather = Gather::default();
        gather.add(&BTreeMap::new(), vec![series("a", &[1.0])]);
        gather.add(&BTreeMap::new(), vec![Series { unit: "ms".into(), ..series("a", &[1000.0]) }]);
        assert!(values(&gather.finish(), 0)[1].is_nan());
    }
}
