//! `/api/v1/kernels` and `/api/v1/builds`: what people say about kernels. Messages: `blklab_wire::people`.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use blklab_model::build::{BuildRecord, BuildRequest};
use blklab_model::id::{BuildId, KernelName};
use blklab_model::kernel::KernelRecord;
use blklab_wire::people::{AddKernel, BuildAccepted, BuildLine};
use serde::Deserialize;

use super::auth::Submitter;
use super::error::AppError;
use super::json::Body;
use crate::lab::Lab;
use crate::{kernels, schedule};

/// Builds on one page of the list.
const PAGE: u32 = 50;

/// Routes below `/api/v1`.
pub fn router() -> Router<Lab> {
    Router::new()
        .route("/kernels", post(add).get(list))
        .route("/kernels/{name}", get(one).delete(remove))
        .route("/builds", post(ask).get(builds))
        .route("/builds/{id}", get(build))
        .route("/builds/{id}/cancel", post(cancel))
        .route("/builds/{id}/log", get(log))
}

#[derive(Deserialize)]
struct Page {
    before: Option<BuildId>,
}

#[derive(Deserialize)]
struct Asker {
    #[serde(default)]
    submitter: String,
}

async fn add(State(lab): State<Lab>, _: Submitter, Body(add): Body<AddKernel>) -> Result<(StatusCode, Json<KernelRecord>), AppError> {
    let (kernel, new) = kernels::add(&lab, add).await?;
    Ok((if new { StatusCode::CREATED } else { StatusCode::OK }, Json(kernel)))
}

async fn list(State(lab): State<Lab>) -> Result<Json<Vec<KernelRecord>>, AppError> {
    Ok(Json(lab.kernels().await?))
}

async fn one(State(lab): State<Lab>, Path(name): Path<KernelName>) -> Result<Json<KernelRecord>, AppError> {
    lab.kernel(&name).await?.map(Json).ok_or_else(|| AppError::not_found(format!("there is no kernel `{name}`")))
}

async fn remove(State(lab): State<Lab>, _: Submitter, Path(name): Path<KernelName>) -> Result<StatusCode, AppError> {
    kernels::remove(&lab, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn ask(
    State(lab): State<Lab>,
    _: Submitter,
    Query(asker): Query<Asker>,
    Body(request): Body<BuildRequest>,
) -> Result<(StatusCode, Json<BuildAccepted>), AppError> {
    let (id, new) = schedule::build::ask(&lab, &request, &asker.submitter).await?;
    let accepted = BuildAccepted { id, path: format!("/builds/{id}") };
    Ok((if new { StatusCode::CREATED } else { StatusCode::OK }, Json(accepted)))
}

async fn builds(State(lab): State<Lab>, Query(page): Query<Page>) -> Result<Json<Vec<BuildLine>>, AppError> {
    Ok(Json(lab.builds(PAGE, page.before).await?))
}

async fn build(State(lab): State<Lab>, Path(id): Path<BuildId>) -> Result<Json<BuildRecord>, AppError> {
    find(&lab, id).await.map(Json)
}

async fn cancel(State(lab): State<Lab>, _: Submitter, Path(id): Path<BuildId>) -> Result<StatusCode, AppError> {
    schedule::build::cancel(&lab, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn log(State(lab): State<Lab>, Path(id): Path<BuildId>) -> Result<axum::response::Response, AppError> {
    let log = find(&lab, id).await?.log.ok_or_else(|| AppError::not_found(format!("build {id} has no log yet")))?;
    super::blobs::text(&lab, log.sha256).await
}

async fn find(lab: &Lab, id: BuildId) -> Result<BuildRecord, AppError> {
    lab.build(id).await?.ok_or_else(|| AppError::not_found(format!("there is no build {id}")))
}
