//! Tokens: drawn at first start, kept in the data folder, compared in constant time.
//!
//! | token | held by | lets |
//! |---|---|---|
//! | `enrol.token` | whoever installs an agent | enrol a host under a new name |
//! | `submit.token` | people | submit and cancel experiments |
//! | a host's own | its agent, given at enrolment | work under that name; only its digest is stored here |

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Random bytes of a token: 160 bits, in hexadecimal.
const TOKEN_BYTES: usize = 20;

/// The lab's tokens.
pub struct Tokens {
    enrol: String,
    submit: String,
}

impl Tokens {
    /// Reads the tokens of a data folder, or draws them.
    pub fn open(folder: &Path) -> std::io::Result<Tokens> {
        Ok(Tokens { enrol: read_or_draw(&folder.join("enrol.token"))?, submit: read_or_draw(&folder.join("submit.token"))? })
    }

    /// Is this the enrolment token?
    pub fn lets_enrol(&self, token: &str) -> bool {
        equal(token, &self.enrol)
    }

    /// Is this the submission token?
    pub fn lets_submit(&self, token: &str) -> bool {
        equal(token, &self.submit)
    }
}

/// A new token.
pub fn draw() -> String {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).expect("the kernel gives random bytes");
    hex(&bytes)
}

/// What is stored of a host's token.
pub fn digest(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

/// Does the token have this digest?
pub fn has_digest(token: &str, wanted: &str) -> bool {
    equal(&digest(token), wanted)
}

fn read_or_draw(path: &Path) -> std::io::Result<String> {
    match fs::read_to_string(path) {
        Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
        Ok(_) => fs::remove_file(path)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let token = draw();
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{token}")?;
    file.sync_all()?;
    Ok(token)
}

fn equal(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn drawn_once_private_and_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::open(folder.path()).unwrap();
        let again = Tokens::open(folder.path()).unwrap();
        assert_eq!(tokens.enrol, again.enrol);
        assert!(tokens.lets_enrol(&again.enrol) && !tokens.lets_submit(&again.enrol) && !tokens.lets_enrol(""));
        let mode = fs::metadata(folder.path().join("enrol.token")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn an_empty_token_file_is_drawn_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("submit.token"), "\n").unwrap();
        assert!(!Tokens::open(folder.path()).unwrap().lets_submit(""));
    }
}
