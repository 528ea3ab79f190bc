//! blklab wire
