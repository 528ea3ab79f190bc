//! The steps of a build that compile, install and pack.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::compile;
use super::configure::write;
use super::elf;
use super::environment::joined;
use super::exec;
use super::failure::{CompileFailure, Failure};
use super::manifest::{self, FileRecord, Manifest};
use super::objects::Objects;
use super::run::{Ending, LAST_LINES, Runner};
use super::source::{remove_dir, remove_file};
use super::spec::ModuleSource;
use super::step::Action;
use crate::sys::SysError;

/// Where the image of an x86-64 kernel is made.
const BZIMAGE: &str = "arch/x86/boot/bzImage";

impl Runner<'_> {
    pub(super) fn make(&self, action: &Action, deadline: Duration) -> Result<(), Ending> {
        let mut make = self.environment.make_parallel();
        make.args(["vmlinux", "bzImage"]);
        if self.work.has_modules() {
            make.arg("modules");
        }
        self.making(make, action, deadline)
    }

    pub(super) fn install_modules(&self, action: &Action, deadline: Duration) -> Result<(), Ending> {
        remove_dir(&self.folder.staging())?;
        fs::create_dir_all(self.folder.staging()).map_err(SysError::io("make the staging folder"))?;
        if !self.work.has_modules() {
            return Ok(());
        }
        let mut make = self.installing();
        make.arg("modules_install");
        self.making(make, action, deadline)
    }

    pub(super) fn make_module(&self, module: &ModuleSource, action: &Action, deadline: Duration) -> Result<(), Ending> {
        let dir = self.folder.modules().join(&module.name);
        remove_dir(&dir)?;
        fs::create_dir_all(&dir).map_err(SysError::io(format!("make {}", dir.display())))?;
        for file in &module.files {
            let path = dir.join(&file.name);
            write(&path, &file.text)?;
        }
        let of_module = joined("M=", &dir);
        let mut make = self.environment.make_parallel();
        make.arg(&of_module).arg("modules");
        self.making(make, action, deadline)?;
        let mut install = self.installing();
        install.arg(of_module).arg("modules_install");
        self.making(install, action, deadline)
    }

    fn installing(&self) -> Command {
        let mut make = self.environment.make_parallel();
        make.arg(joined("INSTALL_MOD_PATH=", &self.folder.staging())).arg("INSTALL_MOD_STRIP=1");
        make
    }

    pub(super) fn collect(&self, action: &Action, deadline: Duration) -> Result<(), Ending> {
        // From here on the files of an earlier kernel are no longer what its manifest says.
        remove_file(&self.out.join(manifest::MANIFEST))?;
        remove_file(&self.out.join(manifest::MODULES))?;
        let build = self.folder.build();
        let mut strip = self.environment.program("strip");
        strip.arg("--strip-debug").arg("-o").arg(self.out.join(manifest::VMLINUX)).arg(build.join("vmlinux"));
        self.making(strip, action, deadline)?;
        for (from, to) in [(BZIMAGE, manifest::BZIMAGE), ("System.map", manifest::SYSTEM_MAP), (".config", manifest::CONFIG)] {
            copy(&build.join(from), &self.out.join(to))?;
        }
        if !self.work.has_modules() {
            return Ok(());
        }
        self.unlink_trees()?;
        let mut tar = self.environment.program("tar");
        // The same bytes whoever packs them, and whenever.
        tar.args([
            "--create",
            "--format=gnu",
            "--sort=name",
            "--mtime=@0",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "--mode=u+rw,go=rX",
        ]);
        tar.arg("--file").arg(self.out.join(manifest::MODULES)).arg("--directory").arg(self.folder.staging()).arg("lib");
        self.making(tar, action, deadline)
    }

    /// Takes away the links from the modules to the trees of this machine.
    fn unlink_trees(&self) -> Result<(), SysError> {
        let modules = self.folder.staging().join("lib/modules");
        let releases = fs::read_dir(&modules).map_err(SysError::io(format!("read {}", modules.display())))?;
        for release in releases.flatten() {
            for link in ["build", "source"] {
                remove_file(&release.path().join(link))?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(&self) -> Result<Manifest, SysError> {
        let mut make = self.environment.make();
        make.args(["--silent", "kernelrelease"]);
        let ended = exec::ask(make, Duration::from_secs(60))?;
        let release = String::from_utf8_lossy(&ended.stdout.head).lines().last().unwrap_or_default().to_owned();
        let vmlinux = self.out.join(manifest::VMLINUX);
        let act = format!("read the build id of {}", vmlinux.display());
        let build_id = fs::File::open(&vmlinux).and_then(elf::build_id).map_err(SysError::io(act.clone()))?;
        let build_id = build_id.ok_or_else(|| SysError::Unsupported {
            act,
            reason: "the linker wrote none; the tree must link with --build-id, as kernels since 2.6.23 do".to_owned(),
        })?;
        self.log.note(&format!("== built {release}, build id {build_id}"))?;
        copy(self.log.path(), &self.out.join(manifest::LOG))?;
        let mut names = BTreeSet::from([manifest::VMLINUX, manifest::BZIMAGE, manifest::SYSTEM_MAP, manifest::CONFIG, manifest::LOG]);
        if self.work.has_modules() {
            names.insert(manifest::MODULES);
        }
        let files = names.into_iter().map(|name| FileRecord::of(self.out, name)).collect::<Result<_, _>>()?;
        let manifest = Manifest {
            signature: self.work.signature.clone().expect("it was signed"),
            release,
            build_id,
            repository: self.spec.repository.clone(),
            revision: self.spec.commit.clone(),
            commit: self.work.commit.clone(),
            tree: self.work.tree.clone(),
            patches: self.work.subjects.clone(),
            fragments: self.spec.fragments.iter().map(|fragment| fragment.name.clone()).collect(),
            salt: self.spec.salt.clone(),
            modules: self.spec.modules.iter().map(|module| module.name.clone()).collect(),
            toolchain: self.work.toolchain.clone(),
            files,
            steps: self.steps.clone(),
        };
        manifest.write(self.out)?;
        Ok(manifest)
    }

    /// Runs a program that may refuse the tree, and notes whether its objects are whole.
    fn making(&self, command: Command, action: &Action, deadline: Duration) -> Result<(), Ending> {
        Objects::mark(self.folder, false)?;
        let done = self.run(command, deadline)?;
        let message = compile::infrastructure(&done.output).filter(|_| !done.status.success());
        if let Some(message) = message {
            return Err(Ending::Failed(Failure::infrastructure(message)));
        }
        Objects::mark(self.folder, true)?;
        if done.status.success() {
            return Ok(());
        }
        let found = compile::errors(&done.output, &self.folder.source().to_string_lossy());
        let last_words = if found.first.is_empty() { exec::last_lines(&done.output, LAST_LINES) } else { String::new() };
        let failure = CompileFailure { step: action.to_string(), errors: found.first, more: found.more, last_words };
        Err(Ending::Failed(Failure::DoesNotCompile(failure)))
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), SysError> {
    fs::copy(from, to).map(drop).map_err(SysError::io(format!("copy {} to {}", from.display(), to.display())))
}
