//! Workloads in words.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use blklab_model::id::WorkloadName;
use blklab_model::workload::command::Template;
use blklab_model::workload::metric::{Better, Metric, MetricSource, Role};
use blklab_model::workload::{Load, Target, Workload};

use crate::cli::print;

pub(super) fn list(workloads: &BTreeMap<WorkloadName, Workload>) {
    let row = |workload: &Workload| {
        let primary: Vec<&str> =
            workload.metrics.iter().filter(|metric| metric.role == Role::Primary).map(|metric| metric.name.as_str()).collect();
        vec![workload.name.to_string(), target(workload.needs.target).to_owned(), primary.join(", "), workload.title.clone()]
    };
    print::table(&["NAME", "DISK", "JUDGED BY", "TITLE"], &workloads.values().map(row).collect::<Vec<_>>());
}

fn target(target: Target) -> &'static str {
    match target {
        Target::Mounted => "file system",
        Target::Raw => "raw",
    }
}

/// Everything that its file says, for people.
pub(super) fn page(workload: &Workload) -> String {
    let mut page = format!("{} {}: {}\n", workload.name, workload.version, workload.title);
    if !workload.description.trim().is_empty() {
        let _ = write!(page, "\n{}\n", workload.description.trim());
    }
    let needs = &workload.needs;
    let _ = write!(page, "\nneeds      {}", target(needs.target));
    for (what, list) in [("space", &needs.space), ("programs", &needs.tools)] {
        if !list.is_empty() {
            let _ = write!(page, "; {what} {}", list.join(", "));
        }
    }
    if needs.disks != "1" {
        let _ = write!(page, "; disks {}", needs.disks);
    }
    page.push('\n');
    for (name, parameter) in &workload.parameters {
        let _ = writeln!(page, "parameter  {name} = {}: {}", parameter.default, parameter.help);
    }
    for (kind, loads) in [("prepare", &workload.prepare), ("background", &workload.background), ("task", &workload.tasks)] {
        for load in loads {
            let _ = writeln!(page, "{kind:<10} {}", describe(load));
        }
    }
    for metric in &workload.metrics {
        let _ = writeln!(page, "metric     {}", measured(metric));
    }
    for order in &workload.finish_orders {
        let _ = writeln!(page, "order      {}: {} before {}", order.name, order.first, order.then);
    }
    page
}

fn describe(load: &Load) -> String {
    let command = match &load.command {
        Template::Argv(argv) => argv.join(" "),
        Template::Shell(line) => format!("sh -c '{line}'"),
        Template::Builtin { name, with } => {
            let with: Vec<String> = with.iter().map(|(name, value)| format!("{name} {value}")).collect();
            format!("{name} ({})", with.join(", "))
        }
    };
    let mut words = vec![format!("{}: {command}", load.name)];
    words.extend(load.io_priority.map(|priority| format!("at {priority}")));
    words.extend(load.each_disk.then(|| "on each disk".to_owned()));
    words.join(", ")
}

fn measured(metric: &Metric) -> String {
    let from = match &metric.source {
        MetricSource::Parsed { load, parser, field } => format!("{field} of {load} ({parser})"),
        MetricSource::Elapsed { load } => format!("time of {load}"),
        MetricSource::Ratio { over, under } => format!("{over} over {under}"),
    };
    let better = match metric.better {
        Better::Lower => "lower",
        Better::Higher => "higher",
    };
    let role = match metric.role {
        Role::Primary => "judged",
        Role::Background => "judged, of the background",
        Role::Explaining => "explains",
    };
    format!("{} [{}]: {from}; {better} is better, {} % matter; {role}", metric.name, metric.unit, metric.smallest_effect_pct)
}
