//! I/O schedulers and queue tunables: `/sys/block/DISK/queue/scheduler`, `queue/iosched/*` and `queue/*`
//! (Documentation/block/switching-sched.rst, Documentation/ABI/stable/sysfs-block).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Values by name of a sysfs file, as written.
pub type Tunables = BTreeMap<String, String>;

/// Schedulers of the multi-queue block layer.
pub const CURRENT: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// Schedulers of the single-queue block layer, removed in Linux 5.0; they still parse for old kernels.
pub const HISTORIC: [&str; 4] = ["noop", "deadline", "cfq", "anticipatory"];

/// One value of the scheduler axis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Scheduler {
    /// What is written to `queue/scheduler`.
    pub name: String,
    /// What is written to `queue/iosched/`, after the scheduler is set.
    pub tunables: Tunables,
    /// What people read; unique on the axis.
    pub label: String,
}

/// One value of the tunables axis: files of `queue/`, set after the scheduler because a switch resets some of them (`nr_requests`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub struct QueueTunables {
    /// What is written to `queue/`.
    pub values: Tunables,
    /// What people read; unique on the axis.
    pub label: String,
}

/// True for a name that some kernel's block layer knows.
pub fn is_known(name: &str) -> bool {
    CURRENT.contains(&name) || HISTORIC.contains(&name)
}

/// The names inside `[none] mq-deadline kyber bfq`, and the active one.
pub fn parse_sysfs(text: &str) -> (Vec<String>, Option<String>) {
    let strip = |word: &str| word.trim_matches(['[', ']']).to_owned();
    let names = text.split_whitespace().map(strip).collect();
    let active = text.split_whitespace().find(|word| word.starts_with('[')).map(strip);
    (names, active)
}

/// `slice_idle=0,low_latency=0`: a label for tunables that were given none.
pub fn tunables_label(tunables: &Tunables) -> String {
    let pairs: Vec<_> = tunables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysfs_line_is_read() {
        let (names, active) = parse_sysfs("none [mq-deadline] kyber bfq \n");
        assert_eq!(names, CURRENT);
        assert_eq!(active.as_deref(), Some("mq-deadline"));
        assert_eq!(parse_sysfs("none"), (vec!["none".to_owned()], None));
    }
}
