//! The loads by which a real disk is fitted: each as a job of fio(1) and as an exercise of the simulation, from one table.

use std::fmt::Write as _;

use crate::disk::Operation;
use crate::exercise::{Exercise, Order};

/// How long fio measures each job, in seconds: a thousand random reads of a slow disk, whose mean is then known to 1 per cent.
const RUNTIME_S: u32 = 15;

/// How long each job runs before it is measured, in seconds: caches fill.
const RAMP_S: u32 = 5;

/// A load.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Name of the fio job.
    pub name: &'static str,
    /// What the simulation does.
    pub exercise: Exercise,
}

/// All jobs, in the order in which fio runs them.
pub fn jobs() -> Vec<Job> {
    let reads = Exercise { requests: 2000, ..Exercise::random_reads() };
    let stream = |kib: u64| Exercise { order: Order::Streams(1), block_bytes: kib << 10, ..reads.clone() };
    // Caches of writes are full before it counts, as after the ramp of fio.
    let writes = Exercise { operation: Operation::Write, warm_up: 3000, ..reads.clone() };
    let flushed = Exercise { operation: Operation::Write, flush: true, ..reads.clone() };
    [
        ("random-read-1", reads.clone()),
        ("random-read-8", Exercise { depth: 8, warm_up: 200, ..reads.clone() }),
        ("random-read-32", Exercise { depth: 32, warm_up: 400, requests: 4000, ..reads.clone() }),
        ("random-read-64k", Exercise { block_bytes: 64 << 10, ..reads.clone() }),
        ("near-read-1", Exercise { span_share: 0.01, ..reads.clone() }),
        ("tenth-read-1", Exercise { span_share: 0.1, ..reads.clone() }),
        ("sequential-read", stream(128)),
        ("sequential-read-end", Exercise { from_share: 0.95, ..stream(128) }),
        ("sequential-read-small", stream(4)),
        ("sequential-read-deep", Exercise { depth: 4, ..stream(1024) }),
        ("random-write-1", writes.clone()),
        ("random-write-32", Exercise { depth: 32, ..writes.clone() }),
        ("random-write-flush", flushed.clone()),
        ("following-write-flush", Exercise { order: Order::Streams(1), ..flushed }),
        ("sequential-write-deep", Exercise { depth: 4, order: Order::Streams(1), block_bytes: 1 << 20, warm_up: 200, ..writes }),
    ]
    .into_iter()
    .map(|(name, exercise)| Job { name, exercise })
    .collect()
}

impl Job {
    /// Whether it destroys what is on the disk.
    pub fn writes(&self) -> bool {
        self.exercise.operation != Operation::Read
    }

    fn section(&self) -> String {
        let exercise = &self.exercise;
        let verb = match (exercise.operation, exercise.order) {
            (Operation::Write, Order::Random) => "randwrite",
            (Operation::Write, Order::Streams(_)) => "write",
            (_, Order::Random) => "randread",
            (_, Order::Streams(_)) => "read",
        };
        let mut text = format!("[{}]\nstonewall\nrw={verb}\nbs={}k\niodepth={}\n", self.name, exercise.block_bytes >> 10, exercise.depth);
        if exercise.from_share > 0.0 {
            writeln!(text, "offset={}%", exercise.from_share * 100.0).expect("a String takes everything");
        }
        if exercise.span_share < 1.0 {
            writeln!(text, "size={}%", exercise.span_share * 100.0).expect("a String takes everything");
        }
        if exercise.flush {
            text.push_str("fsync=1\n");
        }
        text
    }
}

/// The job file for fio: the jobs that only read, or those that write too.
pub fn job_file(writes: bool) -> String {
    let what = if writes { "THE JOBS IN HERE WRITE ALL OVER THE DISK" } else { "The jobs in here only read" };
    let mut text = format!(
        "# {what}. Run: DISK=/dev/sdX fio --output-format=json --output=FILE.json THIS-FILE
[global]
filename=${{DISK}}
direct=1
ioengine=libaio
norandommap=1
time_based=1
ramp_time={RAMP_S}
runtime={RUNTIME_S}
"
    );
    for job in jobs().iter().filter(|job| job.writes() == writes) {
        text.push('\n');
        text.push_str(&job.section());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_files() {
        insta::assert_snapshot!(format!("{}\n{}", job_file(false), job_file(true)));
    }
}
