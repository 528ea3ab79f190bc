//! What git says of a patch that does not apply, as an answer to its author: which hunk, where, what the tree has there. Reads words of
//! git-apply(1); runs nothing.

use super::failure::RejectedHunk;

/// Lines of a hunk, and of the tree, that a message shows.
const SHOWN_LINES: usize = 30;

/// Hunks kept; a patch for another version may have hundreds.
const KEPT: usize = 20;

/// What `git apply --reject --verbose` says of one mail.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    /// What it says beyond rejected hunks, such as a file that is not there.
    pub reasons: Vec<String>,
    /// The hunks that found no place.
    pub hunks: Vec<RejectedHunk>,
}

/// Reads its standard error. `rejects` gives the text of `FILE.rej`, `tree` that of `FILE`.
pub fn read(words: &str, rejects: impl Fn(&str) -> Option<String>, tree: impl Fn(&str) -> Option<String>) -> Rejected {
    let mut rejected = Rejected::default();
    let mut applying: Option<&str> = None;
    let mut lines = words.lines();
    while let Some(line) = lines.next() {
        if let Some(file) = line.strip_prefix("Applying patch ").and_then(|rest| rest.rsplit_once(" with ")) {
            applying = Some(file.0);
        } else if let Some(number) = line.strip_prefix("Rejected hunk #") {
            let number = number.trim_end_matches('.').parse().ok();
            if let Some(hunk) = rejected.hunks.iter_mut().find(|hunk| Some(hunk.file.as_str()) == applying && hunk.number.is_none()) {
                hunk.number = number;
            }
        } else if line.starts_with("error: while searching for:") {
            // The lines that were searched for, which are the old ones of the hunk, end with the place.
            for line in lines.by_ref() {
                if let Some(place) = line.strip_prefix("error: patch failed: ") {
                    rejected.hunks.extend(hunk_at(place));
                    break;
                }
            }
        } else if let Some(reason) = line.strip_prefix("error: ") {
            rejected.reasons.push(explained(reason));
        }
    }
    rejected.hunks.truncate(KEPT);
    complete(&mut rejected.hunks, rejects, tree);
    rejected
}

/// What `git am` itself says, for a patch in which it found no mail.
pub fn reasons(words: &str) -> Vec<String> {
    let said = words.lines().filter(|line| !line.starts_with("hint: ") && !line.starts_with("Patch failed at "));
    said.map(|line| explained(line.strip_prefix("error: ").unwrap_or(line))).filter(|line| !line.is_empty()).collect()
}

fn explained(reason: &str) -> String {
    if reason.starts_with("Patch format detection failed") {
        return "it holds no mail; make it with `git format-patch`, or send the mail as it is".to_owned();
    }
    if reason.starts_with("No valid patches in input") {
        return "its mail holds no diff; was it sent as an attachment, or cut off?".to_owned();
    }
    if reason.starts_with("corrupt patch") {
        return format!("{reason} of the diff: lines are missing, wrapped or changed; send it with `git send-email`");
    }
    reason.to_owned()
}

fn hunk_at(place: &str) -> Option<RejectedHunk> {
    let (file, line) = place.rsplit_once(':')?;
    Some(RejectedHunk { file: file.to_owned(), line: line.parse().ok()?, number: None, hunk: String::new(), there: String::new() })
}

/// Fills in the hunks and what the tree has. Hunks of one file stand in `FILE.rej` in the order in which they were rejected.
fn complete(hunks: &mut [RejectedHunk], rejects: impl Fn(&str) -> Option<String>, tree: impl Fn(&str) -> Option<String>) {
    let files: Vec<String> = hunks.iter().map(|hunk| hunk.file.clone()).collect();
    for (index, hunk) in hunks.iter_mut().enumerate() {
        let nth = files[..index].iter().filter(|file| **file == hunk.file).count();
        let text = rejects(&hunk.file).unwrap_or_default();
        let Some(found) = hunks_of(&text).into_iter().nth(nth) else { continue };
        let old_lines = found.iter().skip(1).filter(|line| !line.starts_with('+')).count();
        hunk.hunk = clip(found.into_iter());
        let start = usize::try_from(hunk.line).unwrap_or(1).saturating_sub(1);
        hunk.there = tree(&hunk.file).map(|text| clip(text.lines().skip(start).take(old_lines))).unwrap_or_default();
    }
}

fn hunks_of(text: &str) -> Vec<Vec<&str>> {
    let mut hunks: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        if line.starts_with("@@ ") {
            hunks.push(vec![line]);
        } else if let Some(hunk) = hunks.last_mut() {
            hunk.push(line);
        }
    }
    hunks
}

fn clip<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut kept: Vec<&str> = lines.take(SHOWN_LINES + 1).collect();
    if kept.len() > SHOWN_LINES {
        kept[SHOWN_LINES] = "...";
    }
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::failure::{Failure, PatchFailure};
    use super::*;

    /// git 2.39.5 on a patch with three hunks in two files, of which one applies.
    const WORDS: &str = "\
Checking patch fs/ext4/super.c...
error: while searching for:
int i;
int j;
int zzz;
int l;

error: patch failed: fs/ext4/super.c:9
Checking patch x.c...
error: while searching for:
int m;
int n;
int q;
int p;

error: patch failed: x.c:13
Applying patch fs/ext4/super.c with 1 reject...
Hunk #1 applied cleanly.
Rejected hunk #2.
Applying patch x.c with 1 reject...
Rejected hunk #1.
";

    fn rejects(file: &str) -> Option<String> {
        let text = match file {
            "fs/ext4/super.c" => {
                "diff a/fs/ext4/super.c b/fs/ext4/super.c\t(rejected hunks)\n@@ -9,4 +9,4 @@ int h;\n int i;\n int j;\n-int zzz;\n+int k2;\n int l;\n"
            }
            "x.c" => "diff a/x.c b/x.c\t(rejected hunks)\n@@ -13,4 +13,4 @@\n int m;\n int n;\n-int q;\n+int o2;\n int p;\n",
            _ => return None,
        };
        Some(text.to_owned())
    }

    fn tree(_: &str) -> Option<String> {
        Some(('a'..='p').map(|name| format!("int {name};\n")).collect())
    }

    #[test]
    fn rejected_hunks_come_with_their_place_and_what_is_there() {
        let Rejected { reasons, hunks } = read(WORDS, rejects, tree);
        assert_eq!(reasons, Vec::<String>::new());
        let failure = Failure::DoesNotApply(PatchFailure {
            patch: 1,
            name: "0002-x.patch".into(),
            subject: Some("ext4: faster".into()),
            mail: None,
            reasons,
            hunks,
        });
        insta::assert_snapshot!(failure);
    }

    #[test]
    fn what_is_no_hunk_is_a_reason() {
        let words = "Checking patch no.c...\nerror: no.c: No such file or directory\n";
        assert_eq!(read(words, |_| None, |_| None).reasons, ["no.c: No such file or directory"]);
        let words = "error: corrupt patch at line 9\n";
        assert!(read(words, |_| None, |_| None).reasons[0].contains("git send-email"));
    }

    #[test]
    fn a_patch_without_a_mail_is_told_so() {
        assert!(reasons("Patch format detection failed.\n")[0].contains("git format-patch"));
        let words = "error: No valid patches in input (allow with \"--allow-empty\")\nhint: Use 'git am'\nPatch failed at 0001 s\n";
        let reasons = reasons(words);
        assert!(reasons.len() == 1 && reasons[0].contains("no diff"), "{reasons:?}");
    }

    #[test]
    fn a_large_hunk_is_cut() {
        let text = format!("@@ -1,100 +1,100 @@\n{}", " line\n".repeat(100));
        let words = "error: while searching for:\nline\nerror: patch failed: x.c:1\n";
        let hunk = &read(words, |_| Some(text.clone()), |_| None).hunks[0].hunk;
        assert_eq!(hunk.lines().count(), SHOWN_LINES + 1);
        assert!(hunk.ends_with("\n..."));
    }
}
