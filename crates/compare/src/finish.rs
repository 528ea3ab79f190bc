//! From who finished first to inversions: a finish order is a count, not a mean. Owns the order of
//! I/O classes; knows no tests.
//!
//! Series named `finish_order` (1 finished first) whose cells differ in `io_class` alone become one
//! series `inversions`: for each round 1 if a task of a lower class finished before one of a higher
//! class, else 0.

use std::collections::BTreeMap;

use blklab_parse::Better;
use blklab_parse::results::{Data, Repetition, Series};

/// Unit of values that are 1 where something happened in a run and 0 where it did not.
pub(crate) const EVENT: &str = "event";

/// Name of a metric that says who finished first: 1 did.
pub const FINISH_ORDER: &str = "finish_order";
/// Column of a cell for the I/O class of a task.
pub const IO_CLASS: &str = "io_class";

/// Turns finish orders into inversions; other series stay as they are.
pub(crate) fn inversions(series: Vec<Series>) -> Vec<Series> {
    let (orders, mut others): (Vec<Series>, Vec<Series>) = series.into_iter().partition(is_finish_order);
    let mut races: Vec<(BTreeMap<String, String>, Vec<Series>)> = Vec::new();
    for order in orders {
        let mut cell = order.cell.clone();
        cell.remove(IO_CLASS);
        match races.iter_mut().find(|(known, _)| *known == cell) {
            Some((_, tasks)) => tasks.push(order),
            None => races.push((cell, vec![order])),
        }
    }
    others.extend(races.into_iter().map(|(cell, tasks)| Series {
        label: None,
        cell,
        metric: "inversions".to_owned(),
        unit: EVENT.to_owned(),
        better: Some(Better::Lower),
        data: Data::Values(counted(&tasks)),
    }));
    others
}

fn is_finish_order(series: &Series) -> bool {
    let has_class = series.cell.get(IO_CLASS).is_some_and(|class| class_rank(class).is_some());
    series.metric == FINISH_ORDER && has_class && matches!(series.data, Data::Values(_))
}

/// For each round with at least two tasks: did a lower class overtake a higher one?
fn counted(tasks: &[Series]) -> Vec<Repetition> {
    let mut rounds: BTreeMap<u64, Vec<(u8, f64)>> = BTreeMap::new();
    for task in tasks {
        let Some(rank) = task.cell.get(IO_CLASS).and_then(|class| class_rank(class)) else { continue };
        if let Data::Values(values) = &task.data {
            // Without rounds the order of the values says which belong together.
            for (at, one) in (1..).zip(values) {
                rounds.entry(one.round.unwrap_or(at)).or_default().push((rank, one.value));
            }
        }
    }
    let inverted = |tasks: &[(u8, f64)]| tasks.iter().any(|(high, last)| tasks.iter().any(|(low, first)| low > high && first < last));
    let races = rounds.into_iter().filter(|(_, tasks)| tasks.len() > 1);
    races.map(|(round, tasks)| Repetition { value: f64::from(u8::from(inverted(&tasks))), round: Some(round) }).collect()
}

/// The order in which classes are served, 0 first; none of what is no class of ioprio_set(2), as ionice(1) calls them too.
pub fn class_rank(class: &str) -> Option<u8> {
    match class.to_ascii_lowercase().as_str() {
        "rt" | "realtime" | "real-time" => Some(0),
        "be" | "best-effort" => Some(1),
        "idle" => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(class: &str, places: &[f64]) -> Series {
        let values = (1..).zip(places).map(|(round, place)| Repetition { value: *place, round: Some(round) }).collect();
        Series {
            label: None,
            cell: BTreeMap::from([(IO_CLASS.to_owned(), class.to_owned()), ("disk".to_owned(), "ssd".to_owned())]),
            metric: FINISH_ORDER.into(),
            unit: String::new(),
            better: None,
            data: Data::Values(values),
        }
    }

    #[test]
    fn a_best_effort_task_that_overtakes_is_an_inversion() {
        let series = inversions(vec![order("RT", &[1.0, 2.0, 1.0]), order("BE", &[2.0, 1.0, 2.0])]);
        assert_eq!(series.len(), 1);
        assert_eq!((series[0].metric.as_str(), series[0].unit.as_str()), ("inversions", EVENT));
        assert_eq!(series[0].cell, BTreeMap::from([("disk".to_owned(), "ssd".to_owned())]));
        let Data::Values(values) = &series[0].data else { panic!() };
        assert_eq!(values.iter().map(|one| one.value).collect::<Vec<_>>(), [0.0, 1.0, 0.0]);
    }

    #[test]
    fn an_order_of_unknown_classes_stays_what_it_is() {
        let plain = vec![order("fast", &[1.0])];
        assert_eq!(inversions(plain.clone()), plain);
    }
}
