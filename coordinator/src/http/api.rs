//! `/api/v1`: what people and their tools say. Messages: `blklab_wire::people`; reports: `blklab_model::report`.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use blklab_model::id::ExperimentId;
use blklab_model::report::Report;
use blklab_wire::people::{ExperimentLine, HostLine, Import, Progress, Submit, Submitted};
use serde::Deserialize;

use super::auth::Submitter;
use super::error::AppError;
use super::json::Body;
use crate::lab::Lab;
use crate::{intake, schedule};

/// Experiments on one page of the list.
const PAGE: u32 = 50;

/// Routes of people.
pub fn router() -> Router<Lab> {
    Router::new()
        .route("/experiments", post(submit).get(experiments))
        .route("/experiments/{id}/report", get(report))
        .route("/experiments/{id}/progress", get(progress))
        .route("/experiments/{id}/cancel", post(cancel))
        .route("/imports", post(import))
        .route("/hosts", get(hosts))
}

/// The form of a list's address.
#[derive(Deserialize)]
struct Page {
    before: Option<ExperimentId>,
}

async fn submit(State(lab): State<Lab>, _: Submitter, Body(submit): Body<Submit>) -> Result<(StatusCode, Json<Submitted>), AppError> {
    Ok((StatusCode::CREATED, Json(intake::accept(&lab, submit).await?)))
}

async fn import(State(lab): State<Lab>, _: Submitter, Body(import): Body<Import>) -> Result<(StatusCode, Json<Submitted>), AppError> {
    Ok((StatusCode::CREATED, Json(intake::import::accept(&lab, import).await?)))
}

async fn experiments(State(lab): State<Lab>, Query(page): Query<Page>) -> Result<Json<Vec<ExperimentLine>>, AppError> {
    Ok(Json(lab.experiments(PAGE, page.before).await?))
}

async fn report(State(lab): State<Lab>, Path(id): Path<ExperimentId>) -> Result<Json<Report>, AppError> {
    let report = lab.report(id).await?;
    report.map(Json).ok_or_else(|| AppError::not_found(format!("there is no experiment {id}")))
}

async fn progress(State(lab): State<Lab>, Path(id): Path<ExperimentId>) -> Result<Json<Progress>, AppError> {
    let progress = lab.progress(id).await?;
    progress.map(Json).ok_or_else(|| AppError::not_found(format!("there is no experiment {id}")))
}

async fn cancel(State(lab): State<Lab>, _: Submitter, Path(id): Path<ExperimentId>) -> Result<StatusCode, AppError> {
    schedule::cancel::cancel(&lab, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn hosts(State(lab): State<Lab>) -> Result<Json<Vec<HostLine>>, AppError> {
    Ok(Json(lab.hosts().await?))
}
