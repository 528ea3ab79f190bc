//! What counts as a change that matters, and how sure one must be.

use serde::{Deserialize, Serialize};

use crate::compare::Options;
use crate::input::{InvalidInput, check_level, check_resolution};
use crate::interval::log_from_pct;

/// The thresholds of a verdict. The defaults are those the method was simulated with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Smallest change that matters, in percent; also the margin of equivalence.
    pub delta_pct: f64,
    /// Two-sided level of a suspicion.
    pub alpha: f64,
    /// Level of a variance regression.
    pub alpha_var: f64,
    /// Smallest ratio of standard deviations that is a variance regression.
    pub sd_ratio_gate: f64,
    /// Fewest runs an arm for a variance regression.
    pub n_var_min: usize,
    /// Most runs an arm that the lab will spend on a cell.
    pub n_max: usize,
    /// Rounding step of the tool in percent of the value; 0 if it prints all digits.
    pub resolution_pct: f64,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { delta_pct: 5.0, alpha: 0.05, alpha_var: 0.01, sd_ratio_gate: 2.0, n_var_min: 10, n_max: 30, resolution_pct: 0.0 }
    }
}

impl Policy {
    /// The part of the policy that [`crate::compare`] needs.
    #[must_use]
    pub fn options(&self) -> Options {
        Options { alpha: self.alpha, resolution_pct: self.resolution_pct }
    }

    /// Checks every field; a policy out of range makes every verdict `INVALID`.
    ///
    /// # Errors
    /// [`InvalidInput::BadPolicy`] naming the first field out of range.
    pub fn check(&self) -> Result<(), InvalidInput> {
        let bad = |field: &str, remedy: &str| Err(InvalidInput::BadPolicy { field: field.to_owned(), remedy: remedy.to_owned() });
        check_level("alpha", self.alpha)?;
        check_level("alpha_var", self.alpha_var)?;
        check_resolution(self.resolution_pct)?;
        if !(1e-3..=1e3).contains(&self.delta_pct) {
            return bad("delta_pct", "give a change between 0.001 and 1000 percent");
        }
        if !(1.0..=1e3).contains(&self.sd_ratio_gate) {
            return bad("sd_ratio_gate", "give a ratio between 1 and 1000");
        }
        if self.n_var_min < 3 {
            return bad("n_var_min", "give at least 3 runs");
        }
        if self.n_max < 2 {
            return bad("n_max", "give at least 2 runs");
        }
        Ok(())
    }

    /// The smallest change that matters, on the log scale.
    pub(super) fn margin(&self) -> f64 {
        log_from_pct(self.delta_pct)
    }
}
