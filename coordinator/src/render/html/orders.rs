//! Finish orders as a table, of an experiment and of a cell.

use blklab_model::report::OrderComparison;

use super::badge::Badge;
use crate::render::order;

/// One expected order under one candidate.
pub(super) struct OrderRow {
    /// `be before rt`.
    pub(super) inversion: String,
    /// The workload, where several could be meant.
    pub(super) place: String,
    pub(super) candidate: String,
    pub(super) counts: String,
    pub(super) base: String,
    pub(super) badge: Badge,
    pub(super) p: String,
}

/// All of them; `with_workload` on a page that is not of one cell.
pub(super) fn rows(orders: &[OrderComparison], with_workload: bool) -> Vec<OrderRow> {
    let row = |of: &OrderComparison| {
        let (counts, base) = order::counts(of);
        let (word, tone) = order::verdict(of);
        OrderRow {
            inversion: order::inversion(of),
            place: if with_workload { format!("{} in all cells", of.workload) } else { String::new() },
            candidate: of.candidate.clone(),
            counts,
            base,
            badge: Badge::of(tone, word),
            p: order::p(of),
        }
    };
    orders.iter().map(row).collect()
}
