//! Scales: one question asked of loop disks, of virtual hosts, or of real disks at full size. A scale is a table of the file that takes the
//! place of what the file says elsewhere, chosen at submission.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::{RawExperiment, RawFilesystem, RawScheduler, Scalar};
use crate::source::{Source, SourceError, suggest};

/// `[scale.NAME]`: the keys that may differ.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawScale {
    compare: Option<Spanned<String>>,
    baseline: Option<Spanned<Scalar>>,
    rounds: Option<Spanned<u32>>,
    runs_per_boot: Option<Spanned<Scalar>>,
    aa_cells: Option<u32>,
    clock: Option<Spanned<String>>,
    memory_cap: Option<Spanned<Scalar>>,
    #[serde(default)]
    matrix: RawAxes,
    #[serde(default)]
    parameters: BTreeMap<String, Scalar>,
    parameters_by_disk_class: Option<BTreeMap<Spanned<String>, BTreeMap<String, Scalar>>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAxes {
    kernel: Option<Vec<Spanned<String>>>,
    scheduler: Option<Vec<Spanned<RawScheduler>>>,
    tunables: Option<Vec<Spanned<BTreeMap<String, Scalar>>>>,
    filesystem: Option<Vec<Spanned<RawFilesystem>>>,
    disk_class: Option<Vec<Spanned<String>>>,
    workload: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    parameters: BTreeMap<String, Spanned<Vec<Scalar>>>,
}

/// The scales of a file.
pub(super) fn names(raw: &RawExperiment) -> Vec<String> {
    raw.scale.keys().cloned().collect()
}

/// Puts what the scale says in the place of what the file says. Axes and `parameters_by_disk_class` are replaced whole; `parameters` and
/// `matrix.parameters` name by name, and a name that the scale fixes is swept no more, nor the reverse. With other workloads nothing is
/// left of the parameters of the file.
pub(super) fn apply(raw: &mut RawExperiment, name: Option<&str>, source: &Source<'_>) -> Result<(), SourceError> {
    let Some(name) = name else { return Ok(()) };
    let known = names(raw);
    let Some(scale) = raw.scale.remove(name).map(Spanned::into_inner) else {
        let help = match known.as_slice() {
            [] => "the file has no table `[scale.NAME]`; submit it as it stands".to_owned(),
            known => suggest(name, known.iter().map(String::as_str)),
        };
        return Err(source.whole(format!("unknown scale `{name}`"), help));
    };
    let RawScale { compare, baseline, rounds, runs_per_boot, aa_cells, clock, memory_cap, matrix, parameters, parameters_by_disk_class } =
        scale;
    // A baseline belongs to its axis.
    if compare.is_some() {
        raw.baseline = None;
    }
    raw.compare = compare.or(raw.compare.take());
    raw.baseline = baseline.or(raw.baseline.take());
    raw.rounds = rounds.unwrap_or(raw.rounds.clone());
    raw.runs_per_boot = runs_per_boot.or(raw.runs_per_boot.take());
    raw.aa_cells = aa_cells.unwrap_or(raw.aa_cells);
    raw.clock = clock.or(raw.clock.take());
    raw.memory_cap = memory_cap.or(raw.memory_cap.take());
    let RawAxes { kernel, scheduler, tunables, filesystem, disk_class, workload, parameters: swept } = matrix;
    let axes = &mut raw.matrix;
    axes.kernel = kernel.or(axes.kernel.take());
    axes.tunables = tunables.or(axes.tunables.take());
    replace(&mut axes.scheduler, scheduler);
    replace(&mut axes.filesystem, filesystem);
    if replace(&mut axes.workload, workload) {
        // They belonged to the workloads that are gone.
        axes.parameters.clear();
        raw.parameters.clear();
        raw.parameters_by_disk_class.clear();
    }
    if replace(&mut axes.disk_class, disk_class) {
        let is_there = |class: &str| axes.disk_class.iter().any(|known| known.get_ref() == class);
        raw.parameters_by_disk_class.retain(|class, _| is_there(class.get_ref()));
    }
    for name in parameters.keys() {
        axes.parameters.remove(name);
    }
    for name in swept.keys() {
        raw.parameters.remove(name);
    }
    axes.parameters.extend(swept);
    raw.parameters.extend(parameters);
    replace(&mut raw.parameters_by_disk_class, parameters_by_disk_class);
    Ok(())
}

/// Was there something to put there?
fn replace<T>(place: &mut T, new: Option<T>) -> bool {
    let is_new = new.is_some();
    if let Some(new) = new {
        *place = new;
    }
    is_new
}

#[cfg(test)]
mod tests {
    use super::super::{parse, parse_at};
    use crate::experiment::axis::Axis;
    use crate::id::DiskClass;
    use crate::kernel::Clock;

    const FILE: &str = r#"
name = "readers"
title = "Do readers lose?"
compare = "scheduler"
baseline = "none"
rounds = 6

[matrix]
scheduler = ["none", "bfq"]
filesystem = ["ext4"]
disk_class = ["sata-hdd", "ssd"]
workload = ["reader"]
parameters.readers = [1, 2]

[parameters]
size = "4 MiB"

[parameters_by_disk_class.ssd]
size = "8 MiB"

[scale.full]
compare = "kernel"
rounds = 10
matrix = { kernel = ["base", "patched"], scheduler = ["bfq"], disk_class = ["sata-hdd"] }
parameters = { size = "8 GiB", readers = 16 }

[scale.guard]
matrix.workload = ["other"]
parameters = { files = 3 }

[scale.virtual]
clock = "virtual"
matrix.parameters.size = ["1 MiB", "2 MiB"]
parameters_by_disk_class.sata-hdd = { size = "2 MiB" }
"#;

    #[test]
    fn a_file_as_it_stands_knows_nothing_of_its_scales() {
        let plain = parse("e.toml", FILE).unwrap();
        let (before, _) = FILE.split_once("[scale.full]").unwrap();
        assert_eq!(plain, parse("e.toml", before).unwrap());
    }

    #[test]
    fn a_scale_takes_the_place_of_what_the_file_says() {
        let full = parse_at("e.toml", FILE, Some("full")).unwrap();
        assert_eq!((full.compare.clone(), full.baseline.as_str(), full.rounds), (Axis::Kernel, "base", 10));
        assert_eq!(full.matrix.disk_classes, ["sata-hdd".parse::<DiskClass>().unwrap()]);
        assert!(full.parameters_by_disk_class.is_empty(), "the other class is gone");
        assert!(full.matrix.parameters.is_empty(), "what is fixed is swept no more");
        assert_eq!((full.parameters["size"].as_str(), full.parameters["readers"].as_str()), ("8 GiB", "16"));

        let guard = parse_at("e.toml", FILE, Some("guard")).unwrap();
        assert_eq!(guard.parameters.keys().collect::<Vec<_>>(), ["files"]);
        assert!(guard.matrix.parameters.is_empty() && guard.parameters_by_disk_class.is_empty());

        let virtual_lab = parse_at("e.toml", FILE, Some("virtual")).unwrap();
        assert_eq!((virtual_lab.clock, virtual_lab.rounds), (Clock::Virtual, 6));
        assert_eq!(virtual_lab.matrix.parameters["size"], ["1 MiB", "2 MiB"]);
        assert!(!virtual_lab.parameters.contains_key("size"), "what is swept is fixed no more");
        assert_eq!(virtual_lab.parameters_by_disk_class.keys().map(DiskClass::as_str).collect::<Vec<_>>(), ["sata-hdd"]);
    }

    #[test]
    fn faults_of_scales_are_found_whichever_is_asked_for() {
        let error = parse_at("e.toml", FILE, Some("ful")).unwrap_err().to_string();
        assert_eq!(error, "e.toml: unknown scale `ful`\n  help: did you mean `full`? known: full, guard, virtual");
        let (before, _) = FILE.split_once("[scale.full]").unwrap();
        let error = parse_at("e.toml", before, Some("full")).unwrap_err().to_string();
        assert!(error.contains("has no table `[scale.NAME]`"), "{error}");
        for (from, to, fault) in [
            ("rounds = 10", "rounds = 1", "e.toml:23: rounds = 1"),
            ("clock = \"virtual\"", "title = \"x\"", "e.toml:32: unknown field `title`"),
            ("scheduler = [\"bfq\"]", "scheduler = [\"bqf\"]", "e.toml:24: unknown scheduler `bqf`"),
        ] {
            let error = parse("e.toml", &FILE.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.starts_with(fault), "{error}");
        }
    }
}
