//! Does what a workload reads again and again fit into the memory that could cache it? Then the disk under test is asked once, and the
//! trial measures the page cache: the first try of the first classic did.

use std::collections::{BTreeMap, BTreeSet};

use super::Cell;
use crate::experiment::Experiment;
use crate::host::Host;
use crate::id::{HostName, WorkloadName};
use crate::workload::Workload;

/// One sentence for each workload and host where the working set is no larger than memory, with the remedy.
pub fn warnings(experiment: &Experiment, workloads: &BTreeMap<WorkloadName, Workload>, cells: &[Cell], hosts: &[Host]) -> Vec<String> {
    let mut fits: BTreeMap<(&WorkloadName, &HostName), (u64, u64)> = BTreeMap::new();
    for cell in cells {
        let Some(host) = hosts.iter().find(|host| host.name == cell.host) else { continue };
        let memory = experiment.memory_cap_bytes.unwrap_or(u64::MAX).min(host.facts.memory_bytes);
        let largest = cell.arms.iter().filter_map(|arm| workloads.get(&cell.workload)?.working_set(&arm.setting.parameters).ok()).max();
        let Some(largest) = largest.filter(|bytes| (1..=memory).contains(bytes)) else { continue };
        let entry = fits.entry((&cell.workload, &cell.host)).or_insert((largest, memory));
        entry.0 = entry.0.min(largest);
    }
    let sentences = fits.into_iter().map(|((workload, host), (bytes, memory))| {
        let parameters = workloads.get(workload).map(|workload| listed(&workload.working_set_parameters())).unwrap_or_default();
        format!(
            "{workload} on {host}: its working set of {} fits into {} of memory, so the page cache may answer for the disk; \
             set memory_cap below it{parameters}",
            mib(bytes),
            mib(memory)
        )
    });
    sentences.collect()
}

fn listed(parameters: &BTreeSet<String>) -> String {
    match parameters.len() {
        0 => String::new(),
        _ => format!(", or raise {}", parameters.iter().cloned().collect::<Vec<_>>().join(", ")),
    }
}

fn mib(bytes: u64) -> String {
    if bytes >> 30 >= 10 { format!("{} GiB", bytes >> 30) } else { format!("{} MiB", bytes >> 20) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::expand;
    use crate::testing::{experiment, host, workloads};

    fn warned(cap: Option<u64>, set: &str) -> Vec<String> {
        let mut asked = experiment(&[]);
        asked.memory_cap_bytes = cap;
        let mut workloads = workloads(&["reader"]);
        for workload in workloads.values_mut() {
            workload.needs.working_set = vec![set.to_owned()];
        }
        let mut hosts = [host("a", &["sata-hdd"])];
        hosts[0].facts.memory_bytes = 24 << 30;
        let cells = expand(&asked, &workloads, &hosts, 1).unwrap().cells;
        warnings(&asked, &workloads, &cells, &hosts)
    }

    #[test]
    fn a_working_set_that_fits_is_told_with_the_remedy() {
        assert_eq!(
            warned(None, "{size}"),
            ["reader on a: its working set of 8 MiB fits into 24 GiB of memory, so the page cache may answer for the disk; \
              set memory_cap below it, or raise size"]
        );
        assert_eq!(warned(Some(64 << 20), "64 MiB").len(), 1, "as large as the memory still fits");
        assert_eq!(warned(Some(16 << 20), "17 MiB"), Vec::<String>::new());
        assert_eq!(warned(None, "0"), Vec::<String>::new(), "read once: no working set");
    }
}
