//! `/builds` and `/builds/ID`: what was asked, how far it is, and the answer to its author.

use askama::Template;
use blklab_model::build::{BuildRecord, BuildState, ConfigBase, NamedFile};
use blklab_model::time::TimestampMs;
use blklab_wire::people::BuildLine;

use super::Badge;
use crate::render::when::{When, span};

/// Builds from the newest on.
#[derive(Template)]
#[template(path = "builds/list.html")]
pub struct BuildsPage {
    builds: Vec<BuildRow>,
    older: Option<String>,
}

/// One build.
#[derive(Template)]
#[template(path = "builds/one.html")]
pub struct BuildPage<'a> {
    build: &'a BuildRecord,
    badge: Badge,
    /// What it means for who asked.
    sentence: String,
    /// For the author of a patch: what to mend.
    message: Option<&'a str>,
    has_kernel: bool,
    is_open: bool,
    patches: Vec<PatchRow<'a>>,
    base: (&'a str, Option<&'a NamedFile>),
    asked: When,
    started: Option<When>,
    took: Option<String>,
    /// The end of its log, and whether something was cut off before.
    log: Option<(String, bool)>,
}

/// A build in a list.
pub(super) struct BuildRow {
    pub(super) id: String,
    pub(super) kernel: String,
    pub(super) what: String,
    pub(super) submitter: String,
    pub(super) badge: Badge,
    pub(super) asked: When,
    pub(super) took: String,
}

/// A patch of a request.
struct PatchRow<'a> {
    subject: String,
    file: &'a NamedFile,
}

impl BuildsPage {
    /// A part of the list; `has_older` when more may follow.
    pub fn new(builds: &[BuildLine], has_older: bool, now: TimestampMs) -> BuildsPage {
        BuildsPage {
            builds: builds.iter().map(|line| BuildRow::new(line, now)).collect(),
            older: builds.last().filter(|_| has_older).map(|line| format!("/builds?before={}", line.id)),
        }
    }
}

impl BuildRow {
    pub(super) fn new(line: &BuildLine, now: TimestampMs) -> BuildRow {
        let badge = match line.state.as_str() {
            "queued" => Badge::state("waiting", '…', &line.state),
            "built" => Badge::state("same", '○', &line.state),
            "cancelled" => Badge::state("untested", '∅', &line.state),
            state if state.starts_with("failed") => Badge::state("failed", '✖', state),
            state => Badge::state("better", '●', state),
        };
        let took = line.started.map(|started| span((line.finished.unwrap_or(now) - started).0.unsigned_abs()));
        BuildRow {
            id: line.id.to_string(),
            kernel: line.kernel.to_string(),
            what: line.what.clone(),
            submitter: line.submitter.clone(),
            badge,
            asked: When::new(line.created, now),
            took: took.unwrap_or_default(),
        }
    }
}

impl<'a> BuildPage<'a> {
    /// Everything about one build; `log` is the end of its log, and whether something was cut off before.
    pub fn new(build: &'a BuildRecord, log: Option<(String, bool)>, now: TimestampMs) -> BuildPage<'a> {
        let (badge, sentence, message) = outcome(build);
        let request = &build.request;
        let patch = |file: &'a NamedFile| PatchRow { subject: subject(&file.text).unwrap_or_else(|| file.name.clone()), file };
        let took = build.started.map(|started| span((build.finished.unwrap_or(now) - started).0.unsigned_abs()));
        BuildPage {
            badge,
            sentence,
            message,
            has_kernel: matches!(build.state, BuildState::Built { .. }),
            is_open: !build.state.is_over(),
            patches: request.patches.iter().map(patch).collect(),
            base: match &request.base {
                ConfigBase::Target(target) => (target.as_str(), None),
                ConfigBase::File(file) => (file.name.as_str(), Some(file)),
            },
            asked: When::new(build.created, now),
            started: build.started.map(|started| When::new(started, now)),
            took,
            log,
            build,
        }
    }
}

fn outcome(build: &BuildRecord) -> (Badge, String, Option<&str>) {
    match &build.state {
        BuildState::Queued => {
            (Badge::state("waiting", '…', "queued"), "It waits for a builder: a host whose agent builds kernels.".to_owned(), None)
        }
        BuildState::Leased { host, .. } => (Badge::state("better", '●', "building"), format!("{host} works on it."), None),
        BuildState::Built { reused: false } => (Badge::state("same", '○', "built"), "The kernel is there.".to_owned(), None),
        BuildState::Built { reused: true } => (
            Badge::state("same", '○', "built"),
            "A kernel of the same tree, configuration and toolchain was there already; it has this name, too.".to_owned(),
            None,
        ),
        BuildState::Failed(failure) => {
            let words = failure.fault.words();
            let sentence = if failure.fault.is_retried() {
                format!("It was given up after {} attempts. The fault is the lab's, not the patch's.", build.attempt)
            } else {
                "This is an answer to its author: nobody tries it again as it is.".to_owned()
            };
            (Badge::state("failed", '✖', words), sentence, Some(&failure.message))
        }
        BuildState::Cancelled => (Badge::state("untested", '∅', "cancelled"), "Somebody cancelled it.".to_owned(), None),
    }
}

/// The subject of a mail in mbox form, without `[PATCH 1/2]`; it may go over several lines (RFC 5322, 2.2.3).
fn subject(mail: &str) -> Option<String> {
    let mut lines = mail.lines();
    let first = lines.find_map(|line| line.strip_prefix("Subject:"))?;
    let folded = lines.take_while(|line| line.starts_with([' ', '\t']));
    let text = std::iter::once(first).chain(folded).map(str::trim).collect::<Vec<_>>().join(" ");
    let text = if text.starts_with('[') { text.split_once(']').map_or(text.as_str(), |(_, rest)| rest) } else { &text };
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::{self, NOW};

    #[test]
    fn a_patch_that_does_not_apply_is_an_answer() {
        let build = testing::failed_build();
        insta::assert_snapshot!(BuildPage::new(&build, Some(("git am failed\n".into(), true)), NOW).render().unwrap());
    }

    #[test]
    fn each_state_has_its_words() {
        let mut build = testing::failed_build();
        for (state, words) in [
            (BuildState::Queued, "It waits for a builder"),
            (BuildState::Leased { host: blklab_model::testing::id("lab-1"), until: NOW }, "lab-1 works on it."),
            (BuildState::Built { reused: false }, "The kernel is there."),
            (BuildState::Built { reused: true }, "was there already"),
            (BuildState::Cancelled, "Somebody cancelled it."),
        ] {
            build.state = state;
            let page = BuildPage::new(&build, None, NOW).render().unwrap();
            assert!(page.contains(words), "{page}");
            assert_eq!(page.contains("http-equiv=\"refresh\""), !build.state.is_over());
        }
    }

    #[test]
    fn subjects_are_told_from_mails() {
        let mail = "From 1234 Mon Sep 17\nSubject: [PATCH 1/2] ext4: let the journal\n thread write\n\nSubject: not this\n";
        assert_eq!(subject(mail).as_deref(), Some("ext4: let the journal thread write"));
        assert_eq!(subject("--- a/x\n+++ b/x\n"), None);
        assert_eq!(subject("Subject: plain\n").as_deref(), Some("plain"));
    }

    #[test]
    fn texts_of_a_request_stay_text() {
        let mut build = testing::failed_build();
        let evil = "<script>alert(1)</script>";
        build.submitter = evil.into();
        build.request.repo = evil.into();
        build.request.patches[0] = NamedFile { name: evil.into(), text: format!("Subject: {evil}\n{evil}") };
        build.request.base = ConfigBase::File(NamedFile { name: evil.into(), text: evil.into() });
        let page = BuildPage::new(&build, Some((evil.into(), false)), NOW).render().unwrap();
        assert!(!page.contains("<script>"), "{page}");
    }
}
