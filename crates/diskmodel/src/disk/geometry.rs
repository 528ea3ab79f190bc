//! Where a byte is: its track, and when it passes under the head.
//!
//! Tracks are skewed by a track switch, so that a transfer over their border goes on without losing a turn. Then the time from any
//! byte to a later one on the same pass, [`Geometry::media_ns`], is also its angle: byte and head meet when
//! `(time + phase) mod turn = media_ns(byte) mod turn`. All in whole nanoseconds, so that the end of one request and the beginning of
//! the next are the same angle.

use super::{Ns, ms};
use crate::model::Rotational;

/// Bands of equal rate. Real disks have 15 to 30.
const ZONES: u64 = 16;

/// Tracks hold whole sectors.
const SECTOR_BYTES: u64 = 512;

/// The layout of a rotational disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Geometry {
    turn_ns: Ns,
    /// A track and the switch to the next one.
    pitch_ns: Ns,
    zones: Vec<Zone>,
    tracks: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct Zone {
    first_byte: u64,
    first_track: u64,
    track_bytes: u64,
}

impl Geometry {
    /// Lays `bytes` bytes out.
    pub fn new(model: &Rotational, bytes: u64) -> Geometry {
        let turn_ns = (60e9 / model.rpm).round() as Ns;
        let pitch_ns = turn_ns + ms(model.track_to_track_ms);
        let (mut zones, mut byte, mut track) = (Vec::new(), 0, 0);
        for zone in 0..ZONES {
            // The rate of the zone's middle.
            let share = (zone as f64 + 0.5) / ZONES as f64;
            let mb_s = model.outer_mb_s + (model.inner_mb_s - model.outer_mb_s) * share;
            // Sustained rates count the switches.
            let sectors = (mb_s * 1e-3 * pitch_ns as f64 / SECTOR_BYTES as f64).round() as u64;
            let track_bytes = sectors.max(1) * SECTOR_BYTES;
            let end = u128::from(bytes) * u128::from(zone + 1) / u128::from(ZONES);
            let tracks = (end as u64).saturating_sub(byte).div_ceil(track_bytes);
            if tracks > 0 {
                zones.push(Zone { first_byte: byte, first_track: track, track_bytes });
                byte += tracks * track_bytes;
                track += tracks;
            }
        }
        if zones.is_empty() {
            zones.push(Zone { first_byte: 0, first_track: 0, track_bytes: SECTOR_BYTES });
        }
        Geometry { turn_ns, pitch_ns, zones, tracks: track.max(1) }
    }

    /// Time of one revolution.
    pub fn turn_ns(&self) -> Ns {
        self.turn_ns
    }

    /// How many tracks there are.
    pub fn tracks(&self) -> u64 {
        self.tracks
    }

    /// The track of a byte, from 0 at the outer edge.
    pub fn track(&self, byte: u64) -> u64 {
        let zone = self.zone_of(byte);
        zone.first_track + (byte - zone.first_byte) / zone.track_bytes
    }

    /// Time of a pass over all bytes before this one.
    pub fn media_ns(&self, byte: u64) -> Ns {
        let zone = self.zone_of(byte);
        let inside = byte - zone.first_byte;
        let track = zone.first_track + inside / zone.track_bytes;
        track * self.pitch_ns + inside % zone.track_bytes * self.turn_ns / zone.track_bytes
    }

    /// The byte that a pass from the beginning has reached after this time.
    pub fn byte_at(&self, media_ns: Ns) -> u64 {
        let track = media_ns / self.pitch_ns;
        let index = self.zones.partition_point(|zone| zone.first_track <= track).max(1) - 1;
        let zone = &self.zones[index];
        let rest = (media_ns % self.pitch_ns).min(self.turn_ns);
        zone.first_byte + (track - zone.first_track) * zone.track_bytes + rest * zone.track_bytes / self.turn_ns
    }

    /// Time until the byte at `media_ns` is under the head, when the platter has turned for `turned_ns` since it was at angle 0.
    pub fn rotation_ns(&self, media_ns: Ns, turned_ns: Ns) -> Ns {
        (media_ns % self.turn_ns + self.turn_ns - turned_ns % self.turn_ns) % self.turn_ns
    }

    fn zone_of(&self, byte: u64) -> &Zone {
        let index = self.zones.partition_point(|zone| zone.first_byte <= byte);
        &self.zones[index.max(1) - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DiskModel, Mechanics};

    fn geometry(bytes: u64) -> Geometry {
        match &DiskModel::preset("sata-hdd").unwrap().mechanics {
            Mechanics::Rotational(model) => Geometry::new(model, bytes),
            Mechanics::Parallel(_) => panic!("a hard disk has platters"),
        }
    }

    #[test]
    fn a_pass_takes_the_sustained_rate_of_its_zone() {
        let geometry = geometry(8 << 30);
        let rate = |from: u64| (100 << 20) as f64 * 1e3 / (geometry.media_ns(from + (100 << 20)) - geometry.media_ns(from)) as f64;
        assert!((rate(0) - 123.0).abs() < 0.5, "{}", rate(0));
        assert!((rate((8 << 30) - (110 << 20)) - 64.0).abs() < 0.5, "{}", rate((8 << 30) - (110 << 20)));
    }

    #[test]
    fn bytes_and_times_belong_together() {
        for bytes in [0, 1, 512, 100_000, 1 << 20, 40 << 20, (8 << 30) + 5] {
            let geometry = geometry(bytes);
            let mut last = (0, 0);
            for step in 0..=1000 {
                let byte = (u128::from(bytes) * step / 1000) as u64;
                let at = (geometry.track(byte), geometry.media_ns(byte));
                assert!(at >= last, "later bytes are on later tracks, at later times");
                assert!(geometry.byte_at(at.1).abs_diff(byte) <= 1, "{byte} of {bytes}");
                last = at;
            }
            assert!(geometry.track(bytes.saturating_sub(1)) < geometry.tracks());
        }
    }

    #[test]
    fn a_missed_byte_costs_a_turn() {
        let geometry = geometry(1 << 30);
        let at = geometry.media_ns(123 << 20);
        assert_eq!(geometry.rotation_ns(at, at), 0);
        assert_eq!(geometry.rotation_ns(at, at + 1), geometry.turn_ns() - 1);
        assert_eq!(geometry.rotation_ns(at, at - 1), 1);
    }
}
