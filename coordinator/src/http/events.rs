//! Live progress by server-sent events (HTML Living Standard, 9.2): an enhancement, pages work without it.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use axum::routing::get;
use blklab_model::id::ExperimentId;
use futures_util::Stream;
use tokio::sync::watch;

use super::error::AppError;
use crate::lab::Lab;

/// Changes closer together than this become one event: a reader cannot follow more, and a report is made for each.
const AT_MOST_EVERY: Duration = Duration::from_secs(1);

/// Routes of live pages.
pub fn router() -> Router<Lab> {
    Router::new().route("/experiments/{id}/events", get(events))
}

async fn events(
    State(lab): State<Lab>,
    Path(id): Path<ExperimentId>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, AppError> {
    if lab.progress(id).await?.is_none() {
        return Err(AppError::not_found(format!("there is no experiment {id}")));
    }
    let mut changes = lab.watch();
    changes.mark_changed();
    let stream = futures_util::stream::unfold(Some((lab, changes)), move |state| next_event(id, state));
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()))
}

type Watching = Option<(Lab, watch::Receiver<u64>)>;

/// Waits for a change and tells how far the experiment is; the last event is that of its end.
async fn next_event(id: ExperimentId, state: Watching) -> Option<(Result<Event, Infallible>, Watching)> {
    let (lab, mut changes) = state?;
    changes.changed().await.ok()?;
    let progress = lab.progress(id).await.ok()??;
    let event = Event::default().json_data(&progress).ok()?;
    let over = progress.state == "finished" || progress.state == "cancelled";
    if !over {
        tokio::time::sleep(AT_MOST_EVERY).await;
    }
    Some((Ok(event), (!over).then_some((lab, changes))))
}
