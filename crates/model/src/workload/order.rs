//! Which of two tasks should end first: a count of trials, not a mean of times.

use serde::{Deserialize, Serialize};

/// `[[finish_order]]`: the order that a workload expects of two of its tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishOrder {
    /// Unique in the workload, apart from its metrics.
    pub name: String,
    /// The task that should end first.
    pub first: String,
    /// The task that should end after it.
    pub then: String,
}
