//! KVM or TCG? A present /dev/kvm says little: on some machines guests hang with it. So a boot decides.

use std::time::Duration;

use super::command::Engine;
use crate::clock;
use crate::control::config::Accelerator;

/// With KVM a kernel answers within two seconds; a machine where it takes longer gains nothing over emulation.
const PROBE_LIMIT: Duration = Duration::from_secs(30);

/// Where the kernel offers virtualisation.
const KVM: &str = "/dev/kvm";

/// Chooses. `boots` boots the known-good kernel with the engine within the limit and tells why it did not.
pub fn choose(asked: Accelerator, boots: impl FnOnce(Engine, Duration) -> Result<(), String>) -> Result<Engine, String> {
    match asked {
        Accelerator::Tcg => Ok(Engine::Tcg),
        Accelerator::Kvm => may_use().and_then(|()| boots(Engine::Kvm, PROBE_LIMIT)).map(|()| Engine::Kvm),
        Accelerator::Auto => {
            let began = clock::monotonic();
            match may_use().and_then(|()| boots(Engine::Kvm, PROBE_LIMIT)) {
                Ok(()) => {
                    tracing::info!("virtual hosts run with kvm; the probe booted in {:.1} s", (clock::monotonic() - began).as_secs_f64());
                    Ok(Engine::Kvm)
                }
                Err(reason) => {
                    tracing::info!(reason, "virtual hosts are emulated (tcg)");
                    Ok(Engine::Tcg)
                }
            }
        }
    }
}

fn may_use() -> Result<(), String> {
    let opened = std::fs::File::options().read(true).write(true).open(KVM);
    opened.map(|_| ()).map_err(|error| format!("{KVM}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_is_not_replaced_in_silence() {
        let never = |_, _| panic!("emulation needs no probe");
        assert_eq!(choose(Accelerator::Tcg, never), Ok(Engine::Tcg));
        let hangs = |_, _| Err("it hangs".to_owned());
        assert!(choose(Accelerator::Kvm, hangs).is_err());
        assert_eq!(choose(Accelerator::Auto, hangs), Ok(Engine::Tcg));
    }
}
