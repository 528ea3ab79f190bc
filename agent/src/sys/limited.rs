//! System calls that a broken kernel or disk never returns from (mount, sync, umount) must not take the agent with them.

use std::sync::mpsc;
use std::time::Duration;

use super::{Result, SysError};

/// Runs `call` on a thread of its own and waits for `limit` at most. After a time-out the thread stays behind, stuck in the kernel;
/// the caller must treat the host as dirty.
pub fn limited<T: Send + 'static>(act: &str, limit: Duration, call: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let (sender, receiver) = mpsc::channel();
    let spawned = std::thread::Builder::new().name("limited".into()).spawn(move || sender.send(call()));
    spawned.map_err(SysError::io(format!("{act}: start a thread")))?;
    let timed_out = |_| SysError::TimeOut { act: act.to_owned(), limit_s: limit.as_secs() };
    receiver.recv_timeout(limit).map_err(timed_out)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_given_up() {
        let (keep, never) = mpsc::channel::<()>();
        let hang = move || {
            let _ = never.recv();
            Ok(())
        };
        let error = limited("sync", Duration::from_millis(10), hang).unwrap_err();
        assert_eq!(error.to_string(), "sync: not done after 0 s");
        assert_eq!(limited("sync", Duration::from_secs(10), || Ok(7)).unwrap(), 7);
        drop(keep);
    }
}
