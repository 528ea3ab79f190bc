//! A verdict word with its glyph, as markup. The glyph is for eyes only: the word says the same.

use std::fmt;

use crate::render::escape::escape;
use crate::render::word::{Tone, Word};

/// A word on its colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Badge {
    class: &'static str,
    glyph: char,
    text: String,
}

impl Badge {
    /// The verdict in full.
    pub(crate) fn long(word: &Word) -> Badge {
        Badge::of(word.tone, &word.long)
    }

    /// Any text in a tone.
    pub(crate) fn of(tone: Tone, text: impl Into<String>) -> Badge {
        Badge { class: tone.class(), glyph: tone.glyph(), text: text.into() }
    }

    /// A state that is no verdict; `class` is its colour in the style sheet.
    pub(super) fn state(class: &'static str, glyph: char, text: &str) -> Badge {
        Badge { class, glyph, text: text.to_owned() }
    }
}

impl fmt::Display for Badge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Badge { class, glyph, text } = self;
        write!(f, r#"<span class="word {class}"><span class="glyph" aria-hidden="true">{glyph}</span> {}</span>"#, escape(text))
    }
}

/// Its text is escaped above.
impl askama::filters::HtmlSafe for Badge {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_text() {
        let badge = Badge::of(Tone::Worse, "<b>").to_string();
        assert_eq!(badge, "<span class=\"word worse\"><span class=\"glyph\" aria-hidden=\"true\">▼</span> &lt;b&gt;</span>");
    }
}
