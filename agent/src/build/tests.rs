//! Whole builds of a fake kernel: real git, make and gcc, real limits.

use std::time::Duration;

use super::failure::{ConfigFailure, Failure};
use super::fake::{Fake, Place, RELEASE, has, named};
use super::manifest::{self, Manifest};
use super::run::Outcome;
use super::spec::{Base, BuildSpec, Limits, ModuleSource};
use crate::clock;
use crate::stop::Stop;

/// Appended to a Makefile's rule for vmlinux.
const VMLINUX: &str = "vmlinux: $(OBJECTS)\n";

fn limited(spec: BuildSpec, limits: Limits) -> BuildSpec {
    BuildSpec { limits: Limits { space_bytes: 0, ..limits }, ..spec }
}

#[test]
fn a_kernel_comes_with_its_manifest() {
    let (fake, place) = (Fake::new(), Place::new());
    let built = place.built(&fake.spec());
    assert_eq!(built.release, RELEASE);
    assert_eq!(built.commit, fake.git(&["rev-parse", "v1"]).trim());
    assert_eq!(built.tree, fake.git(&["rev-parse", "v1^{tree}"]).trim());
    assert_eq!(built.build_id.len(), 40);
    let names: Vec<&str> = built.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["System.map", "build.log", "bzImage", "config", "modules.tar", "vmlinux"]);
    assert_eq!(Manifest::read(&place.out).unwrap(), built);
    let release = format!("lib/modules/{RELEASE}");
    assert_eq!(
        place.modules(),
        [
            "lib/",
            "lib/modules/",
            &format!("{release}/"),
            &format!("{release}/kernel/"),
            &format!("{release}/kernel/elevator.ko"),
            &format!("{release}/modules.dep")
        ],
        "and no link to the trees of this machine"
    );
    std::fs::remove_file(place.out.join("vmlinux")).unwrap();
    assert_eq!(Manifest::read(&place.out), None, "what is not whole is none");
}

#[test]
fn the_same_source_gives_the_same_bytes_everywhere() {
    let fake = Fake::new();
    let digests = || {
        let built = Place::new().built(&fake.spec());
        let files = built.files.into_iter().filter(|file| file.name != manifest::LOG).collect::<Vec<_>>();
        (built.signature, built.build_id, files)
    };
    assert_eq!(digests(), digests());
}

#[test]
fn another_salt_is_another_kernel_of_the_same_source() {
    let (fake, place) = (Fake::new(), Place::new());
    let salted = |salt: &str| place.built(&BuildSpec { salt: Some(salt.into()), ..fake.spec() });
    let (one, again) = (salted("one"), salted("again"));
    assert_eq!(one.tree, again.tree);
    assert_ne!(one.build_id, again.build_id);
    assert_ne!(one.signature, again.signature);
}

#[test]
fn a_patch_is_built_in_and_gone_with_the_next_build() {
    let (fake, place) = (Fake::new(), Place::new());
    let base = place.built(&fake.spec());
    let patch = fake.patch("fs/super.c", "return 3;", "return 4;");
    let patched = place.built(&fake.patched(&[patch]));
    assert_eq!(patched.patches, ["change it"]);
    assert_eq!(patched.commit, base.commit);
    assert_ne!(patched.tree, base.tree);
    assert_ne!(patched.build_id, base.build_id);
    assert_eq!(place.built(&fake.spec()).build_id, base.build_id);
}

#[test]
fn only_what_differs_is_compiled() {
    let (fake, place) = (Fake::new(), Place::new());
    place.built(&fake.spec());
    let patch = fake.patch("fs/super.c", "return 3;", "return 4;");
    place.built(&fake.patched(&[patch]));
    let log = place.log();
    assert!(log.contains("/fs/super.c -o"), "{log}");
    assert!(!log.contains(&format!("/block/elevator.c -o {}/elevator.o", place.folder.build().display())), "{log}");
}

#[test]
fn a_hunk_without_a_place_is_shown_to_its_author() {
    let (fake, place) = (Fake::new(), Place::new());
    let good = fake.patch("fs/super.c", "return 3;", "return 4;");
    let mut stale = fake.patch("block/elevator.c", "return sector + 1;", "return sector + 2;");
    stale.text = stale.text.replace("-\treturn sector + 1;", "-\treturn sector + 7;");
    let Failure::DoesNotApply(failure) = place.failed(&fake.patched(&[good, stale])) else { panic!() };
    assert_eq!((failure.patch, failure.subject.as_deref(), failure.mail), (1, Some("change it"), None));
    assert_eq!((failure.hunks[0].file.as_str(), failure.hunks[0].number), ("block/elevator.c", Some(1)));
    assert!(failure.hunks[0].hunk.contains("-\treturn sector + 7;"));
    assert!(failure.hunks[0].there.contains("\treturn sector + 1;"), "{failure}");
    assert!(has(&place.out, manifest::LOG) && !has(&place.out, manifest::MANIFEST));
    place.built(&fake.spec());
}

#[test]
fn the_failing_mail_of_several_is_counted() {
    let (fake, place) = (Fake::new(), Place::new());
    let one = fake.patch("fs/super.c", "return 3;", "return 4;");
    let both = named("series.mbox", &format!("{}{}", one.text, one.text));
    let Failure::DoesNotApply(failure) = place.failed(&fake.patched(&[both])) else { panic!() };
    assert_eq!((failure.patch, failure.mail), (0, Some(2)));
    assert!(failure.reasons[0].contains("already"), "{failure}");
}

#[test]
fn a_patch_that_is_no_mail_or_names_no_file_of_the_tree_is_explained() {
    let (fake, place) = (Fake::new(), Place::new());
    let good = fake.patch("fs/super.c", "return 3;", "return 4;");
    let diff = good.text[good.text.find("diff --git").unwrap()..].to_owned();
    let said = |text: &str| place.failed(&fake.patched(&[named("p", text)])).to_string();
    assert!(said(&diff).contains("git format-patch"));
    assert!(said("").contains("git format-patch"));
    assert!(said(&good.text.replace("fs/super.c", "fs/gone.c")).contains("fs/gone.c: "));
    assert!(said(&good.text.replace(" \n", "")).contains("patch 1 (p) does not apply"));
}

#[test]
fn a_lost_symbol_is_named_with_its_reason() {
    let (fake, place) = (Fake::new(), Place::new());
    let text = "CONFIG_SMP=y\nCONFIG_BTRFS_FS=y\n# CONFIG_THERMAL is not set\nCONFIG_NONESUCH=y\n";
    let failure = place.failed(&BuildSpec { fragments: vec![named("mine.config", text)], ..fake.spec() });
    insta::assert_snapshot!(failure);
}

#[test]
fn a_target_that_the_tree_does_not_have_does_not_configure() {
    let (fake, place) = (Fake::new(), Place::new());
    let failure = place.failed(&BuildSpec { base: Base::Target("none_defconfig".into()), ..fake.spec() });
    assert!(matches!(failure, Failure::DoesNotConfigure(ConfigFailure::Refused { .. })), "{failure}");
    assert!(failure.to_string().contains("No rule to make target 'none_defconfig'"), "{failure}");
}

#[test]
fn a_whole_configuration_is_a_base() {
    let (fake, place) = (Fake::new(), Place::new());
    let base = Base::Text(named("my.config", "CONFIG_NR_CPUS=3\n"));
    let built = place.built(&BuildSpec { base, fragments: vec![], ..fake.spec() });
    assert_eq!(std::fs::read_to_string(place.out.join(manifest::CONFIG)).unwrap(), "CONFIG_NR_CPUS=3\n");
    assert!(!built.files.iter().any(|file| file.name == manifest::MODULES), "CONFIG_MODULES is off");
}

#[test]
fn the_first_errors_of_the_compiler_are_the_answer() {
    let (fake, place) = (Fake::new(), Place::new());
    let patch = fake.patch("fs/super.c", "return 3;", "return JOURNAL_PRIORITY;");
    let Failure::DoesNotCompile(failure) = place.failed(&fake.patched(&[patch])) else { panic!() };
    assert_eq!((failure.errors[0].file.as_deref(), failure.errors[0].line), (Some("fs/super.c"), Some(11)));
    assert!(failure.errors[0].message.contains("'JOURNAL_PRIORITY' undeclared"), "{failure}");
    assert!(failure.errors[0].excerpt.contains("return JOURNAL_PRIORITY;"), "{failure}");
    let patch = fake.patch("block/elevator.c", "int elevator(", "int elevate(");
    let failure = place.failed(&fake.patched(&[patch]));
    assert!(failure.to_string().contains("undefined reference to `elevator'"), "{failure}");
    place.built(&fake.spec());
}

#[test]
fn a_build_that_takes_too_long_is_ended_and_its_objects_are_not_trusted() {
    let (fake, place) = (Fake::new(), Place::new());
    let start = clock::monotonic();
    place.built(&fake.spec());
    // Enough for all steps before make on this machine as it is now.
    let wall = 3 * (clock::monotonic() - start) + Duration::from_secs(1);
    let patch = fake.patch("Makefile", VMLINUX, &format!("{VMLINUX}\tsleep 1000\n"));
    let slow = limited(fake.patched(&[patch]), Limits { wall, ..Limits::default() });
    let failure = place.failed(&slow);
    assert!(failure.is_retried() && failure.to_string().contains("allow more time"), "{failure}");
    place.built(&fake.spec());
    assert!(place.log().contains("the folder of the objects was emptied"));
}

#[test]
fn a_build_that_never_stops_talking_is_ended() {
    let (fake, place) = (Fake::new(), Place::new());
    let patch = fake.patch("Makefile", VMLINUX, &format!("{VMLINUX}\tyes\n"));
    let failure = place.failed(&limited(fake.patched(&[patch]), Limits { log_bytes: 1 << 20, ..Limits::default() }));
    assert_eq!(failure.class(), "does not compile");
    assert!(failure.to_string().contains("more than 1 MiB"), "{failure}");
    assert!(place.log().len() < (1 << 20) + 10_000);
}

#[test]
fn a_stop_ends_a_build_at_once() {
    let (fake, place) = (Fake::new(), Place::new());
    let patch = fake.patch("Makefile", VMLINUX, &format!("{VMLINUX}\tsleep 1000\n"));
    let stop = Stop::default();
    let asked = stop.clone();
    let outcome = place.build_with(
        &fake.patched(&[patch]),
        &|_| {
            // From here on the next thing that takes time is make.
            let asked = asked.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(300));
                asked.ask();
            });
            None
        },
        &stop,
    );
    assert!(matches!(outcome.outcome, Outcome::Stopped), "{outcome:?}");
}

#[test]
fn a_known_kernel_is_not_built_again() {
    let (fake, place) = (Fake::new(), Place::new());
    let built = place.built(&fake.spec());
    let report = place.build_with(&fake.spec(), &|signature| (*signature == built.signature).then(|| "base".into()), &Stop::default());
    assert!(matches!(&report.outcome, Outcome::Reused { kernel, .. } if kernel == "base"), "{report:?}");
    assert_eq!(report.steps.last().unwrap().step, "sign");
    assert_eq!(Manifest::read(&place.out), Some(built), "what is there stays");
}

#[test]
fn nothing_of_the_agent_reaches_a_build() {
    let (fake, place) = (Fake::new(), Place::new());
    let patch = fake.patch("Makefile", VMLINUX, &format!("{VMLINUX}\tenv\n"));
    place.built(&fake.patched(&[patch]));
    let log = place.log();
    assert!(log.contains("KBUILD_BUILD_HOST=lab"));
    // cargo sets these for the test itself.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !log.contains("CARGO_"), "{log}");
}

#[test]
fn a_module_from_outside_is_packed_with_the_others() {
    let (fake, place) = (Fake::new(), Place::new());
    let files = vec![named("Kbuild", "obj-m := lab_disk.o\n"), named("lab_disk.c", "int lab_disk;\n")];
    let module = ModuleSource { name: "lab_disk".into(), files };
    let with = |module: &ModuleSource| BuildSpec { modules: vec![module.clone()], ..fake.spec() };
    assert_eq!(place.built(&with(&module)).modules, ["lab_disk"]);
    assert!(place.modules().contains(&format!("lib/modules/{RELEASE}/extra/lab_disk.ko")));
    let mut broken = module.clone();
    broken.files[1].text = "int lab_disk\n".into();
    let failure = place.failed(&with(&broken));
    assert!(failure.to_string().starts_with("make module lab_disk fails\n"), "{failure}");
    let off = BuildSpec { base: Base::Target("defconfig".into()), ..with(&module) };
    assert!(place.failed(&off).to_string().contains("CONFIG_MODULES is off"));
}

#[test]
fn revisions_of_every_shape_are_found() {
    let (fake, place) = (Fake::new(), Place::new());
    let of = |words: &str| place.built(&BuildSpec { commit: words.into(), ..fake.spec() }).commit;
    let commit = of("v1");
    assert_eq!(of("main"), commit);
    assert_eq!(of(&commit), commit);
    assert!(!place.log().contains(" fetch --quiet"), "it was there");
    assert_eq!(of(&commit[..9]), commit);
    assert_eq!(of("HEAD"), commit);
    assert_eq!(of("HEAD^0"), commit);
}

#[test]
fn what_cannot_be_fetched_is_the_infrastructures_fault() {
    let (fake, place) = (Fake::new(), Place::new());
    let gone = BuildSpec { repository: "/nonesuch/linux".into(), ..fake.spec() };
    let no_tag = BuildSpec { commit: "v99".into(), ..fake.spec() };
    let no_commit = BuildSpec { commit: "0123456789012345678901234567890123456789".into(), ..fake.spec() };
    let helper = BuildSpec { repository: "ext::sh -c false".into(), ..fake.spec() };
    let cases = [(gone, "/nonesuch/linux"), (no_tag, "v99"), (no_commit, "find the revision"), (helper, "not allowed")];
    for (spec, word) in cases {
        let failure = place.failed(&spec);
        assert!(failure.is_retried() && failure.to_string().contains(word), "{failure}");
    }
}

#[test]
fn locks_of_a_killed_git_are_in_nobodys_way() {
    let (fake, place) = (Fake::new(), Place::new());
    place.built(&fake.spec());
    let mirror = place.folder.mirror(&fake.spec().repository);
    let dot_git = place.folder.source().join(".git");
    for lock in [mirror.join("shallow.lock"), mirror.join("refs/lab/wanted.lock"), dot_git.join("index.lock"), dot_git.join("HEAD.lock")] {
        std::fs::write(lock, "").unwrap();
    }
    std::fs::create_dir(dot_git.join("rebase-apply")).unwrap();
    let patch = fake.patch("fs/super.c", "return 3;", "return 4;");
    place.built(&fake.patched(&[patch]));
}

#[test]
fn line_ends_of_other_systems_do_no_harm() {
    let (fake, place) = (Fake::new(), Place::new());
    let mut patch = fake.patch("fs/super.c", "return 3;", "return 4;");
    patch.text = patch.text.replace('\n', "\r\n");
    let fragments = vec![named("f", "CONFIG_SMP=y\r\n# a comment\r\n")];
    place.built(&BuildSpec { fragments, ..fake.patched(&[patch]) });
}

#[test]
fn a_refused_request_leaves_no_log_of_another_build() {
    let (fake, place) = (Fake::new(), Place::new());
    place.built(&fake.spec());
    place.failed(&BuildSpec { fragments: vec![named("mine.config", "SMP=y\n")], ..fake.spec() });
    let log = std::fs::read_to_string(place.out.join(manifest::LOG)).unwrap();
    assert!(log.starts_with("== does not configure: mine.config:1: "), "{log}");
}

#[test]
fn a_disk_without_room_is_not_built_on() {
    let (fake, place) = (Fake::new(), Place::new());
    let limits = Limits { space_bytes: u64::MAX, ..Limits::default() };
    let failure = place.failed(&BuildSpec { limits, ..fake.spec() });
    assert!(failure.is_retried() && failure.to_string().contains("give a cache folder on another disk"), "{failure}");
}

#[test]
fn repositories_share_the_tree_without_mixing() {
    let (one, two, place) = (Fake::new(), Fake::new(), Place::new());
    std::fs::write(two.repository().join("only-here"), "x").unwrap();
    two.git(&["add", "--all"]);
    two.git(&["commit", "--quiet", "-m", "more"]);
    let spec = BuildSpec { commit: "main".into(), ..two.spec() };
    place.built(&spec);
    assert!(has(&place.folder.source(), "only-here"));
    place.built(&one.spec());
    assert!(!has(&place.folder.source(), "only-here"));
}
