//! From a workload and parameter values to what an agent runs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::command::{BadCommand, Command, IoPriority};
use super::{Load, MAX_DISKS, Target, Workload, placeholder, size};
use crate::id::WorkloadName;

/// A workload with its parameters filled in; only `{dir}` and `{disk}` are open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedWorkload {
    /// The workload.
    pub name: WorkloadName,
    /// Of the workload.
    pub version: u32,
    /// File system or raw disk.
    pub target: Target,
    /// Programs that must be there.
    pub tools: Vec<String>,
    /// Bytes that must fit on each disk.
    pub space_bytes: u64,
    /// Number of disks.
    #[serde(default = "one")]
    pub disks: u32,
    /// See [`Workload::prepare`].
    pub prepare: Vec<ResolvedLoad>,
    /// See [`Workload::background`].
    pub background: Vec<ResolvedLoad>,
    /// See [`Workload::tasks`].
    pub tasks: Vec<ResolvedLoad>,
}

fn one() -> u32 {
    1
}

/// A load ready to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedLoad {
    /// Names its outputs: one of [`Load::instances`].
    pub name: String,
    /// Index of its disk, from 0.
    #[serde(default)]
    pub disk: u32,
    /// What is run.
    pub command: Command,
    /// I/O priority; none leaves what is inherited.
    pub io_priority: Option<IoPriority>,
    /// Milliseconds after the common start.
    #[serde(default)]
    pub start_after_ms: u32,
    /// Seconds after which it is killed.
    pub timeout_s: u32,
}

impl Workload {
    /// All its loads, in the order prepare, background, tasks.
    pub fn loads(&self) -> impl Iterator<Item = &Load> {
        self.prepare.iter().chain(&self.background).chain(&self.tasks)
    }

    /// Default of each parameter, and a seed of 0.
    pub fn default_values(&self) -> BTreeMap<String, String> {
        let defaults = self.parameters.iter().map(|(name, parameter)| (name.clone(), parameter.default.clone()));
        defaults.chain([("seed".to_owned(), "0".to_owned())]).collect()
    }

    /// Number of disks with these values of the parameters, 1 to [`MAX_DISKS`].
    pub fn disks(&self, values: &BTreeMap<String, String>) -> Result<u32, BadCommand> {
        let text = placeholder::fill(&self.needs.disks, values)?;
        let number = text.trim().parse().ok().filter(|number| (1..=MAX_DISKS).contains(number));
        number.ok_or(BadCommand::BadDisks(text))
    }

    /// Number of disks with `parameters` over the defaults; 1 where they are not understood, which [`Workload::resolve`] tells.
    pub fn disks_with(&self, parameters: &BTreeMap<String, String>) -> u32 {
        let mut values = self.default_values();
        values.extend(parameters.clone());
        self.disks(&values).unwrap_or(1)
    }

    /// Bytes that are read more than once through the page cache, on all disks together, with `parameters` over the defaults.
    ///
    /// # Errors
    /// What [`Workload::resolve`] says of a size that is none.
    pub fn working_set(&self, parameters: &BTreeMap<String, String>) -> Result<u64, BadCommand> {
        let mut values = self.default_values();
        values.extend(parameters.clone());
        let mut bytes: u64 = 0;
        for text in &self.needs.working_set {
            bytes = bytes.saturating_add(size::parse(&placeholder::fill(text, &values)?)?);
        }
        Ok(bytes.saturating_mul(self.disks(&values)?.into()))
    }

    /// Parameters that make the working set larger or smaller.
    pub fn working_set_parameters(&self) -> BTreeSet<String> {
        let has = |name: &&String| self.needs.working_set.iter().any(|text| text.contains(&format!("{{{name}}}")));
        self.parameters.keys().filter(has).cloned().collect()
    }

    /// Fills in `parameters` over the defaults.
    pub fn resolve(&self, parameters: &BTreeMap<String, String>, seed: u64) -> Result<ResolvedWorkload, BadCommand> {
        let mut values = self.default_values();
        values.extend(parameters.iter().filter(|(name, _)| self.parameters.contains_key(*name)).map(|(n, v)| (n.clone(), v.clone())));
        values.insert("seed".to_owned(), seed.to_string());
        let disks = self.disks(&values)?;
        let loads = |loads: &[Load]| {
            let instances: Result<Vec<_>, BadCommand> = loads.iter().map(|load| resolve_load(load, disks, &values)).collect();
            instances.map(|loads| loads.into_iter().flatten().collect::<Vec<_>>())
        };
        let mut space_bytes: u64 = 0;
        for text in &self.needs.space {
            space_bytes = space_bytes.saturating_add(size::parse(&placeholder::fill(text, &values)?)?);
        }
        self.working_set(parameters)?;
        Ok(ResolvedWorkload {
            name: self.name.clone(),
            version: self.version,
            target: self.needs.target,
            tools: self.needs.tools.clone(),
            space_bytes,
            disks,
            prepare: loads(&self.prepare)?,
            background: loads(&self.background)?,
            tasks: loads(&self.tasks)?,
        })
    }
}

fn resolve_load(load: &Load, disks: u32, values: &BTreeMap<String, String>) -> Result<Vec<ResolvedLoad>, BadCommand> {
    if let Some(disk) = load.command.texts().filter_map(placeholder::highest_disk).max().filter(|disk| *disk > disks) {
        return Err(BadCommand::NoSuchDisk { disk, disks });
    }
    let command = load.command.resolve(values)?;
    let resolved = |(disk, name)| ResolvedLoad {
        name,
        disk,
        command: command.clone(),
        io_priority: load.io_priority,
        start_after_ms: load.start_after_ms,
        timeout_s: load.timeout_s,
    };
    Ok((0..).zip(load.instances(disks)).map(resolved).collect())
}
