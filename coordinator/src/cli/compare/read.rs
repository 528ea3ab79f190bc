//! Reads files on several threads, in the order of their names, and keeps only what counts: one file is in memory at a time on each
//! thread, and of the others what they said.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use anyhow::{Context, bail};
use blklab_compare::names::{Columns, Names, Place, columns};
use blklab_compare::{Gather, Gathered};
use blklab_parse::results::{Format, ResultSet, detect, read as parse};
use indicatif::{ProgressBar, ProgressStyle};

use super::sources::{Source, find};

/// Threads: a disk has no use for more, and each has a buffer.
const MAX_THREADS: usize = 8;

/// The beginning of a file by which its format is known.
const HEAD_BYTES: usize = 16 * 1024;

/// Buffer of a file that is being read.
const BUFFER_BYTES: usize = 256 * 1024;

/// Warnings kept; those beyond are counted.
const MAX_WARNINGS: usize = 200;

/// Files of unknown format that are named.
const MAX_NAMED: usize = 3;

/// The arguments of one side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<'a> {
    /// What it is called among the facts.
    pub(super) what: &'a str,
    /// Files and folders.
    pub(super) paths: &'a [PathBuf],
}

/// What all sides say.
#[derive(Debug)]
pub(super) struct Read {
    /// In the order of the arguments.
    pub(super) sides: Vec<Gathered>,
    /// A line for each side.
    pub(super) sources: Vec<(String, String)>,
    /// What was odd.
    pub(super) warnings: Vec<String>,
}

/// Reads one side, or two sides whose names are compared.
pub(super) fn read(sides: &[Side<'_>], names: Names) -> anyhow::Result<Read> {
    let mut warnings = Warnings::default();
    let mut files: Vec<Vec<(Source, Format)>> = Vec::new();
    for side in sides {
        files.push(known(find(side.paths)?, &mut warnings)?);
    }
    let places = |side: usize| files.get(side).map_or(Vec::new(), |files| files.iter().map(|(source, _)| source.place.clone()).collect());
    let (base, candidate): (Vec<Place>, Vec<Place>) = (places(0), places(1));
    let columns = match sides.len() {
        // One side has nobody to share names with.
        1 => [vec![Columns::new(); base.len()], Vec::new()],
        _ => <[_; 2]>::from(columns(&base, &candidate, names)),
    };
    let bar = progress(files.iter().flatten().map(|(source, _)| source.bytes).sum());
    let mut gathered = Vec::new();
    let mut sources = Vec::new();
    for ((side, files), columns) in sides.iter().zip(&files).zip(columns) {
        let one = read_all(files, &columns, &bar, &mut warnings)?;
        if one.left_out > 0 {
            warnings.add(format!("{} series are more than can be compared and left out", one.left_out));
        }
        sources.push((side.what.to_owned(), in_words(side.paths, files)));
        gathered.push(one);
    }
    bar.finish_and_clear();
    Ok(Read { sides: gathered, sources, warnings: warnings.finish() })
}

/// The files whose format is known. One that was named itself must be; in a folder anything may lie about.
fn known(sources: Vec<Source>, warnings: &mut Warnings) -> anyhow::Result<Vec<(Source, Format)>> {
    let mut known = Vec::new();
    let mut unknown: Vec<String> = Vec::new();
    for source in sources {
        let path = source.path.display();
        match format_of(&source.path) {
            Ok(Some(format)) => known.push((source, format)),
            Ok(None) if source.named => bail!("failed to recognise {path}: it is in none of the formats that docs/compare.md lists"),
            Ok(None) => unknown.push(path.to_string()),
            Err(error) if source.named => return Err(error),
            Err(error) => warnings.add(format!("{error:#}")),
        }
    }
    if let [first, ..] = unknown.as_slice() {
        if known.is_empty() {
            bail!("failed to recognise any file, {first} for example: they are in none of the formats that docs/compare.md lists");
        }
        let named = unknown.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = unknown.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        warnings.add(format!("in no known format, left out: {named}{more}"));
    }
    Ok(known)
}

fn format_of(path: &Path) -> anyhow::Result<Option<Format>> {
    let failed = || format!("failed to read {}", path.display());
    let mut head = Vec::with_capacity(HEAD_BYTES);
    let file = File::open(path).with_context(failed)?;
    file.take(HEAD_BYTES as u64).read_to_end(&mut head).with_context(failed)?;
    Ok(detect(&name(path), &head))
}

/// One side's files, each on the next free thread, gathered in their order.
fn read_all(files: &[(Source, Format)], columns: &[Columns], bar: &ProgressBar, warnings: &mut Warnings) -> anyhow::Result<Gathered> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(files.len());
    let next = AtomicUsize::new(0);
    let mut gather = Gather::default();
    std::thread::scope(|scope| {
        // As many results may wait as there are threads; a full channel holds them back.
        let (sender, receiver) = mpsc::sync_channel(threads.max(1));
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((source, format)) = files.get(at) else { return };
                    if sender.send((at, read_one(source, *format, bar))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut early: BTreeMap<usize, anyhow::Result<ResultSet>> = BTreeMap::new();
        let mut turn = 0;
        for (at, result) in receiver {
            early.insert(at, result);
            while let Some(result) = early.remove(&turn) {
                take(&files[turn].0, &columns[turn], result, &mut gather, warnings)?;
                turn += 1;
            }
        }
        anyhow::Ok(())
    })?;
    Ok(gather.finish())
}

fn read_one(source: &Source, format: Format, bar: &ProgressBar) -> anyhow::Result<ResultSet> {
    let failed = || format!("failed to read {}", source.path.display());
    let file = File::open(&source.path).with_context(failed)?;
    let reader = BufReader::with_capacity(BUFFER_BYTES, bar.wrap_read(file));
    parse(format, &name(&source.path), reader).with_context(failed)
}

fn take(
    source: &Source,
    columns: &Columns,
    result: anyhow::Result<ResultSet>,
    gather: &mut Gather,
    warnings: &mut Warnings,
) -> anyhow::Result<()> {
    match result {
        Ok(set) => {
            for warning in set.warnings {
                warnings.add(format!("{}:{}: {}", source.path.display(), warning.line, warning.message));
            }
            gather.add(columns, set.series);
            Ok(())
        }
        Err(error) if source.named => Err(error),
        // One bad file must not spoil a folder of good ones.
        Err(error) => {
            warnings.add(format!("{error:#}"));
            Ok(())
        }
    }
}

/// A bar on a terminal, nothing elsewhere.
fn progress(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    let style = ProgressStyle::with_template("reading {bar:30} {bytes} of {total_bytes}, {eta} to go").expect("a good template");
    bar.set_style(style);
    bar
}

/// `10 files of fio-json in base/`.
fn in_words(paths: &[PathBuf], files: &[(Source, Format)]) -> String {
    let mut formats: Vec<String> = files.iter().map(|(_, format)| format.to_string()).collect();
    formats.sort();
    formats.dedup();
    let count = if files.len() == 1 { "1 file".to_owned() } else { format!("{} files", files.len()) };
    let from = match paths {
        [only] => only.display().to_string(),
        [first, rest @ ..] => format!("{} and {} more", first.display(), rest.len()),
        [] => String::new(),
    };
    format!("{from} ({count}, {})", formats.join(", "))
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[derive(Default)]
struct Warnings {
    kept: Vec<String>,
    left_out: usize,
}

impl Warnings {
    fn add(&mut self, warning: String) {
        if self.kept.len() < MAX_WARNINGS {
            self.kept.push(warning);
        } else {
            self.left_out += 1;
        }
    }

    fn finish(mut self) -> Vec<String> {
        if self.left_out > 0 {
            self.kept.push(format!("further warnings left out: {}", self.left_out));
        }
        self.kept
    }
}
