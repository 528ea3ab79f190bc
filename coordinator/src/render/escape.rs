//! Text inside of markup that is written by hand (plots, badges); templates escape by themselves.

/// The text as XML character data, also inside of a quoted attribute. Control characters, which XML 1.0 forbids, become spaces.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_means_markup_is_left() {
        assert_eq!(escape("<a b=\"c\" d='e'>&\u{7}\n"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;  ");
    }
}
