//! Disks that live inside of a virtual host, for the virtual clock: a disk model in the few numbers that `kmod/lab-disk` takes, as words for
//! the kernel's command line, from where the guest hands them to the module.

use blklab_diskmodel::{DiskModel, Mechanics, Parallel, Rotational};

use crate::control::config::DiskConfig;

/// Name of the module.
pub(super) const MODULE: &str = "lab_disk";

/// Mean of sqrt(|x - y|) for two points of a line of length 1: a mean seek is this share of the way from the shortest to the longest, where
/// time goes by the root of the distance.
const MEAN_ROOT_DISTANCE: f64 = 8.0 / 15.0;

/// Of a model that does not say.
const FLUSH_US: f64 = 100.0;

/// What the module is told of one disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Numbers {
    rotational: u32,
    depth: u32,
    servers: u32,
    read_us: u32,
    write_us: u32,
    flush_us: u32,
    seek_min_us: u32,
    seek_max_us: u32,
    turn_us: u32,
    track_kb: u32,
    rate_mb_s: u32,
}

/// Words for the command line; disks are made in the order of the configuration.
pub(super) fn arguments(disks: &[(&DiskConfig, DiskModel)]) -> Vec<String> {
    let numbers: Vec<Numbers> = disks.iter().map(|(_, model)| numbers(model)).collect();
    let list = |name: &str, values: Vec<String>| format!("{MODULE}.{name}={}", values.join(","));
    let column = |name: &str, of: fn(&Numbers) -> u32| list(name, numbers.iter().map(|one| of(one).to_string()).collect());
    vec![
        list("serial", disks.iter().map(|(disk, _)| disk.serial.clone()).collect()),
        list("size_mb", disks.iter().map(|(disk, _)| (disk.size_bytes >> 20).to_string()).collect()),
        column("rotational", |one| one.rotational),
        column("depth", |one| one.depth),
        column("servers", |one| one.servers),
        column("read_us", |one| one.read_us),
        column("write_us", |one| one.write_us),
        column("flush_us", |one| one.flush_us),
        column("seek_min_us", |one| one.seek_min_us),
        column("seek_max_us", |one| one.seek_max_us),
        column("turn_us", |one| one.turn_us),
        column("track_kb", |one| one.track_kb),
        column("rate_mb_s", |one| one.rate_mb_s),
    ]
}

/// Where the seed of a disk goes.
pub(super) fn seed_file(index: usize) -> String {
    format!("/sys/block/labdisk{index}/seed")
}

fn numbers(model: &DiskModel) -> Numbers {
    let us = |value: f64| whole(value * model.slowdown);
    let rate = |value: f64| whole(value / model.slowdown).max(1);
    match &model.mechanics {
        Mechanics::Rotational(platters) => rotational(platters, model.queue_depth, us, rate),
        Mechanics::Parallel(flash) => parallel(flash, model.queue_depth, us, rate),
    }
}

fn rotational(platters: &Rotational, depth: u32, us: impl Fn(f64) -> u32, rate: impl Fn(f64) -> u32) -> Numbers {
    let turn_us = 60e6 / platters.rpm;
    let shortest_us = platters.track_to_track_ms * 1e3;
    let mean_us = platters.average_seek_ms * 1e3;
    let longest_us = shortest_us + (mean_us - shortest_us).max(0.0) / MEAN_ROOT_DISTANCE;
    Numbers {
        rotational: 1,
        depth,
        servers: 1,
        read_us: us(platters.overhead_us),
        write_us: us(platters.overhead_us + platters.write_settle_ms * 1e3),
        flush_us: us(turn_us),
        seek_min_us: us(shortest_us),
        seek_max_us: us(longest_us),
        turn_us: us(turn_us),
        // What passes under the head in one turn: MB/s times microseconds are bytes.
        track_kb: whole(platters.outer_mb_s * turn_us / 1024.0).max(1),
        rate_mb_s: rate(platters.outer_mb_s),
    }
}

fn parallel(flash: &Parallel, depth: u32, us: impl Fn(f64) -> u32, rate: impl Fn(f64) -> u32) -> Numbers {
    let write_us = flash.write_cache.as_ref().map_or(flash.write_us, |cache| cache.write_us);
    Numbers {
        rotational: 0,
        depth,
        servers: flash.servers,
        read_us: us(flash.command_us + flash.overhead_us + flash.read_us),
        write_us: us(flash.command_us + flash.overhead_us + write_us),
        flush_us: us(flash.write_cache.as_ref().map_or(FLUSH_US, |cache| cache.flush_us)),
        rate_mb_s: rate(flash.server_mb_s),
        track_kb: 1,
        ..Numbers::default()
    }
}

fn whole(value: f64) -> u32 {
    value.round().clamp(0.0, f64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::config::Bus;

    #[test]
    fn presets_become_numbers() {
        let disk = |serial: &str| DiskConfig {
            serial: serial.into(),
            class: "x".parse().unwrap(),
            bus: Bus::Ahci,
            size_bytes: 1 << 30,
            model: String::new(),
        };
        let (hdd, array) = (disk("hdd"), disk("array"));
        let words = arguments(&[(&hdd, DiskModel::preset("sata-hdd").unwrap()), (&array, DiskModel::preset("fc-array").unwrap())]);
        insta::assert_snapshot!(words.join("\n"));
    }

    #[test]
    fn a_slower_disk_takes_longer_and_keeps_its_tracks() {
        let model = DiskModel::preset("sata-hdd").unwrap();
        let (plain, slow) = (numbers(&model), numbers(&model.clone().slowed(2.0)));
        assert_eq!((slow.turn_us, slow.track_kb), (whole(60e6 / 7200.0 * 2.0), plain.track_kb));
        assert_eq!(slow.seek_min_us, 2 * plain.seek_min_us);
    }
}
