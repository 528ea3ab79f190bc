//! JSON bodies whose rejection is a [`Refusal`](blklab_wire::agent::Refusal) like every other: agents and tools read one form of error.

use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;

use super::error::AppError;

/// A JSON body.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = AppError;

    async fn from_request(request: Request, state: &S) -> Result<Self, AppError> {
        match axum::Json::<T>::from_request(request, state).await {
            Ok(axum::Json(value)) => Ok(Body(value)),
            Err(rejection) => Err(AppError::new(rejection.status(), rejection.body_text(), "see the API in docs/api.md")),
        }
    }
}
