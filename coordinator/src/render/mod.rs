//! From reports to what people read: text, CSV, SVG and HTML. Pure: the same report and the same clock give the same bytes. Knows
//! nothing of requests, of the store or of where a report comes from.

pub mod csv;
pub mod existing;
pub mod html;
#[cfg(any(test, feature = "test-support"))]
pub mod testing;
pub mod text;

mod by_class;
mod compared;
mod environment;
mod escape;
mod kernel;
mod number;
pub(crate) use number::quantity;
mod order;
mod plain;
mod reading;
mod svg;
pub(crate) mod when;
mod word;
