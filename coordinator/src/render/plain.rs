//! Plain text for mail: ASCII, 72 columns, paragraphs and tables. Knows characters and columns; knows nothing of reports.

use super::number::NBSP;

/// Columns of a line: what mailing lists ask for, so that a quoted reply still fits into 80.
pub(crate) const COLUMNS: usize = 72;

/// Two spaces between the columns of a table.
const GAP: usize = 2;

/// The text in ASCII on one line: common signs by their usual spelling, anything else as `?`.
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' '..='~' => out.push(c),
            c if c.is_whitespace() || c.is_control() => out.push(' '),
            '–' | '—' | '−' | '‐' => out.push('-'),
            '‘' | '’' => out.push('\''),
            '“' | '”' | '„' => out.push('"'),
            '…' => out.push_str("..."),
            '→' => out.push_str("->"),
            '±' => out.push_str("+-"),
            '≤' => out.push_str("<="),
            '≥' => out.push_str(">="),
            '×' | '·' => out.push('x'),
            'µ' | 'μ' => out.push('u'),
            'ä' => out.push_str("ae"),
            'ö' => out.push_str("oe"),
            'ü' => out.push_str("ue"),
            'ß' => out.push_str("ss"),
            _ => out.push('?'),
        }
    }
    out
}

/// Breaks ASCII text into lines of at most `width` columns, at spaces where there are any.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    // A no-break space keeps a number and its unit in one word.
    for word in text.split(|c: char| c.is_whitespace() && c != NBSP).filter(|word| !word.is_empty()) {
        let word = ascii(word);
        let mut word = word.trim();
        if !line.is_empty() && line.len() + 1 + word.len() > width {
            lines.push(std::mem::take(&mut line));
        }
        // A word that fits no line is cut: losing its end would be worse.
        while line.is_empty() && word.len() > width {
            let (head, tail) = word.split_at(width);
            lines.push(head.to_owned());
            word = tail;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// A paragraph whose first line begins with `label`; the others are indented as far.
pub(crate) fn paragraph(label: &str, text: &str) -> String {
    let indent = label.len();
    let lines = wrap(text, COLUMNS.saturating_sub(indent));
    let mut out = String::new();
    for (number, line) in lines.iter().enumerate() {
        let lead = if number == 0 { label } else { &" ".repeat(indent) };
        out.push_str(format!("{lead}{line}").trim_end());
        out.push('\n');
    }
    out
}

/// On which side a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text, broken into several lines where it is too long.
    Left,
    /// Numbers, never broken.
    Right,
}

/// A table that fits its width by breaking the texts in its left-aligned columns.
pub(crate) fn table(head: &[(&str, Align)], rows: &[Vec<String>], indent: usize) -> String {
    let widths = widths(head, rows, COLUMNS.saturating_sub(indent));
    let mut out = String::new();
    let head_row: Vec<String> = head.iter().map(|(name, _)| (*name).to_owned()).collect();
    for row in std::iter::once(&head_row).chain(rows) {
        let cells: Vec<Vec<String>> = row.iter().zip(&widths).map(|(text, width)| wrap(text, *width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..height {
            let mut line = " ".repeat(indent);
            for ((cell, width), (_, align)) in cells.iter().zip(&widths).zip(head) {
                let text = cell.get(at).map_or("", String::as_str);
                line.push_str(&match align {
                    Align::Left => format!("{text:<width$}"),
                    Align::Right => format!("{text:>width$}"),
                });
                line.push_str(&" ".repeat(GAP));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out
}

/// Each column as wide as its longest text; the widest left-aligned ones give way until all fit.
fn widths(head: &[(&str, Align)], rows: &[Vec<String>], total: usize) -> Vec<usize> {
    let longest = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|text| ascii(text).len()).max().unwrap_or(0);
    let mut widths: Vec<usize> = head.iter().enumerate().map(|(column, (name, _))| longest(column).max(name.len())).collect();
    let gaps = GAP * head.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > total {
        let left = |column: &usize| head[*column].1 == Align::Left;
        // Numbers give way only when no text is left to give.
        let by_text = (0..head.len()).filter(left).max_by_key(|column| widths[*column]).filter(|column| widths[*column] > 1);
        let Some(widest) = by_text.or_else(|| (0..head.len()).max_by_key(|column| widths[*column])) else { break };
        if widths[widest] == 1 {
            break;
        }
        widths[widest] -= 1;
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn signs_get_their_usual_spelling() {
        assert_eq!(ascii("±5 µs → “ok” … Größe 🦀\u{202e}\n"), "+-5 us -> \"ok\" ... Groesse ?? ");
    }

    #[test]
    fn text_breaks_at_spaces_and_long_words_are_cut() {
        assert_eq!(wrap("aa bb cccccc d", 5), ["aa bb", "ccccc", "c d"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("a 10\u{a0}% b", 5), ["a", "10 %", "b"]);
        assert_eq!(paragraph("Note: ", "x"), "Note: x\n");
    }

    #[test]
    fn long_texts_are_broken_inside_of_their_column() {
        let rows = vec![vec!["a very long label that does not fit anywhere near the side of this line".to_owned(), "-7.4".to_owned()]];
        let text = table(&[("where", Align::Left), ("change", Align::Right)], &rows, 2);
        assert_eq!(
            text,
            "  where                                                           change\n  \
             a very long label that does not fit anywhere near the side of     -7.4\n  \
             this line\n"
        );
    }

    proptest! {
        #[test]
        fn nothing_leaves_the_page(texts in prop::collection::vec("\\PC{0,120}", 4), indent in 0usize..8) {
            let rows = vec![texts.clone(), texts.clone()];
            let head = [("a", Align::Left), ("b", Align::Left), ("c", Align::Right), ("d", Align::Left)];
            for line in table(&head, &rows, indent).lines().chain(paragraph("Label: ", &texts.join(" ")).lines()) {
                prop_assert!(line.is_ascii() && line.len() <= COLUMNS, "{line:?}");
            }
        }
    }
}
