//! The steps of a build that make and check its configuration.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::compile;
use super::config::{self, Config, Wish};
use super::exec;
use super::failure::{ConfigFailure, Failure};
use super::kconfig;
use super::run::{Ending, LAST_LINES, Runner, check_tools};
use super::signature::Signature;
use super::source::remove_file;
use super::spec::{Base, ModuleSource, NamedText};
use super::step::Action;
use super::tools;
use crate::sys::SysError;

impl Runner<'_> {
    pub(super) fn configure(&self, base: &Base, action: &Action, deadline: Duration) -> Result<(), Ending> {
        let dot_config = self.folder.build().join(".config");
        match base {
            Base::Target(target) => {
                // What an earlier build left must not shine through where a target only changes some symbols.
                remove_file(&dot_config)?;
                let mut make = self.environment.make();
                make.arg(target);
                self.configuring(make, action, deadline)
            }
            Base::Text(text) => Ok(write(&dot_config, &text.text)?),
        }
    }

    pub(super) fn merge(&self, fragments: &[NamedText], action: &Action, deadline: Duration) -> Result<(), Ending> {
        let build = self.folder.build();
        let script = self.folder.source().join("scripts/kconfig/merge_config.sh");
        // By its interpreter: sources that went through a patch or a plain archive have lost the right to be executed.
        let mut merge = self.environment.program("sh");
        merge.current_dir(self.folder.source()).arg(&script).arg("-m").arg("-O").arg(&build).arg(build.join(".config"));
        for (index, fragment) in fragments.iter().enumerate() {
            // The script splits words: names of ours.
            let path = self.folder.scratch().join(format!("fragment-{index}.config"));
            write(&path, &fragment.text)?;
            merge.arg(path);
        }
        self.configuring(merge, action, deadline)
    }

    pub(super) fn complete(&mut self, action: &Action, deadline: Duration) -> Result<(), Ending> {
        let mut make = self.environment.make();
        make.arg("olddefconfig");
        self.configuring(make, action, deadline)?;
        self.work.config_text = read(&self.folder.build().join(".config"))?;
        self.work.config = Config::read(&self.work.config_text);
        Ok(())
    }

    pub(super) fn check_config(&self, wishes: &[Wish], deadline: Duration) -> Result<(), Ending> {
        let mut lost = config::lost(wishes, &self.work.config);
        if !lost.is_empty() {
            let kconfigs = self.sources(deadline).kconfigs()?;
            kconfig::explain(&mut lost, kconfigs.iter().map(String::as_str), &self.work.config);
            return Err(Ending::Failed(Failure::DoesNotConfigure(ConfigFailure::Lost { symbols: lost })));
        }
        Ok(check_tools(&tools::of_config(&self.work.config))?)
    }

    pub(super) fn sign(&mut self, modules: &[ModuleSource]) -> Result<(), Ending> {
        if let Some(module) = modules.first().filter(|_| !self.work.has_modules()) {
            let refused = ConfigFailure::Refused {
                step: format!("module {}", module.name),
                message: "CONFIG_MODULES is off: no module can be built or loaded; add CONFIG_MODULES=y to a fragment".to_owned(),
            };
            return Err(Ending::Failed(Failure::DoesNotConfigure(refused)));
        }
        let signature = Signature::of(&self.work.tree, &self.work.config_text, &self.work.toolchain, modules);
        let known = (self.hooks.known)(&signature);
        self.work.signature = Some(signature);
        known.map_or(Ok(()), |kernel| Err(Ending::Reused(kernel)))
    }

    /// Runs a program that may refuse the configuration.
    fn configuring(&self, command: Command, action: &Action, deadline: Duration) -> Result<(), Ending> {
        let done = self.run(command, deadline)?;
        if done.status.success() {
            return Ok(());
        }
        let failure = compile::infrastructure(&done.output).map(Failure::infrastructure).unwrap_or_else(|| {
            let found = compile::errors(&done.output, &self.folder.source().to_string_lossy());
            let said: Vec<String> = found.first.iter().map(ToString::to_string).collect();
            let message = if said.is_empty() { exec::last_lines(&done.output, LAST_LINES) } else { said.join("\n") };
            Failure::DoesNotConfigure(ConfigFailure::Refused { step: action.to_string(), message })
        });
        Err(Ending::Failed(failure))
    }
}

fn read(path: &Path) -> Result<String, SysError> {
    fs::read_to_string(path).map_err(SysError::io(format!("read {}", path.display())))
}

/// With the line ends of this system, whatever a mail or an editor made of them.
pub(super) fn write(path: &Path, text: &str) -> Result<(), SysError> {
    fs::write(path, text.replace("\r\n", "\n")).map_err(SysError::io(format!("write {}", path.display())))
}
