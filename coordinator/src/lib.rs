//! blklab coordinator
