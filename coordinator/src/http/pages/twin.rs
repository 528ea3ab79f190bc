//! The last part of an address: what is meant, and in which form it is wanted.

use std::fmt::Display;
use std::str::FromStr;

use axum::http::HeaderMap;
use axum::http::header::{CONTENT_TYPE, HOST, HeaderName};
use axum::response::{IntoResponse, Response};

use crate::http::error::AppError;

/// Forms of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Html,
    Json,
    Csv,
    Text,
    Toml,
}

/// Splits `x12.json` into the thing and its form.
pub(super) fn split<T: FromStr<Err: Display>>(name: &str) -> Result<(T, Form), AppError> {
    let forms = [(".json", Form::Json), (".csv", Form::Csv), (".txt", Form::Text), (".toml", Form::Toml)];
    let twin = forms.into_iter().find_map(|(end, form)| Some((name.strip_suffix(end)?, form)));
    let (thing, form) = twin.unwrap_or((name, Form::Html));
    Ok((parse(thing)?, form))
}

/// Reads a part of an address; what cannot be a name cannot be there.
pub(super) fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<T, AppError> {
    text.parse().map_err(|error: T::Err| AppError::not_found(format!("there is no `{text}`: {error}")))
}

/// The answer to a form that a page does not have.
pub(super) fn no_such_form(name: &str) -> AppError {
    AppError::not_found(format!("there is no `{name}`"))
}

/// Rows for a spreadsheet.
pub(super) fn csv(text: String) -> Response {
    ([(CONTENT_TYPE, "text/csv; charset=utf-8")], text).into_response()
}

/// Text that no browser takes for anything else.
pub(super) fn plain(text: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

/// The address under which the reader knows this coordinator; behind a proxy it says whether that is https.
pub(super) fn base_url(headers: &HeaderMap) -> String {
    let header = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let host = header(HOST);
    let plausible = host.len() <= 255 && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b));
    let scheme = if header(HeaderName::from_static("x-forwarded-proto")) == "https" { "https" } else { "http" };
    if plausible && !host.is_empty() { format!("{scheme}://{host}") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blklab_model::id::ExperimentId;

    #[test]
    fn an_address_names_a_thing_and_a_form() {
        let split = |name| split::<ExperimentId>(name).ok().map(|(id, form)| (id.0, form));
        assert_eq!(split("x12"), Some((12, Form::Html)));
        assert_eq!(split("x12.csv"), Some((12, Form::Csv)));
        assert_eq!(split("12.txt"), Some((12, Form::Text)));
        assert_eq!(split("x12.exe"), None);
        assert_eq!(split("<script>"), None);
    }

    #[test]
    fn a_strange_host_is_not_repeated() {
        let mut headers = HeaderMap::new();
        assert_eq!(base_url(&headers), "");
        headers.insert(HOST, "lab.example.org:8080".parse().unwrap());
        assert_eq!(base_url(&headers), "http://lab.example.org:8080");
        headers.insert("x-forwarded-proto", "https".parse().unwrap());
        assert_eq!(base_url(&headers), "https://lab.example.org:8080");
        headers.insert(HOST, "a b".parse().unwrap());
        assert_eq!(base_url(&headers), "");
    }
}
