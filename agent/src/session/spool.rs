//! Reports that the coordinator has not confirmed yet: one file each, synced before its trial counts as finished. The coordinator may get
//! one twice, and knows it by trial and attempt; it never misses one.

use std::path::{Path, PathBuf};

use blklab_wire::agent::TrialReport;

use super::client::{Client, ClientError};
use super::report;
use crate::sys::{self, SysError, block, files};

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

    /// Hands in everything that waits. One that the coordinator will never take is put aside; when it is away, the rest stays.
    pub(super) async fn drain(&self, client: &Client) -> Result<(), ClientError> {
        for path in self.waiting() {
            let Ok(bytes) = std::fs::read(&path) else { continue };
            match client.trial(&bytes).await {
                Ok(receipt) => {
                    tracing::info!(report = %path.display(), counted = receipt.counted, "handed in");
                    let _ = std::fs::remove_file(&path);
                }
                Err(error @ ClientError::Refused { status: 401 | 403, .. }) => return Err(error),
                Err(error @ ClientError::Refused { .. }) => {
                    let aside = self.put_aside(&path);
                    tracing::error!(%error, kept = %aside.display(), "the coordinator refuses a report");
                }
                Err(error @ (ClientError::Away(_) | ClientError::Garbled(_) | ClientError::Setup(_))) => return Err(error),
            }
        }
        Ok(())
    }

    /// Oldest trial first, as their names sort.
    fn waiting(&self) -> Vec<PathBuf> {
        let names = block::folder_names(&self.folder);
        names.into_iter().filter(|name| name.ends_with(".json")).map(|name| self.folder.join(name)).collect()
    }

    fn put_aside(&self, path: &Path) -> PathBuf {
        let aside = self.folder.join("refused").join(path.file_name().unwrap_or_default());
        let _ = std::fs::rename(path, &aside);
        aside
    }
}
