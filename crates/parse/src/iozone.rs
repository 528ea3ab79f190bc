//! `iozone`: rates of sequential, backward, strided and random access, of one process or of many.
//! Owns the lines of throughput mode (`-t`), the table of the other modes and the report of `-R` (`iozone.c`, 3.x); its KB are 1024 bytes.

use crate::{Better, Field, Parsed, Unit, text, text::decimal, tool::Parser};

pub(crate) const PARSER: Parser = Parser {
    name: "iozone",
    expected: "lines such as `Children see throughput for 4 readers = 18427.04 kB/sec` (-t), or the table that begins with `kB reclen write rewrite`",
    fields: FIELDS,
    scopes: &[""],
    read,
};

const FIELDS: &[Field] = &[
    Field {
        name: "{write|rewrite|read|reread|random_read|random_write|mixed|backward_read|record_rewrite|stride_read|fwrite|frewrite|fread|freread|pwrite|repwrite|pread|repread}.bytes_per_second",
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
        help: "what the processes saw together; in the table, if it has one row",
    },
    Field {
        name: "{write|rewrite|read|reread|random_read|random_write|mixed|backward_read|record_rewrite|stride_read|fwrite|frewrite|fread|freread|pwrite|repwrite|pread|repread}.{min|max|parent}_bytes_per_second",
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
        help: "slowest and fastest process, and what the parent saw (-t)",
    },
    Field {
        name: "table.{*}.{write|rewrite|read|reread|random_read|random_write|mixed|backward_read|record_rewrite|stride_read|fwrite|frewrite|fread|freread|pwrite|repwrite|pread|repread}.bytes_per_second",
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
        help: "a row of a table with several, `64x4`: KiB of the file and of a record",
    },
];

/// What the processes of throughput mode are called, longest first.
const PROCESSES: [(&str, &str); 14] = [
    ("initial writers", "write"),
    ("rewriters", "rewrite"),
    ("re-readers", "reread"),
    ("reverse readers", "backward_read"),
    ("stride readers", "stride_read"),
    ("random readers", "random_read"),
    ("random writers", "random_write"),
    ("mixed workload", "mixed"),
    ("pwrite writers", "pwrite"),
    ("pread readers", "pread"),
    ("fwriters", "fwrite"),
    ("freaders", "fread"),
    ("readers", "read"),
    ("writers", "write"),
];

/// Columns of the table, in their order.
const COLUMNS: [&str; 13] = [
    "write",
    "rewrite",
    "read",
    "reread",
    "random_read",
    "random_write",
    "backward_read",
    "record_rewrite",
    "stride_read",
    "fwrite",
    "frewrite",
    "fread",
    "freread",
];

/// Titles of the report of `-R`.
const REPORTS: [(&str, &str); 13] = [
    ("writer report", "write"),
    ("re-writer report", "rewrite"),
    ("reader report", "read"),
    ("re-reader report", "reread"),
    ("random read report", "random_read"),
    ("random write report", "random_write"),
    ("backward read report", "backward_read"),
    ("record rewrite report", "record_rewrite"),
    ("stride read report", "stride_read"),
    ("fwrite report", "fwrite"),
    ("re-fwrite report", "frewrite"),
    ("fread report", "fread"),
    ("re-fread report", "freread"),
];

/// A rate with the file and record it is of, KiB.
struct Rate {
    size: u64,
    record: u64,
    test: &'static str,
    kib_per_s: f64,
}

fn read(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut test: Option<&'static str> = None;
    let mut in_table = false;
    let mut report: Option<(&'static str, Vec<u64>)> = None;
    let mut rates: Vec<Rate> = Vec::new();
    for (line, content) in text::lines(output) {
        let trimmed = content.trim();
        if let Some((what, rate)) = throughput(trimmed) {
            if let Some(found) = process(what) {
                test = Some(found);
                parsed.set(format!("{found}.bytes_per_second"), rate);
            }
        } else if let (Some(test), Some((what, rate))) =
            (test, trimmed.split_once('=').and_then(|(what, rate)| Some((what.trim(), kib(rate)?))))
        {
            let field = match what {
                "Min throughput per process" | "Min throughput per thread" => "min",
                "Max throughput per process" | "Max throughput per thread" => "max",
                what if what.starts_with("Parent sees throughput") => "parent",
                _other => continue,
            };
            parsed.set(format!("{test}.{field}_bytes_per_second"), rate);
        } else if let Some(title) =
            trimmed.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|title| title.ends_with("report"))
        {
            let lower = title.to_ascii_lowercase();
            report = REPORTS.iter().find(|(known, _)| *known == lower).map(|(_, test)| (*test, Vec::new()));
            in_table = false;
        } else if let Some((test, records)) = &mut report {
            report_line(trimmed, test, records, &mut rates);
        } else if trimmed.starts_with("kB") && trimmed.contains("reclen") || trimmed.starts_with("KB") && trimmed.contains("reclen") {
            in_table = true;
        } else if in_table {
            let numbers: Option<Vec<f64>> = trimmed.split_whitespace().map(decimal).collect();
            match numbers.as_deref() {
                Some([size, record, measured @ ..]) if !measured.is_empty() => {
                    let rows = COLUMNS.iter().zip(measured);
                    rates.extend(rows.map(|(test, rate)| Rate { size: *size as u64, record: *record as u64, test, kib_per_s: *rate }));
                }
                Some(_) => {}
                None if trimmed.starts_with("iozone test complete") => {}
                None => parsed.warn(line, format!("not a row of the table: {}", text::clip(trimmed))),
            }
        }
    }
    table(&rates, &mut parsed);
    parsed
}

/// `Children see throughput for  4 initial writers  =  18427.04 kB/sec`: who, and bytes a second.
fn throughput(line: &str) -> Option<(&str, f64)> {
    let (what, rate) = line.strip_prefix("Children see throughput for")?.split_once('=')?;
    let who = what.trim().trim_start_matches(|c: char| c.is_ascii_digit()).trim();
    Some((who, kib(rate)?))
}

/// `18427.04 kB/sec`.
fn kib(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let number = decimal(words.next()?)?;
    let unit = words.next()?;
    unit.eq_ignore_ascii_case("kB/sec").then_some(number * 1024.0)
}

fn process(who: &str) -> Option<&'static str> {
    PROCESSES.iter().find(|(name, _)| who == *name).map(|(_, test)| *test)
}

/// `"4"  "8"` names the records, `"4096"   123 456` is the row of a file size.
fn report_line(line: &str, test: &'static str, records: &mut Vec<u64>, rates: &mut Vec<Rate>) {
    let quoted = |word: &str| word.strip_prefix('"')?.strip_suffix('"')?.parse::<u64>().ok();
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(first) = words.first().and_then(|word| quoted(word)) else { return };
    if words.iter().all(|word| quoted(word).is_some()) {
        if records.is_empty() {
            *records = words.iter().filter_map(|word| quoted(word)).collect();
        }
        return;
    }
    for (record, rate) in records.iter().zip(words.iter().skip(1)) {
        if let Some(kib_per_s) = decimal(rate) {
            rates.push(Rate { size: first, record: *record, test, kib_per_s });
        }
    }
}

/// One row has plain names; rows of several sizes carry them. A zero stands for a test that was not run.
fn table(rates: &[Rate], parsed: &mut Parsed) {
    let is_one = rates.iter().all(|rate| (rate.size, rate.record) == (rates[0].size, rates[0].record));
    for rate in rates.iter().filter(|rate| rate.kib_per_s > 0.0) {
        let place = if is_one { String::new() } else { format!("table.{}x{}.", rate.size, rate.record) };
        parsed.set(format!("{place}{}.bytes_per_second", rate.test), rate.kib_per_s * 1024.0);
    }
}
