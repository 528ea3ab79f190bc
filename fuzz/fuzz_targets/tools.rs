//! Every parser of a tool on the same bytes: no panic, and no value that nothing could have measured.
#![no_main]

use blklab_parse::{Tool, check_field, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|output: &[u8]| {
    for tool in Tool::ALL {
        if let Ok(parsed) = parse(tool, output) {
            for (field, value) in parsed.values {
                assert!(value.is_finite() && value >= 0.0, "{tool} {field} = {value}");
                assert!(check_field(tool, &field).is_ok(), "{tool} has no field {field}");
            }
        }
    }
});
