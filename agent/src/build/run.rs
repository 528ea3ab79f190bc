//! Carries out a plan in a cache folder. The first failure ends it; whatever it leaves is put in order by the next build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fs::statvfs;

use super::config::Config;
use super::environment::Environment;
use super::exec::{self, Done, Halt, Log};
use super::failure::{CompileError, CompileFailure, Failure};
use super::folder::Folder;
use super::manifest::{self, Manifest, StepTime};
use super::objects::Objects;
use super::plan::plan;
use super::signature::Signature;
use super::source::{Problem, Sources, remove_dir};
use super::spec::BuildSpec;
use super::step::{Action, Step};
use super::tools;
use crate::clock;
use crate::stop::Stop;
use crate::sys::SysError;

/// Lines of the log that stand for an error that is not recognised.
pub(super) const LAST_LINES: usize = 15;

/// How a build ended.
#[derive(Debug)]
pub enum Outcome {
    /// The kernel and its manifest are in the output folder.
    Built(Box<Manifest>),
    /// The same kernel is known; nothing was compiled.
    Reused {
        /// What it is known by.
        signature: Signature,
        /// What [`Hooks::known`] said.
        kernel: String,
    },
    /// There is no kernel.
    Failed(Failure),
    /// Somebody asked to stop: it counts as never begun.
    Stopped,
}

/// What came out of a build.
#[derive(Debug)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Time of each step, in order, the failed one included.
    pub steps: Vec<StepTime>,
    /// Its log in the cache folder, good until the next build; none when not even that could be made.
    pub log: Option<PathBuf>,
}

/// What a build asks and tells while it goes on.
pub struct Hooks<'a> {
    /// Is such a kernel known already? Then what it is called.
    pub known: &'a dyn Fn(&Signature) -> Option<String>,
    /// A step begins.
    pub enter: &'a dyn Fn(&Action),
    /// Ends it.
    pub stop: &'a Stop,
}

/// Builds a kernel in a cache folder, and leaves it in the folder `out`. After a failure only the log is there.
pub fn build(spec: &BuildSpec, folder: &Folder, out: &Path, hooks: &Hooks<'_>) -> Report {
    let log = match open_log(spec, folder, out) {
        Ok(log) => log,
        Err(error) => return Report { outcome: Outcome::Failed(exec::of_system(error)), steps: Vec::new(), log: None },
    };
    let environment = Environment::of(folder);
    let deadline = clock::monotonic() + spec.limits.wall;
    let mut runner = Runner { spec, folder, out, hooks, environment, log, deadline, work: Work::default(), steps: Vec::new() };
    let outcome = match plan(spec) {
        Ok(plan) => {
            let ended = plan.iter().try_for_each(|step| runner.step(step)).err();
            runner.outcome(ended)
        }
        Err(failure) => Outcome::Failed(failure),
    };
    if let Outcome::Failed(failure) = &outcome {
        // What cannot be written does not change why it failed.
        let _ = runner.log.note(&format!("== {}: {failure}", failure.class()));
        // A kernel of an earlier build there is not the one that was asked for now.
        let _ = fs::remove_file(out.join(manifest::MANIFEST));
        let _ = fs::copy(runner.log.path(), out.join(manifest::LOG));
    }
    Report { outcome, steps: runner.steps, log: Some(runner.log.path().to_owned()) }
}

fn open_log(spec: &BuildSpec, folder: &Folder, out: &Path) -> Result<Log, SysError> {
    remove_dir(&folder.scratch())?;
    for dir in [folder.scratch().as_path(), out] {
        fs::create_dir_all(dir).map_err(SysError::io(format!("make {}", dir.display())))?;
    }
    Log::create(&folder.log(), spec.limits.log_bytes)
}

/// Why the plan ends before its last step.
enum End {
    Failed(Failure),
    Reused(String),
    Stopped,
}

/// Why a step ends the plan.
pub(super) enum Ending {
    Failed(Failure),
    Reused(String),
    Halted(Halt),
}

impl From<Problem> for Ending {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Failed(failure) => Ending::Failed(failure),
            Problem::Halted(halt) => Ending::Halted(halt),
        }
    }
}

impl From<Halt> for Ending {
    fn from(halt: Halt) -> Self {
        Ending::Halted(halt)
    }
}

impl From<SysError> for Ending {
    fn from(error: SysError) -> Self {
        Ending::Halted(Halt::System(error))
    }
}

/// What steps leave for later ones.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) commit: String,
    pub(super) tree: String,
    pub(super) subjects: Vec<String>,
    pub(super) toolchain: String,
    pub(super) config: Config,
    pub(super) config_text: String,
    pub(super) signature: Option<Signature>,
}

impl Work {
    pub(super) fn has_modules(&self) -> bool {
        self.config.is_on("CONFIG_MODULES")
    }
}

/// A build under way.
pub(super) struct Runner<'a> {
    pub(super) spec: &'a BuildSpec,
    pub(super) folder: &'a Folder,
    pub(super) out: &'a Path,
    pub(super) hooks: &'a Hooks<'a>,
    pub(super) environment: Environment<'a>,
    pub(super) log: Log,
    pub(super) deadline: Duration,
    pub(super) work: Work,
    pub(super) steps: Vec<StepTime>,
}

impl Runner<'_> {
    fn step(&mut self, step: &Step) -> Result<(), End> {
        if self.hooks.stop.is_asked() {
            return Err(End::Stopped);
        }
        (self.hooks.enter)(&step.action);
        let start = clock::monotonic();
        let deadline = self.deadline.min(start + step.limit);
        let noted = self.log.note(&format!("== {}", step.action)).map_err(Ending::from);
        let done = noted.and_then(|()| self.act(&step.action, deadline));
        self.steps.push(StepTime { step: step.action.to_string(), ms: clock::millis(clock::monotonic() - start) });
        done.map_err(|ending| self.end(ending, &step.action))
    }

    /// A program that was not run to its end is a failure of its step.
    fn end(&self, ending: Ending, action: &Action) -> End {
        let failure = match ending {
            Ending::Failed(failure) => failure,
            Ending::Reused(kernel) => return End::Reused(kernel),
            Ending::Halted(Halt::Stopped) => return End::Stopped,
            Ending::Halted(Halt::Time { limit }) => {
                let whole = self.spec.limits.wall.as_secs();
                Failure::infrastructure(format!(
                    "{action}: not done after {} s (the whole build may take {whole} s); allow more time, or give the builder more processors",
                    limit.as_secs()
                ))
            }
            // Whoever writes so much has a loop; it would write as much again.
            Ending::Halted(Halt::Log { bytes }) => {
                let message = format!("the log is full: more than {} MiB were written", bytes.div_ceil(1 << 20));
                let error = CompileError { file: None, line: None, message, excerpt: String::new() };
                let failure = CompileFailure { step: action.to_string(), errors: vec![error], more: 0, last_words: String::new() };
                Failure::DoesNotCompile(failure)
            }
            Ending::Halted(Halt::System(error)) => exec::of_system(error),
        };
        End::Failed(failure)
    }

    fn outcome(&mut self, ended: Option<End>) -> Outcome {
        match ended {
            Some(End::Failed(failure)) => Outcome::Failed(failure),
            Some(End::Reused(kernel)) => Outcome::Reused { signature: self.work.signature.clone().expect("it was signed"), kernel },
            Some(End::Stopped) => Outcome::Stopped,
            None => match self.finish() {
                Ok(manifest) => Outcome::Built(Box::new(manifest)),
                Err(error) => Outcome::Failed(exec::of_system(error)),
            },
        }
    }

    fn act(&mut self, action: &Action, deadline: Duration) -> Result<(), Ending> {
        match action {
            Action::CheckTools => Ok(check_tools(&tools::ALWAYS)?),
            Action::CheckSpace { bytes } => Ok(self.check_space(*bytes)?),
            Action::Fetch { repository, revision } => {
                self.work.commit = self.sources(deadline).fetch(repository, revision)?;
                Ok(())
            }
            Action::Checkout => Ok(self.sources(deadline).check_out(&self.work.commit)?),
            Action::Apply { index, patch } => Ok(self.sources(deadline).apply(*index, patch)?),
            Action::IdentifyTree => {
                self.work.tree = self.sources(deadline).tree()?;
                self.work.subjects = self.sources(deadline).subjects(&self.work.commit)?;
                Ok(())
            }
            Action::ReadyObjects => self.ready_objects(deadline),
            Action::Configure { base } => self.configure(base, action, deadline),
            Action::Merge { fragments } => self.merge(fragments, action, deadline),
            Action::Complete => self.complete(action, deadline),
            Action::CheckConfig { wishes } => self.check_config(wishes, deadline),
            Action::Sign { modules } => self.sign(modules),
            Action::Make => self.make(action, deadline),
            Action::InstallModules => self.install_modules(action, deadline),
            Action::MakeModule { module } => self.make_module(module, action, deadline),
            Action::Collect => self.collect(action, deadline),
        }
    }

    pub(super) fn sources(&self, deadline: Duration) -> Sources<'_> {
        Sources { folder: self.folder, environment: &self.environment, log: &self.log, stop: self.hooks.stop, deadline }
    }

    fn check_space(&self, bytes: u64) -> Result<(), Problem> {
        let root = self.folder.root();
        let found = statvfs(root).map_err(SysError::io(format!("look at the space of {}", root.display())))?;
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        if free >= bytes {
            return Ok(());
        }
        let message = format!(
            "build in {}: {} MiB are free and {} MiB are needed; free some, or give a cache folder on another disk",
            root.display(),
            free >> 20,
            bytes >> 20
        );
        Err(Problem::Failed(Failure::infrastructure(message)))
    }

    fn ready_objects(&mut self, deadline: Duration) -> Result<(), Ending> {
        let mut make = self.environment.make();
        make.args(["--silent", "kernelversion"]);
        let done = self.run(make, deadline)?;
        if !done.status.success() {
            let message = format!("ask the tree for its version, is it a kernel's? {}", exec::last_lines(&done.output, LAST_LINES));
            return Err(Ending::Failed(Failure::infrastructure(message)));
        }
        let version = exec::last_lines(&done.output, 1);
        self.work.toolchain = [self.version_of("gcc")?, self.version_of("ld")?].join("; ");
        if Objects::ready(self.folder, &version, &self.work.toolchain)? {
            self.log.note("the folder of the objects was emptied")?;
        }
        Ok(())
    }

    /// The first line of what a program says of its version.
    fn version_of(&self, program: &str) -> Result<String, SysError> {
        let mut command = self.environment.program(program);
        command.arg("--version");
        let ended = exec::ask(command, Duration::from_secs(60))?;
        Ok(String::from_utf8_lossy(&ended.stdout.head).lines().next().unwrap_or_default().to_owned())
    }

    pub(super) fn run(&self, command: Command, deadline: Duration) -> Result<Done, Halt> {
        exec::run(command, deadline.saturating_sub(clock::monotonic()), &self.log, self.hooks.stop)
    }
}

pub(super) fn check_tools(programs: &[&str]) -> Result<(), Problem> {
    if std::env::consts::ARCH != "x86_64" {
        let message = format!("build on {}: kernels are built for x86-64 and on it; use such a builder", std::env::consts::ARCH);
        return Err(Problem::Failed(Failure::infrastructure(message)));
    }
    match tools::missing(programs) {
        Some(missing) => Err(Problem::Failed(Failure::infrastructure(format!("build: {missing}")))),
        None => Ok(()),
    }
}
