//! `blklab disk fit`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use blklab_diskmodel::fit::{self, Fitted, KindHint, Observation};
use blklab_parse::{Tool, parse};
use clap::{Args, ValueEnum};

use super::{Ended, print};

/// The longest fio report taken, in bytes: a hundred times that of the jobs that are fitted.
const MAX_REPORT_BYTES: u64 = 16 << 20;

/// In warnings about values of all jobs together; here each is read by its name.
const IS_ABOUT_ALL_JOBS: [&str; 2] = ["several groups", "cannot become one"];

#[derive(Args)]
pub(super) struct FitArgs {
    /// Name of the new model
    #[arg(long, required_unless_present = "print_jobs")]
    name: Option<String>,
    /// What the disk is; told by the runs unless given
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// Print the fio job file that measures a disk, and do nothing else; `write` destroys what is on the disk
    #[arg(long, value_enum, conflicts_with = "files")]
    print_jobs: Option<Jobs>,
    /// Reports of fio (--output-format=json) of the job files that --print-jobs prints
    #[arg(value_name = "FIO.json", required_unless_present = "print_jobs")]
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// With an arm over platters
    Rotational,
    /// Flash, or an array
    Parallel,
}

#[derive(Clone, Copy, ValueEnum)]
enum Jobs {
    /// Jobs that only read
    Read,
    /// Jobs that write all over the disk
    Write,
}

pub(super) fn run(args: &FitArgs) -> anyhow::Result<Ended> {
    if let Some(jobs) = args.print_jobs {
        print::text(&fit::job_file(matches!(jobs, Jobs::Write)));
        return Ok(Ended::Well);
    }
    let mut observations = Vec::new();
    for file in &args.files {
        observations.extend(read(file)?);
    }
    let hint = match args.kind {
        None => KindHint::FromJobs,
        Some(Kind::Rotational) => KindHint::Rotational,
        Some(Kind::Parallel) => KindHint::Parallel,
    };
    let fitted = fit::fit(args.name.as_deref().unwrap_or_default(), &observations, hint)?;
    print::text(&text(&fitted));
    Ok(Ended::Well)
}

fn read(file: &Path) -> anyhow::Result<Vec<Observation>> {
    let name = file.display();
    let length = std::fs::metadata(file).with_context(|| format!("failed to read {name}"))?.len();
    if length > MAX_REPORT_BYTES {
        bail!("failed to read {name}: {length} bytes are no report of fio (at most {MAX_REPORT_BYTES})");
    }
    let report = std::fs::read(file).with_context(|| format!("failed to read {name}"))?;
    observations(&report).with_context(|| format!("failed to read {name}"))
}

/// The jobs of a report that a fit knows.
fn observations(report: &[u8]) -> anyhow::Result<Vec<Observation>> {
    let parsed = parse(Tool::Fio, report)?;
    for warning in &parsed.warnings {
        if !IS_ABOUT_ALL_JOBS.iter().any(|words| warning.message.contains(words)) {
            eprintln!("blklab: line {}: {}", warning.line, warning.message);
        }
    }
    let jobs = fit::jobs();
    let observation = |job: &fit::Job| {
        let direction = if job.writes() { "write" } else { "read" };
        let value = |field: &str| parsed.values.get(&format!("job.{}.{direction}.{field}", job.name)).copied();
        let deviation_ms = value("lat_stddev_s").or_else(|| value("clat_stddev_s")).map(|s| s * 1e3);
        Some(Observation { job: job.name.to_owned(), iops: value("iops")?, deviation_ms })
    };
    let observations: Vec<Observation> = jobs.iter().filter_map(observation).collect();
    if observations.is_empty() {
        bail!("no job in it has a name of the job files; print them with `blklab disk fit --print-jobs read`");
    }
    Ok(observations)
}

/// The model's file, with what a reader should know as comments.
fn text(fitted: &Fitted) -> String {
    let mut lines = vec!["# Fitted by `blklab disk fit`: requests a second, measured and in the model.".to_owned()];
    for residual in &fitted.residuals {
        lines.push(format!(
            "#   {:<24} {:>10.1} {:>10.1} {:>+7.1} %",
            residual.job,
            residual.measured_iops,
            residual.model_iops,
            residual.difference_pct()
        ));
    }
    lines.extend(fitted.notes.iter().map(|note| format!("# {note}")));
    format!("{}\n\n{}", lines.join("\n"), fitted.model.to_toml())
}

#[cfg(test)]
mod tests {
    use super::*;
    use blklab_diskmodel::{DiskModel, exercise};

    /// A report as fio writes it, of the simulation.
    fn report(model: &DiskModel) -> String {
        let jobs: Vec<serde_json::Value> = fit::jobs()
            .iter()
            .map(|job| {
                let measured = exercise::run(model, 500_000_000_000, &job.exercise, 9);
                let (mean_ns, iops) = (measured.mean_ms() * 1e6, measured.iops());
                let total = measured.latencies_ns.len();
                let latency = serde_json::json!({ "min": 1, "max": mean_ns * 2.0, "mean": mean_ns, "stddev": mean_ns / 4.0, "N": total });
                let transfer = serde_json::json!({
                    "io_bytes": total * 4096, "io_kbytes": total * 4, "bw_bytes": iops * 4096.0, "bw": iops * 4.0, "iops": iops,
                    "runtime": measured.elapsed_ns / 1_000_000, "total_ios": total, "short_ios": 0, "drop_ios": 0,
                    "slat_ns": latency, "clat_ns": latency, "lat_ns": latency, "bw_dev": 0.0
                });
                let idle = serde_json::json!({ "io_bytes": 0, "io_kbytes": 0, "iops": 0.0, "runtime": 0, "total_ios": 0 });
                let (read, write) = if job.writes() { (idle, transfer) } else { (transfer, idle) };
                serde_json::json!({ "jobname": job.name, "groupid": 0, "error": 0, "read": read, "write": write })
            })
            .collect();
        serde_json::to_string_pretty(&serde_json::json!({ "fio version": "fio-3.33", "jobs": jobs })).unwrap()
    }

    #[test]
    fn a_report_becomes_a_model_that_can_be_read_back() {
        let original = DiskModel::preset("fc-array").unwrap();
        let observations = observations(report(&original).as_bytes()).unwrap();
        assert_eq!(observations.len(), fit::jobs().len());
        let text = text(&fit::fit("mine", &observations, KindHint::FromJobs).unwrap());
        let model = DiskModel::parse("mine.toml", &text).unwrap();
        assert_eq!((model.name.as_str(), model.is_rotational()), ("mine", false));
        assert!(text.lines().any(|line| line.starts_with("#   random-read-1 ")), "{text}");
    }

    #[test]
    fn other_reports_are_refused_with_the_way_to_make_one() {
        let report = report(&DiskModel::preset("nvme-ssd").unwrap()).replace("random-", "my-").replace("sequential-", "my-");
        let report = report.replace("near-", "my-").replace("tenth-", "my-").replace("following-", "my-");
        assert!(observations(report.as_bytes()).unwrap_err().to_string().contains("--print-jobs read"));
        assert!(observations(b"fio-3.33").is_err());
    }
}
