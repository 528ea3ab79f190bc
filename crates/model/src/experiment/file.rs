//! The TOML form of an experiment, read strictly.

pub mod scale;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use serde::Deserialize;
use toml::Spanned;

use super::axis::Axis;
use super::{Experiment, Matrix, Parameters, RunsPerBoot};
use crate::filesystem::words::{check_mkfs, check_mount};
use crate::filesystem::{self, Filesystem, Format};
use crate::id::{DiskClass, WorkloadName};
use crate::kernel::{Clock, Kernel};
use crate::scheduler::{self, QueueTunables, Scheduler, Tunables, tunables_label};
use crate::source::{Source, SourceError, suggest};
use crate::workload::command::IoPriority;
use crate::workload::file::Scalar;
use crate::workload::size;

/// Rounds of one experiment: with fewer than three no test has any power (docs/statistics.md), and a hundred are three times the
/// most that the method asks for.
pub const ROUNDS: RangeInclusive<u32> = 3..=100;

/// Runs of one boot: the spread between boots stays, however many there are.
pub const RUNS_PER_BOOT: RangeInclusive<u32> = 1..=10;

/// Below this the programs themselves would not start.
const MIN_MEMORY_CAP: u64 = 16 << 20;

/// Values on one axis.
const MAX_VALUES: usize = 64;

/// Reads an experiment file as it stands; `file` is only for messages.
pub fn parse(file: &str, text: &str) -> Result<Experiment, SourceError> {
    parse_at(file, text, None)
}

/// Reads an experiment file at one of its [scales](scale), or as it stands. What the others say is checked too: a wrong one is found by
/// its author and not years later.
pub fn parse_at(file: &str, text: &str, scale: Option<&str>) -> Result<Experiment, SourceError> {
    let source = Source { file, text };
    let read = |scale: Option<&str>| {
        let mut raw: RawExperiment = source.parse()?;
        scale::apply(&mut raw, scale, &source)?;
        Reader { source, raw: &raw }.read()
    };
    let wanted = read(scale)?;
    for other in scale::names(&source.parse()?) {
        read(Some(&other))?;
    }
    Ok(wanted)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExperiment {
    name: Spanned<String>,
    title: String,
    #[serde(default)]
    question: String,
    #[serde(default)]
    source: String,
    compare: Option<Spanned<String>>,
    baseline: Option<Spanned<Scalar>>,
    rounds: Spanned<u32>,
    runs_per_boot: Option<Spanned<Scalar>>,
    memory_cap: Option<Spanned<Scalar>>,
    seed: Option<u32>,
    #[serde(default)]
    aa_cells: u32,
    alpha: Option<Spanned<f64>>,
    clock: Option<Spanned<String>>,
    matrix: RawMatrix,
    #[serde(default)]
    parameters: BTreeMap<String, Scalar>,
    #[serde(default)]
    parameters_by_disk_class: BTreeMap<Spanned<String>, BTreeMap<String, Scalar>>,
    #[serde(default)]
    scale: BTreeMap<String, Spanned<scale::RawScale>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMatrix {
    kernel: Option<Vec<Spanned<String>>>,
    scheduler: Vec<Spanned<RawScheduler>>,
    tunables: Option<Vec<Spanned<BTreeMap<String, Scalar>>>>,
    filesystem: Vec<Spanned<RawFilesystem>>,
    disk_class: Vec<Spanned<String>>,
    workload: Vec<Spanned<String>>,
    #[serde(default)]
    parameters: BTreeMap<String, Spanned<Vec<Scalar>>>,
}

/// A name, or a table with more to say.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a scheduler name, or a table with name, tunables and label")]
enum RawScheduler {
    Name(String),
    Table(SchedulerTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SchedulerTable {
    name: String,
    #[serde(default)]
    tunables: BTreeMap<String, Scalar>,
    label: Option<String>,
}

/// A type, or a table with more to say.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a file-system type, `raw`, or a table with type, mkfs, mount and label")]
enum RawFilesystem {
    Kind(String),
    Table(FilesystemTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilesystemTable {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    mkfs: Vec<String>,
    #[serde(default)]
    mount: String,
    journal_ioprio: Option<String>,
    label: Option<String>,
}

/// Not a number of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} to {}, or \"auto\": as many as earlier experiments say that it pays off", RUNS_PER_BOOT.start(), RUNS_PER_BOOT.end())]
pub struct BadRuns;

impl std::str::FromStr for RunsPerBoot {
    type Err = BadRuns;
    fn from_str(text: &str) -> Result<Self, BadRuns> {
        if text == "auto" {
            return Ok(RunsPerBoot::Auto);
        }
        text.parse().ok().filter(|runs| RUNS_PER_BOOT.contains(runs)).map(RunsPerBoot::Fixed).ok_or(BadRuns)
    }
}

struct Reader<'a> {
    source: Source<'a>,
    raw: &'a RawExperiment,
}

impl Reader<'_> {
    fn read(&self) -> Result<Experiment, SourceError> {
        let raw = self.raw;
        self.check_head()?;
        let matrix = self.matrix()?;
        let compare = match &raw.compare {
            None => Axis::Kernel,
            Some(word) => word.get_ref().parse().map_err(|message: String| {
                self.source.at(
                    word.span(),
                    message,
                    "compare = \"kernel\", \"scheduler\", \"tunables\", \"filesystem\" or \"parameters.NAME\"",
                )
            })?,
        };
        let labels = matrix.labels(&compare);
        if labels.len() < 2 && raw.aa_cells == 0 {
            let help = format!(
                "give matrix.{compare} at least two values, name another axis with `compare`, or ask for A/A cells with `aa_cells`"
            );
            let message =
                format!("nothing to compare: the axis `{compare}` has {}", if labels.is_empty() { "no value" } else { "one value" });
            return Err(raw
                .compare
                .as_ref()
                .map_or_else(|| self.source.whole(&message, &help), |word| self.source.at(word.span(), &message, &help)));
        }
        let baseline = match &raw.baseline {
            None => labels.first().cloned().unwrap_or_default(),
            Some(word) => {
                let text = word.get_ref().text();
                if !labels.contains(&text) {
                    let help = suggest(&text, labels.iter().map(String::as_str));
                    return Err(self.source.at(word.span(), format!("baseline `{text}` is not on the axis `{compare}`"), help));
                }
                text
            }
        };
        Ok(Experiment {
            name: raw.name.get_ref().clone(),
            title: raw.title.clone(),
            question: raw.question.trim().to_owned(),
            source: raw.source.clone(),
            compare,
            baseline,
            rounds: *raw.rounds.get_ref(),
            runs_per_boot: self.runs_per_boot()?,
            memory_cap_bytes: self.memory_cap()?,
            seed: raw.seed.map(u64::from),
            aa_cells: raw.aa_cells,
            matrix,
            parameters: texts(&raw.parameters),
            parameters_by_disk_class: self.class_parameters()?,
            alpha: raw.alpha.as_ref().map_or(0.05, |alpha| *alpha.get_ref()),
            clock: self.clock()?,
        })
    }

    fn check_head(&self) -> Result<(), SourceError> {
        let raw = self.raw;
        let _: WorkloadName = raw.name.get_ref().parse().map_err(|_| {
            self.source.at(raw.name.span(), format!("`{}` is not an experiment name", raw.name.get_ref()), "use letters, digits and - _ .")
        })?;
        let rounds = *raw.rounds.get_ref();
        if !ROUNDS.contains(&rounds) {
            return Err(self.source.at(
                raw.rounds.span(),
                format!("rounds = {rounds}"),
                format!("{} to {}; 5 or more can show that nothing changed", ROUNDS.start(), ROUNDS.end()),
            ));
        }
        match &raw.alpha {
            Some(alpha) if !(*alpha.get_ref() > 0.0 && *alpha.get_ref() <= 0.2) => Err(self.source.at(
                alpha.span(),
                format!("alpha = {}", alpha.get_ref()),
                "more than 0, at most 0.2; the usual level is 0.05",
            )),
            Some(_) | None => Ok(()),
        }
    }

    fn runs_per_boot(&self) -> Result<RunsPerBoot, SourceError> {
        let Some(word) = &self.raw.runs_per_boot else { return Ok(RunsPerBoot::default()) };
        let text = word.get_ref().text();
        text.parse().map_err(|help: BadRuns| self.source.at(word.span(), format!("runs_per_boot = {text}"), help.to_string()))
    }

    fn memory_cap(&self) -> Result<Option<u64>, SourceError> {
        let Some(word) = &self.raw.memory_cap else { return Ok(None) };
        let text = word.get_ref().text();
        let refused = |help: String| self.source.at(word.span(), format!("memory_cap = \"{text}\""), help);
        let bytes = size::parse(&text).map_err(|error| refused(error.to_string()))?;
        if bytes < MIN_MEMORY_CAP {
            return Err(refused(format!("at least {} MiB: programs need memory of their own", MIN_MEMORY_CAP >> 20)));
        }
        Ok(Some(bytes))
    }

    fn matrix(&self) -> Result<Matrix, SourceError> {
        let raw = &self.raw.matrix;
        let matrix = Matrix {
            kernels: self.kernels()?,
            schedulers: raw.scheduler.iter().map(|s| self.scheduler(s)).collect::<Result<_, _>>()?,
            tunables: self.tunables(),
            filesystems: raw.filesystem.iter().map(|f| self.filesystem(f)).collect::<Result<_, _>>()?,
            disk_classes: raw.disk_class.iter().map(|c| self.name(c)).collect::<Result<Vec<DiskClass>, _>>()?,
            workloads: raw.workload.iter().map(|w| self.name(w)).collect::<Result<Vec<WorkloadName>, _>>()?,
            parameters: raw
                .parameters
                .iter()
                .map(|(name, values)| (name.clone(), values.get_ref().iter().map(Scalar::text).collect()))
                .collect(),
        };
        let classes: Vec<String> = matrix.disk_classes.iter().map(ToString::to_string).collect();
        let workloads: Vec<String> = matrix.workloads.iter().map(ToString::to_string).collect();
        let mut axes = vec![
            ("kernel".to_owned(), matrix.labels(&Axis::Kernel)),
            ("scheduler".to_owned(), matrix.labels(&Axis::Scheduler)),
            ("tunables".to_owned(), matrix.labels(&Axis::Tunables)),
            ("filesystem".to_owned(), matrix.labels(&Axis::Filesystem)),
            ("disk_class".to_owned(), classes),
            ("workload".to_owned(), workloads),
        ];
        axes.extend(matrix.parameters.iter().map(|(name, values)| (format!("parameters.{name}"), values.clone())));
        for (axis, labels) in axes {
            self.check_axis(&axis, &labels)?;
        }
        Ok(matrix)
    }

    fn check_axis(&self, axis: &str, labels: &[String]) -> Result<(), SourceError> {
        if labels.is_empty() {
            return Err(self.source.whole(format!("matrix.{axis} is empty"), "give it at least one value"));
        }
        if labels.len() > MAX_VALUES {
            return Err(self
                .source
                .whole(format!("matrix.{axis} has {} values", labels.len()), format!("at most {MAX_VALUES}; split the experiment")));
        }
        let mut seen = BTreeSet::new();
        match labels.iter().find(|label| !seen.insert(label.as_str())) {
            Some(twice) => {
                Err(self.source.whole(format!("matrix.{axis} has `{twice}` twice"), "give one of them another `label`, or remove it"))
            }
            None => Ok(()),
        }
    }

    fn clock(&self) -> Result<Clock, SourceError> {
        let Some(word) = &self.raw.clock else { return Ok(Clock::Real) };
        let known = [Clock::Real, Clock::Virtual].map(Clock::word);
        Clock::from_word(word.get_ref())
            .ok_or_else(|| self.source.at(word.span(), format!("unknown clock `{}`", word.get_ref()), suggest(word.get_ref(), known)))
    }

    fn kernels(&self) -> Result<Vec<Kernel>, SourceError> {
        let Some(words) = &self.raw.matrix.kernel else { return Ok(vec![Kernel::AsBooted]) };
        // Whether the lab has it is for the coordinator to say.
        let read =
            |word: &Spanned<String>| Kernel::from_word(word.get_ref()).map_err(|error| self.source.at(word.span(), error.to_string(), ""));
        words.iter().map(read).collect()
    }

    fn scheduler(&self, spanned: &Spanned<RawScheduler>) -> Result<Scheduler, SourceError> {
        let scheduler = match spanned.get_ref() {
            RawScheduler::Name(name) => Scheduler { name: name.clone(), tunables: Tunables::new(), label: name.clone() },
            RawScheduler::Table(table) => {
                let tunables = texts(&table.tunables);
                let given = table.label.clone();
                let label = given.unwrap_or_else(|| {
                    if tunables.is_empty() { table.name.clone() } else { format!("{} {}", table.name, tunables_label(&tunables)) }
                });
                Scheduler { name: table.name.clone(), tunables, label }
            }
        };
        if !scheduler::is_known(&scheduler.name) {
            let help = suggest(&scheduler.name, scheduler::CURRENT.into_iter().chain(scheduler::HISTORIC));
            return Err(self.source.at(spanned.span(), format!("unknown scheduler `{}`", scheduler.name), help));
        }
        self.check_sysfs_names(spanned.span(), &scheduler.tunables)?;
        Ok(scheduler)
    }

    /// A tunable's name becomes a file name below `/sys`: nothing but a plain word may pass.
    fn check_sysfs_names(&self, span: std::ops::Range<usize>, tunables: &Tunables) -> Result<(), SourceError> {
        let plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        match tunables.keys().find(|name| !plain(name)) {
            Some(name) => Err(self.source.at(
                span,
                format!("`{name}` is not a tunable"),
                "use the name of a file in /sys/block/DISK/queue/ or its iosched/",
            )),
            None => Ok(()),
        }
    }

    fn tunables(&self) -> Vec<QueueTunables> {
        let Some(entries) = &self.raw.matrix.tunables else {
            return vec![QueueTunables { values: Tunables::new(), label: "default".to_owned() }];
        };
        let read = |entry: &Spanned<BTreeMap<String, Scalar>>| {
            let mut values = texts(entry.get_ref());
            let given = values.remove("label");
            let label = given.unwrap_or_else(|| if values.is_empty() { "default".to_owned() } else { tunables_label(&values) });
            QueueTunables { values, label }
        };
        entries.iter().map(read).collect()
    }

    fn filesystem(&self, spanned: &Spanned<RawFilesystem>) -> Result<Filesystem, SourceError> {
        let (kind, mkfs, mount, journal, label) = match spanned.get_ref() {
            RawFilesystem::Kind(kind) => (kind.clone(), Vec::new(), String::new(), None, None),
            RawFilesystem::Table(table) => {
                (table.kind.clone(), table.mkfs.clone(), table.mount.clone(), table.journal_ioprio.as_deref(), table.label.clone())
            }
        };
        if kind == "raw" {
            if !mkfs.is_empty() || !mount.is_empty() || journal.is_some() {
                return Err(self.source.at(
                    spanned.span(),
                    "a raw disk takes no mkfs or mount options",
                    "remove them, or name a file system",
                ));
            }
            return Ok(Filesystem { label: label.unwrap_or(kind), format: Format::Raw });
        }
        if !filesystem::KNOWN.contains(&kind.as_str()) {
            let help = suggest(&kind, filesystem::KNOWN.into_iter().chain(["raw"]));
            return Err(self.source.at(spanned.span(), format!("unknown file system `{kind}`"), help));
        }
        check_mkfs(&kind, &mkfs).and_then(|()| check_mount(&mount)).map_err(|bad| self.source.at(spanned.span(), bad.message, bad.help))?;
        let journal_ioprio = journal.map(|text| self.journal_ioprio(spanned.span(), &kind, text)).transpose()?;
        let journal = journal_ioprio.map(|priority| format!("journal {priority}")).unwrap_or_default();
        let words = [kind.as_str(), mount.as_str(), journal.as_str()];
        let words: Vec<&str> = words.into_iter().chain(mkfs.iter().map(String::as_str)).filter(|w| !w.is_empty()).collect();
        let label = label.unwrap_or_else(|| words.join(" "));
        Ok(Filesystem { label, format: Format::Made { kind, mkfs, mount, journal_ioprio } })
    }

    fn journal_ioprio(&self, span: std::ops::Range<usize>, kind: &str, text: &str) -> Result<IoPriority, SourceError> {
        let priority = text.parse().map_err(|help: String| self.source.at(span.clone(), format!("journal_ioprio = \"{text}\""), help))?;
        if filesystem::has_journal_thread(kind) {
            return Ok(priority);
        }
        let help = format!("{} have one", filesystem::WITH_JOURNAL_THREAD.join(" and "));
        Err(self.source.at(span, format!("{kind} has no journal thread of its own"), help))
    }

    fn class_parameters(&self) -> Result<BTreeMap<DiskClass, Parameters>, SourceError> {
        let known: Vec<&str> = self.raw.matrix.disk_class.iter().map(|class| class.get_ref().as_str()).collect();
        let read = |(class, parameters): (&Spanned<String>, &BTreeMap<String, Scalar>)| {
            if !known.contains(&class.get_ref().as_str()) {
                let help = suggest(class.get_ref(), known.iter().copied());
                return Err(self.source.at(class.span(), format!("disk class `{}` is not in the matrix", class.get_ref()), help));
            }
            Ok((self.name(class)?, texts(parameters)))
        };
        self.raw.parameters_by_disk_class.iter().map(read).collect()
    }

    fn name<T: std::str::FromStr<Err = crate::id::BadId>>(&self, word: &Spanned<String>) -> Result<T, SourceError> {
        word.get_ref().parse().map_err(|error: crate::id::BadId| self.source.at(word.span(), error.to_string(), ""))
    }
}

fn texts(scalars: &BTreeMap<String, Scalar>) -> Parameters {
    scalars.iter().map(|(name, value)| (name.clone(), value.text())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
name = "bfq-question"
title = "Is bfq slower than none?"
compare = "scheduler"
baseline = "none"
rounds = 6

[matrix]
scheduler = ["none", "bfq", { name = "bfq", tunables = { low_latency = 0 } }]
filesystem = ["ext4", { type = "xfs", mount = "noatime" }]
disk_class = ["sata-hdd", "ssd"]
workload = ["rt-be-readers"]

[parameters_by_disk_class.ssd]
size = "64 MiB"
"#;

    #[test]
    fn a_good_file_is_read() {
        let experiment = parse("e.toml", GOOD).unwrap();
        assert_eq!(experiment.matrix.labels(&experiment.compare), ["none", "bfq", "bfq low_latency=0"]);
        assert_eq!(experiment.matrix.labels(&Axis::Filesystem), ["ext4", "xfs noatime"]);
        assert_eq!(experiment.matrix.labels(&Axis::Kernel), ["as-booted"]);
    }

    #[test]
    fn faults_name_line_and_remedy() {
        let cases = [
            ("\"none\", \"bfq\"", "\"none\", \"bqf\""),
            ("rounds = 6", "rounds = 2"),
            ("rounds = 6", "rounds = 6\nround = 1"),
            ("baseline = \"none\"", "baseline = \"noop\""),
            ("compare = \"scheduler\"", "compare = \"disk_class\""),
            ("compare = \"scheduler\"\nbaseline = \"none\"\n", ""),
            ("[\"ext4\"", "[\"ext5\""),
            ("[\"sata-hdd\", \"ssd\"]", "[]"),
            ("{ low_latency = 0 }", "{ \"../x\" = 0 }"),
            ("{ type = \"xfs\"", "{ typ = \"xfs\""),
            ("by_disk_class.ssd", "by_disk_class.sdd"),
            ("\"none\", \"bfq\"", "\"none\", \"none\""),
            ("type = \"xfs\"", "type = \"btrfs\", mkfs = [\"/dev/sdb\"]"),
            ("type = \"xfs\"", "type = \"xfs\", mkfs = [\"-l\", \"size=64m,logdev=sdb\"]"),
            ("type = \"xfs\"", "type = \"ext4\", mkfs = [\"-q\", \"sdb\"]"),
            ("mount = \"noatime\"", "mount = \"noatime,logdev=/dev/sdb\""),
            ("rounds = 6", "rounds = 6\nruns_per_boot = 11"),
            ("mount = \"noatime\"", "journal_ioprio = \"realtime:4\""),
            ("type = \"xfs\", mount = \"noatime\"", "type = \"ext3\", journal_ioprio = \"realtime:8\""),
            ("rounds = 6", "rounds = 6\nmemory_cap = \"1 MB\""),
            ("rounds = 6", "rounds = 6\nmemory_cap = 4096"),
            ("[matrix]", "[matrix"),
        ];
        let mut texts = Vec::new();
        for (from, to) in cases {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "{from}");
            texts.push(parse("e.toml", &text).unwrap_err().to_string());
        }
        insta::assert_snapshot!(texts.join("\n"));
    }
}
