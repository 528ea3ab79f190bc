//! The values of metrics, derived from raw outputs and derived again when a parser changes.

use std::collections::BTreeSet;

use blklab_model::id::ExperimentId;
use blklab_model::record::Measurement;

use super::column::Place;
use super::error::StoreError;
use super::sql::{each, execute, insert_all, rows, statements};
use super::trial;
use super::tx::Tx;

statements! {
    MEASUREMENT_DELETE = "
        DELETE FROM measurement
        WHERE experiment = $1 AND cell = $2 AND round = $3 AND arm = $4";
    MEASUREMENT_INSERT = "INSERT INTO measurement (experiment, cell, round, arm, metric, value) ";
    MEASUREMENT_LIST = "
        SELECT experiment, cell, round, arm, metric, value
        FROM measurement
        WHERE experiment = $1
        ORDER BY cell, round, arm, metric";
}

/// Puts measurements in the place of all that the trials they are of had before.
pub async fn measurement_put(tx: &mut Tx, measurements: &[Measurement]) -> Result<(), StoreError> {
    // SQLite would store a NaN as NULL, PostgreSQL as it is.
    if let Some(Measurement { trial, metric, value }) = measurements.iter().find(|measurement| !measurement.value.is_finite()) {
        return Err(StoreError::NotFinite { trial: *trial, metric: metric.clone(), value: *value });
    }
    let trials: BTreeSet<_> = measurements.iter().map(|measurement| measurement.trial).collect();
    for id in trials {
        let [experiment, cell, round, arm] = trial::key(id);
        execute!(tx, MEASUREMENT_DELETE, experiment, cell, round, arm)?;
    }
    insert_all!(tx, MEASUREMENT_INSERT, measurements, |row, measurement| {
        for number in trial::key(measurement.trial) {
            row.push_bind(number);
        }
        row.push_bind(&measurement.metric).push_bind(measurement.value)
    })
}

/// The measurements of an experiment by cell, round, arm and metric.
pub async fn measurement_list(tx: &mut Tx, experiment: ExperimentId) -> Result<Vec<Measurement>, StoreError> {
    let found: Vec<MeasurementColumns> = rows!(tx, MEASUREMENT_LIST, i64::from(experiment.0))?;
    found.into_iter().map(MeasurementColumns::read).collect()
}

#[derive(sqlx::FromRow)]
struct MeasurementColumns {
    experiment: i64,
    cell: i64,
    round: i64,
    arm: i64,
    metric: String,
    value: f64,
}

impl MeasurementColumns {
    fn read(self) -> Result<Measurement, StoreError> {
        let key = &format_args!("x{}.c{}.r{}.a{} {}", self.experiment, self.cell, self.round, self.arm, self.metric);
        let place = Place { table: "measurement", key };
        let trial = trial::id(&place, [self.experiment, self.cell, self.round, self.arm])?;
        Ok(Measurement { trial, metric: self.metric, value: self.value })
    }
}

#[cfg(test)]
mod tests {
    use blklab_model::testing::id;

    use super::*;
    use crate::store::testing::{Sample, for_each_store};

    fn measured(trial: &str, metric: &str, value: f64) -> Measurement {
        Measurement { trial: id(trial), metric: metric.into(), value }
    }

    #[tokio::test]
    async fn values_come_back_to_the_last_bit_and_are_replaced_trial_by_trial() {
        for_each_store(async |store| {
            let experiment = Sample::small().insert(&store).await;
            let mut tx = store.write().await.unwrap();
            let (first, other) = ("x1.c0.r0.a0", "x1.c0.r0.a1");
            let values = [f64::MAX, -1e-9, 5e-324, 0.1 + 0.2];
            let old: Vec<_> = (0u8..).zip(values).map(|(number, value)| measured(first, &format!("m{number}"), value)).collect();
            measurement_put(&mut tx, &old).await.unwrap();
            measurement_put(&mut tx, &[measured(other, "rate", 1e9)]).await.unwrap();
            let stored = measurement_list(&mut tx, experiment).await.unwrap();
            assert_eq!(stored[..4].iter().map(|m| m.value.to_bits()).collect::<Vec<_>>(), values.map(f64::to_bits));

            measurement_put(&mut tx, &[measured(first, "rate", 2.0)]).await.unwrap();
            let stored = measurement_list(&mut tx, experiment).await.unwrap();
            assert_eq!(stored, [measured(first, "rate", 2.0), measured(other, "rate", 1e9)]);
        })
        .await;
    }

    #[tokio::test]
    async fn what_is_not_finite_is_refused_before_anything_is_changed() {
        for_each_store(async |store| {
            let experiment = Sample::small().insert(&store).await;
            let mut tx = store.write().await.unwrap();
            let good = measured("x1.c0.r0.a0", "rate", 1.0);
            measurement_put(&mut tx, std::slice::from_ref(&good)).await.unwrap();
            for value in [f64::NAN, f64::INFINITY] {
                let error = measurement_put(&mut tx, &[measured("x1.c0.r0.a0", "rate", value)]).await.unwrap_err();
                assert!(matches!(error, StoreError::NotFinite { .. }), "{error}");
            }
            assert_eq!(measurement_list(&mut tx, experiment).await.unwrap(), [good]);
        })
        .await;
    }
}
