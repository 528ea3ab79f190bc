//! Reports as they go out: small enough for the coordinator, whatever the loads wrote.

use blklab_wire::agent::{MAX_REPORT_BYTES, Output, TrialReport};

/// Bytes of JSON for everything in a report but its outputs.
const REST_BYTES: usize = 1 << 20;

/// Four characters of base64 carry three bytes (RFC 4648).
const QUANTUM: usize = 4;

/// The JSON of a report.
pub(super) fn json(report: &TrialReport) -> Vec<u8> {
    serde_json::to_vec(report).expect("reports are plain data")
}

/// Cuts the longest outputs until all fit; each says how much it lost.
pub(super) fn fit(outputs: &mut [Output]) {
    while outputs.iter().map(|output| output.base64.len()).sum::<usize>() > MAX_REPORT_BYTES - REST_BYTES {
        let Some(longest) = outputs.iter_mut().max_by_key(|output| output.base64.len()) else { return };
        halve(longest);
    }
}

fn halve(output: &mut Output) {
    let before = decoded_bytes(&output.base64);
    output.base64.truncate(output.base64.len() / 2 / QUANTUM * QUANTUM);
    output.truncated_bytes += (before - decoded_bytes(&output.base64)) as u64;
}

fn decoded_bytes(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / QUANTUM
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    #[test]
    fn the_longest_are_cut_and_stay_readable() {
        let output = |name: &str, bytes: usize| Output { name: name.into(), base64: STANDARD.encode(vec![7; bytes]), truncated_bytes: 0 };
        let mut outputs = vec![output("short", 1000)];
        outputs.extend((0..10).map(|n| output(&n.to_string(), (4 << 20) - 1)));
        fit(&mut outputs);
        assert!(outputs.iter().map(|output| output.base64.len()).sum::<usize>() < MAX_REPORT_BYTES);
        assert_eq!(outputs[0].truncated_bytes, 0);
        for output in &outputs[1..] {
            let kept = STANDARD.decode(&output.base64).unwrap().len() as u64;
            assert_eq!(kept + output.truncated_bytes, (4 << 20) - 1);
        }
    }
}
