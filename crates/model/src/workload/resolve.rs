//! From a workload and parameter values to what an agent runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::command::{BadCommand, Command, IoPriority};
use super::{Load, Target, Workload, placeholder, size};
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
    /// Bytes that must fit.
    pub space_bytes: u64,
    /// See [`Workload::prepare`].
    pub prepare: Vec<ResolvedLoad>,
    /// See [`Workload::background`].
    pub background: Vec<ResolvedLoad>,
    /// See [`Workload::tasks`].
    pub tasks: Vec<ResolvedLoad>,
}

/// A load ready to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedLoad {
    /// Names its outputs.
    pub name: String,
    /// What is run.
    pub command: Command,
    /// I/O priority; none leaves what is inherited.
    pub io_priority: Option<IoPriority>,
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

    /// Fills in `parameters` over the defaults.
    pub fn resolve(&self, parameters: &BTreeMap<String, String>, seed: u64) -> Result<ResolvedWorkload, BadCommand> {
        let mut values = self.default_values();
        values.extend(parameters.iter().filter(|(name, _)| self.parameters.contains_key(*name)).map(|(n, v)| (n.clone(), v.clone())));
        values.insert("seed".to_owned(), seed.to_string());
        let loads = |loads: &[Load]| loads.iter().map(|load| resolve_load(load, &values)).collect::<Result<Vec<_>, BadCommand>>();
        let mut space_bytes: u64 = 0;
        for text in &self.needs.space {
            space_bytes = space_bytes.saturating_add(size::parse(&placeholder::fill(text, &values)?)?);
        }
        Ok(ResolvedWorkload {
            name: self.name.clone(),
            version: self.version,
            target: self.needs.target,
            tools: self.needs.tools.clone(),
            space_bytes,
            prepare: loads(&self.prepare)?,
            background: loads(&self.background)?,
            tasks: loads(&self.tasks)?,
        })
    }
}

fn resolve_load(load: &Load, values: &BTreeMap<String, String>) -> Result<ResolvedLoad, BadCommand> {
    let command = load.command.resolve(values)?;
    Ok(ResolvedLoad { name: load.name.clone(), command, io_priority: load.io_priority, timeout_s: load.timeout_s })
}
