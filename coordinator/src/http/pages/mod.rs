//! Pages for people and their twins for programs: the same address with `.json`, `.csv` or `.txt`. Extract, call the lab, render.

mod builds;
mod disk_models;
mod experiments;
mod home;
mod hosts;
mod kernels;
mod method;
mod page;
mod queue;
mod twin;

use axum::Router;
use axum::routing::get;

use crate::lab::Lab;
pub use page::error_page;

/// Routes of pages.
pub fn router() -> Router<Lab> {
    Router::new()
        .route("/", get(home::page))
        .route("/experiments/{id}", get(experiments::page))
        .route("/experiments/{id}/cells/{cell}", get(experiments::cell))
        .route("/experiments/{id}/trials/{trial}/raw/{output}", get(experiments::raw))
        .route("/hosts", get(hosts::list))
        .route("/hosts.json", get(hosts::list_json))
        .route("/hosts/{name}", get(hosts::one))
        .route("/kernels", get(kernels::list))
        .route("/kernels.json", get(kernels::list_json))
        .route("/kernels/{name}", get(kernels::one))
        .route("/kernels/{name}/config", get(kernels::config))
        .route("/kernels/{name}/log", get(kernels::log))
        .route("/builds", get(builds::list))
        .route("/builds.json", get(builds::list_json))
        .route("/builds/{id}", get(builds::one))
        .route("/builds/{id}/log", get(builds::log))
        .route("/queue", get(queue::page))
        .route("/queue.json", get(queue::json))
        .route("/disk-models", get(disk_models::page))
        .route("/disk-models.json", get(disk_models::json))
        .route("/method", get(method::page))
}
