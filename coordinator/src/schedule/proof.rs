//! Did the kernel run that the job asks for? A report that does not prove it counts as a fault of the lab, whatever it says.

use blklab_model::crash::BOOT_STEP;
use blklab_model::kernel::Kernel;
use blklab_model::outcome::{Failure, Fault, Outcome};
use blklab_model::record::ExperimentRecord;
use blklab_wire::agent::BootProof;

/// What is missing from a report of a trial whose job asks for `kernel`; none when all is proven, or when there is nothing to prove.
pub(super) fn missing(experiment: &ExperimentRecord, kernel: &Kernel, proof: Option<&BootProof>, outcome: &Outcome) -> Option<Failure> {
    let Kernel::Built(name) = kernel else { return None };
    match outcome {
        // It does not count in any case, and it may say itself that the wrong kernel came up.
        Outcome::Failed(Failure { fault: Fault::Lab, .. }) => return None,
        // A kernel that does not come up proves nothing, and that is the result.
        Outcome::Failed(Failure { fault: Fault::Kernel, step, .. }) if step == BOOT_STEP && proof.is_none() => return None,
        Outcome::Failed(Failure { fault: Fault::Kernel | Fault::Workload, .. }) | Outcome::Completed => {}
    }
    let wrong = |message: String| Some(Failure { fault: Fault::Lab, step: BOOT_STEP.to_owned(), message });
    let Some(wanted) = experiment.kernels.get(name) else {
        return wrong(format!("the experiment keeps no kernel `{name}` to compare with; submit it again"));
    };
    let Some(proof) = proof else {
        return wrong(format!("the report does not prove that `{name}` ran; does the agent of this host know how to boot kernels?"));
    };
    let differing = [("release", &wanted.release, &proof.release), ("build id", &wanted.build_id, &proof.build_id)];
    if let Some((what, wanted, found)) = differing.into_iter().find(|(_, wanted, found)| wanted != found) {
        return wrong(format!("wrong kernel: `{name}` was asked for, whose {what} is {wanted}; what ran says {found}"));
    }
    if proof.token.is_empty() || proof.boot_id.is_empty() {
        return wrong(format!("the report does not prove that `{name}` was booted for this job: it carries no token or no boot id"));
    }
    None
}

#[cfg(test)]
mod tests {
    use blklab_model::testing::{Story, experiment, host, id, kernel, workloads};

    use super::*;

    fn proof() -> BootProof {
        let kernel = kernel("patched", 'b');
        BootProof { release: kernel.release, build_id: kernel.build_id, boot_id: "5f2c".into(), token: "77".into(), boot_ms: 6_300 }
    }

    fn failed(fault: Fault, step: &str) -> Outcome {
        Outcome::Failed(Failure { fault, step: step.into(), message: "x".into() })
    }

    /// What is missing from a report on the kernel `patched`.
    fn said(proof: Option<BootProof>, outcome: &Outcome) -> Option<String> {
        let story = Story::finished(experiment(&[]), workloads(&["reader"]), vec![host("a", &["sata-hdd"])], |_, _, _, _| 1.0);
        let mut record = story.experiment;
        record.kernels.insert(id("patched"), kernel("patched", 'b'));
        assert_eq!(missing(&record, &Kernel::AsBooted, None, outcome), None, "a fixed kernel proves nothing");
        missing(&record, &Kernel::Built(id("patched")), proof.as_ref(), outcome).map(|failure| {
            assert_eq!(failure.fault, Fault::Lab);
            failure.message
        })
    }

    #[test]
    fn only_a_whole_proof_of_the_right_kernel_counts() {
        let completed = Outcome::Completed;
        assert_eq!(said(Some(proof()), &completed), None);
        assert!(said(None, &completed).unwrap().starts_with("the report does not prove that `patched` ran"));
        let other = BootProof { build_id: "c".repeat(40), ..proof() };
        let message = said(Some(other), &completed).unwrap();
        assert!(message.contains("whose build id is bbbb") && message.contains("what ran says cccc"), "{message}");
        let other = BootProof { release: "6.1.0-40-amd64".into(), ..proof() };
        assert!(said(Some(other), &completed).unwrap().contains("release is 6.1.0-patched; what ran says 6.1.0-40-amd64"));
        for blank in [BootProof { token: String::new(), ..proof() }, BootProof { boot_id: String::new(), ..proof() }] {
            assert!(said(Some(blank), &completed).is_some());
        }
    }

    #[test]
    fn failures_prove_their_kernel_too_but_for_one_that_does_not_come_up() {
        let wrong = || Some(BootProof { build_id: "c".repeat(40), ..proof() });
        for (fault, step) in [(Fault::Kernel, "workload"), (Fault::Workload, "task reader")] {
            assert_eq!(said(Some(proof()), &failed(fault, step)), None);
            assert!(said(None, &failed(fault, step)).is_some(), "{step}");
            assert!(said(wrong(), &failed(fault, step)).is_some(), "{step}");
        }
        assert_eq!(said(None, &failed(Fault::Kernel, BOOT_STEP)), None);
        assert!(said(wrong(), &failed(Fault::Kernel, BOOT_STEP)).is_some());
        assert_eq!(said(wrong(), &failed(Fault::Lab, "mkfs")), None, "it is tried again anyhow");
    }
}
