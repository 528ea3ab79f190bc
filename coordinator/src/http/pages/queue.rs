//! `/queue`.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use blklab_wire::people::ExperimentLine;

use super::page::{Page, PageError};
use crate::http::error::AppError;
use crate::lab::Lab;
use crate::render::html::queue::QueuePage;

pub(super) async fn page(State(lab): State<Lab>) -> Result<impl IntoResponse, PageError> {
    Ok(Page(QueuePage::new(&lab.queue().await?, lab.now())))
}

pub(super) async fn json(State(lab): State<Lab>) -> Result<Json<Vec<ExperimentLine>>, AppError> {
    Ok(Json(lab.queue().await?))
}
