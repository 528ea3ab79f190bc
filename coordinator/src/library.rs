//! Workload and experiment files that ship with blklab, embedded in the program.

use std::collections::BTreeMap;

use blklab_model::build::NamedFile;
use blklab_model::id::WorkloadName;
use blklab_model::source::SourceError;
use blklab_model::workload::Workload;
use blklab_wire::people::NamedText;
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../workloads"]
#[include = "*.toml"]
struct WorkloadFiles;

#[derive(RustEmbed)]
#[folder = "../experiments"]
#[include = "*.toml"]
struct ExperimentFiles;

/// The text of a shipped experiment file, by its name without `.toml`.
pub fn experiment(name: &str) -> Option<NamedText> {
    text::<ExperimentFiles>(&format!("{name}.toml"))
}

/// Names of the shipped experiment files.
pub fn experiment_names() -> Vec<String> {
    ExperimentFiles::iter().map(|file| file.trim_end_matches(".toml").to_owned()).collect()
}

/// The shipped configuration of small kernels for virtual hosts, to be merged over `tinyconfig`.
pub fn kernel_config() -> NamedFile {
    NamedFile { name: "lab.config".to_owned(), text: include_str!("../../kernels/lab.config").to_owned() }
}

/// The shipped workloads, with those of `given` before them.
pub fn workloads(given: &[NamedText]) -> Result<BTreeMap<WorkloadName, Workload>, SourceError> {
    let shipped = WorkloadFiles::iter().filter_map(|file| text::<WorkloadFiles>(&file));
    let mut workloads = BTreeMap::new();
    for file in shipped.chain(given.iter().cloned()) {
        let workload = one_workload(&file)?;
        workloads.insert(workload.name.clone(), workload);
    }
    Ok(workloads)
}

/// One workload file, checked like those that are submitted.
pub fn one_workload(file: &NamedText) -> Result<Workload, SourceError> {
    let workload = blklab_model::workload::file::parse(&file.name, &file.text)?;
    check_fields(&file.name, &workload)?;
    Ok(workload)
}

/// The parsers know their fields: a metric that asks for another is found before anything runs.
fn check_fields(file: &str, workload: &Workload) -> Result<(), SourceError> {
    crate::analyse::metric::check(workload).map_err(|(message, help)| SourceError { file: file.to_owned(), line: None, message, help })
}

fn text<F: RustEmbed>(file: &str) -> Option<NamedText> {
    let embedded = F::get(file)?;
    Some(NamedText { name: file.to_owned(), text: String::from_utf8_lossy(&embedded.data).into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_file_is_good_and_named_like_its_file() {
        let workloads = workloads(&[]).unwrap();
        for file in WorkloadFiles::iter() {
            assert!(workloads.keys().any(|name| format!("{name}.toml") == file), "{file}");
        }
        for name in experiment_names() {
            let file = experiment(&name).unwrap();
            let scales = file.text.lines().filter_map(|line| line.strip_prefix("[scale.")?.strip_suffix(']'));
            let scales = scales.filter(|scale| !scale.contains('.')).map(Some).chain([None]);
            for scale in scales {
                let experiment = blklab_model::experiment::file::parse_at(&file.name, &file.text, scale).unwrap();
                assert_eq!(experiment.name, name);
                // Names of workloads and of parameters are checked before any host is looked for.
                blklab_model::matrix::expand(&experiment, &workloads, &[], 1).unwrap_or_else(|error| panic!("{name} {scale:?}: {error}"));
            }
        }
    }
}
