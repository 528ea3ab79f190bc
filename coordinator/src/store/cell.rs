//! The cells of an experiment.

use blklab_model::id::{CellId, ExperimentId};
use blklab_model::matrix::Cell;

use super::column::{Place, json};
use super::error::StoreError;
use super::sql::{each, insert_all, row, rows, statements};
use super::tx::Tx;

statements! {
    CELL_INSERT = "INSERT INTO cell (experiment, number, definition) ";
    CELL_GET = "
        SELECT experiment, number, definition
        FROM cell
        WHERE experiment = $1 AND number = $2";
    CELL_LIST = "
        SELECT experiment, number, definition
        FROM cell
        WHERE experiment = $1
        ORDER BY number";
}

/// Puts the cells of a new experiment.
pub(super) async fn insert(tx: &mut Tx, experiment: ExperimentId, cells: &[Cell]) -> Result<(), StoreError> {
    insert_all!(tx, CELL_INSERT, cells, |row, cell| {
        row.push_bind(i64::from(experiment.0)).push_bind(i64::from(cell.number)).push_bind(json(cell))
    })
}

/// A cell of an experiment.
pub async fn cell_get(tx: &mut Tx, id: CellId) -> Result<Option<Cell>, StoreError> {
    let found: Option<CellColumns> = row!(tx, CELL_GET, i64::from(id.experiment.0), i64::from(id.cell))?;
    found.map(CellColumns::read).transpose()
}

/// The cells of an experiment in the order of the expansion.
pub async fn cell_list(tx: &mut Tx, experiment: ExperimentId) -> Result<Vec<Cell>, StoreError> {
    let found: Vec<CellColumns> = rows!(tx, CELL_LIST, i64::from(experiment.0))?;
    found.into_iter().map(CellColumns::read).collect()
}

#[derive(sqlx::FromRow)]
struct CellColumns {
    experiment: i64,
    number: i64,
    definition: String,
}

impl CellColumns {
    fn read(self) -> Result<Cell, StoreError> {
        let place = Place { table: "cell", key: &format_args!("x{}.c{}", self.experiment, self.number) };
        place.json("definition", &self.definition)
    }
}

#[cfg(test)]
mod tests {
    use blklab_model::testing::id;

    use super::*;
    use crate::store::testing::{Sample, for_each_store};

    #[tokio::test]
    async fn cells_come_back_in_the_order_of_the_expansion() {
        for_each_store(async |store| {
            Sample::small().insert(&store).await;
            let sample = Sample::small().grown(12, 1);
            let experiment = sample.insert(&store).await;
            let mut tx = store.read().await.unwrap();
            assert_eq!(cell_list(&mut tx, experiment).await.unwrap(), sample.cells);
            assert_eq!(cell_get(&mut tx, id("x2.c11")).await.unwrap().as_ref(), sample.cells.last());
            assert_eq!(cell_get(&mut tx, id("x2.c12")).await.unwrap(), None);
        })
        .await;
    }
}
