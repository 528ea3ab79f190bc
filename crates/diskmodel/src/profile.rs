//! What a model makes of requests, as the tables and curves that people look at. `blklab disk show` and the page of disk models are
//! made from it.

use serde::Serialize;

use crate::disk::{Disk, Operation, Request};
use crate::exercise::{self, Exercise, Measured, Order};
use crate::model::{DiskModel, Mechanics};

/// Size of the disk that profiles are about, in bytes. Only shares of it matter, but for what fits into caches.
pub const DISK_BYTES: u64 = 8 << 30;

/// Queue depths of [`Profile::depth`].
pub const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Distances of [`Profile::distance`], in bytes: from a few tracks to the whole disk.
const DISTANCES: [u64; 16] = [
    64 << 10,
    256 << 10,
    1 << 20,
    2 << 20,
    4 << 20,
    8 << 20,
    16 << 20,
    32 << 20,
    64 << 20,
    128 << 20,
    256 << 20,
    512 << 20,
    1 << 30,
    2 << 30,
    4 << 30,
    DISK_BYTES - 4096,
];

/// Reads at each distance, with as many angles of the platter: enough for a mean within a hundredth of a turn.
const READS: u64 = 1000;

/// Requests of each exercise: means within 2 per cent for the most scattered disk.
const REQUESTS: u32 = 3000;

/// The seed of all exercises, so that the same model always shows the same numbers.
const SEED: u64 = 1;

/// How a disk behaves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    /// The disk.
    pub model: DiskModel,
    /// Time of a read of 4 KiB by its distance from the one before, nearest first.
    pub distance: Vec<AtDistance>,
    /// Random reads of 4 KiB by queue depth, as [`DEPTHS`].
    pub depth: Vec<AtDepth>,
    /// Other loads.
    pub loads: Vec<Load>,
}

/// A read far from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AtDistance {
    /// How far, in bytes.
    pub bytes: u64,
    /// Mean, in milliseconds.
    pub mean_ms: f64,
    /// What one in twenty stays below, in milliseconds.
    pub low_ms: f64,
    /// What one in twenty exceeds, in milliseconds.
    pub high_ms: f64,
}

/// Random reads with so many under way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AtDepth {
    /// How many are under way.
    pub depth: u32,
    /// Reads a second.
    pub iops: f64,
    /// Mean time of one, in milliseconds.
    pub mean_ms: f64,
    /// What one in a hundred exceeds, in milliseconds.
    pub p99_ms: f64,
}

/// A load and what comes out of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Load {
    /// For people: `sequential read, 128 KiB`.
    pub name: &'static str,
    /// Requests a second.
    pub iops: f64,
    /// MB/s (10^6).
    pub mb_s: f64,
    /// Mean time of a request, in milliseconds.
    pub mean_ms: f64,
}

impl Profile {
    /// Puts a disk of [`DISK_BYTES`] through everything; takes some hundred milliseconds.
    pub fn of(model: &DiskModel) -> Profile {
        Profile {
            model: model.clone(),
            distance: DISTANCES.iter().map(|bytes| at_distance(model, *bytes)).collect(),
            depth: DEPTHS.iter().map(|depth| at_depth(model, *depth)).collect(),
            loads: loads().into_iter().map(|(name, exercise)| Load::new(name, &run(model, &exercise))).collect(),
        }
    }

    /// How many times as many reads a second 32 at a time give.
    pub fn depth_gain(&self) -> f64 {
        let iops = |depth: u32| self.depth.iter().find(|at| at.depth == depth).map_or(0.0, |at| at.iops);
        iops(32) / iops(1).max(f64::MIN_POSITIVE)
    }

    /// The load with this name.
    pub fn load(&self, name: &str) -> Option<&Load> {
        self.loads.iter().find(|load| load.name == name)
    }
}

impl Load {
    fn new(name: &'static str, measured: &Measured) -> Load {
        Load { name, iops: measured.iops(), mb_s: measured.mb_s(), mean_ms: measured.mean_ms() }
    }
}

/// What a model leaves out of its disk, a sentence each; a reader of results should know.
pub fn left_out(model: &DiskModel) -> &'static [&'static str] {
    match model.mechanics {
        Mechanics::Rotational(_) => &[
            "The image is the whole disk: an image of 8 GiB has the seeks of a full stroke, not those of the first 8 GiB of a large disk.",
            "One surface: tracks follow one another at one pitch; head switches, serpentine layouts and spare sectors are not told apart.",
            "Reading ahead gives way at once to any request; firmware may finish a track first, or read a whole track from wherever the \
             head arrives.",
            "Shingled zones, remapped sectors, retries, recalibration, vibration and sleep do not happen; no request fails.",
        ],
        Mechanics::Parallel(_) => &[
            "Any free server takes any piece: two requests for one die, or one disk of an array, do not collide.",
            "Flash does not age: garbage collection, full caches of single-level cells, wear and heat are at most the occasional slow \
             request.",
            "Reading ahead occupies no server, and what was once read or written is not found in memory again.",
            "Trim and zeroes cost the time of one small write, whatever their length; no request fails.",
        ],
    }
}

/// What lies between a model and a guest, a sentence each.
pub const BETWEEN: [&str; 4] = [
    "QEMU has at most 16 requests of a disk under way at an NBD server (MAX_NBD_REQUESTS in its block/nbd.c): a guest does not see more \
     of the queue's gain than that.",
    "Emulator, socket and threads add their own time, some 0.25 ms for each I/O of an emulated guest; `slowdown` makes it small beside \
     the disk's.",
    "A machine that is too busy sends replies late; the server counts by how much.",
    "A flush is a matter of the model's time only: what a guest wrote is as lasting as the page cache of the machine below.",
];

fn loads() -> Vec<(&'static str, Exercise)> {
    let reads = Exercise { requests: REQUESTS, ..Exercise::random_reads() };
    let writes = Exercise { operation: Operation::Write, ..reads.clone() };
    let stream = |streams: u32, kib: u64, exercise: &Exercise| Exercise {
        order: Order::Streams(streams),
        block_bytes: kib << 10,
        ..exercise.clone()
    };
    vec![
        ("sequential read, 4 KiB", stream(1, 4, &reads)),
        ("sequential read, 128 KiB", stream(1, 128, &reads)),
        ("sequential read, 128 KiB, at the end", Exercise { from_share: 0.9, ..stream(1, 128, &reads) }),
        ("two sequential readers, 64 KiB", stream(2, 64, &reads)),
        ("random read, 4 KiB, in 1 % of the disk", Exercise { span_share: 0.01, ..reads.clone() }),
        ("sequential write, 1 MiB, 4 at a time", Exercise { depth: 4, warm_up: 100, ..stream(1, 1024, &writes) }),
        ("random write, 4 KiB", Exercise { warm_up: 3000, ..writes.clone() }),
        ("random write, 4 KiB, and a flush", Exercise { flush: true, ..writes.clone() }),
        ("sequential write, 4 KiB, and a flush", Exercise { flush: true, ..stream(1, 4, &writes) }),
    ]
}

fn run(model: &DiskModel, exercise: &Exercise) -> Measured {
    exercise::run(model, DISK_BYTES, exercise, SEED)
}

fn at_depth(model: &DiskModel, depth: u32) -> AtDepth {
    let measured = run(model, &Exercise { depth, requests: REQUESTS, warm_up: 200, ..Exercise::random_reads() });
    AtDepth { depth, iops: measured.iops(), mean_ms: measured.mean_ms(), p99_ms: measured.quantile_ms(0.99) }
}

/// Reads at this distance from the outer edge, where a new disk has its arm.
fn at_distance(model: &DiskModel, bytes: u64) -> AtDistance {
    let time_ns = |seed: u64| {
        let mut disk = Disk::new(model, DISK_BYTES, seed);
        disk.submit(0, Request { id: 0, operation: Operation::Read, offset: bytes, bytes: 4096, fua: false });
        loop {
            let at = disk.next_event_ns().expect("a request is outstanding");
            if let Some(completion) = disk.take_completed(at) {
                return completion.at_ns;
            }
        }
    };
    let mut latencies_ns: Vec<u64> = (0..READS).map(time_ns).collect();
    latencies_ns.sort_unstable();
    let measured = Measured { elapsed_ns: latencies_ns.iter().sum(), block_bytes: 4096, latencies_ns };
    AtDistance { bytes, mean_ms: measured.mean_ms(), low_ms: measured.quantile_ms(0.05), high_ms: measured.quantile_ms(0.95) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the presets promise, to the figures of the data sheets that their files quote.
    #[test]
    fn presets_behave_like_their_data_sheets() {
        let profile = |name: &str| Profile::of(&DiskModel::preset(name).unwrap());
        let near = |value: f64, wanted: f64, what: &str| assert!((value / wanted - 1.0).abs() < 0.05, "{what}: {value:.1}, not {wanted}");
        let iops = |profile: &Profile, depth: usize| profile.depth[depth].iops;

        let hdd = profile("sata-hdd");
        near(hdd.depth[0].mean_ms, 12.8, "random reads");
        near(hdd.load("sequential read, 128 KiB").unwrap().mb_s, 123.0, "outer zones");
        near(hdd.load("sequential read, 128 KiB, at the end").unwrap().mb_s, 66.0, "inner zones");
        near(hdd.load("sequential write, 4 KiB, and a flush").unwrap().iops, 120.0, "a turn each");

        let array = profile("fc-array");
        near(array.depth[0].mean_ms, 1.39, "random reads");

        let sata = profile("sata-ssd");
        near(iops(&sata, 0), 13_000.0, "870 EVO, reads at QD1");
        near(iops(&sata, 5), 98_000.0, "870 EVO, reads at QD32");
        near(sata.load("random write, 4 KiB").unwrap().iops, 36_000.0, "870 EVO, writes at QD1");
        near(sata.load("sequential write, 1 MiB, 4 at a time").unwrap().mb_s, 545.0, "870 EVO, sequential");

        let nvme = profile("nvme-ssd");
        near(iops(&nvme, 0), 19_000.0, "970 EVO Plus, reads at QD1");
        near(iops(&nvme, 6), 600_000.0, "970 EVO Plus, reads at depth");
        near(nvme.load("random write, 4 KiB").unwrap().iops, 60_000.0, "970 EVO Plus, writes at QD1");
        near(nvme.load("sequential write, 1 MiB, 4 at a time").unwrap().mb_s, 3400.0, "970 EVO Plus, sequential");
    }

    #[test]
    fn distance_matters_to_arms_only() {
        for name in ["sata-hdd", "fc-array"] {
            let model = DiskModel::preset(name).unwrap();
            let profile = Profile::of(&model);
            let (first, last) = (profile.distance[2].mean_ms, profile.distance[15].mean_ms);
            assert_eq!(last > 1.5 * first, model.is_rotational(), "{name}");
            assert!(profile.distance.iter().all(|at| at.low_ms <= at.mean_ms && at.mean_ms <= at.high_ms.max(1.1 * at.mean_ms)));
            assert!(!left_out(&model).is_empty());
        }
    }
}
