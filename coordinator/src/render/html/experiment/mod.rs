//! `/experiments/ID`: the verdict, what it rests on, and the way to each cell.

mod boxes;
mod heat;
mod lists;
mod scaling;

use std::collections::BTreeSet;

use askama::Template;
use blklab_model::kernel::Clock;
use blklab_model::matrix::CellKind;
use blklab_model::report::{Report, ReportKernel};
use blklab_model::time::TimestampMs;
use blklab_wire::people::Progress;

use super::Badge;
use super::line::left;
use super::orders::{self, OrderRow};
use crate::render::compared::{Compared, counted};
use crate::render::svg::{FOREST_ROWS, Svg, forest, progress};
use crate::render::when::{When, span};
use crate::render::word::{Tone, overall};
use crate::render::{by_class, environment, kernel};
use boxes::{AaBox, MethodBox};
use heat::Heat;
use lists::{ChangeRow, FailureRow, FaultRow, Listed, OpenRow};
use scaling::Scaling;

/// The page of an experiment.
#[derive(Template)]
#[template(path = "experiment/page.html")]
pub struct ExperimentPage<'a> {
    report: &'a Report,
    verdict: Badge,
    /// Class of the verdict's colour.
    tone: &'static str,
    created: When,
    took: Option<String>,
    /// Releases of the hosts, where no kernel is booted.
    releases: Vec<String>,
    kernels: Vec<KernelRow>,
    /// Where the time went.
    by_class: Option<String>,
    runs: Option<String>,
    time: Option<String>,
    /// What the virtual clock cannot show.
    clock: Option<&'static str>,
    faults: Vec<FaultRow>,
    orders: Vec<OrderRow>,
    scaling: Scaling,
    environment: String,
    bar: Option<Bar<'a>>,
    heat: Heat,
    /// None before anything was measured.
    forest: Option<Svg>,
    /// Comparisons that the forest plot leaves out.
    beyond_forest: usize,
    /// What got worse beside what got better.
    sides: [Side; 2],
    open: Listed<OpenRow>,
    failures: Vec<FailureRow>,
    aa: AaBox,
    method: MethodBox,
}

/// A kernel of the lab.
struct KernelRow {
    name: String,
    release: String,
    source: String,
    boots: String,
}

/// One side of what changed.
struct Side {
    /// `worse` or `better`.
    word: &'static str,
    list: Listed<ChangeRow>,
}

/// Live progress of an experiment that is not over.
struct Bar<'a> {
    progress: &'a Progress,
    svg: Svg,
    left: String,
    percent: u32,
}

impl<'a> ExperimentPage<'a> {
    /// The page at `now`; `progress` while the experiment is not over.
    pub fn new(report: &'a Report, live: Option<&'a Progress>, now: TimestampMs) -> ExperimentPage<'a> {
        let mut rows: Vec<Compared<'_>> = counted(report, CellKind::Compare).collect();
        let heat = Heat::new(report, &rows);
        let by_class = by_class::sentence(&rows);
        rows.sort_by(Compared::by_severity);
        let measured: Vec<Compared<'_>> = rows.iter().filter(|row| row.shift().is_some()).copied().collect();
        let tone = match report.counts.tested() {
            _ if report.is_regression() => Tone::Worse,
            0 if !report.state.is_over() => Tone::Waiting,
            _ => overall(&report.counts),
        };
        ExperimentPage {
            report,
            verdict: Badge::of(tone, &report.headline),
            tone: tone.class(),
            created: When::new(report.created, now),
            took: report.started.map(|started| span((report.finished.unwrap_or(now) - started).0.unsigned_abs())),
            releases: report.hosts.iter().map(|host| host.facts.kernel_release.clone()).collect::<BTreeSet<_>>().into_iter().collect(),
            kernels: report.kernels.iter().map(KernelRow::new).collect(),
            by_class,
            runs: kernel::runs(report),
            time: kernel::time(report),
            clock: (report.clock == Clock::Virtual).then_some(kernel::VIRTUAL),
            faults: lists::kernel_faults(report),
            orders: orders::rows(&report.finish_orders, true),
            scaling: Scaling::new(report),
            environment: environment::in_a_phrase(report),
            bar: live.filter(|_| !report.state.is_over()).map(Bar::new),
            heat,
            beyond_forest: measured.len().saturating_sub(FOREST_ROWS),
            forest: (!measured.is_empty()).then(|| forest(&measured)),
            sides: [Side::new("worse", &rows, Tone::Worse), Side::new("better", &rows, Tone::Better)],
            open: lists::open(report, &rows),
            failures: lists::failures(report),
            aa: AaBox::new(report),
            method: MethodBox::new(report),
        }
    }
}

impl KernelRow {
    fn new(row: &ReportKernel) -> KernelRow {
        let of = &row.kernel;
        KernelRow { name: of.name.to_string(), release: of.release.clone(), source: kernel::source(&of.source), boots: kernel::boots(row) }
    }
}

impl Side {
    fn new(word: &'static str, rows: &[Compared<'_>], tone: Tone) -> Side {
        Side { word, list: lists::changes(rows, tone) }
    }
}

impl<'a> Bar<'a> {
    fn new(live: &'a Progress) -> Bar<'a> {
        let percent = (u64::from(live.over) * 100).checked_div(u64::from(live.trials)).unwrap_or(0);
        Bar { progress: live, svg: progress(live), left: left(live.eta_ms), percent: u32::try_from(percent).unwrap_or(100) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::{self, NOW};

    #[test]
    fn the_published_readers() {
        insta::assert_snapshot!(ExperimentPage::new(&testing::classic(), None, NOW).render().unwrap());
    }

    #[test]
    fn under_way() {
        let report = testing::under_way();
        let live = testing::progress(&report);
        insta::assert_snapshot!(ExperimentPage::new(&report, Some(&live), NOW).render().unwrap());
    }

    #[test]
    fn something_of_everything() {
        insta::assert_snapshot!(ExperimentPage::new(&testing::schedulers(), None, NOW).render().unwrap());
    }

    #[test]
    fn kernels_of_which_one_panics_and_one_never_comes_up() {
        insta::assert_snapshot!(ExperimentPage::new(&testing::kernels(), None, NOW).render().unwrap());
    }

    #[test]
    fn virtual_time_is_not_passed_off_as_real() {
        let page = ExperimentPage::new(&testing::virtual_time(), None, NOW).render().unwrap();
        assert!(page.contains("they cannot show what caches, locks, memory or several processors cost"), "{page}");
        assert!(page.contains("/method#virtual-time"), "{page}");
    }

    #[test]
    fn user_texts_stay_text_and_nothing_is_inline() {
        for report in testing::all() {
            let page = ExperimentPage::new(&report, None, NOW).render().unwrap();
            for forbidden in ["<script>", "<b>", "<img", "<svg/", "onerror=\"", " style=", "javascript:alert(1)\""] {
                assert!(!page.contains(forbidden), "{forbidden} in {page}");
            }
        }
    }

    #[test]
    fn an_experiment_without_cells_still_has_a_page() {
        let mut report = testing::quiet();
        report.cells.clear();
        report.counts = Default::default();
        let page = ExperimentPage::new(&report, None, NOW).render().unwrap();
        assert!(page.contains("No cell"), "{page}");
    }
}
