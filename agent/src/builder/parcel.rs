//! From a request of the lab to what the library builds, and from what the library says to a report with the files that go with it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use blklab_bootimage::modules::Index;
use blklab_model::build::{BuildFailure, BuildFault, BuildRequest, ConfigBase, NamedFile};
use blklab_model::id::{HostName, KernelId};
use blklab_model::kernel::{Blob, KernelSource};
use blklab_wire::build::{BuildOutcome, BuildReport, BuildSpec, BuiltKernel};

use crate::build::manifest::{self, Manifest};
use crate::build::signature::{Signature, digest_of};
use crate::build::{self, Base, Failure, Limits, ModuleSource, NamedText, Outcome};

/// Longest text of a failure, in bytes: five hunks and errors with their surroundings stay far below, but a patch may have lines of any
/// length. The coordinator takes messages of 512 KiB.
const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// What [`Hooks::known`](build::Hooks::known) says of a kernel that lies in the output folder: one that was built, but never handed in.
pub(super) const HERE: &str = "here";

/// What [`Hooks::known`](build::Hooks::known) says of a kernel that the lab has.
pub(super) const LAB: &str = "lab";

/// A report with the files that the coordinator must have before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parcel {
    pub(super) report: BuildReport,
    pub(super) files: Vec<(PathBuf, Blob)>,
}

/// What the library is asked to build.
pub(super) fn spec(request: &BuildRequest, modules: Vec<ModuleSource>, limits: Limits) -> build::BuildSpec {
    let texts = |files: &[NamedFile]| files.iter().map(text).collect();
    build::BuildSpec {
        repository: request.repo.clone(),
        commit: request.commit.clone(),
        patches: texts(&request.patches),
        base: match &request.base {
            ConfigBase::Target(target) => Base::Target(target.clone()),
            ConfigBase::File(file) => Base::Text(text(file)),
        },
        fragments: texts(&request.fragments),
        salt: request.salt.clone(),
        modules,
        limits,
    }
}

fn text(file: &NamedFile) -> NamedText {
    NamedText { name: file.name.clone(), text: file.text.clone() }
}

/// What the lab calls a kernel.
pub(super) fn kernel_id(signature: &Signature) -> KernelId {
    signature.as_str().parse().expect("a signature is 64 hexadecimal digits")
}

/// What is handed in after a build; none when it was stopped, which is as if it had never begun.
pub(super) fn parcel(host: &HostName, spec: &BuildSpec, ended: build::Report, out: &Path) -> Option<Parcel> {
    let mut files = Vec::new();
    let outcome = match ended.outcome {
        Outcome::Stopped => return None,
        Outcome::Failed(failure) => failed(&failure),
        Outcome::Reused { signature, kernel } if kernel == LAB => BuildOutcome::Reused(kernel_id(&signature)),
        Outcome::Reused { .. } => match Manifest::read(out) {
            Some(manifest) => built(&manifest, out, &mut files),
            None => infrastructure(&format!("read the kernel in {}, which was whole when it was built", out.display())),
        },
        Outcome::Built(manifest) => built(&manifest, out, &mut files),
    };
    let log = ended.log.and_then(|path| match blob(&path) {
        Ok(blob) => Some((path, blob)),
        Err(error) => {
            tracing::warn!(log = %path.display(), %error, "the log cannot be read; the report goes without it");
            None
        }
    });
    let report = BuildReport {
        host: host.clone(),
        build: spec.build,
        attempt: spec.attempt,
        outcome,
        log: log.as_ref().map(|(_, blob)| blob.clone()),
    };
    files.extend(log);
    Some(Parcel { report, files })
}

impl Parcel {
    /// When the coordinator will never take one of its files: that is the answer, with the log. A log that is refused is left out.
    pub(super) fn refused(mut self, file: &Path, reason: &str) -> Parcel {
        let log = self.report.log.take();
        let is_log = |(_, blob): &(PathBuf, Blob)| Some(blob) == log.as_ref();
        if self.files.iter().any(|entry| is_log(entry) && entry.0 == file) {
            self.files.retain(|entry| !is_log(entry));
            return self;
        }
        self.files.retain(is_log);
        let outcome = infrastructure(&format!("hand in {}: {reason}", file.display()));
        Parcel { report: BuildReport { outcome, log, ..self.report }, files: self.files }
    }
}

/// A new kernel: the bzImage, since its build id is that of vmlinux and it has a sixth of the bytes. What starts it faster where that can
/// be (a virtual host enters vmlinux directly, by PVH) unpacks it once, when it is fetched.
fn built(manifest: &Manifest, out: &Path, files: &mut Vec<(PathBuf, Blob)>) -> BuildOutcome {
    let mut take = |name: &str| {
        let record = manifest.files.iter().find(|file| file.name == name)?;
        let blob = Blob { sha256: record.sha256.clone(), bytes: record.bytes };
        files.push((out.join(name), blob.clone()));
        Some(blob)
    };
    let has_modules = match modules(&out.join(manifest::MODULES)) {
        Ok(count) => count > 0,
        Err(error) => {
            return infrastructure(&format!("read what `make modules_install` made: {error}; is the Debian package kmod installed?"));
        }
    };
    let (Some(image), Some(config)) = (take(manifest::BZIMAGE), take(manifest::CONFIG)) else {
        return infrastructure(&format!("find the image in the manifest in {}", out.display()));
    };
    BuildOutcome::Built(Box::new(BuiltKernel {
        id: kernel_id(&manifest.signature),
        release: manifest.release.clone(),
        build_id: manifest.build_id.clone(),
        source: KernelSource::Git {
            repo: manifest.repository.clone(),
            commit: manifest.commit.clone(),
            tree: manifest.tree.clone(),
            patches: manifest.patches.clone(),
        },
        toolchain: manifest.toolchain.clone(),
        image,
        modules: if has_modules { take(manifest::MODULES) } else { None },
        config,
    }))
}

/// How many there are. Whoever boots the kernel reads the same lists.
fn modules(tar: &Path) -> Result<usize, String> {
    match File::open(tar) {
        Ok(file) => Index::of_tar(file, &tar.display().to_string()).map(|index| index.names().count()).map_err(|error| error.to_string()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(format!("{}: {error}", tar.display())),
    }
}

fn failed(failure: &Failure) -> BuildOutcome {
    let fault = match failure {
        Failure::DoesNotApply(_) => BuildFault::DoesNotApply,
        Failure::DoesNotConfigure(_) => BuildFault::DoesNotConfigure,
        Failure::DoesNotCompile(_) => BuildFault::DoesNotCompile,
        Failure::Infrastructure { .. } => BuildFault::Infrastructure,
    };
    BuildOutcome::Failed(BuildFailure { fault, message: cut(failure.to_string()) })
}

fn infrastructure(act: &str) -> BuildOutcome {
    BuildOutcome::Failed(BuildFailure { fault: BuildFault::Infrastructure, message: cut(format!("failed to {act}")) })
}

fn cut(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message.push_str("\n(cut; the log has all of it)");
    }
    message
}

fn blob(path: &Path) -> io::Result<Blob> {
    let (sha256, bytes) = File::open(path).and_then(digest_of)?;
    Ok(Blob { sha256, bytes })
}

#[cfg(test)]
mod tests {
    use blklab_model::testing::{build_request, id};

    use super::*;

    fn wire() -> BuildSpec {
        BuildSpec { build: "b7".parse().unwrap(), attempt: 2, request: build_request("patched") }
    }

    fn report(outcome: Outcome, log: Option<PathBuf>) -> build::Report {
        build::Report { outcome, steps: Vec::new(), log }
    }

    fn fault(parcel: &Parcel) -> &BuildFailure {
        let BuildOutcome::Failed(failure) = &parcel.report.outcome else { panic!("{parcel:?}") };
        failure
    }

    #[test]
    fn what_is_asked_is_what_is_built() {
        let request = BuildRequest { base: ConfigBase::File(NamedFile { name: "c".into(), text: "d".into() }), ..build_request("patched") };
        let spec = spec(&request, Vec::new(), Limits::default());
        assert_eq!((&spec.repository, &spec.commit), (&request.repo, &request.commit));
        assert_eq!(spec.base, Base::Text(NamedText { name: "c".into(), text: "d".into() }));
        assert_eq!((spec.patches[0].name.as_str(), spec.fragments[0].text.as_str()), ("idle.mbox", "CONFIG_PVH=y\n"));
    }

    #[test]
    fn a_failure_brings_its_log_and_a_stop_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("build.log");
        std::fs::write(&log, "abc").unwrap();
        let failure = Failure::Infrastructure { message: "x".repeat(1 << 20) };
        let failed = parcel(&id("b"), &wire(), report(Outcome::Failed(failure), Some(log.clone())), dir.path()).unwrap();
        assert_eq!((failed.report.build, failed.report.attempt), (wire().build, 2));
        assert_eq!(fault(&failed).fault, BuildFault::Infrastructure);
        assert!(fault(&failed).message.len() < MAX_MESSAGE_BYTES + 100 && fault(&failed).message.ends_with("the log has all of it)"));
        assert_eq!(failed.files, [(log.clone(), failed.report.log.clone().unwrap())]);
        assert_eq!(failed.files[0].1.bytes, 3);
        assert_eq!(parcel(&id("b"), &wire(), report(Outcome::Stopped, Some(log)), dir.path()), None);
        let gone = parcel(
            &id("b"),
            &wire(),
            report(Outcome::Failed(Failure::Infrastructure { message: "y".into() }), Some("/gone".into())),
            dir.path(),
        );
        assert_eq!(gone.unwrap().report.log, None);
    }

    #[test]
    fn a_kernel_that_is_gone_from_its_folder_is_the_labs_fault() {
        let dir = tempfile::tempdir().unwrap();
        let signature = Signature::of("t", "c", "gcc", &[]);
        let ended = |kernel: &str| report(Outcome::Reused { signature: signature.clone(), kernel: kernel.into() }, None);
        assert_eq!(fault(&parcel(&id("b"), &wire(), ended(HERE), dir.path()).unwrap()).fault, BuildFault::Infrastructure);
        let reused = parcel(&id("b"), &wire(), ended(LAB), dir.path()).unwrap();
        assert_eq!(reused.report.outcome, BuildOutcome::Reused(kernel_id(&signature)));
    }

    #[test]
    fn a_file_that_is_refused_is_the_answer() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("build.log");
        std::fs::write(&log, "abc").unwrap();
        let mut full = parcel(
            &id("b"),
            &wire(),
            report(Outcome::Failed(Failure::Infrastructure { message: "y".into() }), Some(log.clone())),
            dir.path(),
        )
        .unwrap();
        let modules = dir.path().join("modules.tar");
        full.files.insert(0, (modules.clone(), Blob { sha256: "0".repeat(64), bytes: 1 }));
        let refused = full.clone().refused(&modules, "too long");
        assert!(fault(&refused).message.ends_with("modules.tar: too long"), "{refused:?}");
        assert_eq!((refused.files.len(), refused.report.log.as_ref()), (1, full.report.log.as_ref()));
        let refused = full.clone().refused(&log, "too long");
        assert_eq!((refused.files.len(), refused.report.log), (1, None), "the kernel goes without it");
        assert_eq!(refused.report.outcome, full.report.outcome);
    }
}
