//! What a fit knows of disks without arms: where to begin, and which numbers the jobs can see.

use super::parameter::Parameter;
use super::{Seen, nearest_preset};
use crate::model::{DiskModel, Mechanics, Parallel, ReadAhead, WriteCache};

/// More servers than this cannot be told from it with 32 requests under way.
const MOST_SERVERS: u32 = 32;

/// Writes that are this much faster than reads were answered from a cache.
const CACHE_GAIN: f64 = 1.2;

/// Small reads in sequence that are this much faster than random ones were read ahead.
const AHEAD_GAIN: f64 = 1.2;

/// A flush that takes less than this, in microseconds, had nothing to wait for: programming flash takes longer.
const PROTECTED_FLUSH_US: f64 = 150.0;

pub(super) fn start(seen: &Seen, notes: &mut Vec<String>) -> DiskModel {
    let mut model = nearest_preset(seen, false);
    let Mechanics::Parallel(inside) = &mut model.mechanics else { return model };
    let us = |name: &str| seen.iops(name).map(|iops| 1e6 / iops);
    let one_read_us = us("random-read-1").unwrap_or(inside.read_us);

    // What a random read takes is shared out as in the preset.
    let known_us = inside.overhead_us + inside.command_us + inside.read_us;
    for part in [&mut inside.overhead_us, &mut inside.command_us, &mut inside.read_us] {
        *part *= one_read_us / known_us;
    }
    if let Some(deep) = seen.iops("random-read-32") {
        // Servers are busy for all of a read but its overhead.
        inside.servers = ((deep * inside.read_us / 1e6).round() as u32).clamp(1, MOST_SERVERS);
        inside.command_us = inside.command_us.min(1e6 / deep);
        if inside.servers == MOST_SERVERS {
            notes.push(format!("32 reads at a time did not fill the disk: it may have more than {MOST_SERVERS} servers"));
        }
    }
    let rates = ["sequential-read-deep", "sequential-write-deep"].map(|name| seen.iops(name).map(|iops| iops * f64::from(1 << 20) / 1e6));
    if let Some(rate) = rates.into_iter().flatten().reduce(f64::max) {
        inside.link_mb_s = rate;
    }
    match us("sequential-read-small") {
        Some(small) if small * AHEAD_GAIN < one_read_us => {
            let ahead = inside.read_ahead.get_or_insert(ReadAhead { streams: 16, kib: 512, hit_us: 0.0 });
            ahead.hit_us = (small - inside.overhead_us - inside.command_us).max(1.0);
        }
        Some(_) => inside.read_ahead = None,
        None => {}
    }
    start_writes(inside, seen, notes);
    model
}

fn start_writes(inside: &mut Parallel, seen: &Seen, notes: &mut Vec<String>) {
    let us = |name: &str| seen.iops(name).map(|iops| 1e6 / iops);
    let (Some(write_us), Some(read_us)) = (us("random-write-1"), us("random-read-1")) else {
        notes.push("no job wrote: what concerns writes is that of a preset (blklab disk fit --print-jobs write)".to_owned());
        return;
    };
    if write_us * CACHE_GAIN > read_us {
        inside.write_cache = None;
        inside.write_us = (write_us - inside.overhead_us - inside.command_us).max(1.0);
        notes.push("random writes are no faster than reads: there is no write cache".to_owned());
        return;
    }
    let cache = inside.write_cache.get_or_insert(WriteCache { kib: 32_768, write_us: 0.0, volatile: true, flush_us: 0.0 });
    cache.write_us = (write_us - inside.overhead_us - inside.command_us).max(1.0);
    notes.push("the size of the write cache cannot be seen by these jobs; it is that of a preset".to_owned());
    if let Some(flushed_us) = us("random-write-flush") {
        let flush_us = (flushed_us - write_us - inside.overhead_us).max(1.0);
        cache.volatile = flush_us > PROTECTED_FLUSH_US;
        cache.flush_us = if cache.volatile { (flush_us - inside.write_us).max(flush_us / 4.0) } else { flush_us };
    }
}

pub(super) fn parameters(seen: &Seen) -> Vec<Parameter> {
    let mut parameters = vec![
        Parameter::Parallel(|inside| Some(&mut inside.read_us)),
        Parameter::Parallel(|inside| Some(&mut inside.overhead_us)),
        Parameter::Parallel(|inside| Some(&mut inside.command_us)),
        Parameter::Parallel(|inside| Some(&mut inside.link_mb_s)),
        Parameter::Parallel(|inside| Some(&mut inside.server_mb_s)),
        Parameter::Parallel(|inside| inside.read_ahead.as_mut().map(|ahead| &mut ahead.hit_us)),
    ];
    if seen.writes() {
        parameters.extend([
            Parameter::Parallel(|inside| Some(&mut inside.write_us)),
            Parameter::Parallel(|inside| inside.write_cache.as_mut().map(|cache| &mut cache.write_us)),
            Parameter::Parallel(|inside| inside.write_cache.as_mut().map(|cache| &mut cache.flush_us)),
        ]);
    }
    parameters
}

pub(super) fn numbers(inside: &mut Parallel) -> Vec<&mut f64> {
    let mut numbers = vec![
        &mut inside.command_us,
        &mut inside.overhead_us,
        &mut inside.read_us,
        &mut inside.write_us,
        &mut inside.server_mb_s,
        &mut inside.link_mb_s,
    ];
    numbers.extend(inside.read_ahead.as_mut().map(|ahead| &mut ahead.hit_us));
    if let Some(cache) = &mut inside.write_cache {
        numbers.extend([&mut cache.write_us, &mut cache.flush_us]);
    }
    numbers
}
