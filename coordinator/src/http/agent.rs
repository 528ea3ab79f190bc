//! `/api/v1/agent`: what agents say. Messages and their meaning: `blklab_wire::agent`.

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::post;
use axum::{Json, Router};
use blklab_wire::agent::{Claim, Heartbeat, HeartbeatReply, Hello, JobSpec, MAX_REPORT_BYTES, TrialReceipt, TrialReport, Welcome};
use blklab_wire::build::{BuildReceipt, BuildReport, BuildSpec, Known};
use tower::limit::GlobalConcurrencyLimitLayer;

use super::auth::Bearer;
use super::error::AppError;
use super::json::Body;
use crate::lab::Lab;
use crate::schedule;

/// Longest message but for a trial's report, in bytes: a hello names the disks and every program of its host.
const MAX_MESSAGE_BYTES: usize = 512 << 10;

/// Reports taken in at once: each may hold [`MAX_REPORT_BYTES`] in memory.
const REPORTS_AT_ONCE: usize = 8;

/// Routes of agents. A token that nobody has is refused before a body is read.
pub fn router(lab: &Lab) -> Router<Lab> {
    let messages = Router::new()
        .route("/hello", post(hello))
        .route("/heartbeat", post(heartbeat))
        .route("/claim", post(claim))
        .route("/builds/claim", post(claim_build))
        .route("/builds/known", post(known_kernel))
        .route("/builds/report", post(report_build))
        .layer(DefaultBodyLimit::max(MAX_MESSAGE_BYTES));
    let reports = Router::new()
        .route("/trial", post(trial))
        .layer(GlobalConcurrencyLimitLayer::new(REPORTS_AT_ONCE))
        .layer(DefaultBodyLimit::max(MAX_REPORT_BYTES));
    messages.merge(reports).layer(from_fn_with_state(lab.clone(), known_token))
}

pub(super) async fn known_token(State(lab): State<Lab>, Bearer(token): Bearer, request: Request, next: Next) -> Result<Response, AppError> {
    schedule::agent::check_token(&lab, &token).await?;
    Ok(next.run(request).await)
}

async fn hello(State(lab): State<Lab>, Bearer(token): Bearer, Body(hello): Body<Hello>) -> Result<Json<Welcome>, AppError> {
    Ok(Json(schedule::agent::hello(&lab, &token, hello).await?))
}

async fn heartbeat(State(lab): State<Lab>, Bearer(token): Bearer, Body(beat): Body<Heartbeat>) -> Result<Json<HeartbeatReply>, AppError> {
    Ok(Json(schedule::agent::heartbeat(&lab, &token, beat).await?))
}

async fn claim(State(lab): State<Lab>, Bearer(token): Bearer, Body(claim): Body<Claim>) -> Result<Json<Option<JobSpec>>, AppError> {
    Ok(Json(schedule::claim::claim(&lab, &token, claim).await?))
}

async fn trial(State(lab): State<Lab>, Bearer(token): Bearer, Body(report): Body<TrialReport>) -> Result<Json<TrialReceipt>, AppError> {
    Ok(Json(schedule::report::report(&lab, &token, report).await?))
}

async fn claim_build(State(lab): State<Lab>, Bearer(token): Bearer, Body(claim): Body<Claim>) -> Result<Json<Option<BuildSpec>>, AppError> {
    Ok(Json(schedule::build::claim(&lab, &token, claim).await?))
}

async fn known_kernel(State(lab): State<Lab>, Bearer(token): Bearer, Body(known): Body<Known>) -> Result<Json<bool>, AppError> {
    Ok(Json(schedule::build::known(&lab, &token, &known).await?))
}

async fn report_build(
    State(lab): State<Lab>,
    Bearer(token): Bearer,
    Body(report): Body<BuildReport>,
) -> Result<Json<BuildReceipt>, AppError> {
    Ok(Json(schedule::build::report(&lab, &token, report).await?))
}
