//! blklab lab-tests
