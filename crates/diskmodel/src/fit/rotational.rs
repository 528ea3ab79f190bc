//! What a fit knows of disks with arms: where to begin, and which numbers the jobs can see.

use super::parameter::Parameter;
use super::{Seen, nearest_preset};
use crate::model::{DiskModel, Mechanics, Rotational};

/// Speeds at which disks are sold, in turns a minute.
const SPEEDS: [f64; 7] = [4200.0, 5400.0, 5900.0, 7200.0, 10_000.0, 10_500.0, 15_000.0];

/// A measured turn is taken for the nearest speed when it is at most this far from it; otherwise it stands for itself.
const SPEED_TOLERANCE: f64 = 0.04;

/// The turn follows from the spread of near reads: their seeks differ little, and the wait is even over a turn, whose standard
/// deviation is `turn / sqrt(12)`.
const SPREAD: f64 = 3.464;

/// The sustained rate is within some per cent of what a reader sees.
const RATE_MARGIN: f64 = 1.015;

/// Random writes that are this much faster than random reads were answered from a cache.
const CACHE_GAIN: f64 = 1.8;

pub(super) fn start(seen: &Seen, notes: &mut Vec<String>) -> DiskModel {
    let mut model = nearest_preset(seen, true);
    let Mechanics::Rotational(inside) = &mut model.mechanics else { return model };
    inside.rpm = rpm(seen, notes).unwrap_or(inside.rpm);
    let turn_ms = 60_000.0 / inside.rpm;
    let mean_ms = |name: &str| seen.iops(name).map(|iops| 1000.0 / iops);
    let positioning = |name: &str| mean_ms(name).map(|ms| (ms - turn_ms / 2.0 - inside.overhead_us / 1e3).max(0.1));
    if let Some(average) = positioning("random-read-1") {
        // A seek over 1 % is `track + (average - track) / (8/15) * mean of sqrt(x)`, the latter 8/15 of a tenth.
        let near = positioning("near-read-1").unwrap_or(average / 4.0);
        inside.track_to_track_ms = ((near - 0.1 * average) / 0.9).clamp(0.05, average);
        inside.average_seek_ms = average.max(inside.track_to_track_ms);
    }
    let mb_s = |name: &str| seen.iops(name).map(|iops| iops * f64::from(128 << 10) / 1e6);
    inside.outer_mb_s = mb_s("sequential-read").map_or(inside.outer_mb_s, |rate| rate * RATE_MARGIN);
    inside.inner_mb_s = mb_s("sequential-read-end").map_or(inside.outer_mb_s / 2.0, |rate| rate * RATE_MARGIN);
    if let Some(small) = mean_ms("sequential-read-small") {
        inside.overhead_us = (small * 1e3).clamp(10.0, 2000.0);
    }
    match (seen.iops("random-write-1"), seen.iops("random-read-1")) {
        (Some(writes), Some(reads)) if writes < CACHE_GAIN * reads => {
            inside.write_cache_kib = 0;
            notes.push("random writes are no faster than reads: the disk's write cache is taken to be off".to_owned());
        }
        (Some(_), Some(_)) => notes.push("the size of the write cache cannot be seen by these jobs; it is that of a preset".to_owned()),
        (None, _) | (_, None) => {
            notes.push("no job wrote: what concerns writes is that of a preset (blklab disk fit --print-jobs write)".to_owned());
        }
    }
    if seen.iops("random-read-32").is_none() {
        notes.push("no job had a deep queue: the queue depth is that of a preset".to_owned());
    }
    model
}

pub(super) fn parameters(seen: &Seen) -> Vec<Parameter> {
    let mut parameters = vec![
        Parameter::Rotational(|inside| &mut inside.average_seek_ms),
        Parameter::Rotational(|inside| &mut inside.track_to_track_ms),
        Parameter::Rotational(|inside| &mut inside.outer_mb_s),
        Parameter::Rotational(|inside| &mut inside.overhead_us),
    ];
    if seen.iops("sequential-read-end").is_some() {
        parameters.push(Parameter::Rotational(|inside| &mut inside.inner_mb_s));
    }
    if seen.iops("random-write-flush").is_some() {
        parameters.push(Parameter::Rotational(|inside| &mut inside.write_settle_ms));
    }
    parameters
}

pub(super) fn numbers(inside: &mut Rotational) -> Vec<&mut f64> {
    vec![
        &mut inside.overhead_us,
        &mut inside.track_to_track_ms,
        &mut inside.average_seek_ms,
        &mut inside.write_settle_ms,
        &mut inside.outer_mb_s,
        &mut inside.inner_mb_s,
    ]
}

/// From writes that follow each other, each with a flush, which take a turn each; or from the spread of near reads.
fn rpm(seen: &Seen, notes: &mut Vec<String>) -> Option<f64> {
    let by_turn = seen.iops("following-write-flush").map(|iops| 60.0 * iops);
    let by_spread = seen.observation("near-read-1").and_then(|near| near.deviation_ms).map(|ms| 60_000.0 / (ms * SPREAD));
    let sold = |rpm: f64| SPEEDS.into_iter().find(|speed| (rpm / speed - 1.0).abs() < SPEED_TOLERANCE);
    if let Some(speed) = by_turn.and_then(sold) {
        return Some(speed);
    }
    let Some(rpm) = by_spread.filter(|rpm| rpm.is_finite() && (2000.0..30_000.0).contains(rpm)) else {
        notes.push("the speed of rotation cannot be seen by these jobs; it is that of a preset".to_owned());
        return None;
    };
    let nearest = SPEEDS.into_iter().min_by(|a, b| (a / rpm).ln().abs().total_cmp(&(b / rpm).ln().abs()))?;
    notes.push(format!("{nearest} rpm is the speed nearest to the spread of near reads ({rpm:.0} rpm)"));
    Some(nearest)
}
