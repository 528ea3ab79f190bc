//! What a suite on real disks needs of the machine.

use std::path::{Path, PathBuf};

/// May this process make loop disks? If not, says why `what` is skipped; with `BLKLAB_REQUIRE_ROOT=1` that is a failure.
///
/// # Panics
/// When disks cannot be made although they are required.
pub fn can_make_disks(what: &str) -> bool {
    let why = if !rustix::process::geteuid().is_root() {
        "it needs root"
    } else if !Path::new("/dev/loop-control").exists() {
        "there is no /dev/loop-control"
    } else {
        return true;
    };
    assert!(std::env::var("BLKLAB_REQUIRE_ROOT").as_deref() != Ok("1"), "{what} cannot be tested: {why}");
    eprintln!("skipped: {what}: {why}");
    false
}

/// A program of this workspace, built beside the tests (`make test` builds all before it runs them).
///
/// # Panics
/// When it is not there.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this program has a path");
    let folder = test.parent().and_then(Path::parent).expect("tests lie in target/PROFILE/deps");
    let program = folder.join(name);
    assert!(program.is_file(), "{} is missing; run `cargo build --workspace` first", program.display());
    program
}
