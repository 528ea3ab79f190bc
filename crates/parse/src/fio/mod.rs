//! `fio` with `--output-format=json` or `json+`, versions 2.1 to 3.42.
//! Owns the choice of the report and the field names; `job` reads one job, `fold` several, `latency`
//! one kind of latency. Knows no job files and no disks.

mod fold;
mod job;
mod latency;

use serde_json::Value;

use self::job::{Direction, Job};
use crate::{
    Better, Field, Parsed, Unit,
    json::{self, Object},
    text,
    tool::Parser,
};

pub(crate) const PARSER: Parser = Parser {
    name: "fio",
    expected: "a JSON object with \"jobs\": run fio with --output-format=json or json+",
    fields: FIELDS,
    scopes: &["", "job.{*}."],
    read,
};

const FIELDS: &[Field] = &[
    Field { name: "{read|write|trim|mixed}.bytes", unit: Unit::Bytes, better: Better::Neither, help: "bytes moved" },
    Field {
        name: "{read|write|trim|mixed}.operations",
        unit: Unit::Operations,
        better: Better::Neither,
        help: "I/Os completed (fio 2.1.14 and newer)",
    },
    Field {
        name: "{read|write|trim|mixed}.iops",
        unit: Unit::OperationsPerSecond,
        better: Better::Higher,
        help: "I/Os divided by the run time of the slowest job",
    },
    Field {
        name: "{read|write|trim|mixed}.bytes_per_second",
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
        help: "bytes divided by the run time of the slowest job",
    },
    Field {
        name: "{read|write|trim|mixed}.runtime_s",
        unit: Unit::Seconds,
        better: Better::Lower,
        help: "run time of the slowest job in this direction",
    },
    Field {
        name: "{read|write|trim|mixed}.{slat|clat|lat}_{mean|stddev|min|max}_s",
        unit: Unit::Seconds,
        better: Better::Lower,
        help: "submission, completion and total latency",
    },
    Field {
        name: "{read|write|trim|mixed}.{slat|clat|lat}_p{#}_s",
        unit: Unit::Seconds,
        better: Better::Lower,
        help: "percentile of a latency; fio prints those of clat unless told otherwise",
    },
    Field { name: "sync.operations", unit: Unit::Operations, better: Better::Neither, help: "fsync and its kin (fio 3.4 and newer)" },
    Field { name: "sync.lat_{mean|stddev|min|max}_s", unit: Unit::Seconds, better: Better::Lower, help: "latency of fsync and its kin" },
    Field { name: "sync.lat_p{#}_s", unit: Unit::Seconds, better: Better::Lower, help: "percentile of the latency of fsync and its kin" },
    Field {
        name: "cpu.{user|system}_pct",
        unit: Unit::Percent,
        better: Better::Lower,
        help: "CPU time of the jobs as a share of their run time",
    },
    Field { name: "cpu.context_switches", unit: Unit::Count, better: Better::Lower, help: "context switches of the jobs" },
    Field { name: "runtime_s", unit: Unit::Seconds, better: Better::Lower, help: "longest run time of any direction" },
    Field { name: "error", unit: Unit::Count, better: Better::Lower, help: "first error number (errno) of a job, 0 for none" },
];

fn read(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let scan = json::scan(output, |value| value.get("jobs").is_some_and(Value::is_array));
    for (line, prose) in scan.prose.iter().filter(|(_, prose)| is_complaint(prose)) {
        parsed.warn(*line, format!("fio says: {}", text::clip(prose)));
    }
    if let Some(torn) = &scan.torn {
        parsed.warn(torn.end_line, "the report breaks off here");
    }
    // Reports of --status-interval count from the start of the jobs (HOWTO, "--status-interval"),
    // so the last whole one says most; an incomplete one only speaks when it is alone.
    let (report, is_torn) = match (scan.last, scan.torn) {
        (Some(whole), torn) => {
            if torn.is_some() {
                parsed.warn(whole.line, "the values are those of this earlier report");
            }
            (whole, false)
        }
        (None, Some(torn)) => (torn, true),
        (None, None) => return parsed,
    };
    let jobs = jobs_of(&report, is_torn, output);
    for job in &jobs {
        warn_about(job, &mut parsed);
    }
    warn_about_all(&jobs, report.line, &mut parsed);
    fold::report("", &jobs.iter().collect::<Vec<_>>(), report.line, &mut parsed);
    for job in first_of_each_name(&jobs) {
        let namesakes: Vec<&Job> = jobs.iter().filter(|other| other.name == job.name).collect();
        fold::report(&format!("job.{}.", job.name), &namesakes, job.line, &mut parsed);
    }
    parsed
}

/// fio's own messages; the other lines beside the JSON are its report for people.
fn is_complaint(prose: &str) -> bool {
    prose.starts_with("fio: ") || prose.contains("error=")
}

fn jobs_of(report: &Object, is_torn: bool, output: &str) -> Vec<Job> {
    let lines = job_lines(report, output);
    let values = report.value["jobs"].as_array().into_iter().flatten();
    let line_of = |index: usize| lines.get(index).copied().unwrap_or(report.line);
    values.enumerate().map(|(index, value)| Job::read(value, line_of(index), is_torn)).collect()
}

/// fio writes one member a line, so that the lines with a name are the lines of the jobs.
fn job_lines(report: &Object, output: &str) -> Vec<usize> {
    text::lines(output)
        .skip(report.line - 1)
        .take(report.end_line + 1 - report.line)
        .filter(|(_, content)| content.trim_start().starts_with("\"jobname\""))
        .map(|(line, _)| line)
        .collect()
}

fn first_of_each_name(jobs: &[Job]) -> impl Iterator<Item = &Job> {
    let is_first = |&(index, job): &(usize, &Job)| !jobs[..index].iter().any(|other| other.name == job.name);
    jobs.iter().enumerate().filter(is_first).map(|(_, job)| job)
}

fn warn_about(job: &Job, parsed: &mut Parsed) {
    if job.error != 0.0 {
        let message = format!("job `{}` ended with error {} (errno(3))", text::clip(&job.name), job.error);
        parsed.warn(job.line, message);
    }
    if let Some(eta_s) = job.unfinished_s {
        let message = format!("job `{}` had {eta_s} s to go: fio did not finish", text::clip(&job.name));
        parsed.warn(job.line, message);
    }
}

fn warn_about_all(jobs: &[Job], line: usize, parsed: &mut Parsed) {
    if jobs.is_empty() {
        parsed.warn(line, "the report has no job");
    }
    if jobs.iter().any(|job| job.transfers().any(|(_, transfer)| !transfer.is_counted)) {
        parsed.warn(line, "this fio prints no number of I/Os: iops are cut to whole numbers");
    }
    let in_stages = |direction: Direction| {
        let mut groups = jobs.iter().filter(|job| job.moved(direction)).map(|job| job.group);
        groups.next().is_some_and(|first| groups.any(|group| group != first))
    };
    if Direction::ALL.into_iter().any(in_stages) {
        let message = "the jobs form several groups (stonewall, new_group) and may have run one after the \
                       other: use job.NAME fields for rates";
        parsed.warn(line, message);
    }
}

#[cfg(test)]
mod tests;
