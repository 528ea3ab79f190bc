//! The kernel log of a trial, and what in it makes the trial a result of its own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blklab_model::outcome::Fault;
use blklab_wire::agent::{MAX_OUTPUT_BYTES, Output};

use super::{LabHost, fault};
use crate::cycle::machine::{Problem, Record};
use crate::sys::kernel_log::KernelLog;
use crate::sys::process::Captured;

/// What a kernel says when it is broken (kernel/panic.c, arch/x86/kernel/traps.c, mm/). Lock-ups and stalls are left out: on a virtual
/// machine they tell of its neighbours. They are in the kept log all the same.
const BROKEN: [&str; 6] =
    ["kernel BUG at", "BUG: kernel NULL pointer", "BUG: unable to handle", "BUG: KASAN", "general protection fault", "Oops:"];

impl LabHost {
    /// A host without /dev/kmsg, such as a container, measures all the same; the report says that nobody listened.
    pub(super) fn mark_kernel_log(&mut self, record: &mut Record) {
        match KernelLog::mark(&self.state.roots.dev) {
            Ok(log) => self.trial.kernel_log = Some(log),
            Err(error) => record.note("kernel.log", format!("not available: failed to {error}")),
        }
    }

    pub(super) fn collect_kernel_log(&mut self, record: &mut Record) -> Result<(), Problem> {
        let Some(mut log) = self.trial.kernel_log.take() else { return Ok(()) };
        let lines = log.since().map_err(fault(Fault::Lab))?;
        record.outputs.push(output("dmesg.txt", lines.join("\n").as_bytes(), 0));
        match lines.iter().find(|line| is_broken(line)) {
            Some(line) => Err(Problem::kernel(format!("the kernel reported a fault of its own: {line} (see dmesg.txt)"))),
            None => Ok(()),
        }
    }
}

fn is_broken(line: &str) -> bool {
    BROKEN.iter().any(|sign| line.contains(sign))
}

/// A raw output; beyond [`MAX_OUTPUT_BYTES`] it is cut.
pub(super) fn output(name: &str, bytes: &[u8], dropped: u64) -> Output {
    let kept = &bytes[..bytes.len().min(MAX_OUTPUT_BYTES)];
    let truncated_bytes = dropped + (bytes.len() - kept.len()) as u64;
    Output { name: name.to_owned(), base64: STANDARD.encode(kept), truncated_bytes }
}

/// Both outputs of a load.
pub(super) fn outputs_of(name: &str, stdout: &Captured, stderr: &Captured) -> [Output; 2] {
    [("out", stdout), ("err", stderr)].map(|(stream, captured)| output(&format!("{name}.{stream}"), &captured.head, captured.dropped))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_oops_is_told_from_a_complaint() {
        assert!(is_broken("[  12.000001] BUG: kernel NULL pointer dereference, address: 0000000000000010"));
        assert!(is_broken("[  12.000001] Oops: 0000 [#1] PREEMPT SMP"));
        for line in ["EXT4-fs (loop3): mounted filesystem", "watchdog: BUG: soft lockup - CPU#1 stuck", "I/O error, dev loop3, sector 8"] {
            assert!(!is_broken(line), "{line}");
        }
    }

    #[test]
    fn long_outputs_are_cut_and_say_so() {
        let output = output("a.out", &vec![0; MAX_OUTPUT_BYTES + 10], 5);
        assert_eq!(output.truncated_bytes, 15);
        assert_eq!(STANDARD.decode(output.base64).unwrap().len(), MAX_OUTPUT_BYTES);
    }
}
