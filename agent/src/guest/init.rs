//! The agent as process 1 of a virtual host: it mounts what every program expects, loads the modules that it was packed with, starts the
//! guest as a child, and reaps whatever dies. When the guest ends, the machine is switched off.

use std::fs;
use std::io::Write;
use std::path::Path;

use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, WaitOptions, wait};
use rustix::system::{RebootCommand, finit_module, reboot};

use crate::sys::{SysError, command};

/// Modules to load, the path of one file a line, in this order. Their parameters are on the kernel's command line, as those of modules that
/// are built in (Documentation/admin-guide/kernel-parameters.rst).
pub const MODULES_FILE: &str = "/etc/blklab/modules";

/// What every program expects: file system, where, options.
const MOUNTS: [(&str, &str, &str); 7] = [
    ("proc", "/proc", ""),
    ("sysfs", "/sys", ""),
    ("devtmpfs", "/dev", "mode=0755"),
    ("tmpfs", "/run", "mode=0755"),
    ("tmpfs", "/tmp", "mode=1777"),
    ("debugfs", "/sys/kernel/debug", ""),
    ("cgroup2", "/sys/fs/cgroup", ""),
];

/// Is this process the first of its machine, started by the kernel as `/init`? In a container the agent is number 1 as well.
pub fn is_init() -> bool {
    std::process::id() == 1 && std::env::args_os().next().is_some_and(|name| Path::new(&name).ends_with("init"))
}

/// Never returns while the machine is up.
pub fn run() -> std::process::ExitCode {
    for (kind, target, options) in MOUNTS {
        // A small kernel may lack debugfs or cgroups; the guest tells what it misses.
        let _ = fs::create_dir_all(target);
        let options = std::ffi::CString::new(options).expect("options hold no zero byte");
        if let Err(error) = mount(kind, target, kind, MountFlags::empty(), options.as_c_str()) {
            say(&format!("cannot mount {kind} on {target}: {error}"));
        }
    }
    let _ = rustix::system::sethostname(b"blklab-guest");
    load_modules();
    match start_guest() {
        Ok(guest) => reap_until(guest),
        Err(error) => say(&format!("cannot start the guest agent: {error}")),
    }
    say("the guest agent has ended; switching off");
    rustix::fs::sync();
    if let Err(error) = reboot(RebootCommand::PowerOff) {
        say(&format!("cannot switch off: {error}"));
    }
    std::process::ExitCode::FAILURE
}

fn load_modules() {
    let Ok(list) = fs::read_to_string(MODULES_FILE) else { return };
    let command_line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    for path in list.lines().filter(|line| !line.trim().is_empty()).map(Path::new) {
        if let Err(error) = load_module(path, &parameters_of(path, &command_line)) {
            say(&format!("failed to {error}"));
        }
    }
}

/// `lab_disk.depth=32` is the parameter `depth=32` of `.../lab_disk.ko`; dashes and underscores are the same.
fn parameters_of(module: &Path, command_line: &str) -> String {
    let normal = |text: &str| text.replace('-', "_");
    let name = module.file_stem().map(|stem| normal(&stem.to_string_lossy())).unwrap_or_default();
    let own = |word: &str| {
        let (module, parameter) = word.split_once('.')?;
        (normal(module) == name).then(|| parameter.to_owned())
    };
    command_line.split_whitespace().filter_map(own).collect::<Vec<_>>().join(" ")
}

fn load_module(path: &Path, parameters: &str) -> Result<(), SysError> {
    let act = || format!("load {}", path.display());
    let file = fs::File::open(path).map_err(SysError::io(act()))?;
    let parameters = std::ffi::CString::new(parameters).map_err(|error| SysError::io(act())(std::io::Error::other(error)))?;
    match finit_module(&file, &parameters, 0) {
        // Another one has pulled it in.
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(SysError::io(act())(error)),
    }
}

fn start_guest() -> Result<Pid, SysError> {
    let program = std::env::current_exe().map_err(SysError::io("find the agent's own program"))?;
    let mut guest = command::program(&program.display().to_string());
    guest.args(["guest", "--channel", "port"]).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/tmp");
    let child = guest.spawn().map_err(SysError::io("start the guest agent"))?;
    Ok(Pid::from_child(&child))
}

fn reap_until(guest: Pid) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == guest => {
                say(&format!("guest agent: {status:?}"));
                return;
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// To the console.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "blklab: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_gets_its_own_parameters() {
        let line = "quiet lab_disk.depth=32,1 lab-disk.serial=a,b lab_disk2.depth=7 x.lab_disk.y=1 lab_disk";
        assert_eq!(parameters_of(Path::new("/lib/modules/6.1/extra/lab_disk.ko"), line), "depth=32,1 serial=a,b");
        assert_eq!(parameters_of(Path::new("/lib/modules/6.1/x/ahci.ko"), line), "");
    }
}
