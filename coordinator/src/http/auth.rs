//! Bearer tokens (RFC 6750) out of requests.

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use super::error::AppError;
use crate::lab::Lab;

/// The token of a request; empty when there is none, which no check passes.
pub struct Bearer(pub String);

impl<S: Sync> FromRequestParts<S> for Bearer {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let value = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Ok(Bearer(value.strip_prefix("Bearer ").unwrap_or_default().trim().to_owned()))
    }
}

/// Proof that a request may submit and cancel.
pub struct Submitter;

impl FromRequestParts<Lab> for Submitter {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, lab: &Lab) -> Result<Self, AppError> {
        let Ok(Bearer(token)) = Bearer::from_request_parts(parts, lab).await;
        if lab.tokens.lets_submit(&token) {
            Ok(Submitter)
        } else {
            let help = "give the contents of submit.token in the coordinator's data folder, by --token-file or BLKLAB_TOKEN";
            Err(AppError::unauthorized(if token.is_empty() { "a submission token is needed" } else { "wrong submission token" }, help))
        }
    }
}
