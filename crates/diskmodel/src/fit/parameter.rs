//! A number of a model that a fit may move.

use crate::model::{DiskModel, Mechanics, Parallel, Rotational};

/// Where the number is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Parameter {
    Rotational(fn(&mut Rotational) -> &mut f64),
    Parallel(fn(&mut Parallel) -> Option<&mut f64>),
}

impl Parameter {
    pub(super) fn scale(&self, model: &mut DiskModel, factor: f64) {
        match (self, &mut model.mechanics) {
            (Parameter::Rotational(number), Mechanics::Rotational(inside)) => *number(inside) *= factor,
            (Parameter::Parallel(number), Mechanics::Parallel(inside)) => {
                if let Some(number) = number(inside) {
                    *number *= factor;
                }
            }
            // A fit chooses its parameters by the kind of its model.
            (Parameter::Rotational(_), Mechanics::Parallel(_)) | (Parameter::Parallel(_), Mechanics::Rotational(_)) => {}
        }
    }
}
