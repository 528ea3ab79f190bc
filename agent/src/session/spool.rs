//! Reports that the coordinator has not confirmed yet: one file each, synced before its trial counts as finished. The coordinator may get
//! one twice, and knows it by trial and attempt; it never misses one.

use std::path::{Path, PathBuf};

use blklab_model::id::HostName;
use blklab_wire::agent::TrialReport;
use serde::Deserialize;

use super::client::{Client, ClientError};
use super::report;
use crate::sys::{self, SysError, block, files};

/// RFC 9110, 15.5.2.
const UNAUTHORISED: u16 = 401;

/// The waiting reports of a host.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
}

impl Spool {
    pub(super) fn open(state_dir: &Path) -> sys::Result<Self> {
        let folder = state_dir.join("spool");
        std::fs::create_dir_all(folder.join("refused")).map_err(SysError::io(format!("make {}", folder.display())))?;
        Ok(Spool { folder })
    }

    /// Keeps a report.
    pub(super) fn put(&self, report: &TrialReport) -> sys::Result<()> {
        files::replace(&self.folder.join(format!("{}-{}.json", report.trial, report.attempt)), &report::json(report), 0o600)
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting().len()
    }

    /// Hands in everything that waits. What the coordinator will never take is put aside, and the others go on; when it is away, or does
    /// not know this host's token, the rest stays.
    pub(super) async fn drain(&self, client: &Client) -> Result<(), ClientError> {
        for path in self.waiting() {
            let bytes = match std::fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) => {
                    tracing::error!(report = %path.display(), %error, "a report in the spool cannot be read");
                    continue;
                }
            };
            match client.trial(&bytes).await {
                Ok(receipt) => {
                    tracing::info!(report = %path.display(), counted = receipt.counted, "handed in");
                    let _ = std::fs::remove_file(&path);
                }
                Err(error) if is_final(&error, &bytes, client.host()) => {
                    tracing::error!(report = %path.display(), %error, "the coordinator will never take this report");
                    self.put_aside(&path);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Oldest trial first, as their names sort.
    fn waiting(&self) -> Vec<PathBuf> {
        let names = block::folder_names(&self.folder);
        names.into_iter().filter(|name| name.ends_with(".json")).map(|name| self.folder.join(name)).collect()
    }

    fn put_aside(&self, path: &Path) {
        let aside = self.folder.join("refused").join(path.file_name().unwrap_or_default());
        match std::fs::rename(path, &aside) {
            Ok(()) => tracing::info!(kept = %aside.display(), "put aside"),
            Err(error) => tracing::error!(report = %path.display(), %error, "a refused report cannot be put aside"),
        }
    }
}

/// Would the same report be refused for ever? Not when only the token is wrong, which the next hello mends; but a report of another name
/// (the host was renamed) never gets a token again.
fn is_final(error: &ClientError, report: &[u8], host: &HostName) -> bool {
    match error.refused_as() {
        Some(UNAUTHORISED) => name_of(report).as_ref() != Some(host),
        Some(_) => true,
        None => false,
    }
}

fn name_of(report: &[u8]) -> Option<HostName> {
    #[derive(Deserialize)]
    struct Named {
        host: HostName,
    }
    serde_json::from_slice::<Named>(report).ok().map(|named| named.host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wrong_token_of_the_own_name_may_be_mended() {
        let host: HostName = "lab-1".parse().unwrap();
        let rejected = |status| ClientError::Rejected { status, text: "no".into() };
        let ours = br#"{"host":"lab-1"}"#;
        assert!(!is_final(&rejected(401), ours, &host));
        assert!(is_final(&rejected(401), br#"{"host":"lab-2"}"#, &host));
        assert!(is_final(&rejected(401), b"half a rep", &host));
        for status in [400, 403, 404, 409, 413, 415, 422] {
            assert!(is_final(&rejected(status), ours, &host), "{status}");
        }
        assert!(!is_final(&ClientError::Away("HTTP 503".into()), ours, &host));
        assert!(!is_final(&ClientError::Garbled("HTTP 302".into()), ours, &host));
    }
}
