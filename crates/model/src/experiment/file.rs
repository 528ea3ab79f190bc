//! The TOML form of an experiment, read strictly.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use serde::Deserialize;
use toml::Spanned;

use super::axis::Axis;
use super::{Experiment, Matrix, Parameters, RunsPerBoot};
use crate::filesystem::{self, Filesystem, Format};
use crate::id::{DiskClass, WorkloadName};
use crate::kernel::{Clock, Kernel};
use crate::scheduler::{self, QueueTunables, Scheduler, Tunables, tunables_label};
use crate::source::{Source, SourceError, suggest};
use crate::workload::file::Scalar;

/// Rounds of one experiment: with fewer than three no test has any power (docs/statistics.md), and a hundred are three times the
/// most that the method asks for.
pub const ROUNDS: RangeInclusive<u32> = 3..=100;

/// Runs of one boot: the spread between boots stays, however many there are.
pub const RUNS_PER_BOOT: RangeInclusive<u32> = 1..=10;

/// Values on one axis.
const MAX_VALUES: usize = 64;

/// Reads an experiment file; `file` is only for messages.
pub fn parse(file: &str, text: &str) -> Result<Experiment, SourceError> {
    let source = Source { file, text };
    let raw: RawExperiment = source.parse()?;
    Reader { source, raw: &raw }.read()
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
        let (kind, mkfs, mount, label) = match spanned.get_ref() {
            RawFilesystem::Kind(kind) => (kind.clone(), Vec::new(), String::new(), None),
            RawFilesystem::Table(table) => (table.kind.clone(), table.mkfs.clone(), table.mount.clone(), table.label.clone()),
        };
        if kind == "raw" {
            if !mkfs.is_empty() || !mount.is_empty() {
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
        let words: Vec<&str> =
            [kind.as_str(), mount.as_str()].into_iter().chain(mkfs.iter().map(String::as_str)).filter(|w| !w.is_empty()).collect();
        let label = label.unwrap_or_else(|| words.join(" "));
        Ok(Filesystem { label, format: Format::Made { kind, mkfs, mount } })
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

/// What an experiment may say to `mkfs.TYPE`.
struct MkfsOptions {
    kinds: &'static [&'static str],
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options with one.
    valued: &'static [&'static str],
}

/// From mke2fs(8), mkfs.xfs(8), mkfs.btrfs(8), mkfs.f2fs(8). A list of what is allowed, for only its options tell what a word means: the
/// same bare word is the value of one and a second device after another. Left out are options that read or write other files (ext4 `-d`,
/// `-l`, `-z`; xfs `-c`, `-p`; btrfs `--rootdir`; f2fs `-c`), and those that make something else or nothing at all.
const MKFS_OPTIONS: [MkfsOptions; 4] = [
    MkfsOptions {
        kinds: &["ext2", "ext3", "ext4"],
        flags: &["-c", "-D", "-F", "-j", "-q", "-v"],
        valued: &["-b", "-C", "-e", "-E", "-g", "-G", "-i", "-I", "-J", "-L", "-m", "-N", "-o", "-O", "-r", "-T", "-U"],
    },
    MkfsOptions { kinds: &["xfs"], flags: &["-f", "-K", "-q"], valued: &["-b", "-d", "-i", "-l", "-L", "-m", "-n", "-r", "-s"] },
    MkfsOptions {
        kinds: &["btrfs"],
        flags: &["-f", "-K", "-M", "-q", "-v", "--force", "--nodiscard", "--mixed", "--quiet", "--verbose"],
        #[rustfmt::skip]
        valued: &[
            "-b", "-d", "-L", "-m", "-n", "-O", "-R", "-s", "-U", "--byte-count", "--checksum", "--csum", "--data", "--features", "--label",
            "--metadata", "--nodesize", "--runtime-features", "--sectorsize", "--uuid",
        ],
    },
    MkfsOptions {
        kinds: &["f2fs"],
        flags: &["-f", "-i", "-m", "-q", "-r"],
        valued: &["-a", "-C", "-d", "-e", "-E", "-g", "-l", "-o", "-O", "-R", "-s", "-t", "-T", "-U", "-w", "-z"],
    },
];

/// Keys of sub-options and mount options that name another device, even one without a slash (`LABEL=...`, a device number).
const OTHER_DEVICES: [&str; 7] = ["device", "file", "journal_dev", "journal_path", "logdev", "name", "rtdev"];

/// A word for mkfs or mount that could reach beyond the disk under test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct BadWord {
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

/// Arguments of `mkfs.TYPE` from an experiment: known options and their values, none of which names a file or another device.
pub fn check_mkfs(kind: &str, args: &[String]) -> Result<(), BadWord> {
    let program = format!("mkfs.{kind}");
    let Some(known) = MKFS_OPTIONS.iter().find(|known| known.kinds.contains(&kind)) else {
        let help = format!("known: {}", filesystem::KNOWN.join(", "));
        return Err(BadWord { message: format!("unknown file system `{kind}`"), help });
    };
    let mut words = args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        check_path(&program, word)?;
        if known.flags.contains(&word) {
            continue;
        }
        let value = match known.value_of(word) {
            None => {
                let help = format!("it takes {} and, each with its value, {}", known.flags.join(" "), known.valued.join(" "));
                return Err(BadWord { message: format!("an experiment may not say `{word}` to {program}"), help });
            }
            Some(Value::Inside(value)) => Some(value),
            Some(Value::Next) => words.next(),
        };
        // A value like an option would make the next word bare; a missing one would swallow the device.
        let Some(value) = value.filter(|value| !value.is_empty() && !value.starts_with('-')) else {
            return Err(BadWord { message: format!("`{word}` of {program} lacks its value"), help: "give it as the next word".to_owned() });
        };
        check_path(&program, value)?;
        check_keys(&program, value)?;
    }
    Ok(())
}

/// Mount options from an experiment: none names a file or another device.
pub fn check_mount(options: &str) -> Result<(), BadWord> {
    check_path("mount", options)?;
    check_keys("mount", options)
}

/// Where the value of an option is.
enum Value<'a> {
    /// `-b4096`, `--nodesize=16k`.
    Inside(&'a str),
    /// `-b 4096`.
    Next,
}

impl MkfsOptions {
    fn value_of<'a>(&self, word: &'a str) -> Option<Value<'a>> {
        if self.valued.contains(&word) {
            return Some(Value::Next);
        }
        let inside = if word.starts_with("--") { word.split_once('=') } else { word.split_at_checked(2) };
        inside.filter(|(option, _)| self.valued.contains(option)).map(|(_, value)| Value::Inside(value))
    }
}

const ONE_DISK: &str = "leave it out: a trial has one disk, and the agent names it by itself";

fn check_path(program: &str, word: &str) -> Result<(), BadWord> {
    if !word.contains('/') {
        return Ok(());
    }
    Err(BadWord { message: format!("`{word}` for {program} names a path"), help: ONE_DISK.to_owned() })
}

fn check_keys(program: &str, value: &str) -> Result<(), BadWord> {
    let mut keys = value.split(',').filter_map(|part| part.split_once('=')).map(|(key, _)| key.trim());
    match keys.find(|key| OTHER_DEVICES.contains(key)) {
        Some(key) => Err(BadWord { message: format!("`{key}=` for {program} names another device"), help: ONE_DISK.to_owned() }),
        None => Ok(()),
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

    fn mkfs(kind: &str, line: &str) -> Result<(), BadWord> {
        check_mkfs(kind, &line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn mkfs_and_mount_take_their_own_options() {
        let lines = [
            ("ext4", "-b 4096 -O ^has_journal,extent -E lazy_itable_init=0 -m0 -L name"),
            ("ext3", "-J size=16"),
            ("xfs", "-m crc=1,reflink=0 -d agcount=4 -l size=64m,lazy-count=1 -i size=512 -K"),
            ("btrfs", "-O ^extref --nodesize=16k --data single -m dup"),
            ("f2fs", "-O extra_attr -s 2"),
            ("ext2", ""),
        ];
        for (kind, line) in lines {
            assert_eq!(mkfs(kind, line), Ok(()));
        }
        for options in ["", "noatime", "data=journal,commit=30", "ssd, compress=zstd:3"] {
            assert_eq!(check_mount(options), Ok(()));
        }
    }

    /// Each of these makes one of the programs open something else than the disk under test.
    #[test]
    fn no_word_reaches_another_disk() {
        let lines = [
            ("btrfs", "/dev/sdb"),
            ("btrfs", "sdb"),
            ("btrfs", "-d raid0 sdb"),
            ("btrfs", "-b -L sdb"),
            ("btrfs", "-q -- -b"),
            ("btrfs", "-"),
            ("btrfs", "--rootdir etc"),
            ("btrfs", "--rootdir=etc"),
            ("btrfs", "-fL sdb"),
            ("xfs", "-l logdev=/dev/sdb"),
            ("xfs", "-l size=64m,logdev=sdb"),
            ("xfs", "-lsize=64m,logdev=sdb"),
            ("xfs", "-r rtdev=sdb"),
            ("xfs", "-d name=sdb"),
            ("xfs", "-p proto"),
            ("ext4", "-J device=LABEL=x"),
            ("ext4", "-Jdevice=UUID=x"),
            ("ext4", "-d root"),
            ("ext4", "-z undo"),
            ("ext4", "-L"),
            ("f2fs", "-c sdb"),
            ("f2fs", "-csdb"),
            ("../evil", ""),
        ];
        for (kind, line) in lines {
            assert!(mkfs(kind, line).is_err(), "mkfs.{kind} {line}");
        }
        assert!(check_mkfs("ext4", &["-L".into(), String::new()]).is_err());
        for options in ["logdev=/dev/sdb", "noatime, rtdev=sdb", "device=sdb", "journal_path=sdb", "journal_dev=0x810"] {
            assert!(check_mount(options).is_err(), "{options}");
        }
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
