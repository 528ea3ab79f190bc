//! What every simulated disk keeps to, and what sets the kinds apart.

use proptest::prelude::*;

use super::*;
use crate::exercise::{Exercise, Measured, Order, run};
use crate::model::PRESETS;

const GIB: u64 = 1 << 30;
const DISK: u64 = 8 * GIB;
const MS: Ns = 1_000_000;

fn preset(name: &str) -> DiskModel {
    DiskModel::preset(name).unwrap()
}

fn exercise(name: &str, change: impl FnOnce(&mut Exercise)) -> Measured {
    let mut exercise = Exercise::random_reads();
    change(&mut exercise);
    run(&preset(name), DISK, &exercise, 7)
}

fn request(id: u64, operation: Operation, offset: u64, bytes: u64) -> Request {
    Request { id, operation, offset, bytes, fua: false }
}

/// Runs until nothing is outstanding; completions in their order.
fn drain(disk: &mut Disk) -> Vec<Completion> {
    let mut completions = Vec::new();
    while let Some(at) = disk.next_event_ns() {
        completions.extend(disk.take_completed(at));
    }
    completions
}

/// Time of the last of these requests, submitted together at `now`.
fn time_of(disk: &mut Disk, now: Ns, requests: &[Request]) -> Ns {
    for request in requests {
        disk.submit(now, *request);
    }
    drain(disk).last().unwrap().at_ns - now
}

#[test]
fn random_reads_take_seek_rotation_and_overhead() {
    let measured = exercise("sata-hdd", |exercise| exercise.requests = 20_000);
    // 8.5 ms of seek, half a turn of 8.33 ms, 0.1 ms of overhead; the rest is the transfer and what read-ahead spares.
    assert!((12.4..13.0).contains(&measured.mean_ms()), "{}", measured.mean_ms());
    assert!(measured.quantile_ms(1.0) < 15.1 + 8.34 + 0.2);
}

#[test]
fn a_stream_runs_at_the_rate_of_the_platter_though_its_reader_pauses() {
    for think_ns in [0, 50_000, 300_000] {
        let measured = exercise("sata-hdd", |exercise| {
            *exercise = Exercise { order: Order::Streams(1), block_bytes: 128 << 10, think_ns, ..exercise.clone() };
        });
        assert!((120.0..125.0).contains(&measured.mb_s()), "{} MB/s with pauses of {think_ns} ns", measured.mb_s());
    }
}

#[test]
fn without_a_buffer_each_read_of_a_stream_costs_a_turn() {
    let mut model = preset("sata-hdd");
    if let Mechanics::Rotational(inside) = &mut model.mechanics {
        inside.read_segments = 0;
    }
    let stream = Exercise { order: Order::Streams(1), think_ns: 50_000, ..Exercise::random_reads() };
    let measured = run(&model, DISK, &stream, 1);
    assert!((8.2..8.5).contains(&measured.mean_ms()), "{} ms", measured.mean_ms());
}

#[test]
fn following_reads_are_faster_than_scattered_ones() {
    for (name, gain) in [("sata-hdd", 50.0), ("fc-array", 3.0), ("sata-ssd", 1.5), ("nvme-ssd", 3.0)] {
        let random = exercise(name, |_| {}).iops();
        let following = exercise(name, |exercise| exercise.order = Order::Streams(1)).iops();
        assert!(following > gain * random, "{name}: {following:.0} and {random:.0} IOPS");
    }
}

#[test]
fn a_deeper_queue_is_never_slower() {
    for (name, gain) in [("sata-hdd", 2.0), ("fc-array", 7.0), ("sata-ssd", 7.0), ("nvme-ssd", 25.0)] {
        let iops = [1, 2, 4, 8, 16, 32].map(|depth| {
            exercise(name, |exercise| *exercise = Exercise { depth, requests: 8000, warm_up: 500, ..exercise.clone() }).iops()
        });
        assert!(iops.windows(2).all(|pair| pair[1] > 0.98 * pair[0]), "{name}: {iops:?}");
        assert!(iops[5] > gain * iops[0], "{name}: {iops:?}");
    }
}

#[test]
fn two_streams_of_small_reads_cost_the_arm_a_seek_each() {
    let rate = |name: &str, streams: u32| {
        exercise(name, |exercise| {
            *exercise = Exercise { order: Order::Streams(streams), block_bytes: 64 << 10, ..exercise.clone() };
        })
        .mb_s()
    };
    assert!(rate("sata-hdd", 2) < rate("sata-hdd", 1) / 10.0);
    assert!(rate("fc-array", 2) > rate("fc-array", 1));
}

#[test]
fn a_longer_way_takes_longer() {
    let mean_ms = |distance: u64| {
        let times =
            (0..400).map(|seed| time_of(&mut Disk::new(&preset("sata-hdd"), DISK, seed), 0, &[request(0, Operation::Read, distance, 512)]));
        times.sum::<Ns>() as f64 / 400.0 / 1e6
    };
    let means = [8 << 20, 64 << 20, 512 << 20, 2 * GIB, 8 * GIB - 512].map(mean_ms);
    assert!(means.windows(2).all(|pair| pair[1] > pair[0]), "{means:?}");
    assert!((means[4] - (0.1 + 15.06 + 4.17)).abs() < 0.5, "{means:?}: full stroke and half a turn");
}

#[test]
fn nobody_starves() {
    // Thirty readers near the arm, one at the other end of the disk.
    for (name, limit) in [("sata-hdd", 2100 * MS), ("fc-array", 100 * MS)] {
        let mut disk = Disk::new(&preset(name), DISK, 1);
        disk.submit(0, request(0, Operation::Read, DISK - 4096, 4096));
        let (mut next, mut offset, mut done) = (1, 0, None);
        for _ in 0..30 {
            disk.submit(0, request(next, Operation::Read, next * 1_000_000, 4096));
            next += 1;
        }
        while done.is_none() {
            let now = disk.next_event_ns().unwrap();
            while let Some(completion) = disk.take_completed(now) {
                offset = (offset + 7_654_321) % (100 << 20);
                disk.submit(now, request(next, Operation::Read, offset, 4096));
                next += 1;
                done = done.or((completion.id == 0).then_some(completion.at_ns));
            }
        }
        assert!(done.unwrap() < limit, "{name}: {} ms", done.unwrap() / MS);
    }
}

#[test]
fn a_flush_is_not_starved_by_a_stream() {
    let mut disk = Disk::new(&preset("sata-hdd"), DISK, 1);
    disk.submit(0, request(0, Operation::Write, 4 * GIB, 4096));
    disk.submit(MS, request(1, Operation::Flush, 0, 0));
    // A reader that is always right behind the arm.
    let (mut id, mut done) = (2, None);
    for _ in 0..4 {
        disk.submit(MS, request(id, Operation::Read, (id - 2) * 65_536, 65_536));
        id += 1;
    }
    while done.is_none() {
        let now = disk.next_event_ns().unwrap();
        while let Some(completion) = disk.take_completed(now) {
            match completion.id {
                0 => {}
                1 => done = Some(completion.at_ns),
                _ => {
                    disk.submit(now, request(id, Operation::Read, (id - 2) * 65_536, 65_536));
                    id += 1;
                }
            }
        }
    }
    assert!(done.unwrap() < 2100 * MS, "{} ms", done.unwrap() / MS);
}

#[test]
fn a_write_is_cached_until_somebody_insists() {
    let scattered: Vec<Request> = (0..50).map(|id| request(id, Operation::Write, id * 37 % 50 * (DISK / 50), 4096)).collect();
    let mut disk = Disk::new(&preset("sata-hdd"), DISK, 1);
    assert!(time_of(&mut disk, 0, &scattered) < 2 * MS, "in memory");
    let flushed = time_of(&mut disk, 2 * MS, &[request(50, Operation::Flush, 0, 0)]);
    assert!((100 * MS..500 * MS).contains(&flushed), "{} ms for 50 writes in the order of the platter", flushed / MS);
    assert!(time_of(&mut disk, 600 * MS, &[request(51, Operation::Flush, 0, 0)]) < MS, "nothing left");

    let forced = Request { fua: true, ..request(52, Operation::Write, GIB, 4096) };
    assert!(time_of(&mut disk, 700 * MS, &[forced]) > 2 * MS, "on the platter");
    let mut ssd = Disk::new(&preset("sata-ssd"), DISK, 1);
    assert!(time_of(&mut ssd, 0, &[request(0, Operation::Write, 0, 4096)]) < MS / 10);
    assert!(time_of(&mut ssd, MS, &[forced]) > MS / 2, "in flash");
    let mut array = Disk::new(&preset("fc-array"), DISK, 1);
    assert!(time_of(&mut array, 0, &[forced]) < MS, "protected memory is good enough");
    assert!(time_of(&mut array, MS, &[request(0, Operation::Flush, 0, 0)]) < MS);
}

#[test]
fn what_was_just_written_is_read_from_memory() {
    let mut disk = Disk::new(&preset("sata-hdd"), DISK, 1);
    time_of(&mut disk, 0, &[request(0, Operation::Write, 5 * GIB, 65_536)]);
    assert!(time_of(&mut disk, MS, &[request(1, Operation::Read, 5 * GIB + 4096, 4096)]) < MS);
}

#[test]
fn cached_writes_reach_the_platter_when_nobody_needs_it() {
    let mut disk = Disk::new(&preset("sata-hdd"), DISK, 1);
    time_of(&mut disk, 0, &[request(0, Operation::Write, 5 * GIB, 4096)]);
    // After the pause, a seek and a turn.
    assert!(time_of(&mut disk, 100 * MS, &[request(1, Operation::Flush, 0, 0)]) < MS);
}

#[test]
fn a_slower_disk_is_the_same_disk_in_slow_motion() {
    for (name, _) in PRESETS {
        let completions = |factor: f64| {
            let mut disk = Disk::new(&preset(name).slowed(factor), DISK, 3);
            (0..40).for_each(|id| disk.submit(0, request(id, Operation::Read, id * 71 % 40 * (DISK / 40), 8192)));
            drain(&mut disk)
        };
        for (plain, slow) in completions(1.0).iter().zip(completions(8.0)) {
            assert_eq!(plain.id, slow.id, "{name}");
            assert!(slow.at_ns.abs_diff(plain.at_ns * 8) <= 8, "{name}: {plain:?} and {slow:?}");
        }
    }
}

#[test]
fn a_seed_is_a_stream_of_chance() {
    for (name, _) in PRESETS {
        let measured = |seed: u64| run(&preset(name), DISK, &Exercise { depth: 4, ..Exercise::random_reads() }, seed);
        assert_eq!(measured(1), measured(1), "{name}");
        assert_ne!(measured(1), measured(2), "{name}");
    }
}

#[test]
fn a_reseeded_disk_is_like_a_new_one() {
    for (name, _) in PRESETS {
        let reads: Vec<Request> = (0..40).map(|id| request(id, Operation::Read, id * 71 % 40 * (DISK / 40), 8192)).collect();
        let begin = 12_345_678_901;
        let mut used = Disk::new(&preset(name), DISK, 99);
        time_of(&mut used, 0, &reads);
        used.reseed(begin, 5);
        let mut new = Disk::new(&preset(name), DISK, 5);
        for read in &reads {
            used.submit(begin, *read);
            new.submit(0, *read);
        }
        let shifted: Vec<Completion> = drain(&mut used).into_iter().map(|done| Completion { at_ns: done.at_ns - begin, ..done }).collect();
        assert_eq!(shifted, drain(&mut new), "{name}");
    }
}

/// A request at some time, in all forms that a driver may send.
fn any_request() -> impl Strategy<Value = (Ns, Operation, u64, u64, bool)> {
    let operation = prop_oneof![
        4 => Just(Operation::Read), 4 => Just(Operation::Write), 1 => Just(Operation::Flush),
        1 => Just(Operation::Trim), 1 => Just(Operation::Zero)
    ];
    let offset = prop_oneof![0u64..DISK, 0u64..(4 << 20), Just(0), Just(DISK - 1)];
    let bytes = prop_oneof![Just(0u64), 1u64..100, Just(4096), 4096u64..300_000, Just(40 << 20)];
    (0u64..20_000_000, operation, offset, bytes, any::<bool>())
}

proptest! {
    #[test]
    fn every_request_completes_once_in_the_order_of_time_whenever_it_is_asked_for(
        preset in 0..PRESETS.len(),
        requests in prop::collection::vec(any_request(), 1..120),
        seed in any::<u64>(),
        late in 0u64..3_000_000,
        slowdown in prop_oneof![Just(1.0), Just(0.1), Just(7.3)],
    ) {
        let model = DiskModel::preset(PRESETS[preset].0).unwrap().slowed(slowdown);
        let submit = |disk: &mut Disk, lateness: Option<u64>| {
            let (mut now, mut completions) = (0, Vec::new());
            for (id, (gap, operation, offset, bytes, fua)) in requests.iter().enumerate() {
                now += gap;
                if lateness.is_none() {
                    // A driver that looks whenever something happens.
                    while let Some(at) = disk.next_event_ns().filter(|at| *at <= now) {
                        completions.extend(disk.take_completed(at));
                    }
                }
                let bytes = (*bytes).min(DISK - offset);
                let (offset, bytes) = if *operation == Operation::Flush { (0, 0) } else { (*offset, bytes) };
                disk.submit(now, Request { id: id as u64, operation: *operation, offset, bytes, fua: *fua });
            }
            while let Some(at) = disk.next_event_ns() {
                completions.extend(disk.take_completed(at + lateness.unwrap_or(0)));
            }
            completions
        };
        let mut disk = Disk::new(&model, DISK, seed);
        let completions = submit(&mut disk, None);
        prop_assert_eq!(disk.outstanding(), 0);
        let mut ids: Vec<u64> = completions.iter().map(|done| done.id).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..requests.len() as u64).collect::<Vec<_>>());
        prop_assert!(completions.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns));
        let mut arrival = 0;
        for (id, (gap, ..)) in requests.iter().enumerate() {
            arrival += gap;
            let done = completions.iter().find(|done| done.id == id as u64).unwrap();
            prop_assert!(done.at_ns >= arrival);
        }
        // One that looks late is told the same.
        prop_assert_eq!(submit(&mut Disk::new(&model, DISK, seed), Some(late)), completions);
    }
}
