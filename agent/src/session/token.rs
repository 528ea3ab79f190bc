//! Which secret the agent shows: its own, once it was enrolled, else the lab's enrolment token.

use std::path::PathBuf;

use crate::config::Config;
use crate::sys::{self, files};

/// The agent's token, and where it comes from.
#[derive(Debug)]
pub(super) struct Token {
    current: String,
    own_file: PathBuf,
    enrolment_file: PathBuf,
    is_own: bool,
}

impl Token {
    pub(super) fn load(config: &Config) -> sys::Result<Self> {
        let own_file = config.state_dir.join("token");
        let own = files::read_if_there(&own_file);
        let is_own = own.is_some();
        let current = own.map_or_else(|| files::read(&config.token_file), Ok)?;
        Ok(Token { current, own_file, enrolment_file: config.token_file.clone(), is_own })
    }

    pub(super) fn current(&self) -> &str {
        &self.current
    }

    /// Keeps the host's own token, given at enrolment.
    pub(super) fn keep(&mut self, token: &str) -> sys::Result<()> {
        files::replace(&self.own_file, token.as_bytes(), 0o600)?;
        token.clone_into(&mut self.current);
        self.is_own = true;
        Ok(())
    }

    /// After the host's own token was refused (the coordinator lost its memory): the enrolment token, once.
    pub(super) fn fall_back(&mut self) -> Option<String> {
        if !self.is_own {
            return None;
        }
        self.is_own = false;
        self.current = files::read_if_there(&self.enrolment_file)?;
        Some(self.current.clone())
    }

    pub(super) fn remedy(&self) -> String {
        format!("put the lab's enrolment token, which the coordinator keeps in its own folder, into {}", self.enrolment_file.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_own_token_comes_first_and_the_enrolment_token_after_a_refusal() {
        let dir = tempfile::tempdir().unwrap();
        let text =
            format!("name = \"a\"\ncoordinator = \"http://x\"\ntoken_file = \"{0}/enrol\"\nstate_dir = \"{0}\"\n", dir.path().display());
        let config = crate::config::parse("agent.toml", &text).unwrap();
        assert!(Token::load(&config).unwrap_err().to_string().contains("/enrol"), "a missing token file is named");
        std::fs::write(dir.path().join("enrol"), "lab\n").unwrap();
        let mut token = Token::load(&config).unwrap();
        assert_eq!(token.current(), "lab");
        assert_eq!(token.fall_back(), None);
        token.keep("own").unwrap();
        let mut token = Token::load(&config).unwrap();
        assert_eq!(token.current(), "own");
        assert_eq!(token.fall_back().as_deref(), Some("lab"));
        assert_eq!(token.fall_back(), None);
    }
}
