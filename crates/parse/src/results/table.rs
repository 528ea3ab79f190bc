//! Tables in CSV: any cell columns, then `metric`, `unit`, `better`, `kernel`, and values or summaries.
//! Owns the meaning of columns; what stands behind them is read as RFC 4180 says.
//!
//! A wide table has no column `metric`, but columns whose names say what was measured (`mb_per_s`): each of them is a metric.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::{Data, ReadError, Repetition, ResultSet, Series, Summary};
use crate::Better;
use crate::parsed::warn;

/// Columns with a meaning; the others before the last of `metric`, `unit`, `better`, `kernel` make the cell.
const NAMING: [&str; 4] = ["metric", "unit", "better", "kernel"];
const NUMBERS: [&str; 7] = ["value", "round", "n", "mean", "sd", "min", "max"];

/// A column that names what was measured: its metric, unit and direction.
struct Measured {
    column: &'static str,
    metric: &'static str,
    unit: &'static str,
    better: Option<Better>,
}

const fn measured(column: &'static str, metric: &'static str, unit: &'static str, better: Option<Better>) -> Measured {
    Measured { column, metric, unit, better }
}

/// Of wide tables. A time stands for the rate of the same row and the other way round, so the first kind of these that a table has counts;
/// places in a race stand beside it.
const WIDE: [Measured; 8] = [
    measured("mb_per_s", "rate", "MB/s", Some(Better::Higher)),
    measured("mib_per_s", "rate", "MiB/s", Some(Better::Higher)),
    measured("kb_per_s", "rate", "kB/s", Some(Better::Higher)),
    measured("iops", "rate", "op/s", Some(Better::Higher)),
    measured("seconds", "elapsed", "s", Some(Better::Lower)),
    measured("elapsed_s", "elapsed", "s", Some(Better::Lower)),
    measured("ms", "elapsed", "ms", Some(Better::Lower)),
    FINISH_ORDER,
];

const FINISH_ORDER: Measured = measured("finish_order", "finish_order", "", None);

/// Columns of a wide table that tell a run from another one, or how much it did, and no cell.
const NO_CELL: [&str; 5] = ["run", "round", "bytes", "kernel", "label"];

/// A line longer than this is no row of a table.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Rows of a table: far more than people write, and a stop for a file of samples.
const MAX_ROWS: usize = 5_000_000;

/// Is this the head of a table?
pub(super) fn is_table(head: &str) -> bool {
    let Some(first) = head.lines().next() else { return false };
    let Some(columns) = fields(first.trim_start_matches('\u{feff}')) else { return false };
    let has = |name: &str| columns.iter().any(|column| column.trim().eq_ignore_ascii_case(name));
    let is_wide = || has("kernel") && WIDE.iter().any(|known| has(known.column));
    (has("metric") && (has("value") || has("mean"))) || is_wide()
}

/// Label, cell and metric.
type Key = (Option<String>, BTreeMap<String, String>, String);

/// Where each column is.
struct Head {
    named: BTreeMap<&'static str, usize>,
    /// Name and place of the columns that make the cell.
    cell: Vec<(String, usize)>,
    columns: usize,
}

pub(super) fn read(mut input: impl BufRead) -> Result<ResultSet, ReadError> {
    let mut set = ResultSet::default();
    let mut head: Option<Head> = None;
    let mut wide: Option<Wide> = None;
    let mut places: BTreeMap<Key, usize> = BTreeMap::new();
    let mut line = 0;
    while let Some(text) = record(&mut input, &mut line)? {
        if text.trim().is_empty() {
            continue;
        }
        let Some(row) = fields(&text) else {
            return Err(ReadError::at(line, "a quote that does not end", "end it, or double it inside of quotes"));
        };
        let columns = head.as_ref().map(|head| head.columns).or_else(|| wide.as_ref().map(|wide| wide.columns));
        let Some(columns) = columns else {
            wide = Wide::of(&row);
            if wide.is_none() {
                head = Some(self::head(&row, line, &mut set)?);
            }
            continue;
        };
        if row.len() != columns {
            let what = format!("{} columns where the head has {columns}", row.len());
            return Err(ReadError::at(line, &what, "quote fields that hold a comma"));
        }
        if let Some(wide) = &wide {
            for series in wide.series(&row, line)? {
                add(&mut set, &mut places, series, line)?;
            }
            continue;
        }
        let Some(head) = &head else { continue };
        let series = series(head, &row, line)?;
        add(&mut set, &mut places, series, line)?;
    }
    if head.is_none() && wide.is_none() {
        return Err(ReadError::at(line.max(1), "nothing", "a table begins with a line of column names"));
    }
    Ok(set)
}

/// Puts a row to those of the same label, cell and metric.
fn add(set: &mut ResultSet, places: &mut BTreeMap<Key, usize>, series: Series, line: usize) -> Result<(), ReadError> {
    let key = (series.label.clone(), series.cell.clone(), series.metric.clone());
    match places.get(&key).map(|at| &mut set.series[*at]) {
        None => {
            if places.len() >= MAX_ROWS {
                return Err(ReadError::at(line, "too many rows", "summarise them: one value for each run"));
            }
            places.insert(key, set.series.len());
            set.series.push(series);
            Ok(())
        }
        Some(known) if known.unit != series.unit => {
            let what = format!("unit `{}`, above `{}`", series.unit, known.unit);
            Err(ReadError::at(line, &what, "use one unit for a metric of a cell"))
        }
        Some(known) => match (&mut known.data, series.data) {
            (Data::Values(values), Data::Values(more)) => {
                values.extend(more);
                Ok(())
            }
            (Data::Values(_) | Data::Summary(_), Data::Values(_) | Data::Summary(_)) => {
                let what = "a second summary of the same cell, metric and kernel";
                Err(ReadError::at(line, what, "give single values, or one summary"))
            }
        },
    }
}

/// Where the columns of a wide table are.
struct Wide {
    columns: usize,
    label: usize,
    run: Option<usize>,
    /// The columns that are metrics.
    measured: Vec<(&'static Measured, usize)>,
    cell: Vec<(String, usize)>,
}

impl Wide {
    /// None for a head that is none of a wide table.
    fn of(row: &[String]) -> Option<Wide> {
        let names: Vec<String> = row.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_ascii_lowercase()).collect();
        let at = |wanted: &str| names.iter().position(|name| name == wanted);
        if at("metric").is_some() {
            return None;
        }
        let label = at("kernel").or_else(|| at("label"))?;
        let first = WIDE.iter().filter(|known| known.metric != FINISH_ORDER.metric).find_map(|known| Some((known, at(known.column)?)));
        let order = WIDE.iter().filter(|known| known.metric == FINISH_ORDER.metric).find_map(|known| Some((known, at(known.column)?)));
        let measured: Vec<_> = first.into_iter().chain(order).collect();
        if measured.is_empty() {
            return None;
        }
        let is_of_the_cell = |name: &str| !NO_CELL.contains(&name) && WIDE.iter().all(|known| known.column != name);
        let cell = names.iter().enumerate().filter(|(_, name)| is_of_the_cell(name)).map(|(place, name)| (name.clone(), place)).collect();
        Some(Wide { columns: row.len(), label, run: at("run").or_else(|| at("round")), measured, cell })
    }

    /// A series of one value for each metric of a row. Runs of different kernels are no pairs, so only a race, which is between the rows
    /// of one run, keeps its number.
    fn series(&self, row: &[String], line: usize) -> Result<Vec<Series>, ReadError> {
        let number = |at: usize, column: &str| match row[at].trim() {
            "" => Ok(None),
            text => match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Some(value)),
                Ok(_) | Err(_) => {
                    Err(ReadError::at(line, &format!("`{text}` in column `{column}`"), "write a number with a point, or nothing"))
                }
            },
        };
        let mut found = Vec::new();
        for (known, at) in &self.measured {
            let Some(value) = number(*at, known.column)? else { continue };
            let run = self.run.filter(|_| known.metric == FINISH_ORDER.metric).map(|at| number(at, "run")).transpose()?.flatten();
            found.push(Series {
                label: Some(row[self.label].trim().to_owned()).filter(|label| !label.is_empty()),
                cell: self.cell.iter().map(|(name, at)| (name.clone(), row[*at].trim().to_owned())).collect(),
                metric: known.metric.to_owned(),
                unit: known.unit.to_owned(),
                better: known.better,
                data: Data::Values(vec![Repetition { value, round: run.map(|run| run as u64) }]),
            });
        }
        Ok(found)
    }
}

fn head(row: &[String], line: usize, set: &mut ResultSet) -> Result<Head, ReadError> {
    let names: Vec<String> = row.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_owned()).collect();
    let at = |wanted: &str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
    let mut named: BTreeMap<&'static str, usize> = NAMING.iter().chain(&NUMBERS).filter_map(|name| Some((*name, at(name)?))).collect();
    if !named.contains_key("metric") {
        return Err(ReadError::at(line, "no column `metric`", "name the columns metric, unit, better, kernel, and value or n, mean, sd"));
    }
    if !named.contains_key("value") && !named.contains_key("mean") {
        return Err(ReadError::at(line, "neither a column `value` nor `mean`", "give single values, or n, mean and sd"));
    }
    if !named.contains_key("value") {
        // Summaries have no rounds: a column of that name says what was run.
        named.remove("round");
    }
    let last_naming = NAMING.iter().filter_map(|name| named.get(name)).max().copied().unwrap_or(0);
    let mut cell = Vec::new();
    for (place, name) in names.iter().enumerate().filter(|(place, _)| !named.values().any(|named| named == place)) {
        if place < last_naming {
            cell.push((name.clone(), place));
        } else {
            warn(&mut set.warnings, line, format!("column `{name}` stands behind the columns of the cell and is left out"));
        }
    }
    Ok(Head { named, cell, columns: row.len() })
}

fn series(head: &Head, row: &[String], line: usize) -> Result<Series, ReadError> {
    let text = |name: &str| head.named.get(name).map_or("", |at| row[*at].trim());
    let number = |name: &str| match text(name) {
        "" => Ok(None),
        text => match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Some(value)),
            Ok(_) | Err(_) => Err(ReadError::at(line, &format!("`{text}` in column `{name}`"), "write a number with a point, or nothing")),
        },
    };
    let whole = |name: &str| match number(name)? {
        None => Ok(None),
        Some(value) if value >= 0.0 && value.fract() == 0.0 && value < 1e15 => Ok(Some(value as u64)),
        Some(value) => Err(ReadError::at(line, &format!("`{value}` in column `{name}`"), "write a whole number")),
    };
    let data = match (number("value")?, number("mean")?) {
        (Some(value), None) => Data::Values(vec![Repetition { value, round: whole("round")? }]),
        (None, Some(mean)) => Data::Summary(Summary { n: whole("n")?, mean, sd: number("sd")?, min: number("min")?, max: number("max")? }),
        (Some(_), Some(_)) => return Err(ReadError::at(line, "both a value and a mean", "leave one of them empty")),
        (None, None) => return Err(ReadError::at(line, "neither a value nor a mean", "leave out a row without a result")),
    };
    if text("metric").is_empty() {
        return Err(ReadError::at(line, "no metric", "name what was measured"));
    }
    Ok(Series {
        label: Some(text("kernel").to_owned()).filter(|label| !label.is_empty()),
        cell: head.cell.iter().map(|(name, at)| (name.clone(), row[*at].trim().to_owned())).collect(),
        metric: text("metric").to_owned(),
        unit: text("unit").to_owned(),
        better: match text("better") {
            "" => None,
            "lower" => Some(Better::Lower),
            "higher" => Some(Better::Higher),
            "neither" => Some(Better::Neither),
            other => return Err(ReadError::at(line, &format!("`{other}` in column `better`"), "write lower, higher, neither or nothing")),
        },
        data,
    })
}

/// The next record: a line, or several where a quoted field holds line breaks. `line` becomes that of its end.
fn record(input: &mut impl BufRead, line: &mut usize) -> Result<Option<String>, ReadError> {
    let mut text = Vec::new();
    loop {
        let before = text.len();
        let read = std::io::Read::take(&mut *input, MAX_LINE_BYTES as u64).read_until(b'\n', &mut text)?;
        if read == 0 {
            return Ok((before > 0).then(|| String::from_utf8_lossy(&text).into_owned()));
        }
        *line += 1;
        if text.len() >= MAX_LINE_BYTES {
            return Err(ReadError::at(*line, "a line of more than a megabyte", "this is no table"));
        }
        if text.iter().filter(|byte| **byte == b'"').count().is_multiple_of(2) {
            return Ok(Some(String::from_utf8_lossy(&text).into_owned()));
        }
    }
}

/// Fields as RFC 4180 says; none where a quote does not end.
fn fields(line: &str) -> Option<Vec<String>> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.trim_end_matches(['\r', '\n']).chars().peekable();
    while let Some(c) = chars.next() {
        let field = fields.last_mut()?;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => field.push(c),
        }
    }
    (!quoted).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_before_the_naming_ones_make_the_cell() {
        let set = read("kernel,\"disk, class\",metric,unit,better,n,mean,note\na,\"ss\"\"d\",t,s,lower,3,1.5,x\n".as_bytes()).unwrap();
        let one = &set.series[0];
        assert_eq!(one.cell, BTreeMap::from([("disk, class".to_owned(), "ss\"d".to_owned())]));
        assert_eq!((one.label.as_deref(), one.better), (Some("a"), Some(Better::Lower)));
        assert_eq!(one.data, Data::Summary(Summary { n: Some(3), mean: 1.5, sd: None, min: None, max: None }));
        assert!(set.warnings[0].message.contains("`note`"));
    }

    #[test]
    fn values_of_the_same_series_come_together_and_rounds_are_kept() {
        let set = read("metric,unit,better,kernel,value,round\nt,s,lower,a,1,1\nt,s,lower,b,2,1\nt,s,lower,a,3,2\n".as_bytes()).unwrap();
        assert_eq!(set.series.len(), 2);
        let of = |value, round| Repetition { value, round: Some(round) };
        assert_eq!(set.series[0].data, Data::Values(vec![of(1.0, 1), of(3.0, 2)]));
    }

    #[test]
    fn a_round_of_summaries_is_a_cell() {
        let set = read("round,metric,unit,better,kernel,n,mean\n2,t,s,lower,a,3,1\n".as_bytes()).unwrap();
        assert_eq!(set.series[0].cell["round"], "2");
    }

    #[test]
    fn what_is_wrong_is_named_with_line_and_remedy() {
        let cases = [
            ("metric,value\nt,1\nt,x\n", "line 3: `x` in column `value`"),
            ("metric,value\nt\n", "line 2: 1 columns where the head has 2"),
            ("value\n1\n", "line 1: no column `metric`"),
            ("metric,better,value\nt,up,1\n", "line 2: `up` in column `better`"),
            ("metric,value\n\"t,1\n", "line 2: a quote that does not end"),
            ("metric,mean\nt,1\nt,2\n", "line 3: a second summary"),
            ("metric,value\nt,inf\n", "line 2: `inf`"),
            ("", "line 1: nothing"),
        ];
        for (text, wanted) in cases {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_wide_table_has_metrics_as_columns() {
        let text = "kernel,disk,run,finish_order,io_class,bytes,seconds,mb_per_s\n\
                    new,ssd,1,2,RT,100,2.0,50\nnew,ssd,1,1,BE,100,1.0,100\nold,ssd,1,1,RT,100,1.0,\n";
        assert!(is_table(text));
        let set = read(text.as_bytes()).unwrap();
        let found: Vec<_> =
            set.series.iter().map(|one| (one.label.as_deref().unwrap(), one.cell["io_class"].as_str(), one.metric.as_str())).collect();
        let (rate, order) = ("rate", "finish_order");
        assert_eq!(found, [("new", "RT", rate), ("new", "RT", order), ("new", "BE", rate), ("new", "BE", order), ("old", "RT", order)]);
        assert_eq!(set.series[0].cell.keys().collect::<Vec<_>>(), ["disk", "io_class"]);
        assert_eq!(set.series[0].data, Data::Values(vec![Repetition { value: 50.0, round: None }]), "seconds say the same");
        assert_eq!(set.series[1].data, Data::Values(vec![Repetition { value: 2.0, round: Some(1) }]));
        let error = read("kernel,seconds\na,x\n".as_bytes()).unwrap_err().to_string();
        assert_eq!(error, "line 2: `x` in column `seconds`; write a number with a point, or nothing");
        for text in ["seconds\n1\n", "kernel,colour\na,red\n"] {
            assert!(!is_table(text) && read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
