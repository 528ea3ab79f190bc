//! The arms of one input that has several labels: a table, a result file of many systems. Owns which
//! of them is the baseline.

use thiserror::Error;

use crate::{Arm, Gathered};

/// Why there is nothing to compare in one input. Completes "failed to ...".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    /// There is one label or none.
    #[error("compare {found}: give a table with at least two kernels, or two sides: BASE -- CANDIDATE")]
    OneArm {
        /// What there is.
        found: String,
    },
    /// The baseline is not in there.
    #[error("find the baseline `{baseline}`, there are: {}", .labels.join(", "))]
    NoBaseline {
        /// What was asked for.
        baseline: String,
        /// Labels that there are.
        labels: Vec<String>,
    },
}

/// The baseline and the candidates: the first label is the baseline unless another one is named.
///
/// # Errors
/// [`TableError`], when there are fewer than two labels or the baseline is not one of them.
pub fn table(gathered: Gathered, baseline: Option<&str>) -> Result<(Arm, Vec<Arm>), TableError> {
    let mut arms = gathered.arms;
    if arms.len() < 2 {
        let found = match arms.first().map(|arm| arm.label.as_str()) {
            None => "nothing".to_owned(),
            Some("") => "results without a label".to_owned(),
            Some(label) => format!("`{label}` alone"),
        };
        return Err(TableError::OneArm { found });
    }
    let at = match baseline {
        None => 0,
        Some(wanted) => arms.iter().position(|arm| arm.label == wanted).ok_or_else(|| TableError::NoBaseline {
            baseline: wanted.to_owned(),
            labels: arms.iter().map(|arm| arm.label.clone()).collect(),
        })?,
    };
    let base = arms.remove(at);
    Ok((base, arms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(labels: &[&str]) -> Gathered {
        let arms = labels.iter().map(|label| Arm { label: (*label).to_owned(), series: Vec::new() }).collect();
        Gathered { arms, ..Gathered::default() }
    }

    #[test]
    fn the_first_is_the_baseline_unless_another_is_named() {
        let (base, candidates) = table(gathered(&["a", "b", "c"]), None).unwrap();
        assert_eq!((base.label.as_str(), candidates.len()), ("a", 2));
        let (base, candidates) = table(gathered(&["a", "b", "c"]), Some("b")).unwrap();
        assert_eq!((base.label.as_str(), candidates[1].label.as_str()), ("b", "c"));
    }

    #[test]
    fn a_wrong_baseline_is_answered_with_those_that_there_are() {
        let error = table(gathered(&["a", "b"]), Some("x")).unwrap_err();
        assert_eq!(error.to_string(), "find the baseline `x`, there are: a, b");
        let error = table(gathered(&["a"]), None).unwrap_err().to_string();
        assert!(error.contains("`a` alone"), "{error}");
    }
}
