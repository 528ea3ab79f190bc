//! Patches as people have them: mails in mbox form, as `git format-patch` and mail archives write them. What `git am` would refuse for
//! its form is refused here, before anything is built.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use blklab_model::build::NamedFile;

/// A message to the coordinator holds 8 MiB; the longest series of the kernel's lists have 2.
const MAX_PATCH_BYTES: u64 = 4 << 20;

/// Letters of a subject that go into a name.
const SLUG_CHARS: usize = 48;

/// A patch file, and the subjects of its mails.
#[derive(Debug)]
pub(super) struct Patch {
    pub(super) file: NamedFile,
    pub(super) subjects: Vec<String>,
}

/// Reads a file and looks whether it is one or more mails with a change each.
pub(super) fn read(path: &Path) -> anyhow::Result<Patch> {
    let name = path.display();
    let bytes = fs::metadata(path).with_context(|| format!("failed to read the patch {name}"))?.len();
    if bytes > MAX_PATCH_BYTES {
        bail!("the patch {name} is longer than {} MiB; is it the right file?", MAX_PATCH_BYTES >> 20);
    }
    let bytes = fs::read(path).with_context(|| format!("failed to read the patch {name}"))?;
    let text = text(bytes).and_then(|text| check(&text).map(|subjects| (text, subjects)));
    match text {
        Ok((text, subjects)) => {
            let name = path.file_name().map_or_else(|| name.to_string(), |file| file.to_string_lossy().into_owned());
            Ok(Patch { file: NamedFile { name, text }, subjects })
        }
        Err(why) => bail!("{name} is no patch that `git am` takes: {why}"),
    }
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err("it is compressed; unpack it with gunzip".to_owned());
    }
    String::from_utf8(bytes).map_err(|error| {
        format!("byte {} is no UTF-8; write it anew with `git format-patch --encode-email-headers`", error.utf8_error().valid_up_to())
    })
}

/// Subjects of its mails, or what is wrong.
fn check(text: &str) -> Result<Vec<String>, String> {
    const WRITE: &str = "write it with `git format-patch -1 COMMIT`, or take the mail as mbox (its raw form)";
    let start = text.trim_start();
    if start.is_empty() {
        return Err("it is empty".to_owned());
    }
    if start.starts_with('<') {
        return Err(format!("it is a web page; {WRITE}"));
    }
    let mails = mails(text);
    if mails.is_empty() {
        let what = if has_diff(text) { "it is a bare diff without author and subject" } else { "it is no mail" };
        return Err(format!("{what}; {WRITE}"));
    }
    let mut subjects = Vec::new();
    for mail in mails {
        let (head, body) = mail.split_once("\n\n").or_else(|| mail.split_once("\r\n\r\n")).unwrap_or((mail, ""));
        let subject = header(head, "Subject").ok_or_else(|| format!("a mail in it has no subject; {WRITE}"))?;
        if header(head, "From").is_none() {
            return Err(format!("the mail `{subject}` has no author; {WRITE}"));
        }
        if header(head, "Content-Transfer-Encoding").is_some_and(|encoding| encoding.eq_ignore_ascii_case("base64")) {
            // git am decodes it.
            subjects.push(bare(&subject).to_owned());
            continue;
        }
        if !has_diff(body) {
            return Err(format!(
                "the mail `{subject}` changes nothing (no `--- FILE`, `+++ FILE` in it); leave cover letters and replies out"
            ));
        }
        subjects.push(bare(&subject).to_owned());
    }
    Ok(subjects)
}

/// The mails of an mbox, or the one mail that it is.
fn mails(text: &str) -> Vec<&str> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        // git am takes a line for the beginning of a mail when it ends in a date, too.
        let is_start = line.starts_with("From ") && line.trim_end().len() > 20 && line.contains(':');
        if is_start {
            starts.push((at, at + line.len()));
        }
        at += line.len();
    }
    if starts.is_empty() {
        let is_mail = text.lines().take_while(|line| !line.is_empty()).all(is_header_line) && header(text, "Subject").is_some();
        return if is_mail { vec![text] } else { Vec::new() };
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([text.len()]);
    starts.iter().zip(ends).map(|((_, body), end)| &text[*body..end]).collect()
}

/// `Name: value`, or more of the value before it.
fn is_header_line(line: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
    line.starts_with([' ', '\t']) || line.split_once(':').is_some_and(|(name, _)| is_name(name))
}

/// A header's value in one line (RFC 5322, unfolding).
fn header(mail: &str, name: &str) -> Option<String> {
    let mut value: Option<String> = None;
    for line in mail.lines().take_while(|line| !line.is_empty()) {
        match &mut value {
            Some(value) if line.starts_with([' ', '\t']) => {
                value.push(' ');
                value.push_str(line.trim());
            }
            Some(_) => break,
            None => {
                let found = line.split_once(':').filter(|(found, _)| found.eq_ignore_ascii_case(name));
                value = found.map(|(_, value)| value.trim().to_owned());
            }
        }
    }
    value.filter(|value| !value.is_empty())
}

fn has_diff(text: &str) -> bool {
    let mut lines = text.lines();
    // A change of modes or names alone has no `---`.
    text.contains("\nrename to ") || text.contains("\nnew mode ") || text.contains("\nGIT binary patch") || {
        lines.any(|line| line.starts_with("--- "))
            && lines.any(|line| line.starts_with("+++ "))
            && lines.any(|line| line.starts_with("@@ "))
    }
}

/// A subject without `[PATCH v2 1/3]` and its like.
fn bare(subject: &str) -> &str {
    let mut rest = subject.trim();
    while let Some((_, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        rest = after.trim_start();
    }
    if rest.is_empty() { subject } else { rest }
}

/// `ext4: Let the journal write at RT priority` as a part of a name: `ext4-let-the-journal-write-at-rt-priority`.
pub(super) fn slug(subject: &str) -> String {
    let mut slug = String::new();
    for letter in subject.chars() {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    let end = match slug.char_indices().nth(SLUG_CHARS) {
        // Not in the middle of a word, if there is more than one.
        Some((limit, _)) => slug[..limit].rfind('-').unwrap_or(limit),
        None => slug.len(),
    };
    slug[..end].trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIL: &str = "\
From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001
From: An Author <author@example.org>
Date: Thu, 1 Jan 2026 00:00:00 +0000
Subject: [PATCH v2 1/2] block, bfq: do not
 idle for anybody

Why.

Signed-off-by: An Author <author@example.org>
---
 block/bfq-iosched.c | 2 +-

diff --git a/block/bfq-iosched.c b/block/bfq-iosched.c
--- a/block/bfq-iosched.c
+++ b/block/bfq-iosched.c
@@ -1 +1 @@
-static u64 bfq_slice_idle = NSEC_PER_SEC / 125;
+static u64 bfq_slice_idle;
-- 
2.39.5
";

    #[test]
    fn mails_of_a_file_are_found() {
        assert_eq!(check(MAIL).unwrap(), ["block, bfq: do not idle for anybody"]);
        let two = MAIL.to_owned() + "\n" + &MAIL.replace("1/2] block, bfq: do not", "2/2] more:");
        assert_eq!(check(&two).unwrap(), ["block, bfq: do not idle for anybody", "more: idle for anybody"]);
        let (_, raw) = MAIL.split_once('\n').unwrap();
        assert_eq!(check(raw).unwrap().len(), 1, "a mail without the line of an mbox");
        assert_eq!(check(&MAIL.replace('\n', "\r\n")).unwrap().len(), 1);
    }

    #[test]
    fn what_git_am_refuses_is_refused_with_a_remedy() {
        let (head, diff) = MAIL.split_once("diff --git").unwrap();
        let cases = [
            ("", "it is empty"),
            ("<!DOCTYPE html>\n<html>", "it is a web page; write it with `git format-patch -1 COMMIT`"),
            (diff, "it is a bare diff without author and subject; write it with"),
            ("Subject is missing here\n", "it is no mail; write it with"),
            (head, "the mail `[PATCH v2 1/2] block, bfq: do not idle for anybody` changes nothing"),
            (&MAIL.replace("From: An Author <author@example.org>\n", ""), "has no author"),
        ];
        for (text, words) in cases {
            let error = check(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        assert!(text(vec![0x1f, 0x8b, 8]).unwrap_err().contains("gunzip"));
        assert!(text(b"Subject: \xe4".to_vec()).unwrap_err().starts_with("byte 9 is no UTF-8"));
    }

    #[test]
    fn subjects_become_names() {
        assert_eq!(slug("ext4: Let the journal write at RT priority"), "ext4-let-the-journal-write-at-rt-priority");
        assert_eq!(slug(&"many words ".repeat(20)), "many-words-many-words-many-words-many-words");
        assert_eq!(slug(&"x".repeat(100)).len(), SLUG_CHARS);
        assert_eq!(slug("<>"), "");
        assert_eq!(bare("[RFC][PATCH] x [y]"), "x [y]");
    }
}
