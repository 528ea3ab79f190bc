//! `/`.

use axum::extract::{Query, State};
use axum::response::IntoResponse;
use blklab_model::id::ExperimentId;
use serde::Deserialize;

use super::page::{Page, PageError};
use crate::lab::Lab;
use crate::render::html::home::{HomePage, Part};

/// Experiments on one page.
const RECENT: u32 = 25;

#[derive(Deserialize)]
pub(super) struct Older {
    before: Option<ExperimentId>,
}

pub(super) async fn page(State(lab): State<Lab>, Query(older): Query<Older>) -> Result<impl IntoResponse, PageError> {
    let (open, recent, hosts) = (lab.queue().await?, lab.experiments(RECENT, older.before).await?, lab.hosts().await?);
    let part = Part { lines: &recent, has_newer: older.before.is_some(), has_older: recent.len() == RECENT as usize };
    Ok(Page(HomePage::new(&open, part, &hosts, lab.now())))
}
