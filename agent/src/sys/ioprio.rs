//! ioprio_set(2). Neither std nor rustix wraps it: the one unsafe call of the agent.

use blklab_model::workload::command::IoPriority;

use super::{Result, SysError};

/// `IOPRIO_WHO_PROCESS` of include/uapi/linux/ioprio.h.
const WHO_PROCESS: libc::c_int = 1;

/// The class sits above this bit (`IOPRIO_CLASS_SHIFT`).
const CLASS_SHIFT: u32 = 13;

/// Sets the I/O priority of the calling thread; what it executes inherits it.
pub fn set_own(priority: IoPriority) -> Result<()> {
    let value = encode(priority);
    #[expect(unsafe_code, reason = "no safe wrapper exists; three integers by value, no memory is shared with the kernel")]
    // SAFETY: ioprio_set takes no pointers.
    let code = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, value) };
    if code == 0 {
        return Ok(());
    }
    Err(SysError::io(format!("set I/O priority {priority}"))(std::io::Error::last_os_error()))
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
    fn the_kernel_takes_it() {
        std::thread::spawn(|| set_own(IoPriority::BestEffort(6)).unwrap()).join().unwrap();
    }
}
