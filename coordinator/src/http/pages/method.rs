//! `/method`.

use axum::response::IntoResponse;
use blklab_stats::Policy;

use super::page::Page;
use crate::render::html::method::MethodPage;

pub(super) async fn page() -> impl IntoResponse {
    Page(MethodPage::new(Policy::default()))
}
