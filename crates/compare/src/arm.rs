//! One side of a comparison, ready to be paired. Knows series; knows nothing of where they came from.

use blklab_parse::results::Series;

/// The results under one label: a kernel, a folder, a column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// What people call it.
    pub label: String,
    /// Its series; no two have the same cell and metric. Their own labels are ignored.
    pub series: Vec<Series>,
}
