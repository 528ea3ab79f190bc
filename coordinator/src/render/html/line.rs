//! A line of a list of experiments, as home and queue show it.

use blklab_model::time::TimestampMs;
use blklab_wire::people::ExperimentLine;

use crate::render::when::{When, span};

/// An experiment in a list.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) state: String,
    pub(super) submitter: String,
    pub(super) created: When,
    pub(super) headline: String,
    pub(super) trials: u32,
    pub(super) over: u32,
    pub(super) failed: u32,
    /// `about 2 min 41 s`, `not known yet`.
    pub(super) left: String,
    pub(super) cost: String,
    pub(super) is_over: bool,
    pub(super) is_imported: bool,
}

impl Line {
    /// Puts a line into words.
    pub(super) fn new(line: &ExperimentLine, now: TimestampMs) -> Line {
        let title = if line.title.is_empty() { &line.name } else { &line.title };
        Line {
            id: line.id.to_string(),
            title: title.clone(),
            state: line.state.clone(),
            submitter: line.submitter.clone(),
            created: When::new(line.created, now),
            headline: line.headline.clone(),
            trials: line.trials,
            over: line.over,
            failed: line.failed,
            left: left(line.eta_ms),
            cost: span(line.cost_ms),
            is_over: matches!(line.state.as_str(), "finished" | "cancelled"),
            is_imported: line.imported,
        }
    }
}

/// Time to go in words.
pub(super) fn left(eta_ms: Option<u64>) -> String {
    eta_ms.map_or_else(|| "time left not known yet".to_owned(), |ms| format!("about {} left", span(ms)))
}
