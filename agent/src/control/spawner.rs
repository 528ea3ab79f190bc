//! Starts the processes of virtual hosts from one thread that lives as long as the controller. The kernel kills a process that asked to
//! die with its parent when the *thread* that started it ends (prctl(2), PR_SET_PDEATHSIG); threads of a pool come and go.

use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender};

use crate::sys::process::{Bell, Process};
use crate::sys::{Result, SysError, command};

/// Bytes kept of what a process writes: error messages of QEMU.
const OUTPUT_BYTES: usize = 64 << 10;

type Work = Box<dyn FnOnce() + Send>;

static SPAWNER: OnceLock<Sender<Work>> = OnceLock::new();

/// Starts a program in `folder` through `blklab-agent keep`, which asks to die with this process.
pub(super) fn spawn(agent: &Path, folder: &Path, argv: &[String]) -> Result<Process> {
    let mut process = command::program(&agent.display().to_string());
    process.arg("keep").arg(std::process::id().to_string()).arg("--").args(argv.iter().map(OsString::from));
    process.current_dir(folder).stdin(std::process::Stdio::null());
    let (answer, answered) = mpsc::channel();
    let work: Work = Box::new(move || {
        let _ = answer.send(Process::spawn(process, OUTPUT_BYTES, &Bell::default()));
    });
    let gone = |_| SysError::Unsupported { act: "start a process".into(), reason: "the thread that starts processes is gone".into() };
    spawner().send(work).map_err(|_| gone(mpsc::RecvError))?;
    answered.recv().map_err(gone)?
}

fn spawner() -> &'static Sender<Work> {
    SPAWNER.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<Work>();
        std::thread::spawn(move || {
            for work in receiver {
                work();
            }
        });
        sender
    })
}
