//! The one error of all handlers: it is logged where it is made an answer, and answered as JSON or as a page.

use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use blklab_wire::agent::Refusal;

use crate::intake::IntakeError;
use crate::schedule::agent::AgentError;
use crate::schedule::cancel::CancelError;
use crate::schedule::report::ReportError;
use crate::store::StoreError;

/// An answer that is not a success.
#[derive(Debug)]
pub struct AppError {
    /// Its status.
    pub status: StatusCode,
    /// What is wrong and what would cure it.
    pub refusal: Refusal,
}

impl AppError {
    /// Any refusal.
    pub fn new(status: StatusCode, error: impl Into<String>, help: impl Into<String>) -> Self {
        AppError { status, refusal: Refusal { error: error.into(), help: help.into() } }
    }

    /// 404.
    pub fn not_found(what: impl Into<String>) -> Self {
        AppError::new(StatusCode::NOT_FOUND, what, "look at the list of experiments or hosts")
    }

    /// 401.
    pub fn unauthorized(error: impl Into<String>, help: impl Into<String>) -> Self {
        AppError::new(StatusCode::UNAUTHORIZED, error, help)
    }

    fn internal(error: impl std::fmt::Display) -> Self {
        tracing::error!("{error:#}");
        AppError::new(StatusCode::INTERNAL_SERVER_ERROR, "the coordinator failed to answer", "its log says why; trying again does no harm")
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        (self.status, Json(self.refusal)).into_response()
    }
}

/// For paths that nobody serves.
pub async fn not_found(request: Request) -> Response {
    let error = AppError::not_found(format!("there is nothing at {}", request.uri().path()));
    if request.uri().path().starts_with("/api/") { error.into_response() } else { super::pages::error_page(&error) }
}

impl From<anyhow::Error> for AppError {
    fn from(error: anyhow::Error) -> Self {
        AppError::internal(format!("{error:#}"))
    }
}

impl From<StoreError> for AppError {
    fn from(error: StoreError) -> Self {
        AppError::internal(error)
    }
}

impl From<IntakeError> for AppError {
    fn from(error: IntakeError) -> Self {
        match error {
            IntakeError::Store(error) => error.into(),
            IntakeError::Lost => AppError::internal(error),
            IntakeError::Source(_) | IntakeError::Matrix { .. } | IntakeError::NothingPossible { .. } | IntakeError::TooMany { .. } => {
                AppError::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string(), "")
            }
        }
    }
}

impl From<CancelError> for AppError {
    fn from(error: CancelError) -> Self {
        match error {
            CancelError::Unknown(_) => AppError::not_found(error.to_string()),
            CancelError::Refused(_) => AppError::new(StatusCode::CONFLICT, error.to_string(), "what is over stays as it is"),
            CancelError::Store(error) => error.into(),
        }
    }
}

impl From<AgentError> for AppError {
    fn from(error: AgentError) -> Self {
        let text = error.to_string();
        match error {
            AgentError::UnknownToken | AgentError::WrongToken(_) => AppError::unauthorized(
                text,
                "put the contents of enrol.token (in the coordinator's data folder) into the agent's token_file, \
                 or keep the agent's state_dir, which holds the token it was given",
            ),
            AgentError::NameTaken(_) => AppError::new(StatusCode::CONFLICT, text, "choose another `name` in the agent's configuration"),
            AgentError::Alive { .. } => {
                AppError::new(StatusCode::CONFLICT, text, "stop the other agent, or give this one its own name and state_dir")
            }
            AgentError::Superseded(_) => AppError::new(StatusCode::CONFLICT, text, "stop this agent: the other one does its work"),
            AgentError::Protocol(_) => {
                AppError::new(StatusCode::UPGRADE_REQUIRED, text, "install the agent that belongs to this coordinator")
            }
            AgentError::Store(error) => error.into(),
        }
    }
}

impl From<ReportError> for AppError {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Agent(error) => error.into(),
            ReportError::UnknownTrial(_) => AppError::new(StatusCode::NOT_FOUND, error.to_string(), "the agent may drop this report"),
            ReportError::BadOutput(_) => {
                AppError::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string(), "the agent may drop this report")
            }
            ReportError::Store(error) => error.into(),
            ReportError::Artifact(error) => error.into(),
        }
    }
}
