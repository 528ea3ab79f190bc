//! Virtual hosts of this machine: QEMU with the kernel under test, an initial RAM disk that holds the agent with its tools, and disks that
//! are served by a model of how long their requests take. Nothing needs root.

mod command;
mod engine;
mod image;
mod lab_disk;
mod pack;
mod qmp;
mod vm;

pub use command::Engine;
pub use engine::choose;
pub use image::Images;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use blklab_diskmodel::Server;
use blklab_model::crash::{Crash, CrashKind};
use blklab_model::kernel::{BootMethod, Clock};

use super::boot::{Boot, BootFiles, Running};
use super::config::QemuConfig;
use super::verdict::{Cause, Ending, judge};
use crate::guest::message::SetupDisk;
use crate::stop::Stop;
use crate::sys::files::Short;
use crate::sys::{SysError, command as program};
use command::{Machine, arguments, disk_socket};
use vm::{Disk, Vm};

/// The emulator.
const QEMU: &str = "qemu-system-x86_64";

/// Sparse files take what a trial writes; with less than this free, something else on the machine is about to fail.
const RESERVE_BYTES: u64 = 256 << 20;

/// Seed of a disk before the first trial of a boot.
const FIRST_SEED: u64 = 1;

/// Boots virtual hosts.
pub struct Qemu {
    config: QemuConfig,
    engine: Engine,
    images: Images,
    /// The host's own folder.
    folder: PathBuf,
}

impl Qemu {
    /// A virtual host that keeps its sockets in `folder`, which it makes anew.
    pub fn new(config: QemuConfig, engine: Engine, images: Images, folder: PathBuf) -> Result<Self, SysError> {
        fs::create_dir_all(&folder).map_err(SysError::io(format!("make {}", folder.display())))?;
        Ok(Qemu { config, engine, images, folder })
    }

    /// The disks with their servers, empty. The files have no name, so nothing is left whatever ends this process.
    fn serve_disks(&self) -> Result<Vec<Disk>, String> {
        match self.config.clock {
            // Its disks are inside of it.
            Clock::Virtual => return Ok(Vec::new()),
            Clock::Real => {}
        }
        self.check_space()?;
        let serve = |(index, disk): (usize, &super::config::DiskConfig)| -> Result<Disk, String> {
            let file = nameless(&self.folder, disk.size_bytes).map_err(|error| format!("a file for disk {}: {error}", disk.serial))?;
            let model = super::disk_model(&disk.model)?;
            let short = Short::open(&self.folder).map_err(|error| format!("{}: {error}", self.folder.display()))?;
            let socket = short.join(&disk_socket(index));
            let _ = fs::remove_file(&socket);
            let server = Server::start(&socket, file, disk.size_bytes, &model, FIRST_SEED)
                .map_err(|error| format!("the server of disk {}: {error}", disk.serial))?;
            Ok(Disk { serial: disk.serial.clone(), server, _folder: short })
        };
        self.config.disks.iter().enumerate().map(serve).collect()
    }

    fn check_space(&self) -> Result<(), String> {
        let free = rustix::fs::statvfs(&self.folder).map_err(|error| format!("{}: {error}", self.folder.display()))?;
        let free_bytes = free.f_bavail.saturating_mul(free.f_frsize);
        if free_bytes < RESERVE_BYTES {
            return Err(format!(
                "no space is left for disks: {} MiB free in {}, and {} MiB stay in reserve; free some, or move the state_dir",
                free_bytes >> 20,
                self.folder.display(),
                RESERVE_BYTES >> 20
            ));
        }
        Ok(())
    }
}

impl Boot for Qemu {
    fn method(&self) -> BootMethod {
        BootMethod::Qemu
    }

    fn clock(&self) -> Clock {
        self.config.clock
    }

    fn disks(&self) -> Vec<SetupDisk> {
        let seed_file = |index| match self.config.clock {
            Clock::Real => None,
            Clock::Virtual => Some(lab_disk::seed_file(index)),
        };
        let disk = |(index, disk): (usize, &super::config::DiskConfig)| SetupDisk {
            serial: disk.serial.clone(),
            class: disk.class.clone(),
            seed_file: seed_file(index),
        };
        self.config.disks.iter().enumerate().map(disk).collect()
    }

    fn boot_limit(&self) -> Duration {
        self.config.boot_limit
    }

    fn start(&mut self, kernel: &BootFiles, token: &str, _stop: &Stop) -> Result<Box<dyn Running>, Crash> {
        let lab = |title: String| Crash { kind: CrashKind::Lab, title, excerpt: String::new() };
        if program::find(QEMU).is_none() {
            return Err(lab(format!("failed to {}", SysError::MissingProgram { program: QEMU.to_owned() })));
        }
        let not_started = |reason: String| judge(&Ending { cause: Cause::NotStarted(reason), ..Ending::default() }, "");
        let prepared = self.images.prepare(kernel).map_err(|error| match error {
            image::ImageError::Kernel(reason) => not_started(reason),
            image::ImageError::Lab(reason) => lab(reason),
        })?;
        let disks = self.serve_disks().map_err(lab)?;
        let machine = Machine {
            config: &self.config,
            engine: self.engine,
            kernel: &prepared.kernel,
            initrd: &prepared.initrd,
            token,
            arguments: &kernel.arguments,
        };
        let mut argv = vec![QEMU.to_owned()];
        argv.extend(arguments(&machine));
        match Vm::start(self.images.agent(), &self.folder, &argv, disks) {
            Ok(vm) => Ok(Box::new(vm)),
            // QEMU says so of an image that it cannot load.
            Err(reason) if reason.contains("kernel") => Err(not_started(reason)),
            Err(reason) => Err(lab(reason)),
        }
    }
}

/// A file without a name (open(2), O_TMPFILE); where the file system has none of these, one that is removed at once.
fn nameless(folder: &Path, bytes: u64) -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let file = match open(folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR) {
        Ok(descriptor) => File::from(descriptor),
        Err(_) => {
            let path = folder.join("disk.img");
            let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
            fs::remove_file(path)?;
            file
        }
    };
    file.set_len(bytes)?;
    Ok(file)
}
