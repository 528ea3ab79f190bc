//! Sources: one mirror for each repository, and one work tree that all builds share and that sees the objects of every mirror. Switching
//! between commits, also of different repositories, touches only files that differ, which is what make(1) goes by.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::environment::Environment;
use super::exec::{self, Halt, Log};
use super::failure::{Failure, PatchFailure};
use super::folder::Folder;
use super::patch;
use super::spec::NamedText;
use super::step::Revision;
use crate::clock;
use crate::stop::Stop;
use crate::sys::SysError;

/// Where a fetched name lands before it is resolved.
const WANTED: &str = "refs/lab/wanted";

/// HEAD of the repository when it was last asked for.
const REMOTE_HEAD: &str = "refs/lab/head";

/// Commits that were built are held below this: neither lost to garbage collection, nor fetched again.
const KEPT: &str = "refs/lab/kept";

/// Lines of git's words in a message.
const LAST_LINES: usize = 8;

/// Why a step on sources ended.
#[derive(Debug)]
pub enum Problem {
    /// For the author or for the lab.
    Failed(Failure),
    /// A program was not run to its end.
    Halted(Halt),
}

impl From<Halt> for Problem {
    fn from(halt: Halt) -> Self {
        Problem::Halted(halt)
    }
}

impl From<SysError> for Problem {
    fn from(error: SysError) -> Self {
        Problem::Halted(Halt::System(error))
    }
}

/// Sources while a step works on them.
#[derive(Debug)]
pub struct Sources<'a> {
    /// The cache folder.
    pub folder: &'a Folder,
    /// Makes the commands.
    pub environment: &'a Environment<'a>,
    /// Takes their words.
    pub log: &'a Log,
    /// Ends them.
    pub stop: &'a Stop,
    /// When the step must be over, on the monotonic clock.
    pub deadline: Duration,
}

impl Sources<'_> {
    /// Gets a revision into the mirror of its repository; gives the commit.
    pub fn fetch(&self, address: &str, revision: &Revision) -> Result<String, Problem> {
        let mirror = self.folder.mirror(address);
        if !mirror.join("HEAD").exists() {
            let mut init = self.environment.git(self.folder.mirrors().as_path());
            init.args(["init", "--quiet", "--bare", "--template="]).arg(&mirror);
            self.must(init, "make a mirror")?;
        }
        remove_locks(&mirror)?;
        let commit = match revision {
            Revision::Commit(id) if self.has(&mirror, id) => id.clone(),
            // A server may refuse to give a commit that no branch or tag points to; then the whole history has it, or nobody.
            Revision::Commit(id) => match self.fetch_one(&mirror, address, id) {
                Ok(commit) => commit,
                Err(Problem::Failed(_)) => self.fetch_all(&mirror, address, id)?,
                Err(halted) => return Err(halted),
            },
            Revision::Name(name) => self.fetch_one(&mirror, address, name)?,
            Revision::Expression(words) => self.fetch_all(&mirror, address, words)?,
        };
        let mut keep = self.environment.git(&mirror);
        keep.arg("update-ref").arg(format!("{KEPT}/{commit}")).arg(&commit);
        self.must(keep, "keep the commit")?;
        Ok(commit)
    }

    /// Makes the work tree that of a commit: nothing more, nothing less.
    pub fn check_out(&self, commit: &str) -> Result<(), Problem> {
        let source = self.folder.source();
        let dot_git = source.join(".git");
        if !dot_git.join("HEAD").exists() {
            let mut init = self.environment.git(&source);
            init.args(["init", "--quiet", "--template="]);
            self.must(init, "make the work tree")?;
        }
        remove_locks(&dot_git)?;
        remove_dir(&dot_git.join("rebase-apply"))?;
        self.share_objects(&dot_git)?;
        let mut checkout = self.environment.git(&source);
        // Of a mirror without history the parents are not there, which `git gc` would complain about.
        checkout.args(["-c", "gc.auto=0", "checkout", "--quiet", "--force", "--detach", commit]);
        self.must(checkout, "check out")?;
        let mut clean = self.environment.git(&source);
        clean.args(["clean", "-ffdxq"]);
        self.must(clean, "clean the work tree")
    }

    /// Applies the mails of a patch.
    pub fn apply(&self, index: usize, patch: &NamedText) -> Result<(), Problem> {
        let file = self.folder.scratch().join("patch.mbox");
        fs::write(&file, &patch.text).map_err(SysError::io(format!("write {}", file.display())))?;
        let mut am = self.environment.git(&self.folder.source());
        am.args(["-c", "gc.auto=0", "am", "--quiet", "--no-3way", "--no-gpg-sign"]).arg(&file);
        let done = self.run(am)?;
        if done.status.success() {
            return Ok(());
        }
        if let Some(message) = super::compile::infrastructure(&done.output) {
            return Err(Problem::Failed(Failure::infrastructure(message)));
        }
        Err(Problem::Failed(Failure::DoesNotApply(self.explain(index, patch, &done.output)?)))
    }

    /// The id of the tree as it is now.
    pub fn tree(&self) -> Result<String, Problem> {
        self.answer(&self.folder.source(), &["rev-parse", "--verify", "HEAD^{tree}"], "identify the tree")
    }

    /// Subjects of the commits on top of `commit`, the oldest first.
    pub fn subjects(&self, commit: &str) -> Result<Vec<String>, Problem> {
        let range = format!("{commit}..HEAD");
        let text = self.answer(&self.folder.source(), &["log", "--reverse", "--format=%s", &range], "list the patches")?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The texts of all Kconfig files.
    pub fn kconfigs(&self) -> Result<Vec<String>, Problem> {
        let source = self.folder.source();
        let list = self.answer(&source, &["ls-files", "Kconfig*", "*/Kconfig*"], "list the Kconfig files")?;
        // A link into nowhere or a file that is no text has nothing to say.
        Ok(list.lines().filter_map(|file| fs::read_to_string(source.join(file)).ok()).collect())
    }

    /// One name or commit without its history, unless the mirror has history already.
    fn fetch_one(&self, mirror: &Path, address: &str, name: &str) -> Result<String, Problem> {
        let is_empty = self.answer(mirror, &["for-each-ref", "--count=1"], "look at the mirror")?.is_empty();
        let mut fetch = self.fetch_command(mirror);
        if is_empty || self.is_shallow(mirror)? {
            fetch.arg("--depth=1");
        }
        fetch.arg("--").arg(address).arg(format!("+{name}:{WANTED}"));
        self.must(fetch, &format!("fetch {name} from {address}"))?;
        self.resolve(mirror, address, WANTED)
    }

    /// All branches and tags with their history.
    fn fetch_all(&self, mirror: &Path, address: &str, words: &str) -> Result<String, Problem> {
        let mut fetch = self.fetch_command(mirror);
        if self.is_shallow(mirror)? {
            fetch.arg("--unshallow");
        }
        fetch.arg("--").arg(address).args(["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]);
        let of_head = words.strip_prefix("HEAD").or(words.strip_prefix('@'));
        if of_head.is_some() {
            fetch.arg(format!("+HEAD:{REMOTE_HEAD}"));
        }
        self.must(fetch, &format!("fetch from {address}"))?;
        let words = of_head.map_or_else(|| words.to_owned(), |rest| format!("{REMOTE_HEAD}{rest}"));
        self.resolve(mirror, address, &words)
    }

    fn fetch_command(&self, mirror: &Path) -> Command {
        let mut fetch = self.environment.git_online(mirror);
        fetch.args(["fetch", "--quiet", "--no-tags", "--force"]);
        fetch
    }

    fn is_shallow(&self, mirror: &Path) -> Result<bool, Problem> {
        Ok(self.answer(mirror, &["rev-parse", "--is-shallow-repository"], "look at the mirror")? == "true")
    }

    fn resolve(&self, mirror: &Path, address: &str, words: &str) -> Result<String, Problem> {
        let commit = format!("{words}^{{commit}}");
        self.answer(mirror, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit], &format!("find the revision in {address}"))
    }

    /// Is a commit in the mirror with everything it needs? An interrupted fetch leaves objects, but no refs.
    fn has(&self, mirror: &Path, id: &str) -> bool {
        let contains = ["for-each-ref", "--count=1", "--contains", id];
        self.answer(mirror, &contains, "look for the commit").is_ok_and(|found| !found.is_empty())
    }

    /// Lets the work tree see the objects of every mirror (gitrepository-layout(5), `objects/info/alternates`).
    fn share_objects(&self, dot_git: &Path) -> Result<(), Problem> {
        let mirrors = entries(&self.folder.mirrors())?;
        let objects = mirrors.iter().map(|mirror| mirror.join("objects")).filter(|objects| objects.is_dir());
        let text: String = objects.map(|path| format!("{}\n", path.display())).collect();
        let info = dot_git.join("objects/info");
        let written = fs::create_dir_all(&info).and_then(|()| fs::write(info.join("alternates"), text));
        Ok(written.map_err(SysError::io(format!("write {}", info.join("alternates").display())))?)
    }

    /// What is wrong with a patch that `git am` stopped at.
    fn explain(&self, index: usize, patch: &NamedText, words: &str) -> Result<PatchFailure, Problem> {
        let source = self.folder.source();
        let state = source.join(".git/rebase-apply");
        let number = |file: &str| fs::read_to_string(state.join(file)).ok().and_then(|text| text.trim().parse::<usize>().ok());
        let mut failure = PatchFailure {
            patch: index,
            name: patch.name.clone(),
            subject: None,
            mail: None,
            reasons: patch::reasons(words),
            hunks: Vec::new(),
        };
        let diff = state.join("patch");
        if !diff.exists() {
            return Ok(failure);
        }
        failure.subject = fs::read_to_string(state.join("final-commit")).ok().and_then(|text| text.lines().next().map(str::to_owned));
        failure.mail = number("next").filter(|_| number("last").is_some_and(|last| last > 1));
        // Backwards it fits: then its change is in the tree already.
        let mut backwards = self.environment.git(&source);
        backwards.args(["apply", "--check", "--reverse"]).arg(&diff);
        let is_there = self.run(backwards)?.status.success();
        let mut apply = self.environment.git(&source);
        apply.args(["apply", "--reject", "--verbose"]).arg(&diff);
        let done = self.run(apply)?;
        // The rejects are read after the tree was changed by the hunks that did apply: the lines before a hunk may have moved by them,
        // so what the tree has is read from the commit below.
        let below = |file: &str| {
            let text = self.answer(&source, &["show", &format!("HEAD:{file}")], "read the file");
            text.ok()
        };
        let rejected = patch::read(&done.output, |file| fs::read_to_string(source.join(format!("{file}.rej"))).ok(), below);
        if !rejected.hunks.is_empty() || !rejected.reasons.is_empty() {
            failure.reasons = rejected.reasons;
            failure.hunks = rejected.hunks;
        }
        if is_there {
            failure.reasons.insert(0, "its change is in the tree already: it was applied before".to_owned());
        }
        Ok(failure)
    }

    /// Runs git with its words in the log; another exit status than 0 is the infrastructure's.
    fn must(&self, command: Command, act: &str) -> Result<(), Problem> {
        let done = self.run(command)?;
        if done.status.success() {
            return Ok(());
        }
        let message = super::compile::infrastructure(&done.output);
        let message = message.unwrap_or_else(|| format!("{act}: git says: {}", exec::last_lines(&done.output, LAST_LINES)));
        Err(Problem::Failed(Failure::infrastructure(message)))
    }

    fn run(&self, command: Command) -> Result<exec::Done, Halt> {
        exec::run(command, self.left(), self.log, self.stop)
    }

    /// What git prints, without the line's end.
    fn answer(&self, dir: &Path, args: &[&str], act: &str) -> Result<String, Problem> {
        let mut git = self.environment.git(dir);
        git.args(args);
        let ended = exec::ask(git, self.left())?;
        if !ended.status.success() {
            let words = ended.stderr.last_lines(LAST_LINES);
            let words = if words.is_empty() { format!("`git {}` finds nothing", args.join(" ")) } else { words };
            return Err(Problem::Failed(Failure::infrastructure(format!("{act}: {words}"))));
        }
        Ok(String::from_utf8_lossy(&ended.stdout.head).trim_end().to_owned())
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_sub(clock::monotonic())
    }
}

/// Removes what a killed git left. The folder is ours alone, so nobody holds these locks, and with them git would refuse to go on.
fn remove_locks(repository: &Path) -> Result<(), SysError> {
    let mut folders = vec![repository.to_owned(), repository.join("objects/info")];
    let mut refs = vec![repository.join("refs")];
    while let Some(folder) = refs.pop() {
        refs.extend(entries(&folder)?.into_iter().filter(|path| path.is_dir()));
        folders.push(folder);
    }
    for folder in folders {
        for path in entries(&folder)? {
            if path.extension().is_some_and(|end| end == "lock") {
                remove_file(&path)?;
            }
        }
    }
    Ok(())
}

/// What a folder holds, sorted; nothing when it is not there.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, SysError> {
    let act = || format!("read {}", folder.display());
    let found = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found.map_err(SysError::io(act()))?,
    };
    let mut paths = found.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(SysError::io(act()))?;
    paths.sort();
    Ok(paths)
}

/// Gone is as good as removed.
pub fn remove_file(path: &Path) -> Result<(), SysError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(SysError::io(format!("remove {}", path.display()))(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A folder with everything in it; gone is as good as removed.
pub fn remove_dir(path: &Path) -> Result<(), SysError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(SysError::io(format!("remove {}", path.display()))(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
