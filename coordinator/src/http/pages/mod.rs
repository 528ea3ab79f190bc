//! Pages for people.

use axum::Router;
use axum::response::{IntoResponse, Response};

use super::error::AppError;
use crate::lab::Lab;

/// Routes of pages.
pub fn router() -> Router<Lab> {
    Router::new()
}

/// A page about an error.
pub fn error_page(error: &AppError) -> Response {
    (error.status, error.refusal.error.clone()).into_response()
}
