//! The one error of all handlers: it is logged where it is made an answer, and answered as JSON or as a page.

use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use blklab_wire::agent::Refusal;

use crate::artifact::ArtifactError;
use crate::intake::IntakeError;
use crate::kernels::KernelError;
use crate::schedule::agent::AgentError;
use crate::schedule::build::BuildError;
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
            IntakeError::Changed { .. } => AppError::new(StatusCode::CONFLICT, error.to_string(), ""),
            IntakeError::Source(_)
            | IntakeError::Matrix { .. }
            | IntakeError::NothingPossible { .. }
            | IntakeError::BadImport { .. }
            | IntakeError::TooMany { .. } => AppError::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string(), ""),
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
            AgentError::NoBuilder(_) => {
                AppError::new(StatusCode::FORBIDDEN, text, "let its agent build kernels (its configuration), and restart the agent")
            }
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

impl From<ArtifactError> for AppError {
    fn from(error: ArtifactError) -> Self {
        let text = error.to_string();
        match error {
            ArtifactError::BadName(_) => {
                AppError::new(StatusCode::UNPROCESSABLE_ENTITY, text, "a file is named by the SHA-256 of its bytes")
            }
            ArtifactError::Missing { sha256, .. } => {
                AppError::new(StatusCode::NOT_FOUND, format!("there is no file {sha256}"), "put it first")
            }
            ArtifactError::TooLong { .. } => AppError::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                text,
                "strip debugging information (INSTALL_MOD_STRIP=1), or keep only the modules that storage needs",
            ),
            ArtifactError::WrongDigest { .. } => {
                AppError::new(StatusCode::UNPROCESSABLE_ENTITY, text, "the file changed while it was sent, or was damaged; send it again")
            }
            ArtifactError::Full { .. } => AppError::new(StatusCode::INSUFFICIENT_STORAGE, text, "free some space on the coordinator"),
            ArtifactError::Damaged { .. } | ArtifactError::Io { .. } => AppError::internal(text),
        }
    }
}

impl From<KernelError> for AppError {
    fn from(error: KernelError) -> Self {
        let text = error.to_string();
        match error {
            KernelError::Bad(_) => AppError::new(StatusCode::UNPROCESSABLE_ENTITY, text, ""),
            KernelError::NoBlob { .. } => AppError::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                text,
                "put its files first: PUT /api/v1/blobs/SHA256 (builders: /api/v1/agent/blobs/SHA256)",
            ),
            KernelError::Taken { name, .. } => {
                let help = format!("choose another name, or remove that one: blklab kernel rm {name}");
                AppError::new(StatusCode::CONFLICT, text, help)
            }
            KernelError::BeingBuilt { build, .. } => {
                AppError::new(StatusCode::CONFLICT, text, format!("choose another name, or cancel the build; see /builds/{build}"))
            }
            KernelError::Unknown(_) => AppError::not_found(text),
            KernelError::Needed { .. } => AppError::new(StatusCode::CONFLICT, text, "wait for them, or cancel them: blklab cancel ID"),
            KernelError::Store(error) => error.into(),
            KernelError::Artifact(error) => error.into(),
            KernelError::Lost => AppError::internal(text),
        }
    }
}

impl From<BuildError> for AppError {
    fn from(error: BuildError) -> Self {
        let text = error.to_string();
        match error {
            BuildError::Bad(_) => AppError::new(StatusCode::UNPROCESSABLE_ENTITY, text, ""),
            BuildError::Taken(name) => {
                AppError::new(StatusCode::CONFLICT, text, format!("choose another name, or remove it: blklab kernel rm {name}"))
            }
            BuildError::BeingBuilt { build, .. } => {
                AppError::new(StatusCode::CONFLICT, text, format!("choose another name, or cancel that build; see /builds/{build}"))
            }
            BuildError::Unknown(_) => AppError::not_found(text),
            BuildError::Refused(_) => AppError::new(StatusCode::CONFLICT, text, "what is over stays as it is"),
            BuildError::Agent(error) => error.into(),
            BuildError::Kernel(error) => error.into(),
            BuildError::Store(error) => error.into(),
        }
    }
}
