//! blklab stats
