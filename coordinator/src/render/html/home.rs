//! `/`: what runs, what came out lately, which hosts are alive.

use askama::Template;
use blklab_model::host::HostHealth;
use blklab_model::time::TimestampMs;
use blklab_wire::people::{ExperimentLine, HostLine};

use super::hosts::HostRow;
use super::line::Line;

/// The first page.
#[derive(Template)]
#[template(path = "home/page.html")]
pub struct HomePage {
    sentence: String,
    /// The experiment that ended last.
    latest: Option<Line>,
    open: Vec<Line>,
    recent: Vec<Line>,
    older: Option<String>,
    hosts: Vec<HostRow>,
}

/// A part of the list of experiments, the newest first.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Its lines.
    pub lines: &'a [ExperimentLine],
    /// Do newer ones come before it?
    pub has_newer: bool,
    /// May older ones follow?
    pub has_older: bool,
}

impl HomePage {
    /// From the open experiments in the order of the queue, a part of all of them, and the hosts.
    pub fn new(open: &[ExperimentLine], part: Part<'_>, hosts: &[HostLine], now: TimestampMs) -> HomePage {
        let over: Vec<Line> = part.lines.iter().map(|line| Line::new(line, now)).filter(|line| line.is_over).collect();
        HomePage {
            sentence: sentence(open, hosts),
            latest: over.first().filter(|_| !part.has_newer).cloned(),
            open: open.iter().map(|line| Line::new(line, now)).collect(),
            older: part.lines.last().filter(|_| part.has_older).map(|line| format!("/?before={}", line.id)),
            recent: over,
            hosts: hosts.iter().map(|line| HostRow::new(line, now)).collect(),
        }
    }
}

/// What a reader wants to know before anything else.
fn sentence(open: &[ExperimentLine], hosts: &[HostLine]) -> String {
    let running = open.iter().filter(|line| line.state == "running").count();
    let waiting = open.len() - running;
    let work = match (running, waiting) {
        (0, 0) => "Nothing is running.".to_owned(),
        (r, 0) => format!("{} running.", experiments(r)),
        (0, w) => format!("{} waiting for a host.", experiments(w)),
        (r, w) => format!("{} running, {w} waiting.", experiments(r)),
    };
    let able = hosts.iter().filter(|line| line.online && line.host.health == HostHealth::Healthy).count();
    let lab = match (able, hosts.len()) {
        (_, 0) => "No host is enrolled yet.".to_owned(),
        (able, all) if able == all => format!("All {all} hosts are alive.").replace("All 1 hosts are", "The one host is"),
        (able, all) => format!("{able} of {all} hosts can work."),
    };
    format!("{work} {lab}")
}

fn experiments(n: usize) -> String {
    if n == 1 { "1 experiment is".to_owned() } else { format!("{n} experiments are") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing;

    #[test]
    fn one_sentence_says_how_the_lab_is() {
        let running = testing::line(&testing::under_way());
        let mut queued = running.clone();
        queued.state = "queued".into();
        let hosts = testing::hosts();
        assert_eq!(sentence(&[running.clone(), queued], &hosts), "1 experiment is running, 1 waiting. 2 of 4 hosts can work.");
        assert_eq!(sentence(&[], &hosts[..1]), "Nothing is running. The one host is alive.");
        assert_eq!(sentence(&[running.clone(), running], &[]), "2 experiments are running. No host is enrolled yet.");
    }
}
