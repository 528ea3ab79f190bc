//! Axes that can be compared.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Matrix;

/// The compared axis of an experiment.
///
/// Disk classes and workloads cannot be compared: arms of a cell run on one disk (a comparison across disks measures the disks),
/// and different workloads have no metric in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Kernels, the usual question.
    Kernel,
    /// I/O schedulers.
    Scheduler,
    /// Tunables of the queue.
    Tunables,
    /// File systems.
    Filesystem,
    /// A workload parameter.
    Parameter(String),
}

impl FromStr for Axis {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "kernel" => Ok(Axis::Kernel),
            "scheduler" => Ok(Axis::Scheduler),
            "tunables" => Ok(Axis::Tunables),
            "filesystem" => Ok(Axis::Filesystem),
            "disk_class" => Err("disk classes cannot be compared: all arms of a cell run on the same disk".to_owned()),
            "workload" => Err("workloads cannot be compared: they have no metric in common".to_owned()),
            other => match other.strip_prefix("parameters.") {
                Some(name) => Ok(Axis::Parameter(name.to_owned())),
                None => Err(format!("`{other}` is not an axis")),
            },
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Axis::Kernel => f.write_str("kernel"),
            Axis::Scheduler => f.write_str("scheduler"),
            Axis::Tunables => f.write_str("tunables"),
            Axis::Filesystem => f.write_str("filesystem"),
            Axis::Parameter(name) => write!(f, "parameters.{name}"),
        }
    }
}

impl Serialize for Axis {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Axis {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Matrix {
    /// Labels of the values of an axis, in the order of the file.
    pub fn labels(&self, axis: &Axis) -> Vec<String> {
        match axis {
            Axis::Kernel => self.kernels.iter().map(|k| k.label().to_owned()).collect(),
            Axis::Scheduler => self.schedulers.iter().map(|s| s.label.clone()).collect(),
            Axis::Tunables => self.tunables.iter().map(|t| t.label.clone()).collect(),
            Axis::Filesystem => self.filesystems.iter().map(|f| f.label.clone()).collect(),
            Axis::Parameter(name) => self.parameters.get(name).cloned().unwrap_or_default(),
        }
    }
}
