//! The serial console of a host: all of it passes through, a bounded part is kept.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The boot, which explains most failures.
const HEAD_BYTES: usize = 256 << 10;

/// The end: a panic with its backtrace and the messages before it.
const TAIL_BYTES: usize = 256 << 10;

/// A kernel that prints for ever must not fill the disk; the rest is kept in memory as above.
const FILE_BYTES: usize = 4 << 20;

/// Characters of one line of an excerpt.
const LINE_CHARS: usize = 300;

/// What a console said so far; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Console(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    head: Vec<u8>,
    tail: Vec<u8>,
    dropped: u64,
    written: usize,
}

impl Console {
    /// Takes in everything that `source` says, and writes its beginning to `file` for people to look at. The thread ends with the source.
    pub fn follow(&self, mut source: impl Read + Send + 'static, file: &Path) -> std::io::Result<JoinHandle<()>> {
        let console = self.clone();
        let mut file = File::create(file)?;
        Ok(std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = source.read(&mut buffer) {
                console.push(&buffer[..length], &mut file);
            }
        }))
    }

    fn push(&self, bytes: &[u8], file: &mut impl Write) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let to_file = bytes.len().min(FILE_BYTES - kept.written);
        // A full disk is found where a trial needs it; the console is kept in memory anyway.
        let _ = file.write_all(&bytes[..to_file]);
        kept.written += to_file;
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - kept.head.len()));
        kept.head.extend_from_slice(head);
        kept.tail.extend_from_slice(rest);
        let excess = kept.tail.len().saturating_sub(TAIL_BYTES);
        kept.tail.drain(..excess);
        kept.dropped += excess as u64;
    }

    /// Everything that was kept, as text without escapes and carriage returns.
    pub fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gap = if kept.dropped > 0 { format!("\n[... {} bytes left out ...]\n", kept.dropped) } else { String::new() };
        let bytes = [kept.head.as_slice(), gap.as_bytes(), kept.tail.as_slice()].concat();
        printable(&String::from_utf8_lossy(&bytes))
    }
}

/// The last `lines` lines that say something.
pub fn last_lines(text: &str, lines: usize) -> String {
    let mut last: Vec<String> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(lines).map(shortened).collect();
    last.reverse();
    last.join("\n")
}

/// The line at `index` (from 0) with `before` lines before it and `after` behind.
pub fn around(text: &str, index: usize, before: usize, after: usize) -> String {
    let lines: Vec<String> = text.lines().skip(index.saturating_sub(before)).take(before.min(index) + 1 + after).map(shortened).collect();
    lines.join("\n")
}

fn shortened(line: &str) -> String {
    line.chars().take(LINE_CHARS).collect()
}

/// Firmware and kernels colour their output; what is left is plain lines.
fn printable(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            // CSI sequences end with a letter (ECMA-48, 5.4).
            '\u{1b}' => {
                if chars.next() == Some('[') {
                    chars.by_ref().find(char::is_ascii_alphabetic);
                }
            }
            '\n' | '\t' => plain.push(c),
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_long_console_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let console = Console::default();
        let mut said = b"first\n".to_vec();
        said.resize(10 << 20, b'.');
        said.extend(b"\nlast\n");
        console.follow(std::io::Cursor::new(said), &dir.path().join("console.log")).unwrap().join().unwrap();
        let text = console.text();
        assert!(text.starts_with("first\n.") && text.ends_with(".\nlast\n") && text.contains("bytes left out"));
        assert!(text.len() < HEAD_BYTES + TAIL_BYTES + 100);
        assert_eq!(std::fs::metadata(dir.path().join("console.log")).unwrap().len(), FILE_BYTES as u64);
    }

    #[test]
    fn escapes_are_no_text() {
        assert_eq!(printable("\u{1b}[2J\u{1b}[0;32mok\u{1b}[0m\r\n\u{7}x"), "ok\nx");
    }

    #[test]
    fn excerpts_are_cut_out_of_the_lines() {
        let text = "a\nb\n\nc\nd\n";
        assert_eq!(last_lines(text, 2), "c\nd");
        assert_eq!(around(text, 1, 5, 1), "a\nb\n");
        assert_eq!(around(text, 3, 1, 9), "\nc\nd");
    }
}
