//! A moment to wake up at, which any thread may set and one waits for.
//!
//! timerfd_create(2): whoever hands in a request sets it without waking the thread that waits, and unlike a time-out of a futex it is
//! not put off by the slack of timers.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_create, timerfd_settime,
};

use crate::disk::Ns;

/// How long to wait when the timer fails, which it has no reason to: the disk is slow then, not dead.
const PAUSE: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Alarm {
    timer: OwnedFd,
    /// Time 0 of everybody here, by the clock of the timer.
    epoch: Ns,
}

impl Alarm {
    pub(super) fn new() -> io::Result<Alarm> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        Ok(Alarm { timer, epoch: clock() })
    }

    pub(super) fn now(&self) -> Ns {
        clock() - self.epoch
    }

    /// Wakes the waiting thread at this time, and not at the one that was set before. A time that is over is now.
    pub(super) fn set(&self, at: Ns) {
        let at = self.epoch + at;
        let value = Timespec { tv_sec: (at / 1_000_000_000) as i64, tv_nsec: (at % 1_000_000_000) as _ };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        // Only a bad descriptor or time can fail, and neither is.
        let _set = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once);
    }

    pub(super) fn wait(&self) {
        let mut times = [0u8; 8];
        match rustix::io::read(&self.timer, &mut times) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

fn clock() -> Ns {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as Ns * 1_000_000_000 + now.tv_nsec as Ns
}
