//! Results that exist already: the format is detected, then read; and each reader meets what is not its own.
#![no_main]

use blklab_parse::results::{Data, Format, detect, read};
use libfuzzer_sys::fuzz_target;

const FORMATS: [Format; 8] = [Format::Table, Format::FioLog, Format::Hyperfine, Format::GoBench, Format::Phoronix, Format::Lkp, Format::Iostat, Format::IostatJson];

fuzz_target!(|bytes: &[u8]| {
    let detected = detect("matrix.json", bytes);
    for format in FORMATS.into_iter().chain(detected) {
        let Ok(set) = read(format, "x_lat.1.log", bytes) else { continue };
        for series in set.series {
            if let Data::Values(values) = series.data {
                assert!(values.iter().all(|one| one.value.is_finite()), "{format}");
            }
        }
    }
});
