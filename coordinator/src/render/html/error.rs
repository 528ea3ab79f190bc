//! Pages about errors: what is wrong, what would help, where to go.

use askama::Template;

/// An error as a page.
#[derive(Template)]
#[template(path = "error/page.html")]
pub struct ErrorPage<'a> {
    /// `404`.
    pub status: u16,
    /// What is wrong.
    pub error: &'a str,
    /// What would cure it; may be empty.
    pub help: &'a str,
}
