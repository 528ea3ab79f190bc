//! Style sheet and script.

use axum::Router;

use crate::lab::Lab;

/// Routes of assets.
pub fn router() -> Router<Lab> {
    Router::new()
}
