//! The records of the monitor, and what they come to.
#![no_main]

use blklab_parse::monitor::{parse_monitor, summarise};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (records, _) = parse_monitor(bytes);
    let _ = summarise(&records, 0..=u64::MAX);
});
