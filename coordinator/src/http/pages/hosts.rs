//! `/hosts` and `/hosts/NAME`.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use blklab_model::id::HostName;
use blklab_wire::people::{HostDetails, HostLine};

use super::page::{Page, PageError};
use crate::http::error::AppError;
use crate::lab::Lab;
use crate::render::html::hosts::{HostPage, HostsPage};

pub(super) async fn list(State(lab): State<Lab>) -> Result<impl IntoResponse, PageError> {
    Ok(Page(HostsPage::new(&lab.hosts().await?, lab.now())))
}

pub(super) async fn list_json(State(lab): State<Lab>) -> Result<Json<Vec<HostLine>>, AppError> {
    Ok(Json(lab.hosts().await?))
}

/// A host may be called `a.json`: the whole name is tried before its twin.
pub(super) async fn one(State(lab): State<Lab>, Path(name): Path<String>) -> Result<Response, PageError> {
    if let Some(host) = find(&lab, &name).await? {
        return Ok(Page(HostPage::new(&host, lab.now())).into_response());
    }
    let twin = match name.strip_suffix(".json") {
        Some(name) => find(&lab, name).await?,
        None => None,
    };
    let host = twin.ok_or_else(|| AppError::not_found(format!("there is no host `{name}`")))?;
    Ok(Json(host).into_response())
}

async fn find(lab: &Lab, name: &str) -> Result<Option<HostDetails>, AppError> {
    match name.parse::<HostName>() {
        Ok(name) => Ok(lab.host(&name).await?),
        Err(_) => Ok(None),
    }
}
