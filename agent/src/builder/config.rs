//! The builder's configuration. Read strictly; every error names the file, the line and the remedy.

use std::path::{Path, PathBuf};
use std::time::Duration;

use blklab_model::id::{BadId, HostName};
use blklab_model::source::{Source, SourceError};
use serde::Deserialize;
use toml::Spanned;

use crate::build::Limits;
use crate::config::Config;

/// Longest that a build may be allowed: nobody waits longer, and a Makefile that hangs holds a builder up for so long.
const MAX_LIMIT_MINUTES: u64 = 7 * 24 * 60;

/// Modules from outside the tree; the lab has one.
const MAX_MODULES: usize = 16;

/// A checked configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuilderConfig {
    /// Name of the host in the lab.
    pub name: HostName,
    /// `http://127.0.0.1:7400`, without a slash at its end.
    pub coordinator: String,
    /// Certificates (PEM) that a coordinator behind `https` may present; none uses those of the system.
    pub ca_file: Option<PathBuf>,
    /// Holds the enrolment token.
    pub token_file: PathBuf,
    /// The builder's own folder: token, the last kernel, and the cache unless that is elsewhere.
    pub state_dir: PathBuf,
    /// Sources, objects and compiled objects, kept between builds.
    pub cache_dir: PathBuf,
    /// How much one build may take.
    pub limits: Limits,
    /// Folders of modules from outside the tree that every kernel gets.
    pub modules: Vec<PathBuf>,
}

/// Reads and checks a configuration file.
pub fn load(path: &Path) -> Result<BuilderConfig, SourceError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| SourceError {
        file: file.clone(),
        line: None,
        message: format!("cannot be read: {error}"),
        help: "name the builder's configuration with --config FILE".into(),
    })?;
    parse(&file, &text)
}

/// Checks the text of a configuration; `file` is only for messages.
pub fn parse(file: &str, text: &str) -> Result<BuilderConfig, SourceError> {
    let source = Source { file, text };
    let raw: Raw = source.parse()?;
    Reader { source }.builder(raw)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: Spanned<String>,
    coordinator: Spanned<String>,
    ca_file: Option<PathBuf>,
    token_file: PathBuf,
    state_dir: Spanned<PathBuf>,
    cache_dir: Option<Spanned<PathBuf>>,
    limit_minutes: Option<Spanned<u64>>,
    #[serde(default)]
    modules: Vec<Spanned<PathBuf>>,
}

struct Reader<'a> {
    source: Source<'a>,
}

impl Reader<'_> {
    fn builder(&self, raw: Raw) -> Result<BuilderConfig, SourceError> {
        if let Some(module) = raw.modules.get(MAX_MODULES) {
            let help = "every kernel gets all of them: leave out what the lab does not need";
            return Err(self.source.at(module.span(), format!("more than {MAX_MODULES} modules"), help));
        }
        let state_dir = self.absolute("state_dir", &raw.state_dir)?;
        let cache_dir = raw.cache_dir.as_ref().map(|dir| self.absolute("cache_dir", dir)).transpose()?;
        Ok(BuilderConfig {
            name: raw.name.get_ref().parse().map_err(|error: BadId| self.source.at(raw.name.span(), error.to_string(), ""))?,
            coordinator: self.url(&raw.coordinator)?,
            ca_file: raw.ca_file,
            token_file: raw.token_file,
            cache_dir: cache_dir.unwrap_or_else(|| state_dir.join("cache")),
            state_dir,
            limits: self.limits(raw.limit_minutes.as_ref())?,
            modules: raw.modules.iter().map(|dir| self.absolute("modules", dir)).collect::<Result<_, _>>()?,
        })
    }

    fn limits(&self, minutes: Option<&Spanned<u64>>) -> Result<Limits, SourceError> {
        let Some(minutes) = minutes else { return Ok(Limits::default()) };
        if (1..=MAX_LIMIT_MINUTES).contains(minutes.get_ref()) {
            return Ok(Limits { wall: Duration::from_secs(minutes.get_ref() * 60), ..Limits::default() });
        }
        let message = format!("limit_minutes = {}", minutes.get_ref());
        Err(self.source.at(minutes.span(), message, format!("give 1 to {MAX_LIMIT_MINUTES}; 360 is the default")))
    }

    fn url(&self, text: &Spanned<String>) -> Result<String, SourceError> {
        let url = text.get_ref().trim_end_matches('/');
        let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        match host {
            Some(host) if !host.is_empty() && !host.contains(char::is_whitespace) => Ok(url.to_owned()),
            Some(_) | None => {
                Err(self.source.at(text.span(), format!("`{url}` is no address of a coordinator"), "write it as `http://127.0.0.1:7400`"))
            }
        }
    }

    fn absolute(&self, key: &str, path: &Spanned<PathBuf>) -> Result<PathBuf, SourceError> {
        if path.get_ref().is_absolute() {
            return Ok(path.get_ref().clone());
        }
        let message = format!("{key} `{}` is not an absolute path", path.get_ref().display());
        Err(self.source.at(path.span(), message, "write it from the root: a service has no folder of its own"))
    }
}

impl BuilderConfig {
    /// What a session needs to know of its host.
    pub(super) fn of_session(&self) -> Config {
        Config {
            name: self.name.clone(),
            coordinator: self.coordinator.clone(),
            ca_file: self.ca_file.clone(),
            token_file: self.token_file.clone(),
            state_dir: self.state_dir.clone(),
            disks: Vec::new(),
            loop_disks: Vec::new(),
        }
    }

    /// Where the last kernel is.
    pub(super) fn out(&self) -> PathBuf {
        self.state_dir.join("kernel")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
name = \"builder-1\"
coordinator = \"http://127.0.0.1:7400/\"
token_file = \"/etc/blklab/token\"
state_dir = \"/var/lib/blklab-builder\"
cache_dir = \"/srv/cache\"
limit_minutes = 90
modules = [\"/usr/src/lab-disk\"]
";

    #[test]
    fn a_good_file_is_read() {
        let config = parse("builder.toml", GOOD).unwrap();
        assert_eq!(config.coordinator, "http://127.0.0.1:7400");
        assert_eq!((config.limits.wall, config.limits.log_bytes), (Duration::from_secs(5400), Limits::default().log_bytes));
        assert_eq!(config.cache_dir, Path::new("/srv/cache"));
        let short: String = GOOD.lines().take(4).map(|line| format!("{line}\n")).collect();
        let config = parse("builder.toml", &short).unwrap();
        assert_eq!(config.cache_dir, Path::new("/var/lib/blklab-builder/cache"));
        assert_eq!(config.limits, Limits::default());
    }

    #[test]
    fn the_example_is_good() {
        let text = include_str!("../../builder.example.toml");
        parse("builder.example.toml", text).unwrap();
        let all = text.replace("\n# cache_dir", "\ncache_dir").replace("\n# limit_", "\nlimit_").replace("\n# modules", "\nmodules");
        let all = parse("builder.example.toml", &all.replace("\n# ca_file", "\nca_file")).unwrap();
        assert!(all.ca_file.is_some() && all.modules.len() == 1, "what is commented out works, too");
    }

    #[test]
    fn faults_name_line_and_remedy() {
        let cases = [
            ("builder-1", "builder 1"),
            ("http://127.0.0.1:7400/", "127.0.0.1:7400"),
            ("state_dir = \"/var", "state_dir = \"var"),
            ("cache_dir = \"/", "cache_dir = \""),
            ("limit_minutes = 90", "limit_minutes = 0"),
            ("limit_minutes = 90", "limit_minutes = \"90\""),
            ("limit_minutes", "limit_minute"),
            ("[\"/usr", "[\"usr"),
            ("token_file = \"/etc/blklab/token\"\n", ""),
        ];
        let mut texts = Vec::new();
        for (from, to) in cases {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "{from}");
            texts.push(parse("builder.toml", &text).unwrap_err().to_string());
        }
        insta::assert_snapshot!(texts.join("\n"));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = load(Path::new("/nonesuch/builder.toml")).unwrap_err();
        assert!(error.to_string().starts_with("/nonesuch/builder.toml: cannot be read: No such file"), "{error}");
    }
}
