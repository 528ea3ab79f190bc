//! `/builds`, `/builds/ID` and their logs.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use blklab_model::build::BuildRecord;
use blklab_model::id::BuildId;
use blklab_wire::people::BuildLine;
use serde::Deserialize;

use super::page::{Page, PageError};
use super::twin::{Form, no_such_form, parse, split};
use crate::http::blobs;
use crate::http::error::AppError;
use crate::lab::Lab;
use crate::render::html::builds::{BuildPage, BuildsPage};

/// Builds on one page.
const PAGE: u32 = 50;

#[derive(Deserialize)]
pub(super) struct Older {
    before: Option<BuildId>,
}

pub(super) async fn list(State(lab): State<Lab>, Query(older): Query<Older>) -> Result<impl IntoResponse, PageError> {
    let builds = lab.builds(PAGE, older.before).await?;
    Ok(Page(BuildsPage::new(&builds, builds.len() == PAGE as usize, lab.now())))
}

pub(super) async fn list_json(State(lab): State<Lab>) -> Result<Json<Vec<BuildLine>>, AppError> {
    Ok(Json(lab.builds(PAGE, None).await?))
}

pub(super) async fn one(State(lab): State<Lab>, Path(name): Path<String>) -> Result<Response, PageError> {
    let (id, form) = split::<BuildId>(&name)?;
    let build = find(&lab, id).await?;
    Ok(match form {
        Form::Html => {
            let log = lab.log_end(&build).await?;
            Page(BuildPage::new(&build, log, lab.now())).into_response()
        }
        Form::Json => Json(build).into_response(),
        Form::Csv | Form::Text | Form::Toml => return Err(no_such_form(&name).into()),
    })
}

pub(super) async fn log(State(lab): State<Lab>, Path(id): Path<String>) -> Result<Response, PageError> {
    let id = parse::<BuildId>(&id)?;
    let log = find(&lab, id).await?.log.ok_or_else(|| AppError::not_found(format!("build {id} has no log yet")))?;
    Ok(blobs::text(&lab, log.sha256).await?)
}

async fn find(lab: &Lab, id: BuildId) -> Result<BuildRecord, AppError> {
    lab.build(id).await?.ok_or_else(|| AppError::not_found(format!("there is no build {id}")))
}
