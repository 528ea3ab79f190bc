//! Axes that can be compared.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Matrix;
use crate::source::suggest;

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
    /// Keeps only the values of an axis that are `wanted`, by label; `disk_class` and `workload` are axes here too.
    ///
    /// Fails, and changes nothing, for an axis that does not exist and for a value that is not on it.
    pub fn keep_only(&mut self, axis: &str, wanted: &[String]) -> Result<(), String> {
        let labels = match axis {
            "disk_class" => self.disk_classes.iter().map(ToString::to_string).collect(),
            "workload" => self.workloads.iter().map(ToString::to_string).collect(),
            other => self.labels(&other.parse()?),
        };
        if let Some(unknown) = wanted.iter().find(|value| !labels.contains(value)) {
            return Err(format!("`{unknown}` is not on the axis `{axis}`; {}", suggest(unknown, labels.iter().map(String::as_str))));
        }
        let is_wanted = |label: &str| wanted.iter().any(|value| value == label);
        match axis {
            "disk_class" => self.disk_classes.retain(|class| is_wanted(class.as_str())),
            "workload" => self.workloads.retain(|name| is_wanted(name.as_str())),
            other => match other.parse::<Axis>()? {
                Axis::Kernel => self.kernels.retain(|kernel| is_wanted(kernel.label())),
                Axis::Scheduler => self.schedulers.retain(|scheduler| is_wanted(&scheduler.label)),
                Axis::Tunables => self.tunables.retain(|tunables| is_wanted(&tunables.label)),
                Axis::Filesystem => self.filesystems.retain(|filesystem| is_wanted(&filesystem.label)),
                Axis::Parameter(name) => self.parameters.entry(name).or_default().retain(|value| is_wanted(value)),
            },
        }
        Ok(())
    }

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

/// A value among those of other axes: by itself where it says what it is, behind the name of its parameter where it is a bare number.
pub fn in_words(axis: &str, value: &str) -> String {
    axis.strip_prefix("parameters.").map_or_else(|| value.to_owned(), |name| format!("{name} {value}"))
}

#[cfg(test)]
mod tests {
    use crate::testing::experiment;

    #[test]
    fn an_axis_can_be_cut_down_to_values_that_are_on_it() {
        let mut matrix = experiment(&[("[\"none\", \"bfq\"]", "[\"none\", \"bfq\", \"kyber\"]")]).matrix;
        matrix.keep_only("scheduler", &["none".into(), "kyber".into()]).unwrap();
        assert_eq!(matrix.schedulers.iter().map(|s| s.label.as_str()).collect::<Vec<_>>(), ["none", "kyber"]);
        let error = matrix.keep_only("disk_class", &["sata-hhd".into()]).unwrap_err();
        assert_eq!(error, "`sata-hhd` is not on the axis `disk_class`; did you mean `sata-hdd`? known: sata-hdd");
        assert!(matrix.keep_only("colour", &["red".into()]).is_err());
    }
}
