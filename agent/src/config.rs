//! The agent's configuration: who it is, whom it serves, and the only disks that it may touch. Read strictly; every error names the file,
//! the line and the remedy.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use blklab_model::id::{BadId, DiskClass, DiskId, HostName};
use blklab_model::source::SourceError;
use blklab_model::workload::size;
use serde::Deserialize;
use toml::Spanned;

use crate::sys::cgroup::Limits;

/// Smallest loop disk: mkfs.xfs takes nothing below 300 MiB, but ext4 with its journal is at home from here on.
pub const MIN_LOOP_DISK_BYTES: u64 = 64 << 20;

/// Loop disks and disks of one host, each: more than any chassis holds.
const MAX_DISKS: usize = 256;

/// A checked configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Name of the host in the lab.
    pub name: HostName,
    /// `http://127.0.0.1:7400`, without a slash at its end.
    pub coordinator: String,
    /// Certificates (PEM) that a coordinator behind `https` may present; none uses those of the system.
    pub ca_file: Option<PathBuf>,
    /// Holds the enrolment token.
    pub token_file: PathBuf,
    /// The agent's own folder: journal, spool, backing files, mount point.
    pub state_dir: PathBuf,
    /// Disks of the host that the lab may use.
    pub disks: Vec<AllowedDisk>,
    /// Disks that the agent makes itself.
    pub loop_disks: Vec<LoopDiskConfig>,
}

/// An entry of the allow-list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedDisk {
    /// Stable id, as `blklab-agent inventory` shows it.
    pub id: DiskId,
    /// What the lab calls its kind.
    pub class: DiskClass,
}

/// A disk made of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopDiskConfig {
    /// `loop-NAME`.
    pub id: DiskId,
    /// What the lab calls its kind.
    pub class: DiskClass,
    /// Of the file and so of the disk.
    pub size_bytes: u64,
    /// Where the file is made; none: `disks` in the state folder.
    pub folder: Option<PathBuf>,
    /// Set below the elevator.
    pub limits: Limits,
}

/// Reads and checks a configuration file.
pub fn load(path: &Path) -> Result<Config, SourceError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| SourceError {
        file: file.clone(),
        line: None,
        message: format!("cannot be read: {error}"),
        help: "name the agent's configuration with --config FILE".into(),
    })?;
    parse(&file, &text)
}

/// Checks the text of a configuration; `file` is only for messages.
pub fn parse(file: &str, text: &str) -> Result<Config, SourceError> {
    let reader = Reader { file, text };
    let raw: Raw = toml::from_str(text).map_err(|error| {
        let message = error.message().trim();
        let (message, help) = message
            .split_once(", expected ")
            .map_or((message, String::new()), |(message, expected)| (message, format!("expected {expected}")));
        SourceError { file: file.to_owned(), line: error.span().map(|span| reader.line(span)), message: message.to_owned(), help }
    })?;
    reader.check(raw)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: Spanned<String>,
    coordinator: Spanned<String>,
    ca_file: Option<PathBuf>,
    token_file: PathBuf,
    state_dir: Spanned<PathBuf>,
    #[serde(default)]
    disk: Vec<RawDisk>,
    #[serde(default)]
    loop_disk: Vec<RawLoopDisk>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDisk {
    id: Spanned<String>,
    class: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLoopDisk {
    name: Spanned<String>,
    class: Spanned<String>,
    size: Spanned<String>,
    folder: Option<PathBuf>,
    read_iops: Option<Spanned<u64>>,
    write_iops: Option<Spanned<u64>>,
    read_bytes_per_s: Option<Spanned<String>>,
    write_bytes_per_s: Option<Spanned<String>>,
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn check(&self, raw: Raw) -> Result<Config, SourceError> {
        if raw.disk.len() > MAX_DISKS || raw.loop_disk.len() > MAX_DISKS {
            return Err(self.error(None, format!("more than {MAX_DISKS} disks"), "start a second agent with a configuration of its own"));
        }
        let config = Config {
            name: self.id(&raw.name)?,
            coordinator: self.url(&raw.coordinator)?,
            ca_file: raw.ca_file,
            token_file: raw.token_file,
            state_dir: self.absolute(&raw.state_dir)?,
            disks: raw.disk.iter().map(|disk| self.disk(disk)).collect::<Result<_, _>>()?,
            loop_disks: raw.loop_disk.iter().map(|disk| self.loop_disk(disk)).collect::<Result<_, _>>()?,
        };
        let spans = raw.disk.iter().map(|disk| disk.id.span()).chain(raw.loop_disk.iter().map(|disk| disk.name.span()));
        let mut seen = HashSet::new();
        for (id, span) in config.ids().zip(spans) {
            if !seen.insert(id.clone()) {
                return Err(self.error(Some(span), format!("two disks are called `{id}`"), "remove one entry: a disk has one class"));
            }
        }
        Ok(config)
    }

    fn disk(&self, raw: &RawDisk) -> Result<AllowedDisk, SourceError> {
        let id: DiskId = self.id(&raw.id)?;
        if id.as_str().starts_with("loop-") {
            let help = "loop devices have no stable id; let the agent make one with [[loop_disk]]";
            return Err(self.error(Some(raw.id.span()), format!("`{id}` is a loop disk"), help));
        }
        Ok(AllowedDisk { id, class: self.id(&raw.class)? })
    }

    fn loop_disk(&self, raw: &RawLoopDisk) -> Result<LoopDiskConfig, SourceError> {
        let id = format!("loop-{}", raw.name.get_ref())
            .parse()
            .map_err(|error: BadId| self.error(Some(raw.name.span()), error.to_string(), ""))?;
        let size_bytes = self.size(&raw.size)?;
        if size_bytes < MIN_LOOP_DISK_BYTES {
            let message = format!("loop disk `{}` of {size_bytes} bytes is too small", raw.name.get_ref());
            return Err(self.error(
                Some(raw.size.span()),
                message,
                "give at least `size = \"64 MiB\"`, and more than the memory that could cache it",
            ));
        }
        let limits = Limits {
            read_iops: raw.read_iops.as_ref().map(|n| self.positive(n.span(), *n.get_ref())).transpose()?,
            write_iops: raw.write_iops.as_ref().map(|n| self.positive(n.span(), *n.get_ref())).transpose()?,
            read_bytes_per_s: raw.read_bytes_per_s.as_ref().map(|rate| self.rate(rate)).transpose()?,
            write_bytes_per_s: raw.write_bytes_per_s.as_ref().map(|rate| self.rate(rate)).transpose()?,
        };
        Ok(LoopDiskConfig { id, class: self.id(&raw.class)?, size_bytes: size_bytes & !4095, folder: raw.folder.clone(), limits })
    }

    fn rate(&self, text: &Spanned<String>) -> Result<u64, SourceError> {
        self.positive(text.span(), self.size(text)?)
    }

    fn positive(&self, span: Range<usize>, value: u64) -> Result<u64, SourceError> {
        if value > 0 {
            Ok(value)
        } else {
            Err(self.error(Some(span), "a limit of 0 would stop the disk", "leave the line out for no limit"))
        }
    }

    fn size(&self, text: &Spanned<String>) -> Result<u64, SourceError> {
        size::parse(text.get_ref()).map_err(|error| self.error(Some(text.span()), error.to_string(), ""))
    }

    fn id<T: std::str::FromStr<Err = BadId>>(&self, text: &Spanned<String>) -> Result<T, SourceError> {
        text.get_ref().parse().map_err(|error: BadId| self.error(Some(text.span()), error.to_string(), ""))
    }

    fn url(&self, text: &Spanned<String>) -> Result<String, SourceError> {
        let url = text.get_ref().trim_end_matches('/');
        let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        match host {
            Some(host) if !host.is_empty() && !host.contains(char::is_whitespace) => Ok(url.to_owned()),
            Some(_) | None => {
                Err(self.error(Some(text.span()), format!("`{url}` is no address of a coordinator"), "write it as `http://127.0.0.1:7400`"))
            }
        }
    }

    fn absolute(&self, path: &Spanned<PathBuf>) -> Result<PathBuf, SourceError> {
        if path.get_ref().is_absolute() {
            return Ok(path.get_ref().clone());
        }
        let message = format!("state_dir `{}` is not an absolute path", path.get_ref().display());
        Err(self.error(Some(path.span()), message, "write it from the root: mounts are made below it"))
    }

    fn error(&self, span: Option<Range<usize>>, message: impl Into<String>, help: impl Into<String>) -> SourceError {
        SourceError { file: self.file.to_owned(), line: span.map(|span| self.line(span)), message: message.into(), help: help.into() }
    }

    fn line(&self, span: Range<usize>) -> usize {
        let start = span.start.min(self.text.len());
        self.text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1
    }
}

impl Config {
    /// Ids of all disks, real ones first.
    pub fn ids(&self) -> impl Iterator<Item = &DiskId> {
        self.disks.iter().map(|disk| &disk.id).chain(self.loop_disks.iter().map(|disk| &disk.id))
    }

    /// The folder of a loop disk's file.
    pub fn folder_of(&self, disk: &LoopDiskConfig) -> PathBuf {
        disk.folder.clone().unwrap_or_else(|| self.state_dir.join("disks"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
name = "lab-1"
coordinator = "http://127.0.0.1:7400/"
token_file = "/etc/blklab/token"
state_dir = "/var/lib/blklab-agent"

[[disk]]
id = "wwn-0x50014ee2b1f5e7aa"
class = "sata-hdd"

[[loop_disk]]
name = "slow"
class = "fc-array"
size = "512 MiB"
read_iops = 125
read_bytes_per_s = "40 MiB"
"#;

    #[test]
    fn a_good_file_is_read() {
        let config = parse("agent.toml", GOOD).unwrap();
        assert_eq!(config.coordinator, "http://127.0.0.1:7400");
        let ids: Vec<_> = config.ids().map(DiskId::as_str).collect();
        assert_eq!(ids, ["wwn-0x50014ee2b1f5e7aa", "loop-slow"]);
        assert_eq!(config.loop_disks[0].limits.read_bytes_per_s, Some(40 << 20));
        assert_eq!(config.folder_of(&config.loop_disks[0]), Path::new("/var/lib/blklab-agent/disks"));
    }

    #[test]
    fn faults_name_line_and_remedy() {
        let cases = [
            ("lab-1", "lab 1"),
            ("http://127.0.0.1:7400/", "127.0.0.1:7400"),
            ("state_dir = \"/var", "state_dir = \"var"),
            ("class = \"sata-hdd\"", "clas = \"sata-hdd\""),
            ("class = \"sata-hdd\"", "class = \"sata hdd\""),
            ("wwn-0x50014ee2b1f5e7aa", "loop-slow"),
            ("wwn-0x50014ee2b1f5e7aa", "../sda"),
            ("512 MiB", "512 MB"),
            ("512 MiB", "32 MiB"),
            ("read_iops = 125", "read_iops = 0"),
            ("name = \"slow\"", ""),
            ("[[loop_disk]]", "[[disk]]\nid = \"wwn-0x50014ee2b1f5e7aa\"\nclass = \"ssd\"\n[[loop_disk]]"),
        ];
        let mut texts = Vec::new();
        for (from, to) in cases {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "{from}");
            texts.push(parse("agent.toml", &text).unwrap_err().to_string());
        }
        insta::assert_snapshot!(texts.join("\n"));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = load(Path::new("/nonesuch/agent.toml")).unwrap_err();
        assert!(error.to_string().starts_with("/nonesuch/agent.toml: cannot be read: No such file"), "{error}");
    }
}
