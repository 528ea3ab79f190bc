//! Files of kernels, in and out, piece by piece: none is ever whole in memory. Names are digests, so what comes out needs no other proof.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, put};
use blklab_model::kernel::Blob;
use futures_util::StreamExt;
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;
use tower::limit::GlobalConcurrencyLimitLayer;

use super::agent::known_token;
use super::auth::{Bearer, Submitter};
use super::error::AppError;
use crate::artifact::{ArtifactError, Incoming};
use crate::kernels::MAX_BLOB_BYTES;
use crate::lab::Lab;
use crate::schedule;

/// Files taken in at once: each keeps a disk busy, and a thread.
const UPLOADS_AT_ONCE: usize = 4;

/// A sender that is silent for so long is gone; the slowest line brings a piece within seconds.
const SILENCE: Duration = Duration::from_secs(60);

/// Pieces that wait to be written: the sender is held back when the disk is slower.
const PIECES_WAITING: usize = 4;

/// Bytes read at once on the way out.
const PIECE: usize = 256 << 10;

/// Routes of files, for people and for agents.
pub fn router(lab: &Lab) -> Router<Lab> {
    let uploads = GlobalConcurrencyLimitLayer::new(UPLOADS_AT_ONCE);
    let people = Router::new().route("/api/v1/blobs/{sha256}", put(put_by_people).layer(uploads.clone()).get(give));
    let agents = Router::new()
        .route("/api/v1/agent/blobs/{sha256}", put(put_by_builder).layer(uploads).merge(get(give)))
        .layer(from_fn_with_state(lab.clone(), known_token));
    people.merge(agents)
}

async fn put_by_people(State(lab): State<Lab>, _: Submitter, Path(sha256): Path<String>, request: Request) -> Result<Response, AppError> {
    take(&lab, &sha256, request).await
}

async fn put_by_builder(
    State(lab): State<Lab>,
    Bearer(token): Bearer,
    Path(sha256): Path<String>,
    request: Request,
) -> Result<Response, AppError> {
    schedule::agent::check_builder(&lab, &token).await?;
    take(&lab, &sha256, request).await
}

/// The file, for `GET`; for `HEAD` only that it is there, and how long.
async fn give(State(lab): State<Lab>, Path(sha256): Path<String>) -> Result<Response, AppError> {
    let headers = [(header::CONTENT_TYPE, "application/octet-stream"), (header::CONTENT_DISPOSITION, "attachment")];
    Ok((headers, file(&lab, sha256).await?).into_response())
}

/// A file as a body with its length.
pub(super) async fn file(lab: &Lab, sha256: String) -> Result<Response, AppError> {
    let blobs = lab.blobs.clone();
    let opened = tokio::task::spawn_blocking(move || blobs.open_file(&sha256)).await.map_err(anyhow::Error::new)?;
    let (file, length) = opened?;
    let pieces = futures_util::stream::try_unfold(tokio::fs::File::from_std(file), async |mut file| {
        let mut piece = Vec::with_capacity(PIECE);
        let read = file.read_buf(&mut piece).await?;
        Ok::<_, std::io::Error>((read > 0).then(|| (Bytes::from(piece), file)))
    });
    Ok(([(header::CONTENT_LENGTH, length)], Body::from_stream(pieces)).into_response())
}

/// A file that people read: a log, a configuration.
pub(in crate::http) async fn text(lab: &Lab, sha256: String) -> Result<Response, AppError> {
    let policy = (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox");
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8"), policy], file(lab, sha256).await?).into_response())
}

async fn take(lab: &Lab, sha256: &str, request: Request) -> Result<Response, AppError> {
    if announced(request.headers()).is_some_and(|length| length > MAX_BLOB_BYTES) {
        return Err(ArtifactError::TooLong { limit: MAX_BLOB_BYTES }.into());
    }
    let blobs = lab.blobs.clone();
    let name = sha256.to_owned();
    let (sender, mut receiver) = mpsc::channel::<Option<Bytes>>(PIECES_WAITING);
    let writer = tokio::task::spawn_blocking(move || {
        let mut incoming = Incoming::begin(&blobs, &name, MAX_BLOB_BYTES)?;
        loop {
            match receiver.blocking_recv() {
                Some(Some(piece)) => incoming.write(&piece)?,
                Some(None) => return incoming.keep().map(Some),
                // Broken off: what came is dropped.
                None => return Ok(None),
            }
        }
    });
    let sent = send(request.into_body(), sender).await;
    // Where both failed the writer knows why: no space, too long.
    let kept = writer.await.map_err(anyhow::Error::new)??;
    sent?;
    let bytes = kept.ok_or_else(|| AppError::new(StatusCode::BAD_REQUEST, "the file was broken off", "send it again"))?;
    Ok((StatusCode::CREATED, Json(Blob { sha256: sha256.to_owned(), bytes })).into_response())
}

/// Hands the pieces of a body over, and the end if it was reached.
async fn send(body: Body, sender: mpsc::Sender<Option<Bytes>>) -> Result<(), AppError> {
    let mut pieces = body.into_data_stream();
    loop {
        let piece = match tokio::time::timeout(SILENCE, pieces.next()).await {
            Ok(Some(Ok(piece))) => Some(piece),
            Ok(None) => None,
            Ok(Some(Err(error))) => {
                return Err(AppError::new(StatusCode::BAD_REQUEST, format!("the file was broken off: {error}"), "send it again"));
            }
            Err(_) => {
                let error = format!("nothing came for {} s", SILENCE.as_secs());
                return Err(AppError::new(StatusCode::REQUEST_TIMEOUT, error, "send it again"));
            }
        };
        let is_end = piece.is_none();
        // A writer that has ended says why itself.
        if sender.send(piece).await.is_err() || is_end {
            return Ok(());
        }
    }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
