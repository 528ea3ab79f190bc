//! `/`.

use axum::extract::{Query, State};
use axum::response::IntoResponse;
use blklab_model::id::ExperimentId;
use serde::Deserialize;

use super::page::{Page, PageError};
use crate::lab::Lab;
use crate::render::html::home::HomePage;

/// Experiments on one page.
const RECENT: u32 = 25;

#[derive(Deserialize)]
pub(super) struct Older {
    before: Option<ExperimentId>,
}

pub(super) async fn page(State(lab): State<Lab>, Query(older): Query<Older>) -> Result<impl IntoResponse, PageError> {
    let (open, recent, hosts) = (lab.queue().await?, lab.experiments(RECENT, older.before).await?, lab.hosts().await?);
    let full = recent.len() == RECENT as usize;
    Ok(Page(HomePage::new(&open, &recent, full, &hosts, lab.now())))
}
