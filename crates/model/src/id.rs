//! Identifiers. They are readable and derived from one another, so that a log line, a URL and a file name say where they belong:
//! experiment `x12`, its cell `x12.c3`, its job `x12.j7`, its trial `x12.c3.r5.a1` (round 5, arm 1).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text that does not have the form of an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {what}; expected {form}")]
pub struct BadId {
    text: String,
    what: &'static str,
    form: &'static str,
}

/// Number of an experiment, unique in a lab, in the order of submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExperimentId(pub u32);

/// A cell of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellId {
    /// The experiment it belongs to.
    pub experiment: ExperimentId,
    /// Its number in the expansion, from 0.
    pub cell: u32,
}

/// A job of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId {
    /// The experiment it belongs to.
    pub experiment: ExperimentId,
    /// Its number in the plan, from 0.
    pub job: u32,
}

/// Number of a kernel build, unique in a lab, in the order of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuildId(pub u32);

/// A trial: one cell, one run, one arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrialId {
    /// The cell it measures.
    pub cell: CellId,
    /// The run of its arm, from 0: the round, or several in each round where a boot runs more than once.
    pub run: u32,
    /// The arm, 0 being the baseline.
    pub arm: u32,
}

impl fmt::Display for ExperimentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x{}", self.0)
    }
}

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

impl FromStr for BuildId {
    type Err = BadId;
    /// Accepts `b12`, and `12` as people type it.
    fn from_str(text: &str) -> Result<Self, BadId> {
        number(text.strip_prefix('b').unwrap_or(text)).map(BuildId).ok_or_else(|| bad(text, "a build", "the form `b12`"))
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.c{}", self.experiment, self.cell)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.j{}", self.experiment, self.job)
    }
}

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.r{}.a{}", self.cell, self.run, self.arm)
    }
}

impl FromStr for ExperimentId {
    type Err = BadId;
    /// Accepts `x12`, and `12` as people type it.
    fn from_str(text: &str) -> Result<Self, BadId> {
        number(text.strip_prefix('x').unwrap_or(text)).map(ExperimentId).ok_or_else(|| bad(text, "an experiment", "the form `x12`"))
    }
}

impl FromStr for CellId {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        let [x, c] = numbers(text, ["x", "c"]).ok_or_else(|| bad(text, "a cell", "the form `x12.c3`"))?;
        Ok(CellId { experiment: ExperimentId(x), cell: c })
    }
}

impl FromStr for JobId {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        let [x, j] = numbers(text, ["x", "j"]).ok_or_else(|| bad(text, "a job", "the form `x12.j7`"))?;
        Ok(JobId { experiment: ExperimentId(x), job: j })
    }
}

impl FromStr for TrialId {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        let [x, c, r, a] = numbers(text, ["x", "c", "r", "a"]).ok_or_else(|| bad(text, "a trial", "the form `x12.c3.r5.a1`"))?;
        Ok(TrialId { cell: CellId { experiment: ExperimentId(x), cell: c }, run: r, arm: a })
    }
}

fn numbers<const N: usize>(text: &str, prefixes: [&str; N]) -> Option<[u32; N]> {
    let mut out = [0; N];
    let mut parts = text.split('.');
    for (slot, prefix) in out.iter_mut().zip(prefixes) {
        *slot = number(parts.next()?.strip_prefix(prefix)?)?;
    }
    parts.next().is_none().then_some(out)
}

/// Digits only: `u32::from_str` would also take a sign, and leading zeros would give one thing two names.
fn number(text: &str) -> Option<u32> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    plain.then(|| text.parse().ok()).flatten()
}

fn bad(text: &str, what: &'static str, form: &'static str) -> BadId {
    BadId { text: text.chars().take(80).collect(), what, form }
}

macro_rules! as_text {
    ($($id:ty),*) => {$(
        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
as_text!(ExperimentId, BuildId, CellId, JobId, TrialId);

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $allowed:expr, $form:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub struct $name(String);

        impl $name {
            /// The longest text taken: it ends up in URLs, file names and table cells.
            pub const MAX_LEN: usize = 96;

            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                let allowed: fn(char) -> bool = $allowed;
                let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
                if starts_well && text.len() <= Self::MAX_LEN && text.chars().all(allowed) {
                    Ok($name(text.to_owned()))
                } else {
                    Err(bad(text, $what, $form))
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

name!(
    /// Name of a host, chosen by the lab's admin, unique in the lab.
    HostName, "a host name", |c| c.is_ascii_alphanumeric() || "-_.".contains(c), "letters, digits and - _ . such as `lab-3`"
);
name!(
    /// Stable id of a disk on its host: `wwn-0x5000...`, `nvme-eui...`, `serial-...`, or `loop-NAME` for a disk that the agent makes.
    DiskId, "a disk id", |c| c.is_ascii_alphanumeric() || "-_.:+".contains(c), "letters, digits and - _ . : + such as `wwn-0x50014ee2b1f5e7aa`"
);
name!(
    /// Class of a disk, an open set named by the lab: `sata-hdd`, `fc-array`, `nvme-ssd`...
    DiskClass, "a disk class", |c| c.is_ascii_alphanumeric() || "-_.".contains(c), "letters, digits and - _ . such as `sata-hdd`"
);
name!(
    /// Name of a workload; its file is `NAME.toml`.
    WorkloadName, "a workload name", |c| c.is_ascii_alphanumeric() || "-_.".contains(c), "letters, digits and - _ . such as `rt-be-readers`"
);

name!(
    /// Name of a kernel, chosen by who adds it, unique in the lab.
    KernelName, "a kernel name", |c| c.is_ascii_alphanumeric() || "-_.+~".contains(c), "letters, digits and - _ . + ~ such as `debian-6.1.0-40`"
);
name!(
    /// Signature of a kernel: 64 lower-case hexadecimal digits of a SHA-256.
    KernelId, "a kernel id", |c| c.is_ascii_digit() || ('a'..='f').contains(&c), "64 lower-case hexadecimal digits"
);

impl KernelId {
    /// Enough of it to tell kernels of one lab apart.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_what_they_print() {
        let trial: TrialId = "x12.c3.r5.a1".parse().unwrap();
        assert_eq!(trial.to_string(), "x12.c3.r5.a1");
        assert_eq!(trial.cell.to_string().parse(), Ok(trial.cell));
        assert_eq!("x1.j0".parse::<JobId>().unwrap().to_string(), "x1.j0");
        assert_eq!("12".parse(), Ok(ExperimentId(12)));
        assert_eq!(serde_json::to_string(&trial).unwrap(), "\"x12.c3.r5.a1\"");
    }

    #[test]
    fn what_is_not_an_id_is_refused() {
        for text in ["", "x", "x-1", "x+1", "x01", "x1.c", "x1.c1.r1", "x1.c1.r1.a1.z", "x99999999999", "../x1.c1"] {
            assert!(text.parse::<TrialId>().is_err(), "{text}");
        }
        for text in ["", "../etc", "a/b", "-x", "a b", "ä"] {
            assert!(text.parse::<DiskId>().is_err(), "{text}");
            assert!(text.parse::<HostName>().is_err(), "{text}");
        }
    }
}
