//! Several jobs as one: what fio's `group_reporting` would have printed.
//! Owns the fields of a scope; knows no versions.

use super::{
    job::{Direction, Job, Transfer},
    latency::{KINDS, Latency},
};
use crate::Parsed;

/// Sets all fields of `jobs` under `scope` (`""` or `job.NAME.`). Amounts add up, time is that of the
/// slowest job, rates are their quotient (`stat.c`, `sum_thread_stats`).
pub(super) fn report(scope: &str, jobs: &[&Job], line: usize, parsed: &mut Parsed) {
    for direction in Direction::ALL {
        let transfers: Vec<_> = jobs.iter().filter_map(|job| job.transfer(direction)).collect();
        if !transfers.is_empty() {
            let prefix = format!("{scope}{}", direction.name());
            report_transfers(&prefix, &transfers, line, parsed);
        }
    }
    let syncs: Vec<_> = jobs.iter().filter_map(|job| job.sync.as_ref()).collect();
    report_latency(&format!("{scope}sync.lat"), &syncs, line, parsed);
    if !syncs.is_empty() {
        let operations = syncs.iter().map(|sync| sync.count).sum();
        parsed.set(format!("{scope}sync.operations"), operations);
    }
    report_cpu(scope, jobs, parsed);
    let transfers = jobs.iter().flat_map(|job| job.transfers());
    let runtime_s = transfers.map(|(_, transfer)| transfer.runtime_s).fold(0.0, f64::max);
    set_runtime(scope, runtime_s, parsed);
    let error = jobs.iter().map(|job| job.error).find(|error| *error != 0.0);
    parsed.set(format!("{scope}error"), error.unwrap_or(0.0));
}

fn report_transfers(prefix: &str, transfers: &[&Transfer], line: usize, parsed: &mut Parsed) {
    let bytes: f64 = transfers.iter().map(|transfer| transfer.bytes).sum();
    let operations: f64 = transfers.iter().map(|transfer| transfer.operations).sum();
    let runtime_s = transfers.iter().map(|transfer| transfer.runtime_s).fold(0.0, f64::max);
    parsed.set(format!("{prefix}.bytes"), bytes);
    set_runtime(&format!("{prefix}."), runtime_s, parsed);
    if transfers.iter().all(|transfer| transfer.is_counted) {
        parsed.set(format!("{prefix}.operations"), operations);
    }
    if runtime_s > 0.0 || bytes + operations == 0.0 {
        // A direction without I/O has a rate too: a starved writer shows as 0.
        let per_second = |amount: f64| if amount > 0.0 { amount / runtime_s } else { 0.0 };
        parsed.set(format!("{prefix}.iops"), per_second(operations));
        parsed.set(format!("{prefix}.bytes_per_second"), per_second(bytes));
    } else {
        let message = format!("{prefix} has no run time (under a millisecond, or the job died): no rates");
        parsed.warn(line, message);
    }
    for (index, kind) in KINDS.into_iter().enumerate() {
        let parts = transfers.iter().filter_map(|transfer| transfer.latencies[index].as_ref());
        report_latency(&format!("{prefix}.{kind}"), &parts.collect::<Vec<_>>(), line, parsed);
    }
}

/// A direction that did not run took no time; as a value, 0 would be the best of all times.
fn set_runtime(prefix: &str, runtime_s: f64, parsed: &mut Parsed) {
    if runtime_s > 0.0 {
        parsed.set(format!("{prefix}runtime_s"), runtime_s);
    }
}

fn report_latency(prefix: &str, parts: &[&Latency], line: usize, parsed: &mut Parsed) {
    let Some(latency) = Latency::fold(parts) else {
        return;
    };
    latency.report(prefix, parsed);
    if !latency.has_percentiles() && parts.iter().any(|part| part.has_percentiles()) {
        let message = format!(
            "{prefix}_p...: percentiles of {} jobs cannot become one: use group_reporting, \
             --output-format=json+ or job.NAME fields",
            parts.len()
        );
        parsed.warn(line, message);
    }
}

/// Shares of time weigh by the time that they are shares of.
fn report_cpu(scope: &str, jobs: &[&Job], parsed: &mut Parsed) {
    let cpus: Vec<_> = jobs.iter().filter_map(|job| job.cpu.as_ref()).collect();
    let weight: f64 = cpus.iter().map(|cpu| cpu.weight).sum();
    if weight > 0.0 {
        let user: f64 = cpus.iter().map(|cpu| cpu.user_pct * cpu.weight).sum();
        let system: f64 = cpus.iter().map(|cpu| cpu.system_pct * cpu.weight).sum();
        parsed.set(format!("{scope}cpu.user_pct"), user / weight);
        parsed.set(format!("{scope}cpu.system_pct"), system / weight);
        let switches = cpus.iter().map(|cpu| cpu.context_switches).sum();
        parsed.set(format!("{scope}cpu.context_switches"), switches);
    }
}
