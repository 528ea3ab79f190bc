//! The controller's configuration: the hosts whose power, kernel and console it holds. Read strictly; every error names the file, the line
//! and the remedy.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use blklab_model::id::{BadId, DiskClass, HostName};
use blklab_model::kernel::Clock;
use blklab_model::source::{Source, SourceError, suggest};
use blklab_model::workload::size;
use serde::Deserialize;
use toml::Spanned;

/// A Debian kernel with the modules and tools of a trial in its RAM disk panics with less: they are there twice until they are unpacked
/// (measured; `blklab_bootimage::initramfs::memory_bytes` counts it).
const MIN_MEMORY_BYTES: u64 = 384 << 20;

/// Of a host that does not say, and of a probe.
pub const DEFAULT_MEMORY_BYTES: u64 = 768 << 20;

/// Smallest disk that mkfs.xfs takes.
const MIN_DISK_BYTES: u64 = 300 << 20;

/// An emulated Debian kernel answers after 5 to 12 s on an idle machine and took 62 s at worst on a crowded one; one that is slower hangs.
const DEFAULT_BOOT_LIMIT_S: u32 = 240;

/// Hosts of one controller.
const MAX_HOSTS: usize = 256;

/// A workload over sixteen disks is the widest of the library; QEMU's AHCI has six ports, its SCSI bus 256 units.
const MAX_DISKS: usize = 16;

/// Ports of the AHCI controller of QEMU's q35 machine.
const AHCI_PORTS: usize = 6;

/// Longest serial number: ATA has 20 characters (ACS-4, IDENTIFY DEVICE words 10-19).
const SERIAL_CHARS: usize = 20;

/// A checked configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlConfig {
    /// `http://127.0.0.1:7400`, without a slash at its end.
    pub coordinator: String,
    /// Certificates (PEM) that a coordinator behind `https` may present; none uses those of the system.
    pub ca_file: Option<PathBuf>,
    /// Holds the enrolment token.
    pub token_file: PathBuf,
    /// The controller's own folder: a folder for each host, kernels, images.
    pub state_dir: PathBuf,
    /// Hosts that work at the same time.
    pub parallel: usize,
    /// How virtual hosts are run.
    pub accelerator: Accelerator,
    /// Programs that virtual hosts get beside the usual ones.
    pub tools: Vec<String>,
    /// What virtual hosts boot when no other kernel is asked for, and after one that failed.
    pub known_good: KnownGood,
    /// The hosts.
    pub hosts: Vec<HostConfig>,
}

/// How virtual hosts are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accelerator {
    /// KVM where a probe boot succeeds with it, else TCG.
    Auto,
    /// KVM.
    Kvm,
    /// Emulation.
    Tcg,
}

/// A kernel that is known to boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownGood {
    /// Where it is.
    pub source: KernelFiles,
    /// Further modules that were built for it: files `NAME.ko`.
    pub extra_modules: Vec<PathBuf>,
}

/// A kernel as files of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelFiles {
    /// A Debian package.
    Package(PathBuf),
    /// An image, with a folder `lib/modules/RELEASE`.
    Image {
        /// bzImage or vmlinux.
        image: PathBuf,
        /// None when everything is built in.
        modules: Option<PathBuf>,
    },
}

/// A controlled host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostConfig {
    /// Its name in the lab.
    pub name: HostName,
    /// How it is booted.
    pub boot: BootConfig,
}

/// How a host is booted.
#[derive(Debug, Clone, PartialEq)]
pub enum BootConfig {
    /// As a virtual host of this machine.
    Qemu(QemuConfig),
}

/// A virtual host.
#[derive(Debug, Clone, PartialEq)]
pub struct QemuConfig {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Processors.
    pub cpus: u32,
    /// What its times are measured by.
    pub clock: Clock,
    /// How long a kernel may take until its agent answers.
    pub boot_limit: Duration,
    /// Its disks.
    pub disks: Vec<DiskConfig>,
}

/// A disk of a virtual host.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskConfig {
    /// Its serial number, unique on the host.
    pub serial: String,
    /// Its class in the lab.
    pub class: DiskClass,
    /// How it is attached.
    pub bus: Bus,
    /// Its size.
    pub size_bytes: u64,
    /// How long its requests take: a preset, or a file.
    pub model: String,
}

/// How a disk is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bus {
    /// SATA.
    Ahci,
    /// SCSI, as a LUN of an array.
    VirtioScsi,
    /// NVMe.
    Nvme,
}

impl Bus {
    const ALL: [Bus; 3] = [Bus::Ahci, Bus::VirtioScsi, Bus::Nvme];

    /// The word in files.
    pub fn word(self) -> &'static str {
        match self {
            Bus::Ahci => "ahci",
            Bus::VirtioScsi => "virtio-scsi",
            Bus::Nvme => "nvme",
        }
    }
}

/// Reads and checks a configuration file.
pub fn load(path: &Path) -> Result<ControlConfig, SourceError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| SourceError {
        file: file.clone(),
        line: None,
        message: format!("cannot be read: {error}"),
        help: "name the controller's configuration with --config FILE".into(),
    })?;
    parse(&file, &text)
}

/// Checks the text of a configuration; `file` is only for messages.
pub fn parse(file: &str, text: &str) -> Result<ControlConfig, SourceError> {
    let source = Source { file, text };
    let raw: Raw = source.parse()?;
    Reader { source }.control(raw)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    coordinator: Spanned<String>,
    ca_file: Option<PathBuf>,
    token_file: PathBuf,
    state_dir: Spanned<PathBuf>,
    parallel: Option<Spanned<usize>>,
    accelerator: Option<Spanned<String>>,
    #[serde(default)]
    tools: Vec<String>,
    known_good: Spanned<RawKnownGood>,
    #[serde(default)]
    host: Vec<RawHost>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawKnownGood {
    package: Option<PathBuf>,
    image: Option<PathBuf>,
    modules: Option<PathBuf>,
    #[serde(default)]
    extra_modules: Vec<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHost {
    name: Spanned<String>,
    boot: Spanned<String>,
    memory: Option<Spanned<String>>,
    cpus: Option<Spanned<u32>>,
    clock: Option<Spanned<String>>,
    boot_limit_s: Option<Spanned<u32>>,
    #[serde(default)]
    disk: Vec<RawDisk>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDisk {
    serial: Spanned<String>,
    class: Spanned<String>,
    bus: Spanned<String>,
    size: Spanned<String>,
    model: Spanned<String>,
}

struct Reader<'a> {
    source: Source<'a>,
}

impl Reader<'_> {
    fn control(&self, raw: Raw) -> Result<ControlConfig, SourceError> {
        if raw.host.is_empty() {
            return Err(self.source.whole("there is no host", "add a table [[host]] with name, boot and disks"));
        }
        if raw.host.len() > MAX_HOSTS {
            return Err(self.source.whole(format!("more than {MAX_HOSTS} hosts"), "start a second controller"));
        }
        let mut names = HashSet::new();
        if let Some(twice) = raw.host.iter().find(|host| !names.insert(host.name.get_ref().clone())) {
            let message = format!("two hosts are called `{}`", twice.name.get_ref());
            return Err(self.source.at(twice.name.span(), message, "give each host a name of its own"));
        }
        let hosts = raw.host.iter().map(|host| self.host(host)).collect::<Result<_, _>>()?;
        Ok(ControlConfig {
            coordinator: self.url(&raw.coordinator)?,
            ca_file: raw.ca_file,
            token_file: raw.token_file,
            state_dir: self.absolute(&raw.state_dir)?,
            parallel: self.parallel(raw.parallel.as_ref())?,
            accelerator: self.accelerator(raw.accelerator.as_ref())?,
            tools: raw.tools,
            known_good: self.known_good(&raw.known_good)?,
            hosts,
        })
    }

    /// Hosts that share processors measure each other: by default every second processor carries one.
    fn parallel(&self, raw: Option<&Spanned<usize>>) -> Result<usize, SourceError> {
        match raw {
            None => Ok(std::thread::available_parallelism().map_or(1, |cpus| (cpus.get() / 2).max(1))),
            Some(number) if *number.get_ref() == 0 => {
                Err(self.source.at(number.span(), "no host could ever work", "leave the line out for one host on every second processor"))
            }
            Some(number) => Ok(*number.get_ref()),
        }
    }

    fn accelerator(&self, raw: Option<&Spanned<String>>) -> Result<Accelerator, SourceError> {
        let Some(word) = raw else { return Ok(Accelerator::Auto) };
        match word.get_ref().as_str() {
            "auto" => Ok(Accelerator::Auto),
            "kvm" => Ok(Accelerator::Kvm),
            "tcg" => Ok(Accelerator::Tcg),
            other => Err(self.unknown(word, "accelerator", other, &["auto", "kvm", "tcg"])),
        }
    }

    fn known_good(&self, raw: &Spanned<RawKnownGood>) -> Result<KnownGood, SourceError> {
        let extra_modules = raw.get_ref().extra_modules.clone();
        match raw.get_ref() {
            RawKnownGood { package: Some(package), image: None, modules: None, .. } => {
                Ok(KnownGood { source: KernelFiles::Package(package.clone()), extra_modules })
            }
            RawKnownGood { package: None, image: Some(image), modules, .. } => {
                Ok(KnownGood { source: KernelFiles::Image { image: image.clone(), modules: modules.clone() }, extra_modules })
            }
            RawKnownGood { .. } => {
                let help = "write `package = \"linux-image-....deb\"`, or `image = ...` with `modules = \"/lib/modules/RELEASE\"`";
                Err(self.source.at(raw.span(), "known_good is neither a package nor an image", help))
            }
        }
    }

    fn host(&self, raw: &RawHost) -> Result<HostConfig, SourceError> {
        let boot = match raw.boot.get_ref().as_str() {
            "qemu" => BootConfig::Qemu(self.qemu(raw)?),
            other => return Err(self.unknown(&raw.boot, "boot method", other, &["qemu"])),
        };
        Ok(HostConfig { name: self.id(&raw.name)?, boot })
    }

    fn qemu(&self, raw: &RawHost) -> Result<QemuConfig, SourceError> {
        let clock = match &raw.clock {
            None => Clock::Real,
            Some(word) => Clock::from_word(word.get_ref())
                .ok_or_else(|| self.unknown(word, "clock", word.get_ref(), &[Clock::Real.word(), Clock::Virtual.word()]))?,
        };
        let memory_bytes = raw.memory.as_ref().map_or(Ok(DEFAULT_MEMORY_BYTES), |memory| self.size(memory))?;
        if let (Some(memory), true) = (&raw.memory, memory_bytes < MIN_MEMORY_BYTES) {
            let help = format!("give at least {} MiB", MIN_MEMORY_BYTES >> 20);
            return Err(self.source.at(memory.span(), "too little memory for the tools of a trial", help));
        }
        let cpus = raw.cpus.as_ref().map_or(1, |cpus| *cpus.get_ref());
        if let (Some(number), true) = (&raw.cpus, cpus == 0 || (clock == Clock::Virtual && cpus > 1)) {
            return Err(self.source.at(number.span(), format!("{cpus} processors"), "at least one; exactly one under the virtual clock"));
        }
        let mut serials = HashSet::new();
        if let Some(twice) = raw.disk.iter().find(|disk| !serials.insert(disk.serial.get_ref().clone())) {
            return Err(self.source.at(
                twice.serial.span(),
                "two disks of this host have one serial number",
                "a serial number names a disk",
            ));
        }
        let disks: Vec<DiskConfig> = raw.disk.iter().map(|disk| self.disk(disk)).collect::<Result<_, _>>()?;
        if disks.is_empty() || disks.len() > MAX_DISKS {
            let message = format!("host `{}` has {} disks", raw.name.get_ref(), disks.len());
            return Err(self.source.at(raw.name.span(), message, format!("1 to {MAX_DISKS} tables [[host.disk]]")));
        }
        if disks.iter().filter(|disk| disk.bus == Bus::Ahci).count() > AHCI_PORTS {
            let message = format!("host `{}` has more than {AHCI_PORTS} disks on ahci", raw.name.get_ref());
            return Err(self.source.at(raw.name.span(), message, "the controller has no more ports; use virtio-scsi"));
        }
        let limit_s = raw.boot_limit_s.as_ref().map_or(DEFAULT_BOOT_LIMIT_S, |limit| *limit.get_ref());
        if let (Some(limit), 0) = (&raw.boot_limit_s, limit_s) {
            return Err(self.source.at(limit.span(), "no kernel boots in 0 s", format!("leave the line out for {DEFAULT_BOOT_LIMIT_S} s")));
        }
        Ok(QemuConfig { memory_bytes, cpus, clock, boot_limit: Duration::from_secs(limit_s.into()), disks })
    }

    fn disk(&self, raw: &RawDisk) -> Result<DiskConfig, SourceError> {
        let serial = raw.serial.get_ref();
        let is_plain = !serial.is_empty() && serial.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        if !is_plain || serial.len() > SERIAL_CHARS {
            let help = format!("up to {SERIAL_CHARS} letters, digits, - and _");
            return Err(self.source.at(raw.serial.span(), format!("`{serial}` is no serial number"), help));
        }
        let word = raw.bus.get_ref();
        let bus = Bus::ALL.into_iter().find(|bus| bus.word() == word);
        let bus = bus.ok_or_else(|| self.unknown(&raw.bus, "bus", word, &Bus::ALL.map(Bus::word)))?;
        let size_bytes = self.size(&raw.size)?;
        if size_bytes < MIN_DISK_BYTES {
            let help = format!("give at least {} MiB: files are sparse and take what is written", MIN_DISK_BYTES >> 20);
            return Err(self.source.at(raw.size.span(), "too small for a file system", help));
        }
        Ok(DiskConfig { serial: serial.clone(), class: self.id(&raw.class)?, bus, size_bytes, model: self.model(&raw.model)? })
    }

    /// The model is looked at now, so that a typing error is found before anything boots.
    fn model(&self, raw: &Spanned<String>) -> Result<String, SourceError> {
        let text = raw.get_ref();
        super::disk_model(text).map_err(|error| self.source.at(raw.span(), error, ""))?;
        Ok(text.clone())
    }

    fn size(&self, text: &Spanned<String>) -> Result<u64, SourceError> {
        size::parse(text.get_ref()).map_err(|error| self.source.at(text.span(), error.to_string(), ""))
    }

    fn id<T: std::str::FromStr<Err = BadId>>(&self, text: &Spanned<String>) -> Result<T, SourceError> {
        text.get_ref().parse().map_err(|error: BadId| self.source.at(text.span(), error.to_string(), ""))
    }

    fn unknown<T>(&self, at: &Spanned<T>, what: &str, word: &str, known: &[&str]) -> SourceError {
        self.source.at(at.span(), format!("unknown {what} `{word}`"), suggest(word, known.iter().copied()))
    }

    fn url(&self, text: &Spanned<String>) -> Result<String, SourceError> {
        let url = text.get_ref().trim_end_matches('/');
        let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        match host {
            Some(host) if !host.is_empty() && !host.contains(char::is_whitespace) => Ok(url.to_owned()),
            Some(_) | None => {
                let message = format!("`{url}` is no address of a coordinator");
                Err(self.source.at(text.span(), message, "write it as `http://127.0.0.1:7400`"))
            }
        }
    }

    fn absolute(&self, path: &Spanned<PathBuf>) -> Result<PathBuf, SourceError> {
        if path.get_ref().is_absolute() {
            return Ok(path.get_ref().clone());
        }
        let message = format!("state_dir `{}` is not an absolute path", path.get_ref().display());
        Err(self.source.at(path.span(), message, "write it from the root"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
coordinator = "http://127.0.0.1:7400"
token_file = "/etc/blklab/token"
state_dir = "/var/lib/blklab-control"
accelerator = "tcg"
parallel = 2

[known_good]
package = "linux-image-6.1.0-40-amd64.deb"

[[host]]
name = "vm-1"
boot = "qemu"
memory = "512 MiB"
cpus = 1

[[host.disk]]
serial = "sata-1"
class = "sata-hdd"
bus = "ahci"
size = "1 GiB"
model = "sata-hdd"
"#;

    #[test]
    fn a_good_file_is_read() {
        let config = parse("control.toml", GOOD).unwrap();
        let BootConfig::Qemu(qemu) = &config.hosts[0].boot;
        assert_eq!((qemu.memory_bytes, qemu.cpus, qemu.clock), (512 << 20, 1, Clock::Real));
        assert_eq!(qemu.disks[0].bus, Bus::Ahci);
        assert_eq!((config.parallel, config.accelerator), (2, Accelerator::Tcg));
    }

    #[test]
    fn faults_name_line_and_remedy() {
        let cases = [
            ("vm-1", "vm 1"),
            ("\"qemu\"", "\"qmu\""),
            ("512 MiB", "100 MiB"),
            ("cpus = 1", "cpus = 0"),
            ("cpus = 1", "cpus = 2\nclock = \"virtual\""),
            ("cpus = 1", "clock = \"fast\""),
            ("cpus = 1", "boot_limit_s = 0"),
            ("sata-1", "a serial number that is long"),
            ("\"ahci\"", "\"ide\""),
            ("1 GiB", "64 MiB"),
            ("model = \"sata-hdd\"", "model = \"sata-hhd\""),
            ("parallel = 2", "parallel = 0"),
            ("\"tcg\"", "\"fast\""),
            ("package =", "modules ="),
            ("/var/lib/blklab-control", "control"),
            ("http://", ""),
            (
                "[[host.disk]]",
                "[[host.disk]]\nserial = \"sata-1\"\nclass = \"x\"\nbus = \"nvme\"\nsize = \"1 GiB\"\nmodel = \"sata-hdd\"\n[[host.disk]]",
            ),
            ("[[host]]", "[[host]]\nname = \"vm-1\"\nboot = \"qemu\"\n[[host]]"),
        ];
        let mut texts = Vec::new();
        for (from, to) in cases {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "{from}");
            texts.push(parse("control.toml", &text).unwrap_err().to_string());
        }
        insta::assert_snapshot!(texts.join("\n"));
    }
}
