//! How a kernel that was booted by the lab may end, as its controller sees it from outside.

use serde::{Deserialize, Serialize};

use crate::outcome::{Failure, Fault};

/// The step of a trial in which its kernel is booted: who fails in it has nothing to prove what ran.
pub const BOOT_STEP: &str = "boot";

/// What happened to a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrashKind {
    /// It never came so far that its agent answered, and said nothing that explains it.
    DoesNotBoot,
    /// It said that it panicked.
    Panic,
    /// It oopsed, or found a bug in itself, and went on.
    Oops,
    /// It stopped answering.
    Hang,
    /// It switched off or reset itself without a word.
    PowerLost,
    /// What runs is not what was ordered, or the machinery around the kernel failed.
    Lab,
}

impl CrashKind {
    /// The words in messages and on pages.
    pub fn words(self) -> &'static str {
        match self {
            CrashKind::DoesNotBoot => "does not boot",
            CrashKind::Panic => "panic",
            CrashKind::Oops => "oops",
            CrashKind::Hang => "hang",
            CrashKind::PowerLost => "power lost",
            CrashKind::Lab => "lab fault",
        }
    }

    /// `3 trials` do this.
    pub fn past(self) -> &'static str {
        match self {
            CrashKind::DoesNotBoot => "did not boot",
            CrashKind::Panic => "panicked",
            CrashKind::Oops => "oopsed",
            CrashKind::Hang => "hung",
            CrashKind::PowerLost => "lost power",
            CrashKind::Lab => "were spoilt by the lab",
        }
    }

    /// The kind that a failure's title begins with, if it is that of a crash.
    pub fn of_title(title: &str) -> Option<Self> {
        let all = [CrashKind::DoesNotBoot, CrashKind::Panic, CrashKind::Oops, CrashKind::Hang, CrashKind::PowerLost, CrashKind::Lab];
        all.into_iter().find(|kind| title.strip_prefix(kind.words()).is_some_and(|rest| rest.starts_with(": ")))
    }

    /// Whose fault it is.
    pub fn fault(self) -> Fault {
        match self {
            CrashKind::DoesNotBoot | CrashKind::Panic | CrashKind::Oops | CrashKind::Hang => Fault::Kernel,
            // A guest that is switched off without a word was killed from outside far more often than by its own kernel; it is tried again.
            CrashKind::PowerLost | CrashKind::Lab => Fault::Lab,
        }
    }
}

/// Between the title of a crash and what the console said, in the message of a failure.
const CONSOLE: &str = "\nconsole:\n";

impl Failure {
    /// Its message without what a console said.
    pub fn title(&self) -> &str {
        self.message.split_once(CONSOLE).map_or(&self.message, |(title, _)| title)
    }

    /// What the console said around the crash of a kernel.
    pub fn console(&self) -> Option<&str> {
        self.message.split_once(CONSOLE).map(|(_, console)| console)
    }
}

/// The end of a kernel, with what its console said last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crash {
    /// What happened.
    pub kind: CrashKind,
    /// One line: `Kernel panic - not syncing: Fatal exception`.
    pub title: String,
    /// Lines of the console around it.
    pub excerpt: String,
}

impl Crash {
    /// As the failure of the step that it ended.
    pub fn failure(&self, step: &str) -> Failure {
        let excerpt = if self.excerpt.is_empty() { String::new() } else { format!("{CONSOLE}{}", self.excerpt) };
        Failure { fault: self.kind.fault(), step: step.to_owned(), message: format!("{}: {}{excerpt}", self.kind.words(), self.title) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_of_a_crash_is_told_from_its_console() {
        let mut crash =
            Crash { kind: CrashKind::Panic, title: "Kernel panic - not syncing: Fatal exception".into(), excerpt: "a\nb".into() };
        let failure = crash.failure("workload");
        assert_eq!(failure.title(), "panic: Kernel panic - not syncing: Fatal exception");
        assert_eq!(CrashKind::of_title(failure.title()), Some(CrashKind::Panic));
        assert_eq!(CrashKind::of_title("panicky: x"), None);
        assert_eq!((failure.console(), failure.fault), (Some("a\nb"), Fault::Kernel));
        crash.excerpt.clear();
        assert_eq!(crash.failure(BOOT_STEP).console(), None);
    }
}
