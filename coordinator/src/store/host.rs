//! Hosts and their disks.

use std::collections::HashMap;

use blklab_model::disk::{Disk, DiskHealth};
use blklab_model::host::{Host, HostHealth};
use blklab_model::id::{BuildId, DiskId, ExperimentId, HostName, JobId};
use blklab_model::time::TimestampMs;
use blklab_wire::agent::LastBoot;

use super::column::{Place, json};
use super::error::StoreError;
use super::sql::{each, execute, insert_all, row, rows, statements};
use super::tx::Tx;

/// A host as the lab knows it, with what its agent said last.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRow {
    /// The host.
    pub host: Host,
    /// Tells a restarted agent from a second one.
    pub incarnation: String,
    /// Hexadecimal SHA-256 of the host's own token.
    pub token_sha256: String,
    /// What it works on.
    pub job: Option<JobId>,
    /// The trial and phase it is in, as people read it.
    pub phase: Option<String>,
    /// The kernel build it works on.
    pub build: Option<BuildId>,
    /// How its last boot went, where it boots kernels.
    pub last_boot: Option<LastBoot>,
}

/// What a heartbeat says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen<'a> {
    /// What the host works on.
    pub job: Option<JobId>,
    /// The trial and phase it is in, as people read it.
    pub phase: Option<&'a str>,
    /// The kernel build it works on.
    pub build: Option<BuildId>,
    /// Its last boot; without one the former stays known.
    pub last_boot: Option<&'a LastBoot>,
}

statements! {
    HOST_GET = "
        SELECT name, facts, health, health_reason, enrolled, last_seen, incarnation, token_sha256, job_experiment, job_number, phase, build, last_boot
        FROM host
        WHERE name = $1";
    HOST_LIST = "
        SELECT name, facts, health, health_reason, enrolled, last_seen, incarnation, token_sha256, job_experiment, job_number, phase, build, last_boot
        FROM host
        ORDER BY name";
    HOST_PUT = "
        INSERT INTO host (name, facts, health, health_reason, enrolled, last_seen, incarnation, token_sha256, job_experiment, job_number, phase,
            build, last_boot)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
        ON CONFLICT (name) DO UPDATE SET
            facts = excluded.facts,
            health = excluded.health,
            health_reason = excluded.health_reason,
            enrolled = excluded.enrolled,
            last_seen = excluded.last_seen,
            incarnation = excluded.incarnation,
            token_sha256 = excluded.token_sha256,
            job_experiment = excluded.job_experiment,
            job_number = excluded.job_number,
            phase = excluded.phase,
            build = excluded.build,
            last_boot = excluded.last_boot";
    HOST_SEEN = "
        UPDATE host
        SET last_seen = $2, job_experiment = $3, job_number = $4, phase = $5, build = $6, last_boot = COALESCE($7, last_boot)
        WHERE name = $1";
    HOST_HEALTH_SET = "
        UPDATE host
        SET health = $4, health_reason = $5
        WHERE name = $1 AND health = $2 AND health_reason IS NOT DISTINCT FROM $3";
    DISK_LIST = "
        SELECT host, id, class, facts, health, health_reason
        FROM disk
        WHERE host = $1
        ORDER BY position";
    DISK_LIST_ALL = "
        SELECT host, id, class, facts, health, health_reason
        FROM disk
        ORDER BY host, position";
    DISK_DELETE = "
        DELETE FROM disk
        WHERE host = $1";
    DISK_INSERT = "INSERT INTO disk (host, id, position, class, facts, health, health_reason) ";
    DISK_HEALTH_SET = "
        UPDATE disk
        SET health = $5, health_reason = $6
        WHERE host = $1 AND id = $2 AND health = $3 AND health_reason IS NOT DISTINCT FROM $4";
}

/// The host of that name.
pub async fn host_get(tx: &mut Tx, name: &HostName) -> Result<Option<HostRow>, StoreError> {
    let found: Option<HostColumns> = row!(tx, HOST_GET, name.as_str())?;
    let Some(found) = found else { return Ok(None) };
    let disks: Vec<DiskColumns> = rows!(tx, DISK_LIST, name.as_str())?;
    let disks = disks.into_iter().map(DiskColumns::read).collect::<Result<_, _>>()?;
    found.read(disks).map(Some)
}

/// All hosts, by name.
pub async fn host_list(tx: &mut Tx) -> Result<Vec<HostRow>, StoreError> {
    let hosts: Vec<HostColumns> = rows!(tx, HOST_LIST)?;
    let disks: Vec<DiskColumns> = rows!(tx, DISK_LIST_ALL)?;
    let mut by_host: HashMap<String, Vec<Disk>> = HashMap::new();
    for disk in disks {
        by_host.entry(disk.host.clone()).or_default().push(disk.read()?);
    }
    hosts
        .into_iter()
        .map(|host| {
            let disks = by_host.remove(&host.name).unwrap_or_default();
            host.read(disks)
        })
        .collect()
}

/// Puts a host with its disks in the place of what was known under its name.
pub async fn host_put(tx: &mut Tx, row: &HostRow) -> Result<(), StoreError> {
    let host = &row.host;
    let (health, reason) = host_health(&host.health);
    let (job_experiment, job_number) = job_columns(row.job);
    execute!(
        tx,
        HOST_PUT,
        host.name.as_str(),
        json(&host.facts),
        health,
        reason,
        host.enrolled.0,
        host.last_seen.0,
        &row.incarnation,
        &row.token_sha256,
        job_experiment,
        job_number,
        &row.phase,
        row.build.map(|build| i64::from(build.0)),
        row.last_boot.as_ref().map(json),
    )?;
    execute!(tx, DISK_DELETE, host.name.as_str())?;
    let disks: Vec<_> = (0i64..).zip(&host.disks).collect();
    insert_all!(tx, DISK_INSERT, disks, |row, (position, disk)| {
        let (health, reason) = disk_health(&disk.health);
        row.push_bind(host.name.as_str()).push_bind(disk.id.as_str()).push_bind(*position);
        row.push_bind(disk.class.as_str()).push_bind(json(&disk.facts)).push_bind(health).push_bind(reason)
    })
}

/// Notes a sign of life; false for a host that is not known.
pub async fn host_seen(tx: &mut Tx, name: &HostName, now: TimestampMs, seen: Seen<'_>) -> Result<bool, StoreError> {
    let (job_experiment, job_number) = job_columns(seen.job);
    let (build, last_boot) = (seen.build.map(|build| i64::from(build.0)), seen.last_boot.map(json));
    Ok(execute!(tx, HOST_SEEN, name.as_str(), now.0, job_experiment, job_number, seen.phase, build, last_boot)? == 1)
}

/// Compare-and-set of a host's health.
pub async fn host_health_set(tx: &mut Tx, name: &HostName, from: &HostHealth, to: &HostHealth) -> Result<bool, StoreError> {
    let ((from, from_reason), (to, to_reason)) = (host_health(from), host_health(to));
    Ok(execute!(tx, HOST_HEALTH_SET, name.as_str(), from, from_reason, to, to_reason)? == 1)
}

/// Compare-and-set of a disk's health.
pub async fn disk_health_set(tx: &mut Tx, host: &HostName, disk: &DiskId, from: &DiskHealth, to: &DiskHealth) -> Result<bool, StoreError> {
    let ((from, from_reason), (to, to_reason)) = (disk_health(from), disk_health(to));
    Ok(execute!(tx, DISK_HEALTH_SET, host.as_str(), disk.as_str(), from, from_reason, to, to_reason)? == 1)
}

#[derive(sqlx::FromRow)]
struct HostColumns {
    name: String,
    facts: String,
    health: String,
    health_reason: Option<String>,
    enrolled: i64,
    last_seen: i64,
    incarnation: String,
    token_sha256: String,
    job_experiment: Option<i64>,
    job_number: Option<i64>,
    phase: Option<String>,
    build: Option<i64>,
    last_boot: Option<String>,
}

impl HostColumns {
    fn read(self, disks: Vec<Disk>) -> Result<HostRow, StoreError> {
        let place = Place { table: "host", key: &self.name };
        let job = match (self.job_experiment, self.job_number) {
            (Some(experiment), Some(job)) => {
                Some(JobId { experiment: ExperimentId(place.number("job_experiment", experiment)?), job: place.number("job_number", job)? })
            }
            (Some(_), None) | (None, Some(_)) | (None, None) => None,
        };
        let host = Host {
            name: place.parse("name", &self.name)?,
            facts: place.json("facts", &self.facts)?,
            disks,
            health: match (self.health.as_str(), self.health_reason) {
                ("healthy", None) => HostHealth::Healthy,
                ("dirty", Some(reason)) => HostHealth::Dirty { reason },
                ("quarantined", Some(reason)) => HostHealth::Quarantined { reason },
                (word, reason) => return Err(place.broken("health", unknown_health(word, reason))),
            },
            enrolled: TimestampMs(self.enrolled),
            last_seen: TimestampMs(self.last_seen),
        };
        Ok(HostRow {
            host,
            job,
            build: self.build.map(|build| place.number("build", build).map(BuildId)).transpose()?,
            last_boot: place.json_if_any("last_boot", self.last_boot.as_deref())?,
            incarnation: self.incarnation,
            token_sha256: self.token_sha256,
            phase: self.phase,
        })
    }
}

#[derive(sqlx::FromRow)]
struct DiskColumns {
    host: String,
    id: String,
    class: String,
    facts: String,
    health: String,
    health_reason: Option<String>,
}

impl DiskColumns {
    fn read(self) -> Result<Disk, StoreError> {
        let place = Place { table: "disk", key: &format_args!("{}/{}", self.host, self.id) };
        Ok(Disk {
            id: place.parse("id", &self.id)?,
            class: place.parse("class", &self.class)?,
            facts: place.json("facts", &self.facts)?,
            health: match (self.health.as_str(), self.health_reason) {
                ("usable", None) => DiskHealth::Usable,
                ("refused", Some(reason)) => DiskHealth::Refused { reason },
                ("missing", None) => DiskHealth::Missing,
                ("quarantined", Some(reason)) => DiskHealth::Quarantined { reason },
                (word, reason) => return Err(place.broken("health", unknown_health(word, reason))),
            },
        })
    }
}

fn host_health(health: &HostHealth) -> (&'static str, Option<&str>) {
    match health {
        HostHealth::Healthy => ("healthy", None),
        HostHealth::Dirty { reason } => ("dirty", Some(reason)),
        HostHealth::Quarantined { reason } => ("quarantined", Some(reason)),
    }
}

fn disk_health(health: &DiskHealth) -> (&'static str, Option<&str>) {
    match health {
        DiskHealth::Usable => ("usable", None),
        DiskHealth::Refused { reason } => ("refused", Some(reason)),
        DiskHealth::Missing => ("missing", None),
        DiskHealth::Quarantined { reason } => ("quarantined", Some(reason)),
    }
}

fn unknown_health(word: &str, reason: Option<String>) -> String {
    format!("`{word}` with reason {reason:?} is no health")
}

fn job_columns(job: Option<JobId>) -> (Option<i64>, Option<i64>) {
    (job.map(|job| i64::from(job.experiment.0)), job.map(|job| i64::from(job.job)))
}

#[cfg(test)]
mod tests {
    use blklab_model::testing::{disk, id};

    use super::*;
    use crate::store::testing::{for_each_store, host_row};

    fn last_boot() -> LastBoot {
        LastBoot { kernel: "6.1.0-40-amd64".into(), boot_ms: Some(6_300), outcome: "booted".into() }
    }

    #[tokio::test]
    async fn a_host_comes_back_as_it_was_put() {
        for_each_store(async |store| {
            let mut first = host_row("lab-1", &["sata-hdd", "nvme-ssd"]);
            first.host.health = HostHealth::Dirty { reason: "umount: \u{1f525} 'busy' \"x\"".into() };
            first.host.disks[0].health = DiskHealth::Refused { reason: "mounted on /home".into() };
            first.host.disks[1].health = DiskHealth::Missing;
            first.job = Some(id("x4294967295.j0"));
            first.phase = Some("x1.c0.r0.a0 mkfs".into());
            first.build = Some(BuildId(u32::MAX));
            first.last_boot = Some(last_boot());
            let second = host_row("lab-0", &[]);
            let mut tx = store.write().await.unwrap();
            host_put(&mut tx, &first).await.unwrap();
            host_put(&mut tx, &second).await.unwrap();
            tx.commit().await.unwrap();

            let mut tx = store.read().await.unwrap();
            assert_eq!(host_get(&mut tx, &first.host.name).await.unwrap().as_ref(), Some(&first));
            assert_eq!(host_get(&mut tx, &id("lab-9")).await.unwrap(), None);
            assert_eq!(host_list(&mut tx).await.unwrap(), [second, first]);
        })
        .await;
    }

    #[tokio::test]
    async fn a_new_inventory_replaces_the_old_one() {
        for_each_store(async |store| {
            let mut row = host_row("lab-1", &["sata-hdd", "nvme-ssd"]);
            let mut tx = store.write().await.unwrap();
            host_put(&mut tx, &row).await.unwrap();
            row.host.disks = vec![disk("wwn-0x5", "fc-array"), row.host.disks[0].clone()];
            row.incarnation = "machine.2".into();
            host_put(&mut tx, &row).await.unwrap();
            assert_eq!(host_list(&mut tx).await.unwrap(), [row]);
        })
        .await;
    }

    #[tokio::test]
    async fn a_heartbeat_moves_only_what_it_says() {
        for_each_store(async |store| {
            let mut row = host_row("lab-1", &["sata-hdd"]);
            let mut tx = store.write().await.unwrap();
            host_put(&mut tx, &row).await.unwrap();
            let (job, build, boot) = (Some(id("x1.j2")), Some(BuildId(3)), last_boot());
            let seen = Seen { job, phase: Some("mkfs"), build, last_boot: Some(&boot) };
            assert!(host_seen(&mut tx, &row.host.name, TimestampMs(77), seen).await.unwrap());
            assert!(!host_seen(&mut tx, &id("lab-2"), TimestampMs(77), Seen::default()).await.unwrap());
            row.host.last_seen = TimestampMs(77);
            (row.job, row.phase, row.build, row.last_boot) = (job, Some("mkfs".into()), build, Some(boot));
            assert_eq!(host_list(&mut tx).await.unwrap().as_slice(), std::slice::from_ref(&row));
            assert!(host_seen(&mut tx, &row.host.name, TimestampMs(77), Seen::default()).await.unwrap());
            (row.job, row.phase, row.build) = (None, None, None);
            assert_eq!(host_list(&mut tx).await.unwrap(), [row], "the last boot stays known");
        })
        .await;
    }

    #[tokio::test]
    async fn health_is_compared_with_its_reason_before_it_is_set() {
        for_each_store(async |store| {
            let row = host_row("lab-1", &["sata-hdd"]);
            let (name, disk) = (&row.host.name, &row.host.disks[0].id);
            let mut tx = store.write().await.unwrap();
            host_put(&mut tx, &row).await.unwrap();

            let dirty = |reason: &str| HostHealth::Dirty { reason: reason.into() };
            assert!(host_health_set(&mut tx, name, &HostHealth::Healthy, &dirty("a")).await.unwrap());
            assert!(!host_health_set(&mut tx, name, &HostHealth::Healthy, &dirty("b")).await.unwrap());
            assert!(!host_health_set(&mut tx, name, &dirty("b"), &HostHealth::Healthy).await.unwrap());
            assert!(host_health_set(&mut tx, name, &dirty("a"), &HostHealth::Healthy).await.unwrap());

            let out = DiskHealth::Quarantined { reason: "slow".into() };
            assert!(disk_health_set(&mut tx, name, disk, &DiskHealth::Usable, &out).await.unwrap());
            assert!(!disk_health_set(&mut tx, name, disk, &DiskHealth::Usable, &DiskHealth::Missing).await.unwrap());
            let stored = host_get(&mut tx, name).await.unwrap().unwrap();
            assert_eq!((stored.host.health, &stored.host.disks[0].health), (HostHealth::Healthy, &out));
        })
        .await;
    }
}
