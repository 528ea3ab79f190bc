//! Templates and errors as answers.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};

use crate::http::error::AppError;
use crate::render::html::error::ErrorPage;

/// A template as an answer.
pub(super) struct Page<T>(pub(super) T);

impl<T: Template> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        match self.0.render() {
            Ok(html) => Html(html).into_response(),
            Err(error) => error_page(&anyhow::Error::new(error).context("failed to render a page").into()),
        }
    }
}

/// An error that a person meets in a browser.
pub(super) struct PageError(AppError);

impl<E: Into<AppError>> From<E> for PageError {
    fn from(error: E) -> PageError {
        PageError(error.into())
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        error_page(&self.0)
    }
}

/// A page about an error.
pub fn error_page(error: &AppError) -> Response {
    let page = ErrorPage { status: error.status.as_u16(), error: &error.refusal.error, help: &error.refusal.help };
    match page.render() {
        Ok(html) => (error.status, Html(html)).into_response(),
        // Nothing is left to render an error of the error page with.
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, error.refusal.error.clone()).into_response(),
    }
}
