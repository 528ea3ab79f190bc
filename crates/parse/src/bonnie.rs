//! `bonnie++`: rates of one large file and of many small ones.
//! Owns the line of CSV of versions 1.03 to 2.00 (`bon_csv2html(1)`) and the table of text. Rates of the large file are in KiB/s; what ran
//! too fast to be measured is printed as `+++++`.

use crate::{Better, Field, Parsed, Unit, text, text::decimal, tool::Parser};

pub(crate) const PARSER: Parser = Parser {
    name: "bonnie",
    expected: "the line of CSV that bonnie++ prints to standard output (with -q nothing else), or its table with `Name:Size etc`",
    fields: FIELDS,
    scopes: &[""],
    read,
};

const FIELDS: &[Field] = &[
    Field {
        name: "{putc|put_block|rewrite|getc|get_block}.bytes_per_second",
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
        help: "large file: written and read by byte and by block, and rewritten",
    },
    Field {
        name: "seeks.operations_per_second",
        unit: Unit::OperationsPerSecond,
        better: Better::Higher,
        help: "random seeks in the large file",
    },
    Field {
        name: "{seq|ran}_{create|stat|del}.operations_per_second",
        unit: Unit::OperationsPerSecond,
        better: Better::Higher,
        help: "small files made, looked at and deleted, in order and at random",
    },
    Field {
        name: "{putc|put_block|rewrite|getc|get_block|seeks|seq_create|seq_stat|seq_del|ran_create|ran_stat|ran_del}.cpu_pct",
        unit: Unit::Percent,
        better: Better::Lower,
        help: "processor time of the phase",
    },
    Field {
        name: "{putc|put_block|rewrite|getc|get_block|seeks|seq_create|seq_stat|seq_del|ran_create|ran_stat|ran_del}.latency_max_s",
        unit: Unit::Seconds,
        better: Better::Lower,
        help: "slowest call of the phase",
    },
];

const LARGE: [&str; 6] = ["putc", "put_block", "rewrite", "getc", "get_block", "seeks"];
const SMALL: [&str; 6] = ["seq_create", "seq_stat", "seq_del", "ran_create", "ran_stat", "ran_del"];

fn read(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut lines = 0;
    for (line, content) in text::lines(output) {
        let columns: Vec<&str> = content.trim().split(',').collect();
        if let Some(layout) = Layout::of(&columns) {
            lines += 1;
            if lines == 2 {
                parsed.warn(line, "several runs (-x): the last one counts");
            }
            layout.report(line, &mut parsed);
        }
    }
    if lines == 0 {
        read_table(output, &mut parsed);
    }
    parsed
}

/// The three groups of a line of CSV, found from its end: what stands before them grew from version to version.
struct Layout<'a> {
    large: &'a [&'a str],
    small: &'a [&'a str],
    latencies: &'a [&'a str],
}

impl<'a> Layout<'a> {
    fn of(columns: &'a [&'a str]) -> Option<Layout<'a>> {
        let has_version = columns.first().is_some_and(|first| first.starts_with("1.9") || first.starts_with('2'));
        let (large, small, latencies) = match columns.len() {
            // name,file_size, large, num_files, small
            27 => (2..14, 15..27, 27..27),
            // ..., large, num_files,max_size,min_size,num_dirs,file_chunk_size, small, latencies
            n @ 46..=52 if has_version => (n - 41..n - 29, n - 24..n - 12, n - 12..n),
            _other => return None,
        };
        Some(Layout { large: &columns[large], small: &columns[small], latencies: &columns[latencies] })
    }

    fn report(&self, line: usize, parsed: &mut Parsed) {
        rates(&LARGE, self.large, line, parsed);
        rates(&SMALL, self.small, line, parsed);
        for (phase, word) in LARGE.iter().chain(&SMALL).zip(self.latencies) {
            latency(phase, word, parsed);
        }
    }
}

/// Pairs of a rate and a share of the processor.
fn rates(phases: &[&str], columns: &[&str], line: usize, parsed: &mut Parsed) {
    let mut too_fast = Vec::new();
    for (phase, pair) in phases.iter().zip(columns.chunks(2)) {
        let [rate, cpu] = pair else { continue };
        if rate.starts_with('+') {
            too_fast.push(*phase);
        }
        let is_of_bytes = LARGE[..5].contains(phase);
        if let Some(rate) = scaled(rate) {
            let (field, rate) = if is_of_bytes { ("bytes_per_second", rate * 1024.0) } else { ("operations_per_second", rate) };
            parsed.set(format!("{phase}.{field}"), rate);
        }
        if let Some(cpu) = decimal(cpu) {
            parsed.set(format!("{phase}.cpu_pct"), cpu);
        }
    }
    if !too_fast.is_empty() {
        parsed.warn(line, format!("too fast to be measured: {}; use a larger file or more files", too_fast.join(", ")));
    }
}

/// `2181`, `2181k`, `1.2m`: the table of version 2 shortens large numbers.
fn scaled(word: &str) -> Option<f64> {
    let (digits, factor) = match word.strip_suffix(['k', 'K']) {
        // The table prints KiB/s with a `k` behind them, which is no factor.
        Some(digits) => (digits, 1.0),
        None => match word.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1024.0),
            None => (word.strip_suffix(['g', 'G']).unwrap_or(word), if word.ends_with(['g', 'G']) { 1_048_576.0 } else { 1.0 }),
        },
    };
    decimal(digits).map(|number| number * factor)
}

/// `493ms`, `4367us`, `2s`.
fn latency(phase: &str, word: &str, parsed: &mut Parsed) {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let value = units.iter().find_map(|(unit, factor)| Some(decimal(word.strip_suffix(unit)?)? * factor));
    if let Some(value) = value {
        parsed.set(format!("{phase}.latency_max_s"), value);
    }
}

/// The table: a head of three lines, a line of pairs, a line of latencies; twice.
fn read_table(output: &str, parsed: &mut Parsed) {
    let mut phases: Option<&[&str]> = None;
    for (line, content) in text::lines(output) {
        let words: Vec<&str> = content.split_whitespace().collect();
        if content.starts_with("Name:Size") || (content.starts_with("Machine") && content.contains("Size")) {
            phases = Some(&LARGE);
        } else if words.first() == Some(&"files") {
            phases = Some(&SMALL);
        } else if let (["Latency", latencies @ ..], Some(phases)) = (words.as_slice(), phases) {
            for (phase, word) in phases.iter().zip(latencies) {
                latency(phase, word, parsed);
            }
        } else if let (Some(phases), Some(from)) = (phases, words.len().checked_sub(12))
            && words[from..].iter().all(|word| word.starts_with('+') || scaled(word).is_some())
        {
            rates(phases, &words[from..], line, parsed);
        }
    }
}
