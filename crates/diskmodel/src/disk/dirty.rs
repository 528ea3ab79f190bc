//! Ranges that a disk with arms has been given and not yet written, by place.

use std::collections::BTreeMap;

use super::Ns;

/// Neighbouring writes become one pass over the platter, up to this length: about a track, so that no read waits much longer than a
/// turn behind it.
const MAX_EXTENT_BYTES: u64 = 1 << 20;

/// Cached ranges that are looked at to either side of the arm. The nearest by place hold the nearest by time but for the last few per
/// cent, and the cost of a choice stays bounded.
const NEAR: usize = 64;

/// A range that is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Number of the oldest write in it, for flushes.
    pub(super) stamp: u64,
    /// When its oldest write came.
    pub(super) since: Ns,
}

impl Extent {
    pub(super) fn bytes(&self) -> u64 {
        self.end - self.start
    }
}

#[derive(Debug, Default)]
pub(super) struct Dirty {
    /// By start; they do not overlap.
    extents: BTreeMap<u64, Extent>,
    bytes: u64,
}

impl Dirty {
    pub(super) fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a write; what it overwrites need not be written any more.
    pub(super) fn insert(&mut self, mut new: Extent) {
        for old in self.overlapping(new.start, new.end) {
            self.remove(old.start);
            // A flush that waits for the old data is served by the new ones.
            new.stamp = new.stamp.min(old.stamp);
            new.since = new.since.min(old.since);
            for rest in [Extent { end: new.start, ..old }, Extent { start: new.end, ..old }] {
                if rest.start < rest.end {
                    self.put(rest);
                }
            }
        }
        let before = self.extents.range(..new.start).next_back().map(|(_, extent)| *extent);
        let after = self.extents.get(&new.end).copied();
        for neighbour in [before.filter(|extent| extent.end == new.start), after].into_iter().flatten() {
            if neighbour.bytes() + new.bytes() <= MAX_EXTENT_BYTES {
                self.remove(neighbour.start);
                new = Extent {
                    start: new.start.min(neighbour.start),
                    end: new.end.max(neighbour.end),
                    stamp: new.stamp.min(neighbour.stamp),
                    since: new.since.min(neighbour.since),
                };
            }
        }
        self.put(new);
    }

    /// Takes the range that begins here.
    pub(super) fn remove(&mut self, start: u64) -> Option<Extent> {
        let extent = self.extents.remove(&start)?;
        self.bytes -= extent.bytes();
        Some(extent)
    }

    /// Whether all of a range is here.
    pub(super) fn covers(&self, start: u64, end: u64) -> bool {
        let mut reached = start;
        for extent in self.overlapping(start, end) {
            if extent.start > reached {
                return false;
            }
            reached = extent.end;
        }
        reached >= end
    }

    /// The ranges nearest to a byte.
    pub(super) fn near(&self, byte: u64) -> impl Iterator<Item = &Extent> {
        let after = self.extents.range(byte..).take(NEAR);
        let before = self.extents.range(..byte).rev().take(NEAR);
        after.chain(before).map(|(_, extent)| extent)
    }

    /// The range with the oldest write.
    pub(super) fn oldest(&self) -> Option<&Extent> {
        self.extents.values().min_by_key(|extent| extent.stamp)
    }

    fn put(&mut self, extent: Extent) {
        self.bytes += extent.bytes();
        self.extents.insert(extent.start, extent);
    }

    fn overlapping(&self, start: u64, end: u64) -> Vec<Extent> {
        let first = self.extents.range(..=start).next_back().map(|(_, extent)| *extent).filter(|extent| extent.end > start);
        let from = first.map_or(start, |extent| extent.start);
        self.extents.range(from..end.max(from)).map(|(_, extent)| *extent).filter(|extent| extent.end > start).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn extent(start: u64, end: u64, stamp: u64) -> Extent {
        Extent { start, end, stamp, since: stamp }
    }

    #[test]
    fn neighbours_become_one_pass_of_bounded_length() {
        let mut dirty = Dirty::default();
        for block in [0, 2, 1] {
            dirty.insert(extent(block * 4096, (block + 1) * 4096, block));
        }
        assert_eq!(dirty.oldest(), Some(&extent(0, 3 * 4096, 0)));
        for block in 3..1000 {
            dirty.insert(extent(block * 4096, (block + 1) * 4096, block));
        }
        assert!(dirty.near(0).all(|extent| extent.bytes() <= MAX_EXTENT_BYTES));
        assert_eq!(dirty.near(0).count(), 4);
    }

    proptest! {
        #[test]
        fn it_holds_what_was_written_and_not_removed(ops in prop::collection::vec((0u64..60, 1u64..9, prop::bool::ANY), 1..60)) {
            let mut dirty = Dirty::default();
            let mut blocks = [None::<u64>; 80];
            for (stamp, (start, length, removes)) in ops.into_iter().enumerate() {
                if removes {
                    if let Some(extent) = dirty.oldest().copied() {
                        dirty.remove(extent.start);
                        blocks[extent.start as usize..extent.end as usize].fill(None);
                    }
                } else {
                    dirty.insert(extent(start, start + length, stamp as u64));
                    blocks[start as usize..(start + length) as usize].fill(Some(stamp as u64));
                }
                prop_assert_eq!(dirty.bytes(), blocks.iter().flatten().count() as u64);
                for probe in 0..79 {
                    prop_assert_eq!(dirty.covers(probe, probe + 1), blocks[probe as usize].is_some());
                }
                // A flush of everything up to now must find each block behind a stamp that is old enough.
                for (block, stamp) in blocks.iter().enumerate() {
                    if let Some(stamp) = stamp {
                        let holder = dirty.near(0).find(|extent| (extent.start..extent.end).contains(&(block as u64))).unwrap();
                        prop_assert!(holder.stamp <= *stamp);
                    }
                }
            }
        }
    }
}
