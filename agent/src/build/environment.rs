//! The commands of a build, with an environment that holds nothing of the agent's: no token, no agent's sockets, no user's configuration.
//! The same words at every build and place, so that the same source gives the same bytes and ccache finds them.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::folder::Folder;
use crate::sys::command;

/// Enough for some dozens of full builds of small configurations, each about 60 MB.
const CCACHE_SIZE: &str = "5G";

/// What would differ from build to build (kernel document kbuild/reproducible-builds.rst).
const REPRODUCIBLE: [(&str, &str); 4] = [
    ("KBUILD_BUILD_HOST", "lab"),
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970"),
    ("KBUILD_BUILD_USER", "blklab"),
    ("KBUILD_BUILD_VERSION", "1"),
];

/// Commits that git-am(1) makes are the same wherever they are made.
const COMMITTER: [(&str, &str); 3] =
    [("GIT_COMMITTER_NAME", "blklab"), ("GIT_COMMITTER_EMAIL", "blklab@localhost"), ("GIT_COMMITTER_DATE", "2000-01-01T00:00:00Z")];

/// Remote helpers (`ext::`) run commands that an address names; these protocols do not.
const PROTOCOLS: &str = "file:git:http:https:ssh";

/// Only the step that fetches needs a way out; the words of a proxy may hold a password.
const PROXIES: [&str; 8] = ["http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/// Makes the commands of builds in one folder.
#[derive(Debug)]
pub struct Environment<'a> {
    folder: &'a Folder,
    jobs: usize,
    has_ccache: bool,
}

impl<'a> Environment<'a> {
    /// As this machine is now.
    pub fn of(folder: &'a Folder) -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        Environment { folder, jobs, has_ccache: command::find("ccache").is_some() }
    }

    /// Does ccache take part?
    pub fn has_ccache(&self) -> bool {
        self.has_ccache
    }

    /// git(1) in a folder.
    pub fn git(&self, dir: &Path) -> Command {
        let mut git = self.program("git");
        git.arg("-C").arg(dir).envs(COMMITTER);
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", self.folder.git_config()).env("GIT_ATTR_NOSYSTEM", "1");
        git.env("GIT_TERMINAL_PROMPT", "0").env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes").env("GIT_ALLOW_PROTOCOL", PROTOCOLS);
        git
    }

    /// git(1) with the agent's way to the network.
    pub fn git_online(&self, dir: &Path) -> Command {
        let mut git = self.git(dir);
        git.envs(PROXIES.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))));
        git
    }

    /// make(1) in the source tree, with its objects in the build folder. An empty LOCALVERSION keeps the state of the work tree out of the
    /// release (scripts/setlocalversion).
    pub fn make(&self) -> Command {
        let mut make = self.program("make");
        make.arg("-C").arg(self.folder.source()).arg(joined("O=", &self.folder.build())).arg("LOCALVERSION=");
        if self.has_ccache {
            make.args(["CC=ccache gcc", "HOSTCC=ccache gcc"]);
        }
        make
    }

    /// [`Environment::make`] on all processors.
    pub fn make_parallel(&self) -> Command {
        let mut make = self.make();
        make.arg(format!("-j{}", self.jobs));
        make
    }

    /// Any other program, or a script of the source tree.
    pub fn program(&self, name: &str) -> Command {
        let mut program = command::program(name);
        program.stdin(self.folder.hold());
        program.env("HOME", self.folder.home()).env("TMPDIR", self.folder.scratch()).envs(REPRODUCIBLE);
        // Its own file alone counts, not the machine's (ccache(1), "Configuration"). With a base folder and without the hash of the
        // working folder another cache folder finds the same objects.
        program.env("CCACHE_DIR", self.folder.ccache()).env("CCACHE_MAXSIZE", CCACHE_SIZE).env("CCACHE_CONFIGPATH", "/dev/null");
        program.env("CCACHE_BASEDIR", self.folder.root()).env("CCACHE_NOHASHDIR", "1");
        program
    }
}

/// A make variable with a path.
pub fn joined(variable: &str, path: &Path) -> OsString {
    let mut word = OsString::from(variable);
    word.push(path);
    word
}
