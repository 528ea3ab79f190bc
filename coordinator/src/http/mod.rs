//! HTTP: extract, call, render. No decision and no SQL in here.

pub mod agent;
pub mod api;
pub mod assets;
pub mod auth;
pub mod blobs;
pub mod error;
pub mod events;
pub mod json;
pub mod kernels;
pub mod pages;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue, header};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::lab::Lab;

/// Longest body of a request of a person, in bytes: an experiment file with its workloads.
pub const MAX_BODY_BYTES: usize = 8 << 20;

/// Nothing but our own pages, styles and scripts; nobody frames us.
const CONTENT_POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

/// All routes of the coordinator.
pub fn router(lab: Lab) -> Router {
    let set = |name: HeaderName, value: &'static str| SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value));
    Router::new()
        .merge(pages::router())
        .merge(assets::router())
        .merge(events::router())
        .nest("/api/v1", api::router().merge(kernels::router()))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .nest("/api/v1/agent", agent::router(&lab))
        .fallback(error::not_found)
        .layer(CompressionLayer::new())
        // Kernels are compressed already, and their length tells that one is whole.
        .merge(blobs::router(&lab))
        .with_state(lab)
        .layer(set(header::CONTENT_SECURITY_POLICY, CONTENT_POLICY))
        .layer(set(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(set(header::REFERRER_POLICY, "same-origin"))
        .layer(CatchPanicLayer::new())
}
