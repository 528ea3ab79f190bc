//! The kernel log of a trial, and what in it makes the trial a result of its own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blklab_model::outcome::Fault;
use blklab_wire::agent::{MAX_OUTPUT_BYTES, Output};

use super::{LabHost, fault};
use crate::cycle::machine::{Problem, Record};
use crate::sys::kernel_log::KernelLog;
use crate::sys::process::Captured;

/// How the message begins with which a kernel says that it is broken (kernel/panic.c, lib/bug.c, arch/x86/kernel/traps.c and dumpstack.c,
/// arch/x86/mm/fault.c, arch/arm64/mm/fault.c, mm/kasan/report.c). At the beginning only: `traps: fio[812] general protection fault` is the
/// crash of a program. Lock-ups and stalls are left out: on a virtual machine they tell of its neighbours. They are in the kept log all the
/// same.
const BROKEN: [&str; 11] = [
    "BUG: KASAN",
    "BUG: kernel NULL pointer",
    "BUG: unable to handle",
    "Internal error:",
    "Kernel panic - not syncing",
    "Oops:",
    "Unable to handle kernel",
    "divide error:",
    "general protection fault",
    "invalid opcode:",
    "kernel BUG at",
];

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
        let Some(line) = lines.iter().find(|line| is_broken(line)) else { return Ok(()) };
        // Locks may be held for ever and memory may be overwritten: nothing that this boot measures from now on means anything.
        self.state.journal.kernel_broke(line).map_err(fault(Fault::Lab))?;
        Err(Problem::kernel(format!("the kernel reported a fault of its own: {line} (see dmesg.txt)")))
    }
}

/// A line as [`KernelLog::since`] gives it: `[   12.000001] text`.
fn is_broken(line: &str) -> bool {
    let text = line.split_once("] ").map_or(line, |(_, text)| text);
    BROKEN.iter().any(|sign| text.starts_with(sign))
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
        for line in [
            "[   12.000001] BUG: kernel NULL pointer dereference, address: 0000000000000010",
            "[   12.000001] Oops: 0000 [#1] PREEMPT SMP",
            "[   12.000001] Oops: general protection fault, probably for non-canonical address 0xdead000000000122: 0000 [#1] SMP PTI",
            "[   12.000001] general protection fault: 0000 [#1] SMP",
            "[   12.000001] kernel BUG at block/blk-core.c:123!",
            "[12345.000001] Unable to handle kernel paging request at virtual address ffff000000000000",
        ] {
            assert!(is_broken(line), "{line}");
        }
        for line in [
            "[   12.000001] EXT4-fs (loop3): mounted filesystem",
            "[   12.000001] watchdog: BUG: soft lockup - CPU#1 stuck",
            "[   12.000001] I/O error, dev loop3, sector 8",
            "[   12.000001] traps: fio[812] general protection fault ip:7f2c sp:7ffd error:0 in libc.so.6",
            "[   12.000001] traps: fio[812] trap invalid opcode ip:55d0 sp:7ffd error:0 in fio",
            "[   12.000001] dd[123]: segfault at 0 ip 0000 sp 0000 error 4",
            "[   12.000001] systemd[1]: Starting to look for [#1] Oops: nothing",
        ] {
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
