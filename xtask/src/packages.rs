//! Debian packages that a target needs: says which and why, asks at a terminal, installs what is missing.

use std::io::{IsTerminal, Write};

use crate::run::{Failed, is_installed, program, succeeds};

/// A program that must be there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Need {
    program: &'static str,
    package: &'static str,
    why: &'static str,
}

const fn need(program: &'static str, package: &'static str, why: &'static str) -> Need {
    Need { program, package, why }
}

/// Needs of the build.
pub(crate) const BUILD: [Need; 1] = [need("cc", "gcc", "to build SQLite, which is embedded")];

/// Needs of the demo on loop disks.
pub(crate) const LOCAL: [Need; 4] = [
    need("mkfs.ext4", "e2fsprogs", "to make the file systems of the trials"),
    need("losetup", "mount", "to make the loop disks"),
    need("blkid", "util-linux", "to see whether a disk carries a foreign file system"),
    need("dd", "coreutils", "the workload"),
];

/// Needs of virtual hosts.
pub(crate) const VIRTUAL: [Need; 9] = [
    need("qemu-system-x86_64", "qemu-system-x86", "to run virtual hosts"),
    need("depmod", "kmod", "to index the modules of a kernel"),
    need("xz", "xz-utils", "to unpack kernels and packages"),
    need("zstd", "zstd", "to unpack kernels and packages"),
    need("dpkg-deb", "dpkg", "to unpack Debian packages"),
    need("mkfs.ext4", "e2fsprogs", "to make the file systems of the trials"),
    need("blkid", "util-linux", "to see whether a disk carries a foreign file system"),
    need("dd", "coreutils", "a workload"),
    need("fio", "fio", "a workload"),
];

/// Further needs of the tests.
pub(crate) const TEST: [Need; 14] = [
    need("postgres", "postgresql", "every store test runs on SQLite and on PostgreSQL"),
    need("mkfs.xfs", "xfsprogs", "trials on XFS"),
    need("setpriv", "util-linux", "to run as an ordinary user"),
    need("mkfs.btrfs", "btrfs-progs", "a tool that virtual hosts are given"),
    need("awk", "mawk", "to build kernels"),
    need("bc", "bc", "to build kernels"),
    need("bison", "bison", "to build kernels"),
    need("flex", "flex", "to build kernels"),
    need("git", "git", "to build kernels"),
    need("ld", "binutils", "to build kernels"),
    need("make", "make", "to build kernels"),
    need("sed", "sed", "to build kernels"),
    need("cpio", "cpio", "to read initial RAM disks"),
    need("gzip", "gzip", "to unpack kernels and packages"),
];

/// Installs what is missing of `needs`.
pub(crate) fn install(needs: &[Need]) -> Result<(), Failed> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !is_installed(need.program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("missing Debian packages:");
    for need in &missing {
        eprintln!("  {:<12} {}", need.package, need.why);
    }
    let mut packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    packages.sort_unstable();
    packages.dedup();
    let by_hand = format!("install them: apt-get install {}", packages.join(" "));
    if !is_installed("apt-get") {
        return Err(Failed(format!("this is no Debian; {by_hand} (or what they are called here)")));
    }
    if !succeeds("test", &["-w", "/var/lib/dpkg"]) {
        return Err(Failed(format!("only root can {by_hand}")));
    }
    if std::io::stdin().is_terminal() && !agreed() {
        return Err(Failed(by_hand));
    }
    let install = [&["install", "--yes", "--no-install-recommends"], packages.as_slice()].concat();
    // The lists of a fresh machine are empty or old.
    if !succeeds("apt-get", &[&["--dry-run"], install.as_slice()].concat()) {
        program("apt-get", &["update", "--quiet"])?;
    }
    program("apt-get", &install)
}

fn agreed() -> bool {
    eprint!("install them now? [Y/n] ");
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "" | "y" | "Y" | "yes")
}
