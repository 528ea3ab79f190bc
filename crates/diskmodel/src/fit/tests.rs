//! A fit finds the disk from which its data came.

use super::*;
use crate::exercise::{Exercise, Order, run};
use crate::profile;

/// What fio would have measured on a disk of this model, with the noise of its runs.
fn observed(model: &DiskModel, keep: impl Fn(&Job) -> bool) -> Vec<Observation> {
    let wobble = [1.008, 0.994, 1.0, 1.005, 0.99, 0.997, 1.003];
    let observation = |(index, job): (usize, Job)| {
        let measured = run(model, 500_000_000_000, &job.exercise, 77 + index as u64);
        let mean = measured.mean_ms();
        let squares: f64 = measured.latencies_ns.iter().map(|ns| (*ns as f64 / 1e6 - mean).powi(2)).sum();
        let deviation_ms = Some((squares / measured.latencies_ns.len() as f64).sqrt());
        Observation { job: job.name.to_owned(), iops: measured.iops() * wobble[index % wobble.len()], deviation_ms }
    };
    jobs().into_iter().filter(keep).enumerate().map(observation).collect()
}

fn near(value: f64, wanted: f64, pct: f64, what: &str) {
    assert!((value / wanted - 1.0).abs() < pct / 100.0, "{what}: {value} instead of {wanted}");
}

/// Loads that the fit has not seen.
fn assert_alike(model: &DiskModel, original: &DiskModel, pct: f64) {
    let reads = Exercise { requests: 3000, ..Exercise::random_reads() };
    let unseen = [
        ("random reads of 32 KiB", Exercise { block_bytes: 32 << 10, ..reads.clone() }),
        ("random reads, 4 at a time", Exercise { depth: 4, ..reads.clone() }),
        ("reads in half of the disk", Exercise { span_share: 0.5, ..reads.clone() }),
        ("two streams", Exercise { order: Order::Streams(2), block_bytes: 64 << 10, ..reads }),
    ];
    for (what, exercise) in unseen {
        let rate = |model: &DiskModel| run(model, profile::DISK_BYTES, &exercise, 5).iops();
        near(rate(model), rate(original), pct, &format!("{}: {what}", original.name));
    }
}

#[test]
fn a_hard_disk_is_found_again() {
    let original = DiskModel::preset("sata-hdd").unwrap();
    let Mechanics::Rotational(wanted) = &original.mechanics else { panic!("a hard disk has an arm") };
    // Another disk than the one where the fit begins.
    let wanted = crate::Rotational {
        rpm: 5400.0,
        average_seek_ms: 12.0,
        track_to_track_ms: 1.6,
        outer_mb_s: 180.0,
        inner_mb_s: 85.0,
        ..wanted.clone()
    };
    let original = DiskModel { mechanics: Mechanics::Rotational(wanted.clone()), ..original };
    let fitted = fit("mine", &observed(&original, |_| true), KindHint::FromJobs).unwrap();
    let Mechanics::Rotational(found) = &fitted.model.mechanics else { panic!("{fitted:?}") };
    assert_eq!(found.rpm, wanted.rpm);
    near(found.average_seek_ms, wanted.average_seek_ms, 3.0, "average seek");
    near(found.track_to_track_ms, wanted.track_to_track_ms, 20.0, "track to track");
    near(found.outer_mb_s, wanted.outer_mb_s, 2.0, "outer rate");
    near(found.inner_mb_s, wanted.inner_mb_s, 2.0, "inner rate");
    // How well writes are sorted depends on which ones the cache happens to hold.
    let limit = |job: &str| if CACHED.contains(&job) { 20.0 } else { 6.0 };
    assert!(fitted.residuals.iter().all(|residual| residual.difference_pct().abs() < limit(&residual.job)), "{:#?}", fitted.residuals);
    assert_alike(&fitted.model, &original, 5.0);
}

#[test]
fn the_speed_is_seen_without_writing() {
    let original = DiskModel::preset("sata-hdd").unwrap();
    let fitted = fit("mine", &observed(&original, |job| !job.writes()), KindHint::FromJobs).unwrap();
    let Mechanics::Rotational(found) = &fitted.model.mechanics else { panic!("{fitted:?}") };
    assert_eq!(found.rpm, 7200.0);
    near(found.average_seek_ms, 8.5, 3.0, "average seek");
    assert!(fitted.notes.iter().any(|note| note.contains("no job wrote")), "{:?}", fitted.notes);
    assert_eq!(fitted.residuals.len(), 10);
}

#[test]
fn disks_without_arms_are_found_again() {
    for name in ["fc-array", "sata-ssd", "nvme-ssd"] {
        let mut original = DiskModel::preset(name).unwrap();
        // Not the very disk where the fit begins.
        if let Mechanics::Parallel(inside) = &mut original.mechanics {
            inside.read_us *= 1.4;
            inside.write_us *= 0.8;
            inside.link_mb_s *= 0.7;
        }
        let fitted = fit("mine", &observed(&original, |_| true), KindHint::FromJobs).unwrap();
        assert!(!fitted.model.is_rotational(), "{name}");
        assert!(fitted.residuals.iter().all(|residual| residual.difference_pct().abs() < 8.0), "{name}: {:#?}", fitted.residuals);
        assert_alike(&fitted.model, &original, 12.0);
    }
}

#[test]
fn what_is_missing_is_named() {
    let original = DiskModel::preset("nvme-ssd").unwrap();
    let error = fit("mine", &observed(&original, |job| job.name != "near-read-1"), KindHint::FromJobs).unwrap_err();
    assert!(error.to_string().contains("no job is called near-read-1\n  help: run the job file"), "{error}");
    let mut observations = observed(&original, |_| true);
    observations[0].iops = f64::NAN;
    assert!(fit("mine", &observations, KindHint::FromJobs).unwrap_err().message.contains("random-read-1 has NaN"));
}

#[test]
fn numbers_are_rounded_to_what_can_be_known() {
    assert_eq!([0.0, 123.456, 0.123456, 8.6499, 99.96].map(rounded), [0.0, 123.0, 0.123, 8.65, 100.0]);
}
