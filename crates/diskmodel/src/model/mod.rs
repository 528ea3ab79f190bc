//! What a disk model is: its parameters, in the units of data sheets. How they are read: `file`; how they are written: `text`.

mod file;
mod preset;
mod text;

use serde::Serialize;

pub use preset::PRESETS;

/// How a disk serves requests.
///
/// Made by [`DiskModel::parse`], [`DiskModel::load`] or [`DiskModel::preset`], which keep every number in its range.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiskModel {
    /// A word, as in `sata-hdd`.
    pub name: String,
    /// A line for people.
    pub title: String,
    /// Every time is multiplied by this. An emulated guest adds about 0.25 ms to each I/O, so fast disks can only be studied slowed.
    pub slowdown: f64,
    /// Requests that the disk looks at together; others wait outside, in order.
    pub queue_depth: u32,
    /// What is inside.
    #[serde(flatten)]
    pub mechanics: Mechanics,
}

/// What is inside a disk.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanics {
    /// Arms over rotating platters: one thing at a time, and where it is matters.
    Rotational(Rotational),
    /// Flash or an array: several servers, and where it is does not matter.
    Parallel(Parallel),
}

/// A disk with arms and platters.
///
/// The image is the whole disk: however small, it spans the full stroke.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rotational {
    /// Revolutions per minute.
    pub rpm: f64,
    /// From the arrival of a command to when the arm may move for it, in microseconds. Overlaps with other commands.
    pub overhead_us: f64,
    /// Seek to the next track, and switch to the next head, in milliseconds.
    pub track_to_track_ms: f64,
    /// Mean seek over all pairs of tracks, in milliseconds.
    pub average_seek_ms: f64,
    /// Seek over all tracks, in milliseconds; none lets the curve be a pure square root of the distance.
    pub full_stroke_ms: Option<f64>,
    /// Added to a seek that ends in a write, in milliseconds.
    pub write_settle_ms: f64,
    /// Sustained rate of the first byte, in MB/s (10^6).
    pub outer_mb_s: f64,
    /// Sustained rate of the last byte, in MB/s (10^6).
    pub inner_mb_s: f64,
    /// Rate of the interface, in MB/s (10^6).
    pub link_mb_s: f64,
    /// Streams that the buffer remembers; 0: no buffer for reads, so that each read waits for the platter.
    pub read_segments: u32,
    /// How far each is read ahead while nothing else is to do, in KiB.
    pub read_segment_kib: u32,
    /// Room for writes that are answered before they are on the platter, in KiB; 0: none.
    pub write_cache_kib: u32,
    /// Cached writes go to the platter when no request has come for this long, in milliseconds.
    pub idle_ms: f64,
    /// A request that waited longer is served before all younger ones, in milliseconds.
    pub age_limit_ms: f64,
}

/// A disk that serves several requests at a time, wherever they are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Parallel {
    /// The front end's time for a request, one after the other, in microseconds: its inverse is the most requests a second.
    pub command_us: f64,
    /// Added to each request, without occupying anything, in microseconds.
    pub overhead_us: f64,
    /// Stripes that are served at a time.
    pub servers: u32,
    /// A server's time for a stripe of a read, without the transfer, in microseconds.
    pub read_us: f64,
    /// A server's time for a stripe of a write, without the transfer, in microseconds.
    pub write_us: f64,
    /// Requests are cut at multiples of this, and the pieces served in parallel, in KiB.
    pub stripe_kib: u32,
    /// Transfer rate of a server, in MB/s (10^6).
    pub server_mb_s: f64,
    /// Rate of the interface in each direction, in MB/s (10^6).
    pub link_mb_s: f64,
    /// Service times vary evenly by this much to either side, in per cent.
    pub spread_pct: f64,
    /// One in so many services of a read is slow, at random; 0: none.
    pub slow_one_in: u32,
    /// What a slow one takes on top, in microseconds.
    pub slow_us: f64,
    /// Streams of reads that are recognised and served from memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ahead: Option<ReadAhead>,
    /// Writes that are answered from memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<WriteCache>,
}

/// Reading ahead of a stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReadAhead {
    /// Streams that are followed at a time.
    pub streams: u32,
    /// How far each is read ahead, in KiB.
    pub kib: u32,
    /// Time of a read from memory, without the transfer, in microseconds.
    pub hit_us: f64,
}

/// A write cache of a [`Parallel`] disk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WriteCache {
    /// Room, in KiB.
    pub kib: u32,
    /// Time of a write to memory, without the transfer, in microseconds.
    pub write_us: f64,
    /// Lost without power, so that a flush waits until it is empty and a write with FUA goes past it.
    pub volatile: bool,
    /// What a flush takes besides, in microseconds.
    pub flush_us: f64,
}

impl DiskModel {
    /// The same disk, all of whose times are `factor` times as long.
    #[must_use]
    pub fn slowed(mut self, factor: f64) -> DiskModel {
        self.slowdown *= factor;
        self
    }

    /// True for a disk with platters: what a guest should see in `queue/rotational`.
    pub fn is_rotational(&self) -> bool {
        match self.mechanics {
            Mechanics::Rotational(_) => true,
            Mechanics::Parallel(_) => false,
        }
    }
}
