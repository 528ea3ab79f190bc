//! From what is to be built to its steps. Pure: nothing is looked at, and what can be refused without a tree is refused here.

use std::time::Duration;

use super::config;
use super::failure::Failure;
use super::spec::BuildSpec;
use super::step::{Action, Revision, Step};

/// For what looks at a few files.
const SHORT: Duration = Duration::from_secs(60);

/// The whole history of Linux is 5 GB; a mirror far away gives some megabytes a second.
const FETCH: Duration = Duration::from_secs(2 * 3600);

/// 80,000 files are written by the first checkout.
const CHECKOUT: Duration = Duration::from_secs(1800);

/// A series of hundreds of mails on a busy machine.
const APPLY: Duration = Duration::from_secs(600);

/// Kconfig reads 1,700 files; the first time its own program is compiled.
const CONFIGURE: Duration = Duration::from_secs(900);

/// Thousands of modules of a distribution's configuration, each stripped.
const PACK: Duration = Duration::from_secs(3600);

/// The steps of a build, or why it can have none.
pub fn plan(spec: &BuildSpec) -> Result<Vec<Step>, Failure> {
    spec.check()?;
    let fragments = spec.fragments();
    let wishes = config::wishes(&fragments)?;
    let revision = Revision::of(&spec.commit);
    let mut steps = vec![
        step(Action::CheckTools, SHORT),
        step(Action::CheckSpace { bytes: spec.limits.space_bytes }, SHORT),
        step(Action::Fetch { repository: spec.repository.clone(), revision }, FETCH),
        step(Action::Checkout, CHECKOUT),
    ];
    steps.extend(spec.patches.iter().enumerate().map(|(index, patch)| step(Action::Apply { index, patch: patch.clone() }, APPLY)));
    steps.extend([
        step(Action::IdentifyTree, SHORT),
        step(Action::ReadyObjects, CHECKOUT),
        step(Action::Configure { base: spec.base.clone() }, CONFIGURE),
    ]);
    if !fragments.is_empty() {
        steps.push(step(Action::Merge { fragments }, CONFIGURE));
    }
    steps.extend([
        step(Action::Complete, CONFIGURE),
        step(Action::CheckConfig { wishes }, SHORT),
        step(Action::Sign { modules: spec.modules.clone() }, SHORT),
        step(Action::Make, spec.limits.wall),
        step(Action::InstallModules, PACK),
    ]);
    steps.extend(spec.modules.iter().map(|module| step(Action::MakeModule { module: module.clone() }, PACK)));
    steps.push(step(Action::Collect, PACK));
    Ok(steps)
}

fn step(action: Action, limit: Duration) -> Step {
    Step { action, limit }
}

#[cfg(test)]
mod tests {
    use super::super::fake::{named, spec};
    use super::super::spec::{Base, ModuleSource};
    use super::*;

    fn lines(spec: &BuildSpec) -> String {
        let steps = plan(spec).unwrap();
        steps.iter().map(|step| format!("{:6} s  {}", step.limit.as_secs(), step.action)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn everything_at_once() {
        let spec = BuildSpec {
            patches: vec![named("0001-a.patch", "x"), named("0002-b.patch", "y")],
            salt: Some("again".into()),
            modules: vec![ModuleSource { name: "lab_disk".into(), files: vec![named("Kbuild", "obj-m := lab_disk.o\n")] }],
            ..spec("https://git.example.org/linux.git")
        };
        insta::assert_snapshot!(lines(&spec));
    }

    #[test]
    fn a_whole_configuration_needs_no_fragment() {
        let base = Base::Text(named("debian.config", "CONFIG_SMP=y\n"));
        insta::assert_snapshot!(lines(&BuildSpec { base, fragments: vec![], ..spec("/srv/linux") }));
    }

    #[test]
    fn a_bad_line_of_a_fragment_is_found_before_anything_is_fetched() {
        let spec = BuildSpec { fragments: vec![named("f", "SMP=y\n")], ..spec("/srv/linux") };
        assert_eq!(plan(&spec).unwrap_err().class(), "does not configure");
    }
}
