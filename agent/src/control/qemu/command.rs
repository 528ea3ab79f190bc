//! The command line of a virtual host, as a pure function of its configuration. QEMU runs in the host's own folder, so that the names of
//! sockets stay below the 108 bytes of unix(7).

use std::path::Path;

use blklab_diskmodel::{DiskModel, Mechanics};
use blklab_model::kernel::Clock;

use super::lab_disk;
use crate::control::config::{Bus, DiskConfig, QemuConfig};
use crate::guest::channel::PORT_NAME;
use crate::guest::proof::TOKEN_PARAMETER;

/// Sockets in the host's folder.
pub(super) const QMP_SOCKET: &str = "qmp.sock";
pub(super) const CONSOLE_SOCKET: &str = "console.sock";
pub(super) const AGENT_SOCKET: &str = "agent.sock";

/// The socket of a disk.
pub(super) fn disk_socket(index: usize) -> String {
    format!("disk{index}.sock")
}

/// How instructions become time under the virtual clock: 2^1 ns each, and idle time is skipped (QEMU, `-icount`).
const ICOUNT: &str = "shift=1,sleep=off";

/// The watchdog bites after so many seconds without a sign of life: a starved emulator on a busy machine needs patience.
const WATCHDOG_S: u32 = 60;

/// How the processors are had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Hardware virtualisation.
    Kvm,
    /// Emulation.
    Tcg,
}

impl Engine {
    /// The word on pages.
    pub fn word(self) -> &'static str {
        match self {
            Engine::Kvm => "kvm",
            Engine::Tcg => "tcg",
        }
    }
}

/// What is to be started.
#[derive(Debug)]
pub(super) struct Machine<'a> {
    pub(super) config: &'a QemuConfig,
    pub(super) engine: Engine,
    pub(super) kernel: &'a Path,
    pub(super) initrd: &'a Path,
    pub(super) token: &'a str,
    pub(super) arguments: &'a str,
}

/// Arguments of qemu-system-x86_64.
pub(super) fn arguments(machine: &Machine<'_>) -> Vec<String> {
    let config = machine.config;
    let mut args: Vec<String> = Vec::new();
    let mut add = |name: &str, value: String| args.extend([name.to_owned(), value]);
    add("-M", "q35".into());
    match (config.clock, machine.engine) {
        (Clock::Real, Engine::Kvm) => add("-accel", "kvm".into()),
        (Clock::Real, Engine::Tcg) => add("-accel", "tcg,thread=multi".into()),
        // Instructions can be counted by the emulator only, and by one thread only.
        (Clock::Virtual, Engine::Kvm | Engine::Tcg) => {
            add("-accel", "tcg,thread=single".into());
            add("-icount", ICOUNT.into());
        }
    }
    add("-cpu", "max".into());
    add("-smp", config.cpus.to_string());
    add("-m", (config.memory_bytes >> 20).to_string());
    add("-display", "none".into());
    // The kernel is loaded from cached files that are named by digests, without a comma.
    add("-kernel", machine.kernel.display().to_string());
    add("-initrd", machine.initrd.display().to_string());
    add("-append", command_line(machine));
    add("-chardev", format!("socket,id=console,path={CONSOLE_SOCKET},server=on,wait=on"));
    add("-serial", "chardev:console".into());
    add("-qmp", format!("unix:{QMP_SOCKET},server=on,wait=off"));
    add("-device", "virtio-serial-pci".into());
    add("-chardev", format!("socket,id=agent,path={AGENT_SOCKET},server=on,wait=off"));
    add("-device", format!("virtserialport,chardev=agent,name={PORT_NAME}"));
    // Only told, not acted upon: the kernel still has to print why, and ends the machine a second later (panic=1).
    add("-device", "pvpanic-pci".into());
    add("-action", "panic=none".into());
    match config.clock {
        Clock::Real => {
            add("-device", "i6300esb".into());
            // The backtrace of the interrupted kernel goes to the console before it panics.
            add("-action", "watchdog=inject-nmi".into());
            if config.disks.iter().any(|disk| disk.bus == Bus::VirtioScsi) {
                add("-device", "virtio-scsi-pci,id=scsi0".into());
            }
            let mut ports = 0..;
            let mut units = 0..;
            for (index, disk) in config.disks.iter().enumerate() {
                add("-drive", format!("if=none,id=disk{index},format=raw,cache=none,file=nbd:unix:{}", disk_socket(index)));
                add("-device", device(index, disk, &mut ports, &mut units));
            }
        }
        // A disk outside would be served in another time than the guest lives in; and a clock that leaps makes every watchdog bite.
        Clock::Virtual => {}
    }
    args.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(str::to_owned));
    args
}

fn device(index: usize, disk: &DiskConfig, ports: &mut impl Iterator<Item = u32>, units: &mut impl Iterator<Item = u32>) -> String {
    let serial = &disk.serial;
    match disk.bus {
        Bus::Ahci => {
            let port = ports.next().expect("counting up");
            format!("ide-hd,bus=ide.{port},drive=disk{index},serial={serial},model=BLKLAB MODEL,rotation_rate={}", rotation_rate(disk))
        }
        Bus::VirtioScsi => {
            let unit = units.next().expect("counting up");
            format!(
                "scsi-hd,bus=scsi0.0,scsi-id=0,lun={unit},drive=disk{index},serial={serial},vendor=BLKLAB,product=ARRAY,rotation_rate={}",
                rotation_rate(disk)
            )
        }
        Bus::Nvme => format!("nvme,drive=disk{index},serial={serial}"),
    }
}

/// 1 says "does not rotate" (ACS-4 and SBC-4, nominal media rotation rate), 0 says nothing.
fn rotation_rate(disk: &DiskConfig) -> u32 {
    match crate::control::disk_model(&disk.model) {
        Ok(DiskModel { mechanics: Mechanics::Rotational(platters), .. }) => platters.rpm as u32,
        // An array says nothing of what is behind it.
        Ok(DiskModel { mechanics: Mechanics::Parallel(_), .. }) if disk.bus == Bus::VirtioScsi => 0,
        Ok(DiskModel { mechanics: Mechanics::Parallel(_), .. }) => 1,
        Err(_) => 0,
    }
}

/// What the kernel is told. Mitigations cost emulated time and tell nothing about storage; one second after a panic the machine ends.
fn command_line(machine: &Machine<'_>) -> String {
    let mut words: Vec<String> = [
        "console=ttyS0",
        "loglevel=5",
        "panic=1",
        "mitigations=off",
        "random.trust_cpu=on",
        "unknown_nmi_panic=1",
        // Several virtual processors fall back to the slow HPET otherwise.
        "tsc=reliable",
    ]
    .map(str::to_owned)
    .to_vec();
    match machine.config.clock {
        Clock::Real => words.push(format!("i6300esb.heartbeat={WATCHDOG_S}")),
        Clock::Virtual => {
            let models = machine.config.disks.iter().filter_map(|disk| Some((disk, crate::control::disk_model(&disk.model).ok()?)));
            words.extend(lab_disk::arguments(&models.collect::<Vec<_>>()));
        }
    }
    // After the defaults, so that they win; before the token, which nothing may replace.
    words.extend(machine.arguments.split_whitespace().map(str::to_owned));
    words.push(format!("{TOKEN_PARAMETER}={}", machine.token));
    words.join(" ")
}
