//! The comparison for spreadsheets and scripts: a column for each column of the cells, then those of a row; nothing is rounded.

use std::collections::BTreeSet;

use blklab_compare::Side;
use blklab_stats::Better;

use super::json::plain;
use super::{Existing, reading};
use crate::render::csv::{Field, Table};

const SIDE: [&str; 8] = ["label", "n", "min", "mean", "median", "max", "sd", "cv"];

/// One row for each comparison.
pub fn render(existing: &Existing) -> String {
    let columns: BTreeSet<&str> = existing.comparison.rows.iter().flat_map(|row| row.cell.keys()).map(String::as_str).collect();
    let mut table = Table::default();
    let of_sides = ["base", "candidate"].into_iter().flat_map(|side| SIDE.map(|field| format!("{side}_{field}")));
    let rest = [
        "change_pct",
        "ci_low_pct",
        "ci_high_pct",
        "p",
        "p_adjusted",
        "smallest_detectable_pct",
        "flags",
        "verdict",
        "stage",
        "reason",
        "more_rounds",
    ];
    table.row(
        columns
            .iter()
            .copied()
            .chain(["metric", "unit", "better"])
            .map(Field::from)
            .chain(of_sides.map(Field::from))
            .chain(rest.map(Field::from)),
    );
    for view in existing.views() {
        let row = view.row;
        let mut fields: Vec<Field> = columns.iter().map(|column| Field::from(row.cell.get(*column).map_or("", String::as_str))).collect();
        fields.extend([
            Field::from(row.metric.as_str()),
            Field::from(row.unit.as_str()),
            Field::from(match row.better {
                Some(Better::Lower) => "lower",
                Some(Better::Higher) => "higher",
                None => "",
            }),
        ]);
        fields.extend(side(&row.base).into_iter().chain(side(&row.candidate)));
        fields.extend([
            Field::number(row.change_pct()),
            Field::number(row.ci95.map(|ci| ci.low_pct())),
            Field::number(row.ci95.map(|ci| ci.high_pct())),
            Field::number(row.p),
            Field::number(row.p_adjusted),
            Field::number(row.smallest_detectable_pct),
            Field::from(row.flags.iter().map(|flag| flag.name()).collect::<Vec<_>>().join(" ")),
            Field::from(row.verdict.name()),
            Field::from(row.stage.map_or("", |stage| stage.name())),
            Field::from(plain(&reading::reason(&view))),
            Field::number(row.more_rounds.map(|n| n as f64)),
        ]);
        table.row(fields);
    }
    table.text
}

fn side(side: &Side) -> [Field; 8] {
    [
        Field::from(side.label.as_str()),
        Field::number(side.n.map(|n| n as f64)),
        Field::number(side.min),
        Field::number(side.mean),
        Field::number(side.median),
        Field::number(side.max),
        Field::number(side.sd),
        Field::number(side.cv),
    ]
}
