//! `/api/v1/agent`: what agents say. Messages and their meaning: `blklab_wire::agent`.

use axum::extract::{DefaultBodyLimit, State};
use axum::routing::post;
use axum::{Json, Router};
use blklab_wire::agent::{Claim, Heartbeat, HeartbeatReply, Hello, JobSpec, MAX_REPORT_BYTES, TrialReceipt, TrialReport, Welcome};

use super::auth::Bearer;
use super::error::AppError;
use crate::lab::Lab;
use crate::schedule;

/// Routes of agents.
pub fn router() -> Router<Lab> {
    Router::new()
        .route("/hello", post(hello))
        .route("/heartbeat", post(heartbeat))
        .route("/claim", post(claim))
        .route("/trial", post(trial))
        .layer(DefaultBodyLimit::max(MAX_REPORT_BYTES))
}

async fn hello(State(lab): State<Lab>, Bearer(token): Bearer, Json(hello): Json<Hello>) -> Result<Json<Welcome>, AppError> {
    Ok(Json(schedule::agent::hello(&lab, &token, hello).await?))
}

async fn heartbeat(State(lab): State<Lab>, Bearer(token): Bearer, Json(beat): Json<Heartbeat>) -> Result<Json<HeartbeatReply>, AppError> {
    Ok(Json(schedule::agent::heartbeat(&lab, &token, beat).await?))
}

async fn claim(State(lab): State<Lab>, Bearer(token): Bearer, Json(claim): Json<Claim>) -> Result<Json<Option<JobSpec>>, AppError> {
    Ok(Json(schedule::claim::claim(&lab, &token, claim).await?))
}

async fn trial(State(lab): State<Lab>, Bearer(token): Bearer, Json(report): Json<TrialReport>) -> Result<Json<TrialReceipt>, AppError> {
    Ok(Json(schedule::report::report(&lab, &token, report).await?))
}
