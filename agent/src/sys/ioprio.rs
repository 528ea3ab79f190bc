//! ioprio_set(2) and ioprio_get(2). Neither std nor rustix wraps them: the unsafe calls of the agent.

use blklab_model::workload::command::IoPriority;
use rustix::process::Pid;

use super::{Result, SysError};

/// `IOPRIO_WHO_PROCESS` of include/uapi/linux/ioprio.h.
const WHO_PROCESS: libc::c_int = 1;

/// The class sits above this bit (`IOPRIO_CLASS_SHIFT`).
const CLASS_SHIFT: u32 = 13;

/// Sets the I/O priority of the calling thread; what it executes inherits it.
pub fn set_own(priority: IoPriority) -> Result<()> {
    set(None, priority)
}

/// Sets the I/O priority of a thread, or of the calling one.
pub fn set(thread: Option<Pid>, priority: IoPriority) -> Result<()> {
    let (who, value) = (Pid::as_raw(thread), encode(priority));
    #[expect(unsafe_code, reason = "no safe wrapper exists; three integers by value, no memory is shared with the kernel")]
    // SAFETY: ioprio_set takes no pointers.
    let code = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, who, value) };
    if code == 0 {
        return Ok(());
    }
    Err(SysError::io(format!("set I/O priority {priority}"))(std::io::Error::last_os_error()))
}

/// The I/O priority of a thread; none where it was never set, and follows the nice value.
pub fn get(thread: Pid) -> Result<Option<IoPriority>> {
    #[expect(unsafe_code, reason = "no safe wrapper exists; two integers by value, no memory is shared with the kernel")]
    // SAFETY: ioprio_get takes no pointers.
    let code = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, thread.as_raw_nonzero().get()) };
    if code < 0 {
        return Err(SysError::io("read an I/O priority")(std::io::Error::last_os_error()));
    }
    Ok(decode(code))
}

fn decode(packed: libc::c_long) -> Option<IoPriority> {
    // Bits above the level are hints since 6.5 (include/uapi/linux/ioprio.h).
    let level = u8::try_from(packed & 7).unwrap_or_default();
    match packed >> CLASS_SHIFT {
        1 => Some(IoPriority::Realtime(level)),
        2 => Some(IoPriority::BestEffort(level)),
        3 => Some(IoPriority::Idle),
        _ => None,
    }
}

/// Class and level as the kernel packs them: RT = 1, BE = 2, IDLE = 3.
fn encode(priority: IoPriority) -> libc::c_int {
    let (class, level) = match priority {
        IoPriority::Realtime(level) => (1, level),
        IoPriority::BestEffort(level) => (2, level),
        IoPriority::Idle => (3, 0),
    };
    (class << CLASS_SHIFT) | libc::c_int::from(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_as_in_the_kernel_header() {
        assert_eq!(encode(IoPriority::Realtime(0)), 0x2000);
        assert_eq!(encode(IoPriority::BestEffort(7)), 0x4007);
        assert_eq!(encode(IoPriority::Idle), 0x6000);
    }

    /// Best-effort needs no privilege, and a thread of its own keeps the test process as it was.
    #[test]
    fn the_kernel_takes_it_and_gives_it_back() {
        let set_and_read = || {
            set_own(IoPriority::BestEffort(6)).unwrap();
            get(rustix::thread::gettid()).unwrap()
        };
        assert_eq!(std::thread::spawn(set_and_read).join().unwrap(), Some(IoPriority::BestEffort(6)));
    }

    #[test]
    fn what_is_packed_comes_out_again() {
        for priority in [IoPriority::Realtime(3), IoPriority::BestEffort(0), IoPriority::Idle] {
            assert_eq!(decode(encode(priority).into()), Some(priority));
        }
        assert_eq!(decode(4), None, "class none");
        assert_eq!(decode(0x4007 | 1 << 3), Some(IoPriority::BestEffort(7)), "a hint is no level");
    }
}
