//! blklab model
