//! Plots as SVG made on the server: page, exported file and print share them, and snapshot tests need no browser. No inline styles (the
//! content policy forbids them): colours come from classes of the style sheet, text and lines from `currentColor`.

mod canvas;
mod curves;
mod forest;
mod marks;
mod progress;
mod run_order;
mod scale;
mod strip;

pub(crate) use canvas::Svg;
pub(crate) use curves::{Axis, Curve, Point, curves};
pub(crate) use forest::{Bar, MAX_ROWS as FOREST_ROWS, forest, forest_of};
pub(crate) use progress::progress;
pub(crate) use run_order::run_order;
pub(crate) use strip::{Numbered, Strip, strip, strips_of};
