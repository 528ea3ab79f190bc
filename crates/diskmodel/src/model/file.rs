//! The TOML form of a disk model, read strictly. Keys and ranges are those of `docs/disk-model.md`.

use std::fs;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::Path;

use blklab_model::source::SourceError;
use serde::Deserialize;
use toml::Spanned;

use super::{DiskModel, Mechanics, Parallel, ReadAhead, Rotational, WriteCache};

/// The longest file taken, in bytes: fifty times a commented preset.
const MAX_FILE_BYTES: usize = 64 << 10;

/// The longest name, in bytes: it becomes part of file names.
const MAX_NAME_BYTES: usize = 40;

/// The longest title, in characters: a line of a page.
const MAX_TITLE_CHARS: usize = 100;

impl DiskModel {
    /// Reads the TOML form; `file` is only for messages.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and what would be right.
    pub fn parse(file: &str, text: &str) -> Result<DiskModel, SourceError> {
        let source = Source { file, text };
        if text.len() > MAX_FILE_BYTES {
            return Err(source.whole(format!("longer than {MAX_FILE_BYTES} bytes"), "a disk model has some thirty lines"));
        }
        let raw: RawModel = toml::from_str(text).map_err(|error| source.syntax(&error))?;
        source.model(raw)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or as [`DiskModel::parse`].
    pub fn load(path: &Path) -> Result<DiskModel, SourceError> {
        let file = path.display().to_string();
        let unread = |error: std::io::Error| SourceError {
            file: file.clone(),
            line: None,
            message: format!("cannot be read: {error}"),
            help: "name a readable file, or a preset: blklab disk models".to_owned(),
        };
        let mut text = String::new();
        // One byte more than allowed, so that the limit is noticed.
        fs::File::open(path).map_err(unread)?.take(MAX_FILE_BYTES as u64 + 1).read_to_string(&mut text).map_err(unread)?;
        DiskModel::parse(&file, &text)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModel {
    name: Spanned<String>,
    #[serde(default)]
    title: Option<Spanned<String>>,
    slowdown: Option<Spanned<f64>>,
    queue_depth: Spanned<u32>,
    rotational: Option<Spanned<RawRotational>>,
    parallel: Option<Spanned<RawParallel>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRotational {
    rpm: Spanned<f64>,
    overhead_us: Spanned<f64>,
    track_to_track_ms: Spanned<f64>,
    average_seek_ms: Spanned<f64>,
    full_stroke_ms: Option<Spanned<f64>>,
    write_settle_ms: Spanned<f64>,
    outer_mb_s: Spanned<f64>,
    inner_mb_s: Spanned<f64>,
    link_mb_s: Spanned<f64>,
    read_segments: Spanned<u32>,
    read_segment_kib: Spanned<u32>,
    write_cache_kib: Spanned<u32>,
    idle_ms: Spanned<f64>,
    age_limit_ms: Spanned<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawParallel {
    command_us: Spanned<f64>,
    overhead_us: Spanned<f64>,
    servers: Spanned<u32>,
    read_us: Spanned<f64>,
    write_us: Spanned<f64>,
    stripe_kib: Spanned<u32>,
    server_mb_s: Spanned<f64>,
    link_mb_s: Spanned<f64>,
    spread_pct: Spanned<f64>,
    slow_one_in: Spanned<u32>,
    slow_us: Spanned<f64>,
    read_ahead: Option<RawReadAhead>,
    write_cache: Option<RawWriteCache>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReadAhead {
    streams: Spanned<u32>,
    kib: Spanned<u32>,
    hit_us: Spanned<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWriteCache {
    kib: Spanned<u32>,
    write_us: Spanned<f64>,
    volatile: bool,
    flush_us: Spanned<f64>,
}

struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn model(&self, raw: RawModel) -> Result<DiskModel, SourceError> {
        let name = self.name(&raw.name)?;
        let title = match raw.title {
            Some(title) => self.title(&title)?,
            None => name.clone(),
        };
        let slowdown = raw.slowdown.map_or(Ok(1.0), |value| self.number("slowdown", &value, 0.01..=1000.0))?;
        let queue_depth = self.count("queue_depth", &raw.queue_depth, 1..=1024)?;
        let mechanics = match (raw.rotational, raw.parallel) {
            (Some(raw), None) => Mechanics::Rotational(self.rotational(raw)?),
            (None, Some(raw)) => Mechanics::Parallel(self.parallel(raw.into_inner())?),
            (Some(_), Some(raw)) => {
                return Err(self.at(&raw, "a disk is either [rotational] or [parallel]", "remove one of the two tables"));
            }
            (None, None) => {
                return Err(self
                    .whole("nothing says what is inside the disk", "add a table [rotational] or [parallel]; blklab disk show prints one"));
            }
        };
        Ok(DiskModel { name, title, slowdown, queue_depth, mechanics })
    }

    fn rotational(&self, spanned: Spanned<RawRotational>) -> Result<Rotational, SourceError> {
        let raw = spanned.get_ref();
        let model = Rotational {
            rpm: self.number("rpm", &raw.rpm, 1000.0..=30_000.0)?,
            overhead_us: self.number("overhead_us", &raw.overhead_us, 0.0..=10_000.0)?,
            track_to_track_ms: self.number("track_to_track_ms", &raw.track_to_track_ms, 0.01..=20.0)?,
            average_seek_ms: self.number("average_seek_ms", &raw.average_seek_ms, 0.01..=100.0)?,
            full_stroke_ms: raw.full_stroke_ms.as_ref().map(|value| self.number("full_stroke_ms", value, 0.01..=200.0)).transpose()?,
            write_settle_ms: self.number("write_settle_ms", &raw.write_settle_ms, 0.0..=20.0)?,
            outer_mb_s: self.number("outer_mb_s", &raw.outer_mb_s, 1.0..=2000.0)?,
            inner_mb_s: self.number("inner_mb_s", &raw.inner_mb_s, 1.0..=2000.0)?,
            link_mb_s: self.number("link_mb_s", &raw.link_mb_s, 1.0..=100_000.0)?,
            read_segments: self.count("read_segments", &raw.read_segments, 0..=256)?,
            read_segment_kib: self.count("read_segment_kib", &raw.read_segment_kib, 0..=65_536)?,
            write_cache_kib: self.count("write_cache_kib", &raw.write_cache_kib, 0..=1_048_576)?,
            idle_ms: self.number("idle_ms", &raw.idle_ms, 0.0..=10_000.0)?,
            age_limit_ms: self.number("age_limit_ms", &raw.age_limit_ms, 1.0..=600_000.0)?,
        };
        if model.average_seek_ms < model.track_to_track_ms {
            return Err(self.at(
                &raw.average_seek_ms,
                "average_seek_ms is shorter than track_to_track_ms",
                "a seek to the next track is the shortest there is",
            ));
        }
        if let Some(full) = &raw.full_stroke_ms
            && !model.seek_curve_rises()
        {
            let (low, high) = model.full_stroke_range();
            let message = format!("no seek curve goes through full_stroke_ms = {} and the other two", full.get_ref());
            return Err(self.at(full, message, format!("between {low:.1} and {high:.1}, or leave it out")));
        }
        Ok(model)
    }

    fn parallel(&self, raw: RawParallel) -> Result<Parallel, SourceError> {
        let read_ahead = raw.read_ahead.map(|raw| {
            Ok::<_, SourceError>(ReadAhead {
                streams: self.count("streams", &raw.streams, 1..=256)?,
                kib: self.count("kib", &raw.kib, 4..=65_536)?,
                hit_us: self.number("hit_us", &raw.hit_us, 0.0..=1_000_000.0)?,
            })
        });
        let write_cache = raw.write_cache.map(|raw| {
            Ok::<_, SourceError>(WriteCache {
                kib: self.count("kib", &raw.kib, 4..=67_108_864)?,
                write_us: self.number("write_us", &raw.write_us, 0.0..=1_000_000.0)?,
                volatile: raw.volatile,
                flush_us: self.number("flush_us", &raw.flush_us, 0.0..=10_000_000.0)?,
            })
        });
        Ok(Parallel {
            command_us: self.number("command_us", &raw.command_us, 0.0..=1_000_000.0)?,
            overhead_us: self.number("overhead_us", &raw.overhead_us, 0.0..=1_000_000.0)?,
            servers: self.count("servers", &raw.servers, 1..=4096)?,
            read_us: self.number("read_us", &raw.read_us, 0.0..=1_000_000.0)?,
            write_us: self.number("write_us", &raw.write_us, 0.0..=1_000_000.0)?,
            stripe_kib: self.count("stripe_kib", &raw.stripe_kib, 4..=65_536)?,
            server_mb_s: self.number("server_mb_s", &raw.server_mb_s, 0.1..=1_000_000.0)?,
            link_mb_s: self.number("link_mb_s", &raw.link_mb_s, 0.1..=1_000_000.0)?,
            spread_pct: self.number("spread_pct", &raw.spread_pct, 0.0..=100.0)?,
            slow_one_in: self.count("slow_one_in", &raw.slow_one_in, 0..=1_000_000_000)?,
            slow_us: self.number("slow_us", &raw.slow_us, 0.0..=60_000_000.0)?,
            read_ahead: read_ahead.transpose()?,
            write_cache: write_cache.transpose()?,
        })
    }

    fn name(&self, name: &Spanned<String>) -> Result<String, SourceError> {
        let text = name.get_ref();
        let is_word = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if !is_word || text.is_empty() || text.starts_with('-') || text.len() > MAX_NAME_BYTES {
            let message = format!("`{}` is not a name", text.escape_debug());
            return Err(self.at(name, message, format!("lower-case letters, digits and `-`, at most {MAX_NAME_BYTES}, as in `sata-hdd`")));
        }
        Ok(text.clone())
    }

    fn title(&self, title: &Spanned<String>) -> Result<String, SourceError> {
        let text = title.get_ref();
        if text.chars().count() > MAX_TITLE_CHARS || text.chars().any(char::is_control) {
            return Err(self.at(title, "the title is not one short line", format!("at most {MAX_TITLE_CHARS} characters without breaks")));
        }
        Ok(text.clone())
    }

    fn number(&self, key: &str, value: &Spanned<f64>, range: RangeInclusive<f64>) -> Result<f64, SourceError> {
        // A NaN is in no range.
        if range.contains(value.get_ref()) {
            return Ok(*value.get_ref());
        }
        let message = format!("{key} = {} is out of range", value.get_ref());
        Err(self.at(value, message, format!("{} to {}", range.start(), range.end())))
    }

    fn count(&self, key: &str, value: &Spanned<u32>, range: RangeInclusive<u32>) -> Result<u32, SourceError> {
        if range.contains(value.get_ref()) {
            return Ok(*value.get_ref());
        }
        let message = format!("{key} = {} is out of range", value.get_ref());
        Err(self.at(value, message, format!("{} to {}", range.start(), range.end())))
    }

    fn syntax(&self, error: &toml::de::Error) -> SourceError {
        let message = error.message().trim();
        let (message, help) = match message.split_once(", expected ") {
            Some((message, expected)) if message.starts_with("unknown ") => (message, format!("expected {expected}")),
            Some(_) | None => (message, "see docs/disk-model.md, or print a preset: blklab disk show sata-hdd --toml".to_owned()),
        };
        let line = error.span().map(|span| self.line(span.start));
        SourceError { file: self.file.to_owned(), line, message: message.to_owned(), help }
    }

    fn at<T>(&self, value: &Spanned<T>, message: impl Into<String>, help: impl Into<String>) -> SourceError {
        let line = Some(self.line(value.span().start));
        SourceError { file: self.file.to_owned(), line, message: message.into(), help: help.into() }
    }

    fn whole(&self, message: impl Into<String>, help: impl Into<String>) -> SourceError {
        SourceError { file: self.file.to_owned(), line: None, message: message.into(), help: help.into() }
    }

    fn line(&self, offset: usize) -> usize {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PRESETS;

    fn error_of(from: &str, to: &str) -> String {
        let text = PRESETS[0].1;
        assert!(text.contains(from), "{from}");
        DiskModel::parse("a.toml", &text.replace(from, to)).unwrap_err().to_string()
    }

    #[test]
    fn faults_name_line_and_remedy() {
        let faults = [
            ("rpm = 7200", "rpm = 72"),
            ("rpm = 7200", "rpm = nan"),
            ("rpm = 7200", "rmp = 7200"),
            ("rpm = 7200", "rpm = \"fast\""),
            ("rpm = 7200", ""),
            ("[rotational]", "[rotational"),
            ("[rotational]", "[optical]"),
            ("average_seek_ms = 8.5", "average_seek_ms = 0.5"),
            ("average_seek_ms = 8.5", "average_seek_ms = 8.5\nfull_stroke_ms = 9.0"),
            ("name = \"sata-hdd\"", "name = \"../hdd\""),
            ("title = \"SATA", "title = \"\\nSATA"),
            ("queue_depth = 32", "queue_depth = 0"),
            ("queue_depth = 32", "queue_depth = -1"),
            ("queue_depth = 32", "queue_depth = 32\nslowdown = 0"),
        ];
        let lines: Vec<String> = faults.iter().map(|(from, to)| error_of(from, to)).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn a_file_says_one_kind_of_disk() {
        let both = format!("{}\n{}", PRESETS[0].1, &PRESETS[1].1[PRESETS[1].1.find("[parallel]").unwrap()..]);
        assert!(DiskModel::parse("a.toml", &both).unwrap_err().to_string().contains("either [rotational] or [parallel]"));
        let neither = "name = \"a\"\nqueue_depth = 1\n";
        assert!(DiskModel::parse("a.toml", neither).unwrap_err().to_string().contains("nothing says what is inside"));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = DiskModel::load(Path::new("no/such.toml")).unwrap_err().to_string();
        assert!(error.starts_with("no/such.toml: cannot be read: No such file"), "{error}");
    }
}
