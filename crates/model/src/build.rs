//! Kernel builds: what is asked, how it may fail, and the life of a build. A patch that does not apply or compile is an answer to its
//! author; only faults of the infrastructure are tried again.

use serde::{Deserialize, Serialize};

use crate::id::{BuildId, HostName, KernelName};
use crate::job::LEASE;
use crate::kernel::{AS_BOOTED, Blob};
use crate::time::TimestampMs;
use crate::transition::Refused;

/// So often is a build begun before it is given up: a builder that dies three times of one build will die of it again.
pub const MAX_BUILD_ATTEMPTS: u32 = 3;

/// Patches of one request: long series on the kernel's lists have some 100.
pub const MAX_PATCHES: usize = 250;

/// Fragments of one request; a lab needs a handful.
pub const MAX_FRAGMENTS: usize = 50;

/// What is to be built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRequest {
    /// The kernel's name in the lab.
    pub name: KernelName,
    /// A git repository that the builder can reach: an address, or a path on its machine.
    pub repo: String,
    /// Any revision of it.
    pub commit: String,
    /// Mails in mbox form, applied in this order.
    pub patches: Vec<NamedFile>,
    /// `tinyconfig`, `defconfig`, `allnoconfig`, or the text of a whole `.config`.
    pub base: ConfigBase,
    /// Merged over the base in this order.
    pub fragments: Vec<NamedFile>,
    /// Becomes CONFIG_BUILD_SALT: the same source under another salt is another kernel.
    pub salt: Option<String>,
}

impl BuildRequest {
    /// May it be given to a builder? The error says what is wrong and what would be right. These texts become arguments of git and make,
    /// so what would mean something else to them is refused.
    pub fn check(&self) -> Result<(), String> {
        let plain = |text: &str, more: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c));
        if self.name.as_str() == AS_BOOTED {
            return Err(format!("no kernel can be called `{AS_BOOTED}`: experiment files mean by it whatever a host has booted"));
        }
        let repo = &self.repo;
        // `ext::COMMAND` would run a command (git-remote-ext(1)).
        if repo.is_empty() || repo.starts_with('-') || repo.contains("::") || repo.chars().any(char::is_control) || repo.len() > 1024 {
            return Err(format!("repo `{}` is no address of a git repository and no path", repo.escape_debug()));
        }
        if !plain(&self.commit, "-_./~^@{}+") || self.commit.starts_with('-') || self.commit.len() > 256 {
            return Err(format!("commit `{}` is no revision; give a commit id, a tag or a branch", self.commit.escape_debug()));
        }
        if self.patches.len() > MAX_PATCHES || self.fragments.len() > MAX_FRAGMENTS {
            let (patches, fragments) = (self.patches.len(), self.fragments.len());
            return Err(format!("{patches} patches and {fragments} fragments; at most {MAX_PATCHES} and {MAX_FRAGMENTS} are taken"));
        }
        if let ConfigBase::Target(target) = &self.base
            && !(plain(target, "_") && target.ends_with("config"))
        {
            return Err(format!("`{}` makes no configuration; give a target such as `tinyconfig`, or a file", target.escape_debug()));
        }
        match &self.salt {
            Some(salt) if !plain(salt, "-_.") || salt.len() > 64 => {
                Err(format!("salt `{}`: give at most 64 letters, digits and - _ .", salt.escape_debug()))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// What a configuration starts from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigBase {
    /// A target of the kernel's own Makefile (`tinyconfig`).
    Target(String),
    /// A whole `.config`.
    File(NamedFile),
}

/// A file as its author named it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedFile {
    /// Path or name, for messages.
    pub name: String,
    /// Contents.
    pub text: String,
}

/// A build in the queue or after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRecord {
    /// Its number.
    pub id: BuildId,
    /// What was asked.
    pub request: BuildRequest,
    /// Who asked.
    pub submitter: String,
    /// Where it is in its life.
    pub state: BuildState,
    /// Attempts begun.
    pub attempt: u32,
    /// The log of the last attempt that sent one.
    pub log: Option<Blob>,
    /// When it was asked.
    pub created: TimestampMs,
    /// When a builder took it last.
    pub started: Option<TimestampMs>,
    /// When it was over.
    pub finished: Option<TimestampMs>,
}

/// Where a build is in its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum BuildState {
    /// Waits for a builder.
    Queued,
    /// A builder works on it.
    Leased {
        /// Who.
        host: HostName,
        /// Until when, unless renewed.
        until: TimestampMs,
    },
    /// The kernel is there.
    Built {
        /// True when an identical build existed.
        reused: bool,
    },
    /// There will be no kernel.
    Failed(BuildFailure),
    /// Somebody cancelled it.
    Cancelled,
}

/// Why there is no kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildFailure {
    /// What kind.
    pub fault: BuildFault,
    /// For the author: the failing patch with its hunk, the symbols, the first errors.
    pub message: String,
}

/// What kind of failure a build ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BuildFault {
    /// A patch does not apply.
    DoesNotApply,
    /// A symbol of a fragment did not survive.
    DoesNotConfigure,
    /// The compiler or linker refuses.
    DoesNotCompile,
    /// Nobody's patch: no network, no space, a missing tool, too slow.
    Infrastructure,
}

impl BuildFault {
    /// The words on pages.
    pub fn words(self) -> &'static str {
        match self {
            BuildFault::DoesNotApply => "does not apply",
            BuildFault::DoesNotConfigure => "does not configure",
            BuildFault::DoesNotCompile => "does not compile",
            BuildFault::Infrastructure => "infrastructure",
        }
    }

    /// The others would fail again in the same way.
    pub fn is_retried(self) -> bool {
        match self {
            BuildFault::Infrastructure => true,
            BuildFault::DoesNotApply | BuildFault::DoesNotConfigure | BuildFault::DoesNotCompile => false,
        }
    }
}

/// What may happen to a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildEvent {
    /// A builder takes it.
    Claimed(HostName),
    /// Its builder lives.
    Renewed,
    /// Time passes: a lease may have run out.
    Tick,
    /// The builder was restarted.
    Abandoned,
    /// The kernel is there.
    Built {
        /// True when an identical build existed.
        reused: bool,
    },
    /// It failed.
    Failed(BuildFailure),
    /// Somebody cancels it.
    Cancel,
}

impl BuildState {
    /// The word in the store and on pages.
    pub fn word(&self) -> &'static str {
        match self {
            BuildState::Queued => "queued",
            BuildState::Leased { .. } => "building",
            BuildState::Built { .. } => "built",
            BuildState::Failed(_) => "failed",
            BuildState::Cancelled => "cancelled",
        }
    }

    /// Will nothing more happen to it?
    pub fn is_over(&self) -> bool {
        match self {
            BuildState::Queued | BuildState::Leased { .. } => false,
            BuildState::Built { .. } | BuildState::Failed(_) | BuildState::Cancelled => true,
        }
    }
}

/// The next state of a build that was begun `attempt` times, at `now`.
///
/// A kernel or an answer to the author counts also from a builder that lost its lease: neither depends on who made it. The caller keeps
/// a fault of the infrastructure of an earlier attempt away, since another builder may be at work.
pub fn step(state: &BuildState, event: BuildEvent, attempt: u32, now: TimestampMs) -> Result<BuildState, Refused> {
    use BuildEvent as E;
    use BuildState as S;
    match (state, event) {
        (S::Queued, E::Claimed(host)) => Ok(S::Leased { host, until: now + LEASE }),
        (S::Leased { host, .. }, E::Renewed) => Ok(S::Leased { host: host.clone(), until: now + LEASE }),
        (S::Leased { until, .. }, E::Tick) if *until <= now => Ok(again(attempt, None)),
        (S::Queued | S::Leased { .. } | S::Built { .. } | S::Failed(_) | S::Cancelled, E::Tick) => Ok(state.clone()),
        (S::Leased { .. }, E::Abandoned) => Ok(again(attempt, None)),
        (S::Queued | S::Leased { .. }, E::Built { reused }) => Ok(S::Built { reused }),
        (S::Queued, E::Failed(failure)) if failure.fault.is_retried() => Ok(S::Queued),
        (S::Leased { .. }, E::Failed(failure)) if failure.fault.is_retried() => Ok(again(attempt, Some(failure))),
        (S::Queued | S::Leased { .. }, E::Failed(failure)) => Ok(S::Failed(failure)),
        (S::Queued | S::Leased { .. }, E::Cancel) => Ok(S::Cancelled),
        (S::Leased { .. }, E::Claimed(_)) => Err(Refused::new("build", state, "Claimed")),
        (S::Queued, E::Renewed | E::Abandoned) => Err(Refused::new("build", state, "a sign of life")),
        (
            S::Built { .. } | S::Failed(_) | S::Cancelled,
            E::Claimed(_) | E::Renewed | E::Abandoned | E::Built { .. } | E::Failed(_) | E::Cancel,
        ) => Err(Refused::new("build", state, "anything: it is over")),
    }
}

fn again(attempt: u32, last: Option<BuildFailure>) -> BuildState {
    if attempt < MAX_BUILD_ATTEMPTS {
        return BuildState::Queued;
    }
    BuildState::Failed(last.unwrap_or_else(|| BuildFailure {
        fault: BuildFault::Infrastructure,
        message: format!("its builder was lost {MAX_BUILD_ATTEMPTS} times"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{build_request, id};

    #[test]
    fn what_would_be_an_option_or_a_command_is_refused() {
        assert_eq!(build_request("patched").check(), Ok(()));
        let refused = |change: fn(&mut BuildRequest)| {
            let mut request = build_request("patched");
            change(&mut request);
            request.check().is_err()
        };
        assert!(refused(|request| request.name = id("as-booted")));
        for repo in ["", "--upload-pack=touch x", "ext::sh -c x", "a\nb"] {
            let request = BuildRequest { repo: repo.into(), ..build_request("patched") };
            assert!(request.check().is_err(), "{repo:?}");
        }
        assert!(refused(|request| request.commit = "-x".into()));
        assert!(refused(|request| request.commit = "HEAD; x".into()));
        assert!(refused(|request| request.base = ConfigBase::Target("clean".into())));
        assert!(refused(|request| request.base = ConfigBase::Target("O=/ tinyconfig".into())));
        assert!(refused(|request| request.salt = Some("\"".into())));
        assert!(refused(|request| request.patches = vec![request.patches[0].clone(); MAX_PATCHES + 1]));
    }

    #[test]
    fn answers_to_authors_are_final_and_faults_of_the_lab_are_retried() {
        let leased = step(&BuildState::Queued, BuildEvent::Claimed(id("b")), 0, TimestampMs(0)).unwrap();
        let failed = |fault, attempt| {
            let failure = BuildFailure { fault, message: "x".into() };
            step(&leased, BuildEvent::Failed(failure), attempt, TimestampMs(1)).unwrap()
        };
        assert!(failed(BuildFault::DoesNotApply, 1).is_over());
        assert_eq!(failed(BuildFault::Infrastructure, 1), BuildState::Queued);
        let late = step(&BuildState::Queued, BuildEvent::Built { reused: false }, 1, TimestampMs(1));
        assert_eq!(late, Ok(BuildState::Built { reused: false }), "an hour of compiling is not thrown away");
        assert!(failed(BuildFault::Infrastructure, MAX_BUILD_ATTEMPTS).is_over());
    }

    #[test]
    fn a_lost_builder_gives_the_build_back() {
        let leased = step(&BuildState::Queued, BuildEvent::Claimed(id("b")), 0, TimestampMs(0)).unwrap();
        let later = TimestampMs(0) + LEASE;
        assert_eq!(step(&leased, BuildEvent::Tick, 1, later), Ok(BuildState::Queued));
        assert_eq!(step(&leased, BuildEvent::Tick, 1, TimestampMs(1)).as_ref(), Ok(&leased));
        assert!(step(&leased, BuildEvent::Tick, MAX_BUILD_ATTEMPTS, later).unwrap().is_over());
        assert!(step(&BuildState::Cancelled, BuildEvent::Cancel, 1, later).is_err());
    }
}
