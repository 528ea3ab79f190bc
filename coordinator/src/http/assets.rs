//! Style sheet, script and icon: embedded in the binary, revalidated by the browser, never from another host.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest, Sha256};

use crate::lab::Lab;

/// A file of the binary.
struct Asset {
    content: &'static str,
    media_type: &'static str,
    /// Changes with the content (RFC 9110, 8.8.3).
    etag: LazyLock<String>,
}

macro_rules! asset {
    ($file:literal, $media_type:literal) => {{
        static ASSET: Asset = Asset {
            content: include_str!(concat!("../../assets/", $file)),
            media_type: $media_type,
            etag: LazyLock::new(|| etag(include_str!(concat!("../../assets/", $file)))),
        };
        get(|headers: HeaderMap| async move { ASSET.answer(&headers) })
    }};
}

/// Routes of assets.
pub fn router() -> Router<Lab> {
    Router::new()
        .route("/assets/style.css", asset!("style.css", "text/css; charset=utf-8"))
        .route("/assets/live.js", asset!("live.js", "text/javascript; charset=utf-8"))
        .route("/assets/favicon.svg", asset!("favicon.svg", "image/svg+xml"))
}

impl Asset {
    /// The file, or nothing new for a browser that has it.
    fn answer(&self, headers: &HeaderMap) -> Response {
        let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
        let etag = self.etag.as_str();
        // `no-cache` keeps the copy but asks first: a new coordinator shows its new style at once.
        let caching = [(header::ETAG, etag), (header::CACHE_CONTROL, "no-cache")];
        if known.is_some_and(|known| known.split(',').any(|tag| tag.trim().trim_start_matches("W/") == etag)) {
            return (StatusCode::NOT_MODIFIED, caching).into_response();
        }
        (caching, [(header::CONTENT_TYPE, self.media_type)], self.content).into_response()
    }
}

/// The first bytes of the digest: enough to tell versions apart.
fn etag(content: &str) -> String {
    let mut tag = String::from("\"");
    for byte in &Sha256::digest(content.as_bytes())[..8] {
        let _ = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    tag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_that_has_the_file_gets_none() {
        static ASSET: Asset = Asset { content: "a", media_type: "text/css", etag: LazyLock::new(|| etag("a")) };
        let fresh = ASSET.answer(&HeaderMap::new());
        assert_eq!(fresh.status(), StatusCode::OK);
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_NONE_MATCH, format!("\"x\", W/{}", *ASSET.etag).parse().unwrap());
        assert_eq!(ASSET.answer(&headers).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(fresh.headers()[header::ETAG], ASSET.etag.as_str());
        assert_ne!(etag("a"), etag("b"));
    }

    #[test]
    fn pages_need_nothing_from_elsewhere_and_nothing_inline() {
        for text in [include_str!("../../assets/style.css"), include_str!("../../assets/live.js")] {
            assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("@import"));
        }
        assert!(!include_str!("../../assets/live.js").contains(".style"), "the content policy forbids inline styles");
    }
}
