//! `/kernels`, `/kernels/NAME` and their files.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use blklab_model::id::KernelName;
use blklab_model::kernel::{Blob, KernelRecord};
use blklab_wire::people::KernelLine;

use super::page::{Page, PageError};
use crate::http::blobs;
use crate::http::error::AppError;
use crate::lab::Lab;
use crate::render::html::kernels::{KernelPage, KernelsPage};

/// Builds below the list of kernels.
const LAST_BUILDS: u32 = 8;

pub(super) async fn list(State(lab): State<Lab>) -> Result<impl IntoResponse, PageError> {
    let (kernels, builds) = (lab.kernel_lines().await?, lab.builds(LAST_BUILDS, None).await?);
    Ok(Page(KernelsPage::new(&kernels, &builds, lab.now())))
}

pub(super) async fn list_json(State(lab): State<Lab>) -> Result<Json<Vec<KernelLine>>, AppError> {
    Ok(Json(lab.kernel_lines().await?))
}

/// A kernel may be called `a.json`: the whole name is tried before its twin.
pub(super) async fn one(State(lab): State<Lab>, Path(name): Path<String>) -> Result<Response, PageError> {
    if let Some(line) = find(&lab, &name).await? {
        return Ok(Page(KernelPage::new(&line, lab.now())).into_response());
    }
    let twin = match name.strip_suffix(".json") {
        Some(name) => find(&lab, name).await?,
        None => None,
    };
    let line = twin.ok_or_else(|| missing(&name))?;
    Ok(Json(line).into_response())
}

pub(super) async fn config(State(lab): State<Lab>, Path(name): Path<String>) -> Result<Response, PageError> {
    file(&lab, &name, "configuration", |kernel| kernel.config).await
}

pub(super) async fn log(State(lab): State<Lab>, Path(name): Path<String>) -> Result<Response, PageError> {
    file(&lab, &name, "log", |kernel| kernel.log).await
}

async fn file(lab: &Lab, name: &str, what: &str, which: fn(KernelRecord) -> Option<Blob>) -> Result<Response, PageError> {
    let line = find(lab, name).await?.ok_or_else(|| missing(name))?;
    let blob = which(line.kernel).ok_or_else(|| AppError::not_found(format!("the lab has no {what} of kernel `{name}`")))?;
    Ok(blobs::text(lab, blob.sha256).await?)
}

async fn find(lab: &Lab, name: &str) -> Result<Option<KernelLine>, AppError> {
    match name.parse::<KernelName>() {
        Ok(name) => Ok(lab.kernel_line(&name).await?),
        Err(_) => Ok(None),
    }
}

fn missing(name: &str) -> AppError {
    AppError::not_found(format!("there is no kernel `{name}`; it may have been removed"))
}
