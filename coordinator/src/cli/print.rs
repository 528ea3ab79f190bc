//! Standard output, in one place: a reader that closed its pipe ends the program quietly.

use std::io::Write;

/// Prints text as it is.
pub(super) fn text(text: &str) {
    let mut out = std::io::stdout().lock();
    // A closed pipe (`| head`) is no failure of ours.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints a line.
pub(super) fn line(line: &str) {
    text(&format!("{line}\n"));
}

/// Prints rows in columns as wide as their widest value; the last column is not padded.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let head: Vec<String> = head.iter().map(|&word| word.to_owned()).collect();
    for row in std::iter::once(&head).chain(rows) {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        line(cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}
