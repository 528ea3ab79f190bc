//! Takes the report of a trial in: raw outputs into the artifact store, values into rows. Idempotent by trial and attempt.

use std::collections::BTreeMap;

use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use blklab_model::outcome::{Failure, Fault, Outcome};
use blklab_model::record::{Boot, CpuUse, Measurement, OutputRef, TrialDetails};
use blklab_model::workload::Workload;
use blklab_parse::monitor;
use blklab_wire::agent::{Output, TrialReport, Window};

use super::metric::{self, Raw};
use crate::artifact::Artifacts;

/// What a report comes to.
#[derive(Debug)]
pub struct Ingested {
    /// How the trial ended; a promised metric that is missing turns a success into the workload's fault.
    pub outcome: Outcome,
    /// What is kept beside the values.
    pub details: TrialDetails,
    /// The values.
    pub measurements: Vec<Measurement>,
}

/// A report that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("output `{name}` is not base64: {error}")]
pub struct BadOutput {
    name: String,
    error: base64::DecodeError,
}

/// The raw outputs of a report by name.
pub fn decode(outputs: &[Output]) -> Result<BTreeMap<String, Vec<u8>>, BadOutput> {
    let decode = |output: &Output| match BASE64_STANDARD.decode(&output.base64) {
        Ok(bytes) => Ok((output.name.clone(), bytes)),
        Err(error) => Err(BadOutput { name: output.name.clone(), error }),
    };
    outputs.iter().map(decode).collect()
}

/// Keeps the raw outputs and computes the values of a trial on `disks` disks.
pub fn ingest(
    artifacts: &Artifacts,
    workload: &Workload,
    disks: u32,
    report: TrialReport,
    outputs: BTreeMap<String, Vec<u8>>,
) -> anyhow::Result<Ingested> {
    let mut kept = Vec::new();
    for output in &report.outputs {
        let bytes = &outputs[&output.name];
        let sha256 = artifacts.put(bytes).with_context(|| format!("failed to keep `{}`", output.name))?;
        kept.push(OutputRef { name: output.name.clone(), sha256, bytes: bytes.len() as u64, truncated_bytes: output.truncated_bytes });
    }
    let raw = Raw { disks, outputs, elapsed_s: report.elapsed.iter().map(|task| (task.task.clone(), task.seconds)).collect() };
    let mut details = TrialDetails {
        phases: report.phases.into_iter().map(|phase| (phase.phase, phase.ms)).collect(),
        window_ms: report.window.map(|window| (window.start_ms, window.end_ms)),
        elapsed_s: raw.elapsed_s.clone(),
        environment: report.environment,
        outputs: kept,
        cpu: cpu_use(&raw, report.window),
        warnings: Vec::new(),
        boot: report.boot.map(|boot| Boot { id: boot.boot_id, ms: boot.boot_ms }),
    };
    let (outcome, measurements) = match report.outcome {
        Outcome::Failed(failure) => (Outcome::Failed(failure), Vec::new()),
        Outcome::Completed => match metric::evaluate(workload, &raw) {
            Ok(values) => {
                details.warnings = values.warnings;
                let measurement = |(metric, value)| Measurement { trial: report.trial, metric, value };
                (Outcome::Completed, values.values.into_iter().map(measurement).collect())
            }
            Err(missing) => {
                let failure = Failure { fault: Fault::Workload, step: "metrics".to_owned(), message: missing.to_string() };
                (Outcome::Failed(failure), Vec::new())
            }
        },
    };
    Ok(Ingested { outcome, details, measurements })
}

fn cpu_use(raw: &Raw, window: Option<Window>) -> Option<CpuUse> {
    let window = window?;
    let (records, _) = monitor::parse_monitor(raw.outputs.get("monitor.txt")?);
    let shares = monitor::summarise(&records, window.start_ms..=window.end_ms)?.cpu?;
    Some(CpuUse { user_pct: shares.user_pct, system_pct: shares.system_pct, iowait_pct: shares.iowait_pct })
}
