//! The one error of all state machines: an event that has no meaning in a state.

use std::fmt::Debug;

/// An event that a state does not take. The caller answers with it or ignores it; it never guesses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a {what} that is {state} does not take {event}")]
pub struct Refused {
    /// `job`, `trial`, `experiment`, `host` or `disk`.
    pub what: &'static str,
    /// The state as text.
    pub state: String,
    /// The event as text.
    pub event: String,
}

impl Refused {
    pub(crate) fn new(what: &'static str, state: impl Debug, event: impl Debug) -> Self {
        Refused { what, state: format!("{state:?}"), event: format!("{event:?}") }
    }
}
