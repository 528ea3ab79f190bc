//! What happened to a kernel that ended: from what its machine and its console say, as a pure function.

use blklab_model::crash::{Crash, CrashKind};

use super::console::{around, last_lines};

/// How a kernel ended, as seen from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    /// Had its agent answered?
    pub answered: bool,
    /// The panic device said so (pvpanic).
    pub panicked: bool,
    /// The watchdog bit.
    pub watchdog: bool,
    /// Why it is over.
    pub cause: Cause,
}

/// Why it is over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cause {
    /// It was given this long and had not answered, or not said that it lives.
    #[default]
    Silent,
    /// The machine switched off or reset itself from inside.
    Off,
    /// The machine was switched off or killed from outside.
    Killed(String),
    /// The machine could not be started with this kernel.
    NotStarted(String),
    /// The agent said that it cannot work on this kernel.
    Refused(String),
    /// The line to the agent broke.
    Cut(String),
}

/// Lines by which a kernel says that it is over, the most telling first: (sign, kind). Signs are compared with what follows the time stamp.
const SIGNS: [(&str, CrashKind); 12] = [
    ("Kernel panic - not syncing", CrashKind::Panic),
    ("BUG: kernel NULL pointer", CrashKind::Oops),
    ("BUG: unable to handle", CrashKind::Oops),
    ("kernel BUG at", CrashKind::Oops),
    ("Oops:", CrashKind::Oops),
    ("general protection fault", CrashKind::Oops),
    ("Internal error:", CrashKind::Oops),
    ("watchdog: BUG: soft lockup", CrashKind::Hang),
    ("NMI watchdog: Watchdog detected hard LOCKUP", CrashKind::Hang),
    ("rcu: INFO: rcu_sched detected stalls", CrashKind::Hang),
    ("INFO: task", CrashKind::Hang),
    ("List of all partitions:", CrashKind::DoesNotBoot),
];

/// Panics that a watchdog or a hang detector asked for: what they stand for is a hang.
const HANG_PANICS: [&str; 5] =
    ["hung_task: blocked tasks", "softlockup: hung tasks", "NMI: Not continuing", "Hard LOCKUP", "NMI: IOCK error"];

/// Lines of context before and after the one that tells.
const BEFORE: usize = 12;
const AFTER: usize = 30;

/// Lines of a console that tells nothing.
const LAST: usize = 25;

/// Decides.
pub fn judge(ending: &Ending, console: &str) -> Crash {
    let said = said(console);
    let crash = |kind, title: String| {
        let excerpt = said.as_ref().map_or_else(|| last_lines(console, LAST), |said| around(console, said.index, BEFORE, AFTER));
        Crash { kind, title, excerpt }
    };
    if let Cause::NotStarted(reason) = &ending.cause {
        return crash(CrashKind::DoesNotBoot, reason.clone());
    }
    if let Some(said) = &said
        && said.kind != CrashKind::Hang
    {
        let is_hang = ending.watchdog || HANG_PANICS.iter().any(|sign| said.title.contains(sign));
        return match (said.kind, is_hang) {
            (_, true) => crash(CrashKind::Hang, said.title.clone()),
            // A machine that is pulled from under a kernel which only oopsed long ago is still one that was pulled.
            (CrashKind::Oops, false) if matches!(ending.cause, Cause::Killed(_)) => crash(CrashKind::PowerLost, killed(ending)),
            (kind, false) => crash(kind, said.title.clone()),
        };
    }
    // Before the panic: the watchdog's interrupt is what the kernel panics of.
    if ending.watchdog {
        return crash(
            CrashKind::Hang,
            said.as_ref().map_or_else(|| "its watchdog was not petted any more".to_owned(), |s| s.title.clone()),
        );
    }
    if ending.panicked {
        return crash(CrashKind::Panic, "the kernel panicked without a message on its console".to_owned());
    }
    match &ending.cause {
        Cause::Killed(_) => crash(CrashKind::PowerLost, killed(ending)),
        Cause::Off if ending.answered => crash(CrashKind::PowerLost, "it switched itself off or was reset".to_owned()),
        Cause::Off => crash(CrashKind::DoesNotBoot, "it switched itself off or was reset before its agent answered".to_owned()),
        Cause::Silent => match said {
            Some(ref said) => crash(CrashKind::Hang, said.title.clone()),
            None if ending.answered => crash(CrashKind::Hang, "its agent does not answer any more".to_owned()),
            None => crash(CrashKind::DoesNotBoot, "its agent did not answer in time".to_owned()),
        },
        Cause::Refused(reason) => crash(CrashKind::DoesNotBoot, reason.clone()),
        Cause::Cut(reason) => crash(CrashKind::Lab, format!("the line to its agent broke: {reason}")),
        Cause::NotStarted(reason) => crash(CrashKind::DoesNotBoot, reason.clone()),
    }
}

fn killed(ending: &Ending) -> String {
    match &ending.cause {
        Cause::Killed(how) => format!("its machine was ended from outside: {how}"),
        Cause::Silent | Cause::Off | Cause::NotStarted(_) | Cause::Refused(_) | Cause::Cut(_) => "its machine is gone".to_owned(),
    }
}

/// A line by which the kernel explains itself.
struct Said {
    kind: CrashKind,
    title: String,
    index: usize,
}

/// The most telling line of a console.
fn said(console: &str) -> Option<Said> {
    SIGNS.iter().find_map(|(sign, kind)| {
        let (index, title) = console.lines().map(message).enumerate().find(|(_, text)| text.starts_with(sign))?;
        Some(Said { kind: *kind, title: plain(title), index })
    })
}

/// What follows `[   12.345678] ` or `[   12.345678][ T1] `.
fn message(line: &str) -> &str {
    let mut text = line.trim_start();
    while let Some((_, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        text = rest.trim_start();
    }
    text
}

/// A title without what changes from boot to boot (addresses, process numbers): equal faults have equal titles.
fn plain(title: &str) -> String {
    let word = |word: &str| {
        let hex = word.trim_start_matches("0x").trim_end_matches([',', ':', ')']);
        let is_address = hex.len() >= 8 && hex.chars().all(|c| c.is_ascii_hexdigit());
        if is_address { "ADDRESS".to_owned() } else { word.to_owned() }
    };
    title.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOT: &str = "[    0.000000] Linux version 6.1.0\n[    1.200000] sd 0:0:0:0: [sda] Attached SCSI disk\n";
    const PANIC: &str =
        "[    2.000000] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\n[    2.000001] CPU: 0\n";
    const OOPS: &str = "[   30.000000] BUG: kernel NULL pointer dereference, address: 0000000000000010\n[   30.1] Oops: 0002 [#1]\n";

    fn kind(ending: &Ending, console: &str) -> CrashKind {
        judge(ending, console).kind
    }

    #[test]
    fn each_way_to_end_has_its_kind() {
        let ending = |answered, cause| Ending { answered, cause, ..Ending::default() };
        let off = |answered| ending(answered, Cause::Off);
        let killed = |answered| ending(answered, Cause::Killed("signal: 9".into()));
        let panic = format!("{BOOT}{PANIC}");
        let oops = format!("{BOOT}{OOPS}");
        let oops_panic = format!("{oops}[   30.5] Kernel panic - not syncing: Fatal exception\n");
        let hung = format!("{BOOT}[  90.1] INFO: task fio:12 blocked for more than 30 seconds.\n");
        let hung_panic = format!("{hung}[  90.2] Kernel panic - not syncing: hung_task: blocked tasks\n");
        use CrashKind as K;
        let cases = [
            (off(false), panic.as_str(), K::Panic),
            (off(true), panic.as_str(), K::Panic),
            (off(true), oops_panic.as_str(), K::Panic),
            (off(true), BOOT, K::PowerLost),
            (off(false), BOOT, K::DoesNotBoot),
            (ending(false, Cause::Silent), BOOT, K::DoesNotBoot),
            (ending(false, Cause::Silent), "", K::DoesNotBoot),
            (ending(true, Cause::Silent), BOOT, K::Hang),
            (ending(true, Cause::Silent), oops.as_str(), K::Oops),
            (ending(true, Cause::Silent), hung.as_str(), K::Hang),
            (off(true), hung_panic.as_str(), K::Hang),
            (killed(true), BOOT, K::PowerLost),
            (killed(true), oops.as_str(), K::PowerLost),
            (killed(false), BOOT, K::PowerLost),
            (ending(false, Cause::NotStarted("the image is truncated".into())), "", K::DoesNotBoot),
            (ending(true, Cause::Refused("no disk".into())), BOOT, K::DoesNotBoot),
            (ending(true, Cause::Cut("EOF".into())), BOOT, K::Lab),
            (Ending { panicked: true, ..off(true) }, BOOT, K::Panic),
            (Ending { watchdog: true, ..off(true) }, BOOT, K::Hang),
            (Ending { watchdog: true, ..off(true) }, panic.as_str(), K::Hang),
            (Ending { watchdog: true, panicked: true, ..off(true) }, BOOT, K::Hang),
        ];
        for (ending, console, expected) in cases {
            assert_eq!(kind(&ending, console), expected, "{ending:?}\n{console}");
        }
    }

    #[test]
    fn equal_faults_have_equal_titles_and_show_where() {
        let crash = judge(&Ending { cause: Cause::Silent, answered: true, ..Ending::default() }, &format!("{BOOT}{OOPS}"));
        assert_eq!(crash.title, "BUG: kernel NULL pointer dereference, address: ADDRESS");
        assert!(crash.excerpt.contains("Attached SCSI disk") && crash.excerpt.contains("Oops: 0002"), "{}", crash.excerpt);
    }

    #[test]
    fn a_time_stamp_is_not_part_of_a_message() {
        assert_eq!(message("[    1.2][   T1] Oops: x"), "Oops: x");
        assert_eq!(message("<4>[x"), "<4>[x");
    }
}
