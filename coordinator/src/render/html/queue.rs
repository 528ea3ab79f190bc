//! `/queue`: place and time left of every open experiment.

use askama::Template;
use blklab_model::time::TimestampMs;
use blklab_wire::people::ExperimentLine;

use super::line::{Line, left};

/// The queue.
#[derive(Template)]
#[template(path = "queue/page.html")]
pub struct QueuePage {
    lines: Vec<Line>,
    /// Time until all of it is done, where it can be guessed.
    in_all: String,
}

impl QueuePage {
    /// From the open experiments in the order of the queue.
    pub fn new(open: &[ExperimentLine], now: TimestampMs) -> QueuePage {
        let known: u64 = open.iter().filter_map(|line| line.eta_ms).sum();
        let all_known = open.iter().all(|line| line.eta_ms.is_some());
        QueuePage { lines: open.iter().map(|line| Line::new(line, now)).collect(), in_all: left(all_known.then_some(known)) }
    }
}
