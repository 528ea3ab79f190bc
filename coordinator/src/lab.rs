//! What every request shares: the store, the artifacts, the clock, the tokens, and a signal that something changed.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use blklab_model::time::TimestampMs;
use tokio::sync::watch;

use crate::analyse::kept::Kept;
use crate::artifact::Artifacts;
use crate::clock::Clock;
use crate::store::Store;
use crate::token::Tokens;

/// The coordinator's state; cheap to clone.
#[derive(Clone)]
pub struct Lab {
    /// Rows.
    pub store: Store,
    /// Raw outputs.
    pub artifacts: Arc<Artifacts>,
    /// Files of kernels, and logs of their builds. Apart from raw outputs, which are never removed.
    pub blobs: Arc<Artifacts>,
    /// The time.
    pub clock: Clock,
    /// Who may do what.
    pub tokens: Arc<Tokens>,
    /// Headlines of reports.
    pub(crate) headlines: Arc<Kept<String>>,
    /// How long experiments will take.
    pub(crate) etas: Arc<Kept<Option<u64>>>,
    /// Counts changes: waiting claims and live pages look at it.
    changes: watch::Sender<u64>,
}

impl Lab {
    /// Opens the lab in a folder; `database` is a URL, by default SQLite in that folder.
    pub async fn open(folder: &Path, database: Option<&str>, clock: Clock) -> anyhow::Result<Lab> {
        std::fs::create_dir_all(folder).with_context(|| format!("failed to make the data folder {}", folder.display()))?;
        let default = format!("sqlite:{}", folder.join("blklab.db").display());
        let url = database.unwrap_or(&default);
        let store = Store::open(url).await?;
        let artifacts = Artifacts::open(folder.join("artifacts")).context("failed to open the artifact folder")?;
        let blobs = Artifacts::open(folder.join("blobs")).context("failed to open the folder of kernels")?;
        let tokens = Tokens::open(folder).context("failed to read or make the tokens")?;
        Ok(Lab {
            store,
            artifacts: Arc::new(artifacts),
            blobs: Arc::new(blobs),
            clock,
            tokens: Arc::new(tokens),
            headlines: Arc::default(),
            etas: Arc::default(),
            changes: watch::Sender::new(0),
        })
    }

    /// The time.
    pub fn now(&self) -> TimestampMs {
        self.clock.now()
    }

    /// Wakes whoever waits for a change.
    pub fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// To wait for the next change.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
