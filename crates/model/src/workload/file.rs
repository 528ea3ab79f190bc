//! The TOML form of a workload, read strictly.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use super::command::{BUILTINS, BadCommand, Builtin, Command, IoPriority, Template};
use super::metric::{Better, Combine, Metric, MetricSource, Role};
use super::order::FinishOrder;
use super::placeholder;
use super::{Load, Needs, Parameter, Target, Workload};
use crate::id::WorkloadName;
use crate::source::{Source, SourceError, suggest};

/// A load without its own limit is killed after this long.
const DEFAULT_TIMEOUT_S: u32 = 600;

/// No load may run longer than a day: a trial that long belongs into several.
const MAX_TIMEOUT_S: u32 = 86_400;

/// Per cent; used where a metric does not say what matters (statistics.md: delta).
const DEFAULT_SMALLEST_EFFECT_PCT: f64 = 5.0;

/// Loads, metrics or parameters of one workload, each: enough for the sixteen readers of classic 2, and a stop for generated files.
const MAX_ITEMS: usize = 64;

/// Reads a workload file; `file` is only for messages.
pub fn parse(file: &str, text: &str) -> Result<Workload, SourceError> {
    let source = Source { file, text };
    let raw: RawWorkload = source.parse()?;
    Reader { source, raw: &raw }.read()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWorkload {
    name: Spanned<String>,
    version: u32,
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    needs: RawNeeds,
    #[serde(default)]
    parameters: BTreeMap<Spanned<String>, RawParameter>,
    #[serde(default)]
    prepare: Vec<Spanned<RawLoad>>,
    #[serde(default)]
    background: Vec<Spanned<RawLoad>>,
    #[serde(default)]
    task: Vec<Spanned<RawLoad>>,
    #[serde(default)]
    metric: Vec<Spanned<RawMetric>>,
    #[serde(default)]
    finish_order: Vec<Spanned<RawOrder>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNeeds {
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default = "mounted")]
    target: Target,
    #[serde(default)]
    space: Vec<Spanned<String>>,
    #[serde(default)]
    working_set: Vec<Spanned<String>>,
    disks: Option<Spanned<Scalar>>,
}

impl Default for RawNeeds {
    fn default() -> Self {
        RawNeeds { tools: Vec::new(), target: Target::Mounted, space: Vec::new(), working_set: Vec::new(), disks: None }
    }
}

fn mounted() -> Target {
    Target::Mounted
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawParameter {
    default: Scalar,
    #[serde(default)]
    help: String,
}

/// A number or a text; people should not need to quote numbers.
#[derive(Deserialize, Clone, PartialEq)]
#[serde(untagged)]
pub(crate) enum Scalar {
    Integer(i64),
    Float(f64),
    Text(String),
}

impl Scalar {
    pub(crate) fn text(&self) -> String {
        match self {
            Scalar::Integer(n) => n.to_string(),
            Scalar::Float(x) => x.to_string(),
            Scalar::Text(text) => text.clone(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLoad {
    name: Option<String>,
    argv: Option<Vec<String>>,
    shell: Option<String>,
    builtin: Option<String>,
    with: Option<BTreeMap<String, Scalar>>,
    #[serde(default)]
    each_disk: bool,
    ioprio: Option<String>,
    start_after_ms: Option<u32>,
    timeout_s: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOrder {
    name: String,
    first: String,
    then: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMetric {
    name: String,
    load: Option<String>,
    parser: Option<String>,
    field: Option<String>,
    elapsed: Option<String>,
    ratio: Option<[String; 2]>,
    combine: Option<Combine>,
    unit: String,
    better: Better,
    smallest_effect_pct: Option<f64>,
    role: Option<Role>,
}

struct Reader<'a> {
    source: Source<'a>,
    raw: &'a RawWorkload,
}

impl Reader<'_> {
    fn read(&self) -> Result<Workload, SourceError> {
        let raw = self.raw;
        let name: WorkloadName =
            raw.name.get_ref().parse().map_err(|e: crate::id::BadId| self.source.at(raw.name.span(), e.to_string(), ""))?;
        for (what, count) in [
            ("loads", raw.prepare.len() + raw.background.len() + raw.task.len()),
            ("metrics", raw.metric.len()),
            ("finish orders", raw.finish_order.len()),
            ("parameters", raw.parameters.len()),
        ] {
            if count > MAX_ITEMS {
                return Err(self.source.whole(format!("{count} {what}; at most {MAX_ITEMS} are taken"), "split the workload"));
            }
        }
        let workload = Workload {
            name,
            version: raw.version,
            title: raw.title.clone(),
            description: raw.description.clone(),
            needs: Needs {
                tools: raw.needs.tools.clone(),
                target: raw.needs.target,
                space: raw.needs.space.iter().map(|s| s.get_ref().clone()).collect(),
                working_set: raw.needs.working_set.iter().map(|s| s.get_ref().clone()).collect(),
                disks: raw.needs.disks.as_ref().map_or_else(|| "1".to_owned(), |disks| disks.get_ref().text()),
            },
            parameters: self.parameters()?,
            prepare: self.loads("prepare", &raw.prepare)?,
            background: self.loads("background", &raw.background)?,
            tasks: self.loads("task", &raw.task)?,
            metrics: self.metrics()?,
            finish_orders: self.finish_orders()?,
        };
        self.check_names(&workload)?;
        self.check_commands(&workload)?;
        Ok(workload)
    }

    fn parameters(&self) -> Result<BTreeMap<String, Parameter>, SourceError> {
        let mut parameters = BTreeMap::new();
        for (name, parameter) in &self.raw.parameters {
            let text = name.get_ref();
            if placeholder::is_of_the_agent(text) || placeholder::OF_THE_PLAN.contains(&text.as_str()) {
                return Err(self.source.at(
                    name.span(),
                    format!("`{text}` is filled in by the lab, it cannot be a parameter"),
                    "choose another name",
                ));
            }
            if text.is_empty() || !text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') {
                return Err(self.source.at(
                    name.span(),
                    format!("`{text}` is not a parameter name"),
                    "use lower-case letters, digits and _",
                ));
            }
            parameters.insert(text.clone(), Parameter { default: parameter.default.text(), help: parameter.help.clone() });
        }
        Ok(parameters)
    }

    fn loads(&self, kind: &str, raw: &[Spanned<RawLoad>]) -> Result<Vec<Load>, SourceError> {
        raw.iter().enumerate().map(|(index, load)| self.load(kind, index, load)).collect()
    }

    fn load(&self, kind: &str, index: usize, spanned: &Spanned<RawLoad>) -> Result<Load, SourceError> {
        let raw = spanned.get_ref();
        let error = |message: String, help: &str| self.source.at(spanned.span(), message, help);
        let one = "give exactly one of `argv = [..]`, `shell = \"..\"`, `builtin = \"..\"`";
        let command = match (&raw.argv, &raw.shell, &raw.builtin) {
            (Some(argv), None, None) if argv.is_empty() => {
                return Err(error(format!("[[{kind}]] has an empty argv"), "name the program first"));
            }
            (Some(argv), None, None) => Template::Argv(argv.clone()),
            (None, Some(line), None) => Template::Shell(line.clone()),
            (None, None, Some(name)) => {
                let with = raw.with.iter().flatten().map(|(key, value)| (key.clone(), value.text())).collect();
                Template::Builtin { name: name.clone(), with }
            }
            (None, None, None) => return Err(error(format!("[[{kind}]] runs nothing"), one)),
            (Some(_), Some(_), _) | (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
                return Err(error(format!("[[{kind}]] has several commands"), one));
            }
        };
        if raw.with.is_some() && raw.builtin.is_none() {
            return Err(error("`with` belongs to a built-in".into(), "remove it, or use `builtin = \"..\"`"));
        }
        let name = match &raw.name {
            Some(name) => name.clone(),
            None if kind == "prepare" => format!("prepare-{}", index + 1),
            None => return Err(error(format!("[[{kind}]] has no name"), "add `name = \"..\"`: metrics and raw outputs refer to it")),
        };
        if !is_load_name(&name) {
            return Err(error(
                format!("`{name}` is not a load name"),
                "use lower-case letters, digits, - and _, at most 48: it becomes a file name",
            ));
        }
        let io_priority = raw.ioprio.as_deref().map(str::parse::<IoPriority>).transpose().map_err(|message| error(message, ""))?;
        let timeout_s = raw.timeout_s.unwrap_or(DEFAULT_TIMEOUT_S);
        if !(1..=MAX_TIMEOUT_S).contains(&timeout_s) {
            return Err(error(format!("timeout_s = {timeout_s} of `{name}`"), &format!("1 to {MAX_TIMEOUT_S} seconds")));
        }
        let start_after_ms = raw.start_after_ms.unwrap_or(0);
        if start_after_ms > 0 && kind != "task" {
            return Err(error(format!("start_after_ms of `{name}`"), "only tasks start together; remove it"));
        }
        if start_after_ms / 1000 >= timeout_s {
            return Err(error(format!("`{name}` starts after {start_after_ms} ms, and may take {timeout_s} s"), "raise timeout_s"));
        }
        Ok(Load { name, command, each_disk: raw.each_disk, io_priority, start_after_ms, timeout_s })
    }

    fn metrics(&self) -> Result<Vec<Metric>, SourceError> {
        if self.raw.metric.is_empty() {
            return Err(self
                .source
                .whole("a workload without metrics measures nothing", "add a [[metric]] with name, load, parser, field, unit and better"));
        }
        let metrics: Vec<Metric> = self.raw.metric.iter().map(|metric| self.metric(metric)).collect::<Result<_, _>>()?;
        if !metrics.iter().any(|m| m.role == Role::Primary) {
            return Err(self.source.whole("no metric has the role `primary`", "give one `role = \"primary\"`: it decides the verdict"));
        }
        Ok(metrics)
    }

    fn metric(&self, spanned: &Spanned<RawMetric>) -> Result<Metric, SourceError> {
        let raw = spanned.get_ref();
        let error = |message: String, help: String| self.source.at(spanned.span(), message, help);
        let loads = || self.raw.task.iter().chain(&self.raw.background).filter_map(|load| load.get_ref().name.as_deref());
        let tasks = || self.raw.task.iter().filter_map(|load| load.get_ref().name.as_deref());
        let others = || self.raw.metric.iter().map(|metric| metric.get_ref()).filter(|m| m.ratio.is_none()).map(|m| m.name.as_str());
        let source = match (&raw.load, &raw.parser, &raw.field, &raw.elapsed, &raw.ratio) {
            (Some(load), Some(parser), Some(field), None, None) => {
                if !loads().any(|name| name == load) {
                    return Err(error(
                        format!("metric `{}`: no task or background load is called `{load}`", raw.name),
                        suggest(load, loads()),
                    ));
                }
                MetricSource::Parsed { load: load.clone(), parser: parser.clone(), field: field.clone() }
            }
            (None, None, None, Some(load), None) => {
                if !tasks().any(|name| name == load) {
                    return Err(error(format!("metric `{}`: no task is called `{load}`", raw.name), suggest(load, tasks())));
                }
                MetricSource::Elapsed { load: load.clone() }
            }
            (None, None, None, None, Some([over, under])) => {
                for name in [over, under] {
                    if !others().any(|other| other == name) {
                        return Err(error(
                            format!("metric `{}`: no measured metric is called `{name}`", raw.name),
                            suggest(name, others()),
                        ));
                    }
                }
                MetricSource::Ratio { over: over.clone(), under: under.clone() }
            }
            (..) => {
                return Err(error(
                    format!("metric `{}` has no clear source", raw.name),
                    "give `load`, `parser` and `field`; or `elapsed = \"TASK\"`; or `ratio = [\"METRIC\", \"METRIC\"]`".into(),
                ));
            }
        };
        let smallest_effect_pct = raw.smallest_effect_pct.unwrap_or(DEFAULT_SMALLEST_EFFECT_PCT);
        if !(smallest_effect_pct > 0.0 && smallest_effect_pct <= 100.0) {
            return Err(error(
                format!("smallest_effect_pct = {smallest_effect_pct} of metric `{}`", raw.name),
                "more than 0, at most 100".into(),
            ));
        }
        if !is_load_name(&raw.name) {
            return Err(error(
                format!("`{}` is not a metric name", raw.name),
                "use lower-case letters, digits, - and _, at most 48".into(),
            ));
        }
        Ok(Metric {
            name: raw.name.clone(),
            combine: self.combine(spanned, &source)?,
            source,
            unit: raw.unit.clone(),
            better: raw.better,
            smallest_effect_pct,
            role: raw.role.unwrap_or(Role::Primary),
        })
    }

    /// A load on each disk gives as many values as there are disks: only its author knows what they are together.
    fn combine(&self, spanned: &Spanned<RawMetric>, source: &MetricSource) -> Result<Option<Combine>, SourceError> {
        let raw = spanned.get_ref();
        let load = match source {
            MetricSource::Parsed { load, .. } | MetricSource::Elapsed { load } => Some(load),
            MetricSource::Ratio { .. } => None,
        };
        let all = || self.raw.task.iter().chain(&self.raw.background).map(Spanned::get_ref);
        let each_disk = all().any(|candidate| candidate.each_disk && candidate.name.as_ref() == load);
        match (each_disk, raw.combine) {
            (true, None) => Err(self.source.at(
                spanned.span(),
                format!("metric `{}` has a value for each disk", raw.name),
                "add `combine = \"sum\"`, `\"mean\"`, `\"min\"` or `\"max\"`",
            )),
            (false, Some(_)) => Err(self.source.at(
                spanned.span(),
                format!("metric `{}` has one value, there is nothing to combine", raw.name),
                "remove `combine`, or say `each_disk = true` at its load",
            )),
            (true, combine @ Some(_)) | (false, combine @ None) => Ok(combine),
        }
    }

    fn finish_orders(&self) -> Result<Vec<FinishOrder>, SourceError> {
        let names: Vec<&str> = self.raw.task.iter().filter_map(|task| task.get_ref().name.as_deref()).collect();
        let mut seen = BTreeSet::new();
        let mut orders = Vec::new();
        for spanned in &self.raw.finish_order {
            let RawOrder { name, first, then } = spanned.get_ref();
            let refused = |message: String, help: String| self.source.at(spanned.span(), message, help);
            if let Some(unknown) = [first, then].into_iter().find(|task| !names.contains(&task.as_str())) {
                let help = suggest(unknown, names.iter().copied());
                return Err(refused(format!("finish_order `{name}`: no task is called `{unknown}`"), help));
            }
            let each_disk = |task: &&Spanned<RawLoad>| {
                task.get_ref().each_disk && task.get_ref().name.as_ref().is_some_and(|n| n == first || n == then)
            };
            if self.raw.task.iter().any(|task| each_disk(&task)) {
                return Err(refused(format!("finish_order `{name}` names a task that runs on each disk"), "order single tasks".to_owned()));
            }
            if first == then {
                return Err(refused(format!("finish_order `{name}` compares `{first}` with itself"), "name two tasks".to_owned()));
            }
            if !is_load_name(name) || !seen.insert(name) {
                let help = "use lower-case letters, digits, - and _, and no name twice".to_owned();
                return Err(refused(format!("`{name}` cannot be the name of this finish_order"), help));
            }
            orders.push(FinishOrder { name: name.clone(), first: first.clone(), then: then.clone() });
        }
        Ok(orders)
    }

    fn check_names(&self, workload: &Workload) -> Result<(), SourceError> {
        if workload.tasks.is_empty() {
            return Err(self.source.whole("a workload without a [[task]] does nothing", "add one"));
        }
        let mut seen = BTreeSet::new();
        let spans = self.raw.prepare.iter().chain(&self.raw.background).chain(&self.raw.task).map(Spanned::span);
        for (load, span) in workload.loads().zip(spans) {
            if !seen.insert(load.name.as_str()) {
                return Err(self.source.at(
                    span,
                    format!("two loads are called `{}`", load.name),
                    "rename one: raw outputs are kept by this name",
                ));
            }
        }
        let mut seen = BTreeSet::new();
        for (metric, spanned) in workload.metrics.iter().zip(&self.raw.metric) {
            if !seen.insert(metric.name.as_str()) {
                return Err(self.source.at(spanned.span(), format!("two metrics are called `{}`", metric.name), "rename one"));
            }
        }
        Ok(())
    }

    /// Resolves everything once with the defaults, so that a wrong placeholder is found here and not on a host.
    fn check_commands(&self, workload: &Workload) -> Result<(), SourceError> {
        let values = workload.default_values();
        let disks = workload.disks(&values).map_err(|error| match &self.raw.needs.disks {
            Some(disks) => self.source.at(disks.span(), format!("needs.disks: {error}"), help_for(&error, workload)),
            None => self.source.whole(error.to_string(), ""),
        })?;
        let raw_loads = self.raw.prepare.iter().chain(&self.raw.background).chain(&self.raw.task);
        for (load, raw) in workload.loads().zip(raw_loads) {
            let resolved = load.command.resolve(&values);
            let command =
                resolved.map_err(|error| self.source.at(raw.span(), format!("`{}`: {error}", load.name), help_for(&error, workload)))?;
            if let Some(disk) = load.command.texts().filter_map(placeholder::highest_disk).max().filter(|disk| *disk > disks) {
                return Err(self.source.at(raw.span(), format!("`{}` names disk {disk} of {disks}", load.name), "raise needs.disks"));
            }
            let endless = matches!(command, Command::Builtin(Builtin::TreeCopy { forever: true, .. }));
            if endless && !workload.background.contains(load) {
                return Err(self.source.at(
                    raw.span(),
                    format!("`{}` never ends", load.name),
                    "a load with `forever = \"yes\"` belongs under [[background]]",
                ));
            }
        }
        let needs = &self.raw.needs;
        let sizes = needs.space.iter().map(|text| ("space", text)).chain(needs.working_set.iter().map(|text| ("working_set", text)));
        for (key, text) in sizes {
            let filled = placeholder::fill(text.get_ref(), &values).map_err(BadCommand::from);
            let checked = filled.and_then(|text| super::size::parse(&text).map_err(BadCommand::from));
            checked.map_err(|error| self.source.at(text.span(), format!("needs.{key}: {error}"), help_for(&error, workload)))?;
        }
        Ok(())
    }
}

fn is_load_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 48 && name.chars().all(plain)
}

fn help_for(error: &BadCommand, workload: &Workload) -> String {
    match error {
        BadCommand::Placeholder(placeholder::BadPlaceholder::Unknown(name)) => {
            let known = workload.parameters.keys().map(String::as_str);
            suggest(name, known.chain(placeholder::OF_THE_AGENT).chain(placeholder::OF_THE_PLAN))
        }
        BadCommand::UnknownBuiltin(name) => suggest(name, BUILTINS.iter().map(|(name, _)| *name)),
        BadCommand::Placeholder(placeholder::BadPlaceholder::Unbalanced(_))
        | BadCommand::BadDisks(_)
        | BadCommand::NoSuchDisk { .. }
        | BadCommand::Size(_)
        | BadCommand::UnknownArgument { .. }
        | BadCommand::MissingArgument { .. }
        | BadCommand::BadArgument { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
name = "two-readers"
version = 1
title = "Two readers"

[needs]
tools = ["dd"]
space = ["{size}", "{size}"]

[parameters]
size = { default = "8 MiB", help = "size of each file" }

[[prepare]]
builtin = "write-file"
with = { path = "{dir}/a", size = "{size}" }

[[task]]
name = "rt"
argv = ["dd", "if={dir}/a", "of=/dev/null", "bs=1M"]
ioprio = "realtime:0"

[[metric]]
name = "rt_rate"
load = "rt"
parser = "dd"
field = "bytes_per_second"
unit = "B/s"
better = "higher"
"#;

    #[test]
    fn a_good_file_is_read() {
        let workload = parse("w.toml", GOOD).unwrap();
        assert_eq!(workload.tasks[0].io_priority, Some(IoPriority::Realtime(0)));
        assert_eq!(workload.prepare[0].name, "prepare-1");
        assert_eq!(workload.metrics[0].smallest_effect_pct, DEFAULT_SMALLEST_EFFECT_PCT);
    }

    /// Each fault of its own kind, with the line and the remedy that its author reads.
    #[test]
    fn faults_name_line_and_remedy() {
        let cases = [
            ("name = \"two-readers\"", "name = \"two readers\""),
            ("better = \"higher\"", "beter = \"higher\""),
            ("better = \"higher\"", "better = \"up\""),
            ("load = \"rt\"", "load = \"tr\""),
            ("if={dir}/a", "if={dri}/a"),
            ("if={dir}/a", "if={dir/a"),
            ("write-file", "write-flie"),
            ("realtime:0", "realtime:9"),
            ("size = { default = \"8 MiB\"", "size = { default = \"8 MB\""),
            ("name = \"rt\"\n", ""),
            ("argv = [\"dd\"", "shell = \"true\"\nargv = [\"dd\""),
            ("field = \"bytes_per_second\"\n", ""),
            ("version = 1\n", ""),
            ("version = 1\n", "version = 1\nfinish_order = [{ name = \"x\", first = \"rt\", then = \"bee\" }]\n"),
            ("version = 1\n", "version = 1\nfinish_order = [{ name = \"x\", first = \"rt\", then = \"rt\" }]\n"),
            ("name = \"rt\"", "name = \"rt\"\nstart_after_ms = 600000"),
            ("[needs]", "[needs]\nworking_set = [\"{much}\"]"),
            ("[needs]", "[needs]\ndisks = 17"),
            ("if={dir}/a", "if={dir2}/a"),
            ("name = \"rt\"", "name = \"rt\"\neach_disk = true"),
            ("field = \"bytes_per_second\"", "field = \"bytes_per_second\"\ncombine = \"sum\""),
        ];
        let mut texts = Vec::new();
        for (from, to) in cases {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "{from}");
            texts.push(parse("w.toml", &text).unwrap_err().to_string());
        }
        let (without_metric, _) = GOOD.split_once("[[metric]]").unwrap();
        texts.push(parse("w.toml", without_metric).unwrap_err().to_string());
        insta::assert_snapshot!(texts.join("\n"));
    }
}
