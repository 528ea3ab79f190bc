//! For tests: a repository that is a kernel as far as the builder can tell, made and built in seconds.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::folder::Folder;
use super::run::{Hooks, Outcome, Report, build};
use super::signature::Signature;
use super::spec::{Base, BuildSpec, Limits, NamedText};
use crate::stop::Stop;
use crate::sys::command;

/// The release of the fake kernel.
pub const RELEASE: &str = "6.1.0-fake";

/// The targets and variables that the builder uses, in the manner of the kernel's own Makefile: objects in `O`, times as make(1) sees
/// them, modules from outside by `M`. Recipes are indented by tabs.
const MAKEFILE: &str = r#"
CC = gcc
O ?= .
TREE := $(CURDIR)
OBJECTS := $(O)/super.o $(O)/elevator.o
LIB := $(INSTALL_MOD_PATH)/lib/modules/6.1.0-fake
DEPMOD = cd $(LIB) && find extra kernel -name '*.ko' -printf '%p:\n' 2>/dev/null | sort > modules.dep

kernelversion:
	@echo 6.1.0
kernelrelease:
	@echo 6.1.0-fake
tinyconfig defconfig:
	cp configs/$@ $(O)/.config
olddefconfig:
	sh scripts/olddefconfig.sh $(O)/.config

$(O)/salt.h: $(O)/.config
	sed -n 's/^CONFIG_BUILD_SALT=/#define SALT /p' $(O)/.config > $@
$(O)/super.o: fs/super.c $(O)/salt.h
	cd $(O) && $(CC) -I$(O) -c $(TREE)/fs/super.c -o $@
$(O)/elevator.o: block/elevator.c
	cd $(O) && $(CC) -c $(TREE)/block/elevator.c -o $@
vmlinux: $(OBJECTS)
	$(LD) --build-id=sha1 -e start -o $(O)/vmlinux $(OBJECTS)
	nm $(O)/vmlinux > $(O)/System.map
bzImage: vmlinux
	mkdir -p $(O)/arch/x86/boot
	gzip -n9c $(O)/vmlinux > $(O)/arch/x86/boot/bzImage

ifdef M
modules:
	for file in $(M)/*.c; do $(CC) -c $$file -o $${file%.c}.ko || exit 1; done
modules_install:
	mkdir -p $(LIB)/extra
	cp $(M)/*.ko $(LIB)/extra/
	$(DEPMOD)
else
modules:
	$(CC) -c $(TREE)/block/elevator.c -o $(O)/elevator.ko
modules_install:
	mkdir -p $(LIB)/kernel
	cp $(O)/elevator.ko $(LIB)/kernel/
	ln -sfn $(O) $(LIB)/build
	$(DEPMOD)
endif
"#;

const MERGE_CONFIG: &str = r#"#!/bin/sh
# merge_config.sh -m -O FOLDER BASE FRAGMENT...: the last value of a symbol counts.
set -e
output=$3
shift 3
cat "$@" | awk '
	/^CONFIG_/ { name = $0; sub(/=.*/, "", name) }
	/^# CONFIG_.* is not set$/ { name = $2 }
	/CONFIG_/ { if (!(name in line)) order[++count] = name; line[name] = $0 }
	END { for (i = 1; i <= count; i++) print line[order[i]] }' > "$output/.config.merged"
mv "$output/.config.merged" "$output/.config"
"#;

/// Kconfig in small: NONESUCH does not exist, BTRFS_FS needs RAID6_PQ, and THERMAL is selected by ACPI.
const OLDDEFCONFIG: &str = r##"
set -e
file=$1
sed -i '/CONFIG_NONESUCH/d' "$file"
grep -q '^CONFIG_RAID6_PQ=y' "$file" || sed -i '/^CONFIG_BTRFS_FS=/d' "$file"
if grep -q '^CONFIG_ACPI=y' "$file"; then
	sed -i '/CONFIG_THERMAL/d' "$file"
	echo CONFIG_THERMAL=y >> "$file"
fi
"##;

const KCONFIG: &str = r#"
config ACPI
	bool "ACPI"
	select THERMAL

config THERMAL
	bool "Thermal"

config BTRFS_FS
	tristate "Btrfs"
	depends on RAID6_PQ
"#;

const SUPER: &str = "\
#include \"salt.h\"
#ifndef SALT
#define SALT \"\"
#endif
const char salt[] = SALT;

int elevator(int sector);

int journal_priority(void)
{
\treturn 3;
}

void start(void)
{
\televator(journal_priority());
}
";

const ELEVATOR: &str = "\
int elevator(int sector)
{
\treturn sector + 1;
}
";

/// A repository with a tag `v1` and a commit before it.
#[derive(Debug)]
pub struct Fake {
    dir: tempfile::TempDir,
}

impl Fake {
    /// Makes it.
    #[expect(clippy::new_without_default, reason = "a repository on disk is no default of anything")]
    pub fn new() -> Self {
        let fake = Fake { dir: tempfile::tempdir().unwrap() };
        let files = [
            ("Makefile", MAKEFILE),
            ("Kconfig", KCONFIG),
            ("configs/tinyconfig", "CONFIG_ACPI=y\nCONFIG_THERMAL=y\nCONFIG_MODULES=y\n# CONFIG_SMP is not set\n"),
            ("configs/defconfig", "CONFIG_SMP=y\n"),
            ("scripts/kconfig/merge_config.sh", MERGE_CONFIG),
            ("scripts/olddefconfig.sh", OLDDEFCONFIG),
            ("fs/super.c", "int old;\n"),
            ("block/elevator.c", ELEVATOR),
        ];
        let root = fake.repository();
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fake.git(&["init", "--quiet", "-b", "main", "."]);
        fake.commit("before");
        fs::write(root.join("fs/super.c"), SUPER).unwrap();
        fake.commit("a kernel");
        fake.git(&["tag", "v1"]);
        fake
    }

    /// Where it is.
    pub fn repository(&self) -> PathBuf {
        self.dir.path().join("linux")
    }

    /// What asks for the kernel `v1`.
    pub fn spec(&self) -> BuildSpec {
        spec(&self.repository().to_string_lossy())
    }

    /// [`Fake::spec`] with patches.
    pub fn patched(&self, patches: &[NamedText]) -> BuildSpec {
        BuildSpec { patches: patches.to_vec(), ..self.spec() }
    }

    /// A mail that replaces a text in a file of `v1`.
    pub fn patch(&self, file: &str, from: &str, to: &str) -> NamedText {
        let path = self.repository().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no `{from}`");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        self.commit("change it");
        let mail = self.git(&["format-patch", "-1", "--stdout"]);
        self.git(&["reset", "--quiet", "--hard", "v1"]);
        named("0001-change-it.patch", &mail)
    }

    /// Runs git in it; gives what it prints.
    pub fn git(&self, args: &[&str]) -> String {
        let root = self.repository();
        fs::create_dir_all(&root).unwrap();
        let mut git = command::program("git");
        git.arg("-C").arg(&root).args(["-c", "user.name=A U Thor", "-c", "user.email=author@example.org", "-c", "commit.gpgSign=false"]);
        let output = git.args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end_matches('\n').to_owned() + "\n"
    }

    fn commit(&self, subject: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", subject]);
    }
}

/// A cache folder and an output folder.
#[derive(Debug)]
pub struct Place {
    /// The cache folder.
    pub folder: Folder,
    /// Where kernels go.
    pub out: PathBuf,
    _dir: tempfile::TempDir,
}

impl Default for Place {
    fn default() -> Self {
        Self::new()
    }
}

impl Place {
    /// A new one.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (folder, out) = (Folder::open(&dir.path().join("cache")).unwrap(), dir.path().join("out"));
        Place { folder, out, _dir: dir }
    }

    /// Builds; nothing is known, nobody stops it.
    pub fn build(&self, spec: &BuildSpec) -> Report {
        self.build_with(spec, &|_| None, &Stop::default())
    }

    /// Builds with hooks.
    pub fn build_with(&self, spec: &BuildSpec, known: &dyn Fn(&Signature) -> Option<String>, stop: &Stop) -> Report {
        build(spec, &self.folder, &self.out, &Hooks { known, enter: &|_| (), stop })
    }

    /// Builds what must come out well.
    pub fn built(&self, spec: &BuildSpec) -> super::Manifest {
        let report = self.build(spec);
        let Outcome::Built(manifest) = report.outcome else { panic!("{report:?}\n{}", self.log()) };
        *manifest
    }

    /// Builds what must fail.
    pub fn failed(&self, spec: &BuildSpec) -> super::Failure {
        let report = self.build(spec);
        let Outcome::Failed(failure) = report.outcome else { panic!("{report:?}") };
        failure
    }

    /// The log of the last build.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.log()).unwrap_or_default()
    }

    /// Names in the tar of the modules.
    pub fn modules(&self) -> Vec<String> {
        let mut tar = Environment::of(&self.folder).program("tar");
        let output = tar.arg("-tf").arg(self.out.join(super::manifest::MODULES)).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }
}

/// What asks for the kernel `v1` of any repository.
pub fn spec(repository: &str) -> BuildSpec {
    BuildSpec {
        repository: repository.into(),
        commit: "v1".into(),
        patches: vec![],
        base: Base::Target("tinyconfig".into()),
        fragments: vec![named("lab.config", "CONFIG_SMP=y\n")],
        salt: None,
        modules: vec![],
        limits: Limits { space_bytes: 0, ..Limits::default() },
    }
}

/// A text with a name.
pub fn named(name: &str, text: &str) -> NamedText {
    NamedText { name: name.into(), text: text.into() }
}

/// Does a path exist below a folder?
pub fn has(folder: &Path, name: &str) -> bool {
    folder.join(name).exists()
}
