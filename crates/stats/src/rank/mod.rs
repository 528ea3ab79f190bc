//! Everything that looks only at the order of values: the Mann-Whitney test and the shift whose
//! interval is that test turned around.

mod mann_whitney;
mod null;
mod shifts;
mod ties;

pub use mann_whitney::{RankMethod, RankTest, Ranking, mann_whitney};
pub use shifts::Shifts;
