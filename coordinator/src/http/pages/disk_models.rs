//! `/disk-models`.

use std::sync::LazyLock;

use anyhow::Context;
use axum::Json;
use axum::response::IntoResponse;
use blklab_diskmodel::profile::Profile;
use blklab_diskmodel::{DiskModel, PRESETS};

use super::page::{Page, PageError};
use crate::http::error::AppError;
use crate::render::html::disk_models::DiskModelsPage;

/// They are part of the program, and so is what they do.
static PROFILES: LazyLock<Vec<Profile>> =
    LazyLock::new(|| PRESETS.iter().filter_map(|(name, _)| DiskModel::preset(name)).map(|model| Profile::of(&model)).collect());

pub(super) async fn page() -> Result<impl IntoResponse, PageError> {
    Ok(Page(DiskModelsPage::new(profiles().await?)))
}

pub(super) async fn json() -> Result<Json<&'static [Profile]>, AppError> {
    Ok(Json(profiles().await?))
}

/// The first reader waits for some hundred milliseconds of simulation, on a thread that may be kept busy.
async fn profiles() -> anyhow::Result<&'static [Profile]> {
    tokio::task::spawn_blocking(|| PROFILES.as_slice()).await.context("failed to simulate the disk models")
}
