//! blklab parse
