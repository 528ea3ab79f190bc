//! `blklab-agent trial`: one trial on this host, without a coordinator. `blklab workload try` calls it.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use anyhow::{Context, bail};
use blklab_wire::agent::{MAX_REPORT_BYTES, TrialReport, TrialSpec};

use super::run::stop_on_signals;
use crate::config::Config;
use crate::cycle::plan::plan;
use crate::cycle::run;
use crate::host::LabHost;
use crate::launch::Launcher;
use crate::stop::Stop;

/// Reads a [`TrialSpec`] from standard input, runs it, gives everything back, and prints its [`TrialReport`]. Disks are named by
/// standard error when they are ready, phases as they begin.
pub(super) fn trial(config: Config) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    let read = std::io::stdin().take(MAX_REPORT_BYTES as u64).read_to_string(&mut text);
    read.context("failed to read the trial from standard input")?;
    let spec: TrialSpec = serde_json::from_str(&text).context("failed to read the trial from standard input")?;
    let steps = match plan(&spec) {
        Ok(steps) => steps,
        Err(failure) => bail!("{}", failure.message),
    };
    let stop = Stop::default();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().context("failed to start the runtime")?;
    let signals = runtime.block_on(async { stop_on_signals(stop.clone()) })?;
    runtime.spawn(signals);
    let name = config.name.clone();
    let launcher = Launcher { program: std::env::current_exe().context("failed to find the agent's own program")? };
    let mut host = LabHost::start(config, launcher, &stop)?;
    let started = crate::cycle::machine::Machine::now(&host);
    let cycle = run::run(&steps, &mut host, &stop, &|phase| eprintln!("{}", phase.word()));
    let closed = crate::cycle::machine::Machine::close(&mut host);
    let Some(outcome) = cycle.outcome else { bail!("stopped; everything was given back") };
    let report = TrialReport {
        host: name,
        job: blklab_model::id::JobId { experiment: spec.trial.cell.experiment, job: 0 },
        trial: spec.trial,
        attempt: spec.attempt,
        outcome,
        started,
        phases: cycle.phases,
        window: cycle.record.window,
        elapsed: cycle.record.elapsed,
        outputs: cycle.record.outputs,
        environment: cycle.record.environment,
        boot: None,
    };
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, &report).context("failed to print the report")?;
    out.flush().context("failed to print the report")?;
    match closed {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(left) => bail!("something was left behind: {left}"),
    }
}
