//! Who finished first, of an import: places of tasks become what a trial says of the end of its tasks, so that reports count
//! inversions as they do for the lab's own trials.

use std::collections::BTreeMap;

use blklab_compare::{FINISH_ORDER, IO_CLASS, class_rank};
use blklab_model::workload::order::FinishOrder;
use blklab_wire::people::{ImportCell, ImportData, ImportMetric};

/// Tasks of several classes that ran against each other in one cell.
#[derive(Debug)]
pub(super) struct Race {
    /// The cell without the class; it has no metrics.
    pub(super) cell: ImportCell,
    /// Class and places of each task, the class that is served first before the others.
    tasks: Vec<(String, ImportMetric)>,
}

/// Takes the finish orders out of the cells; cells without any other metric go with them.
pub(super) fn take(cells: &mut Vec<ImportCell>) -> Vec<Race> {
    let mut races: Vec<Race> = Vec::new();
    for cell in cells.iter_mut() {
        let Some(class) = cell.cell.get(IO_CLASS).filter(|class| class_rank(class).is_some()).cloned() else { continue };
        let (orders, others) = std::mem::take(&mut cell.metrics).into_iter().partition(|metric| metric.name == FINISH_ORDER);
        cell.metrics = others;
        let mut of_race = cell.cell.clone();
        of_race.remove(IO_CLASS);
        let orders: Vec<ImportMetric> = orders;
        for order in orders {
            match races.iter_mut().find(|race| race.cell.cell == of_race) {
                Some(race) => race.tasks.push((class.clone(), order)),
                None => {
                    let cell = ImportCell { cell: of_race.clone(), metrics: Vec::new() };
                    races.push(Race { cell, tasks: vec![(class.clone(), order)] });
                }
            }
        }
    }
    cells.retain(|cell| !cell.metrics.is_empty());
    races.retain(|race| race.tasks.len() > 1);
    for race in &mut races {
        race.tasks.sort_by_key(|(class, _)| class_rank(class));
    }
    races
}

impl Race {
    /// A class should end before the one that is served after it.
    pub(super) fn orders(&self) -> Vec<FinishOrder> {
        let pairs = self.tasks.windows(2).filter(|pair| class_rank(&pair[0].0) != class_rank(&pair[1].0));
        let order = |(first, then): (&String, &String)| FinishOrder {
            name: format!("{first} before {then}"),
            first: first.clone(),
            then: then.clone(),
        };
        pairs.map(|pair| order((&pair[0].0, &pair[1].0))).collect()
    }

    /// For each arm and run the place of each task. Places stand for times: nothing but their order is used.
    pub(super) fn places(&self) -> BTreeMap<(u32, u32), BTreeMap<String, f64>> {
        let mut places: BTreeMap<(u32, u32), BTreeMap<String, f64>> = BTreeMap::new();
        for (class, metric) in &self.tasks {
            for (arm, data) in (0u32..).zip(&metric.arms) {
                let Some(ImportData::Values(values)) = data else { continue };
                for (at, one) in (1u64..).zip(values) {
                    let run = u32::try_from(one.round.unwrap_or(at)).unwrap_or(u32::MAX);
                    places.entry((arm, run.saturating_sub(1))).or_default().insert(class.clone(), one.value);
                }
            }
        }
        places
    }
}
