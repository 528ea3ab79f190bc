//! blklab agent
