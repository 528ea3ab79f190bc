//! Kernels, boots and clocks in words. Knows the report; knows no markup.

use blklab_model::crash::BOOT_STEP;
use blklab_model::kernel::{Clock, KernelSource};
use blklab_model::report::{KernelFaults, Report, ReportKernel};

use super::number::percent;
use super::when::span;

/// What results under the virtual clock can and cannot say.
pub(crate) const VIRTUAL: &str = "Times are virtual: a host's clock counts its instructions, so they are free of this machine's noise. They \
     show what the block layer decides and how much it computes; they cannot show what caches, locks, memory or several processors cost.";

/// Where a kernel comes from, in one line.
pub(crate) fn source(source: &KernelSource) -> String {
    source.summary().replacen('`', "“", 1).replace('`', "”")
}

/// `12 boots, 6.3 s each; 3 more failed`.
pub(crate) fn boots(kernel: &ReportKernel) -> String {
    let each = kernel.boot_ms.map(|ms| if kernel.boots == 1 { format!(", {}", span(ms)) } else { format!(", {} each", span(ms)) });
    let plural = if kernel.boots == 1 { "" } else { "s" };
    let came_up = format!("{} boot{plural}{}", kernel.boots, each.unwrap_or_default());
    match (kernel.boots, kernel.failed_boots) {
        (0, 0) => "not booted yet".to_owned(),
        (_, 0) => came_up,
        (0, failed) => format!("never came up in {failed} boot{}", if failed == 1 { "" } else { "s" }),
        (_, failed) => format!("{came_up}; {failed} more failed"),
    }
}

/// Where the time went; none before there is any. Boots take the world's time also where trials take virtual time, so the two are not
/// added up there.
pub(crate) fn time(report: &Report) -> Option<String> {
    let (time, is_virtual) = (&report.time, report.clock == Clock::Virtual);
    let boot = time.boot_ms();
    let total = time.total_ms() - if is_virtual { boot } else { 0 };
    let share = |ms: u64| percent((ms as f64 / total as f64 * 100.0).round());
    let parts = time.phases.iter().filter(|(phase, ms)| *ms > 0 && !(is_virtual && phase == BOOT_STEP));
    let parts: Vec<String> = parts.map(|(phase, ms)| format!("{phase} {} ({})", span(*ms), share(*ms))).collect();
    let unit = if is_virtual { "virtual time in trials" } else { "host time" };
    let booted = if is_virtual && boot > 0 { format!("; boots took {} of the world's time", span(boot)) } else { String::new() };
    let overhead = total - time.measured_ms().min(total);
    (total > 0).then(|| format!("{} of {unit}, {} of it overhead: {}{booted}", span(total), share(overhead), parts.join(", ")))
}

/// What runs of one boot and what boots differ by, and what follows; none where each boot runs once.
pub(crate) fn runs(report: &Report) -> Option<String> {
    let runs = report.runs_per_boot;
    let means = format!("{runs} runs in each boot, whose mean is one value");
    match report.spread {
        None if runs < 2 => None,
        None => Some(means),
        Some(spread) => Some(format!(
            "{means}; CV of runs {}, of boots {}; a boot costs {:.1} runs: {} would pay off",
            percent(spread.run_cv_pct),
            percent(spread.boot_cv_pct),
            spread.cost_ratio,
            if spread.advised == 1 { "one run a boot".to_owned() } else { format!("{} runs a boot", spread.advised) },
        )),
    }
}

/// `3 of 6 panicked`, `0 of 6`.
pub(crate) fn failed(faults: &KernelFaults) -> String {
    let verb = if faults.failed > 0 { faults.verb() } else { "" };
    format!("{} of {} {verb}", faults.failed, faults.ended).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing;

    #[test]
    fn runs_of_a_boot_in_words() {
        let mut report = testing::kernels();
        assert_eq!(runs(&report), None);
        report.runs_per_boot = 3;
        assert_eq!(runs(&report).unwrap(), "3 runs in each boot, whose mean is one value");
        report.spread = Some(blklab_model::report::BootSpread { run_cv_pct: 2.0, boot_cv_pct: 0.5, cost_ratio: 2.25, advised: 7 });
        assert_eq!(
            runs(&report).unwrap().replace('\u{a0}', " "),
            "3 runs in each boot, whose mean is one value; CV of runs 2 %, of boots 0.5 %; a boot costs 2.2 runs: 7 runs a boot would pay off"
        );
    }

    #[test]
    fn boots_and_time_in_words() {
        let mut report = testing::kernels();
        let words: Vec<String> = report.kernels.iter().map(boots).collect();
        assert_eq!(words, ["5 boots, 6.3 s each", "5 boots, 6.3 s each", "never came up in 5 boots"]);
        let text = time(&report).unwrap().replace('\u{a0}', " ");
        assert_eq!(
            text,
            "2 min 6 s of host time, 73 % of it overhead: boot 1 min 3 s (50 %), mkfs 6.3 s (5 %), prepare 19 s (15 %), \
             drop caches 1.7 s (1 %), workload 35 s (27 %), unmount 1.1 s (1 %)"
        );
        report.clock = Clock::Virtual;
        let text = time(&report).unwrap();
        assert!(text.contains("virtual time in trials") && text.ends_with("; boots took 1 min 3 s of the world's time"), "{text}");
        assert!(!text.contains("boot 1 min"), "{text}");
    }
}
