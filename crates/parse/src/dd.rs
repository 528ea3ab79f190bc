//! `dd`: the records and the summary line, whatever the version and the language.
//! Owns the shapes of GNU coreutils (`src/dd.c`, `print_xfer_stats`, 6.9 to 9.11), busybox
//! (`coreutils/dd.c`) and uutils. Knows nothing of what was copied.

use crate::{
    Better, Field, Parsed, Unit,
    text::{self, decimal, rounding},
    tool::Parser,
};

pub(crate) const PARSER: Parser = Parser {
    name: "dd",
    expected: "lines such as `24+0 records in` and `25165824 bytes (25 MB, 24 MiB) copied, 0.08 s, \
               307 MB/s` in any language: run dd without status=none and keep its standard error",
    fields: FIELDS,
    scopes: &[""],
    read,
};

const FIELDS: &[Field] = &[
    Field { name: "bytes", unit: Unit::Bytes, better: Better::Neither, help: "bytes written" },
    Field { name: "elapsed_s", unit: Unit::Seconds, better: Better::Lower, help: "time from start to end, as printed" },
    Field { name: "bytes_per_second", unit: Unit::BytesPerSecond, better: Better::Higher, help: "bytes divided by elapsed time" },
    Field { name: "records_{in|out}_full", unit: Unit::Operations, better: Better::Neither, help: "whole blocks read or written" },
    Field { name: "records_{in|out}_partial", unit: Unit::Operations, better: Better::Neither, help: "short blocks read or written" },
];

/// Above this relative rounding the printed elapsed time is no base for a rate; uutils 0.0.17 prints
/// tenths of a second. GNU prints six digits.
const COARSE_ROUNDING: f64 = 0.05;

fn read(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut records = Records::default();
    let mut summaries: Vec<Summary> = Vec::new();
    for (line, content) in text::lines(output) {
        if is_complaint(content) {
            parsed.warn(line, format!("dd says: {}", text::clip(content.trim())));
            continue;
        }
        // status=progress begins each report with a carriage return; a summary begins a line.
        for (index, part) in content.split('\r').enumerate() {
            if let Some(summary) = Summary::read(line, index > 0, part) {
                summaries.push(summary);
            } else if let Some(pair) = record_pair(part) {
                records.push(pair);
            }
        }
    }
    if summaries.is_empty() && records.is_complete() {
        summaries.extend(Summary::read_torn(output));
    }
    records.report(&mut parsed);
    warn_of_restart(&summaries, &mut parsed);
    let finished = summaries.iter().rfind(|summary| !summary.is_progress);
    match finished.or(summaries.last()) {
        Some(summary) => summary.report(&mut parsed),
        None if parsed.values.is_empty() => {} // nothing recognised: an error, not a warning
        None => {
            let line = output.lines().count();
            parsed.warn(line, "no line with bytes and seconds: torn, status=noxfer, or a busybox without third status line");
        }
    }
    parsed
}

/// `dd: error writing '/mnt/file': ...`, also with a path before `dd`.
fn is_complaint(line: &str) -> bool {
    let speaker = line.split(':').next().unwrap_or_default();
    speaker == "dd" || speaker.ends_with("/dd")
}

/// The pairs of `N+M records in` and `N+M records out`; those of the last report count.
#[derive(Default)]
struct Records(Vec<(f64, f64)>);

impl Records {
    fn push(&mut self, pair: (f64, f64)) {
        if self.is_complete() {
            self.0.clear();
        }
        self.0.push(pair);
    }

    fn is_complete(&self) -> bool {
        self.0.len() == 2
    }

    fn report(&self, parsed: &mut Parsed) {
        for (direction, (full, partial)) in ["in", "out"].iter().zip(&self.0) {
            parsed.set(format!("records_{direction}_full"), *full);
            parsed.set(format!("records_{direction}_partial"), *partial);
        }
    }
}

/// The first `N+M` of a line: the words around it depend on the language.
fn record_pair(line: &str) -> Option<(f64, f64)> {
    line.split_whitespace().find_map(|word| {
        let (full, partial) = word.split_once('+')?;
        Some((whole_number(full)?, whole_number(partial)?))
    })
}

/// One report of bytes, seconds and rate. Digits are kept as printed: their number matters.
struct Summary<'a> {
    line: usize,
    is_progress: bool,
    bytes: f64,
    elapsed: Option<&'a str>,
    rate: Option<Rate<'a>>,
}

struct Rate<'a> {
    printed: &'a str,
    digits: &'a str,
    bytes_per_second: f64,
}

impl<'a> Summary<'a> {
    /// The shape that all versions and languages share, read from its end:
    /// `... BYTES ..., SECONDS s, RATE B/s`. `None` for any other line.
    fn read(line: usize, is_progress: bool, text: &'a str) -> Option<Summary<'a>> {
        let (rest, rate) = split_last_comma(text.trim_end())?;
        let (head, elapsed) = split_last_comma(rest)?;
        let (elapsed, unit) = elapsed.split_once(' ')?;
        let prefix_base = match unit {
            "s" => 1000.0,
            // Only busybox spells the unit out, and its prefixes are powers of 1024.
            "seconds" => 1024.0,
            _ => return None,
        };
        decimal(elapsed)?;
        let rate = Rate::read(rate, prefix_base);
        Some(Summary { line, is_progress, bytes: first_number(head)?, elapsed: Some(elapsed), rate })
    }

    /// The beginning of a summary on a last line without end; a space follows a number that is whole.
    fn read_torn(output: &str) -> Option<Summary<'a>> {
        let (line, text) = text::lines(output).last().filter(|_| !output.ends_with('\n'))?;
        let (head, _) = text.trim_end().rsplit_once(' ')?;
        let bytes = first_number(head)?;
        Some(Summary { line, is_progress: false, bytes, elapsed: None, rate: None })
    }

    fn report(&self, parsed: &mut Parsed) {
        let line = self.line;
        if self.is_progress {
            parsed.warn(line, "dd did not finish: the values are those of its last progress report");
        }
        parsed.set("bytes", self.bytes);
        let Some(elapsed) = self.elapsed else {
            parsed.warn(line, "the summary is torn: no elapsed time");
            return;
        };
        if self.bytes == 0.0 {
            parsed.warn(line, "dd copied nothing");
        }
        let seconds = decimal(elapsed).unwrap_or_default();
        parsed.set("elapsed_s", seconds);
        let coarse = rounding(elapsed);
        match &self.rate {
            Some(rate) if coarse > COARSE_ROUNDING && rounding(rate.digits) < coarse => {
                parsed.set("bytes_per_second", rate.bytes_per_second);
                let message = format!(
                    "`{elapsed}` seconds are too coarse for a rate: it is the printed `{}`, itself rounded by up to {:.1} %",
                    rate.printed,
                    100.0 * rounding(rate.digits),
                );
                parsed.warn(line, message);
            }
            Some(_) | None if seconds > 0.0 => parsed.set("bytes_per_second", self.bytes / seconds),
            Some(_) | None => parsed.warn(line, "no time passed: there is no rate"),
        }
    }
}

impl<'a> Rate<'a> {
    /// `1.2 GB/s`, `1,2 GB/s`, `750.9MB/s`; not `Infinity B/s`.
    fn read(printed: &'a str, prefix_base: f64) -> Option<Rate<'a>> {
        let number = printed.strip_suffix("B/s")?;
        let digits = number.trim_end_matches(|c: char| !c.is_ascii_digit());
        let exponent = match number[digits.len()..].trim() {
            "" => 0,
            "k" | "K" => 1,
            "M" => 2,
            "G" => 3,
            "T" => 4,
            "P" => 5,
            _ => return None,
        };
        let bytes_per_second = decimal(digits)? * f64::powi(prefix_base, exponent);
        Some(Rate { printed, digits, bytes_per_second })
    }
}

/// Reports of one run only grow (SIGUSR1, progress); a smaller one belongs to another run.
fn warn_of_restart(summaries: &[Summary], parsed: &mut Parsed) {
    for pair in summaries.windows(2) {
        if pair[1].bytes < pair[0].bytes {
            parsed.warn(pair[1].line, "fewer bytes than before: several runs of dd in one output, the last one counts");
        }
    }
}

/// Splits at the last comma that separates; one inside a number has no space. Chinese has its own.
fn split_last_comma(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once('，').or_else(|| text.rsplit_once(", "))
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().find_map(whole_number)
}

fn whole_number(word: &str) -> Option<f64> {
    let digits_only = word.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = word.parse().ok().filter(|_| digits_only)?;
    Some(number as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(parsed: &Parsed, field: &str) -> Option<f64> {
        parsed.values.get(field).copied()
    }

    #[test]
    fn the_rate_is_computed_not_the_rounded_one() {
        let parsed = read("234179072 bytes (234 MB) copied, 4.38435 s, 53.4 MB/s\n");
        assert_eq!(value(&parsed, "bytes_per_second"), Some(234179072.0 / 4.38435));
        assert_eq!(parsed.warnings, []);
    }

    #[test]
    fn languages_say_the_same() {
        let lines = [
            "25165824 bytes (25 MB, 24 MiB) copied, 0.0214219 s, 1.2 GB/s",
            "25165824 Bytes (25 MB, 24 MiB) kopiert, 0,0214219 s, 1,2 GB/s",
            "25165824 字节 (25 MB, 24 MiB) 已复制，0.0214219 s，1.2 GB/s",
            "скопійовано 25165824 байтів (25 MB, 24 MiB), 0,0214219 s, 1,2 GB/s",
        ];
        for line in lines {
            assert_eq!(read(line).values, read(lines[0]).values, "{line}");
        }
        assert_eq!(value(&read(lines[0]), "elapsed_s"), Some(0.0214219));
    }

    #[test]
    fn a_coarse_time_falls_back_to_the_printed_rate() {
        // uutils: decimal prefixes. busybox: binary ones.
        let parsed = read("25165824 bytes (25 MB, 24 MiB) copied, 0.0 s, 25.1 GB/s");
        assert_eq!(value(&parsed, "bytes_per_second"), Some(25.1e9));
        assert!(parsed.warnings[0].message.contains("rounded by up to 0.2 %"));
        let parsed = read("1024 bytes (1.0KB) copied, 0.000004 seconds, 244.1MB/s");
        assert_eq!(value(&parsed, "bytes_per_second"), Some(244.1 * 1024.0 * 1024.0));
    }

    #[test]
    fn every_cut_gives_what_is_there() {
        let whole = "223+1 records in\n223+1 records out\n234179072 bytes (234 MB) copied, 4.38435 s, 53.4 MB/s";
        for end in 0..whole.len() {
            let parsed = read(&whole[..end]);
            // No number may come from a cut one.
            assert!(matches!(value(&parsed, "bytes"), None | Some(234179072.0)), "{end}");
            assert!(matches!(value(&parsed, "elapsed_s"), None | Some(4.38435)), "{end}");
            let is_complete = value(&parsed, "bytes_per_second").is_some();
            assert!(is_complete || parsed.values.is_empty() || !parsed.warnings.is_empty(), "{end}");
        }
        let parsed = read(&whole[..60]);
        assert_eq!(value(&parsed, "bytes"), Some(234179072.0));
        assert_eq!(value(&parsed, "records_in_partial"), Some(1.0));
        assert_eq!(parsed.warnings[0].line, 3);
    }

    #[test]
    fn two_runs_in_one_output_are_noticed() {
        let run = |bytes: u32| format!("1+0 records in\n1+0 records out\n{bytes} bytes copied, 0.51234 s, 1.0 kB/s\n");
        let parsed = read(&(run(512) + &run(100)));
        assert_eq!(value(&parsed, "bytes"), Some(100.0));
        assert_eq!(parsed.warnings[0].line, 6);
        assert_eq!(read(&(run(100) + &run(512))).warnings, [], "SIGUSR1 looks like this");
    }

    #[test]
    fn other_text_is_no_summary() {
        for line in ["", "5 files copied", "a, b s, c B/s", "12 apples, 3 s", "1+x records in", "real 0m1.2s, 5 s"] {
            assert_eq!(read(line), Parsed::default(), "{line}");
        }
    }
}
