//! Facts of a disk from its folder in sysfs (Documentation/ABI/stable/sysfs-block, testing/sysfs-block-device).

use std::path::Path;

use blklab_model::disk::DiskFacts;

use super::{identity, transport};
use crate::sys::files::read_if_there;
use crate::sys::roots::Roots;
use crate::sys::{block, files};

/// Logical blocks of this size are assumed where the kernel does not say.
const USUAL_BLOCK_BYTES: u32 = 512;

/// Everything but the id. A fact that the kernel does not give stays empty.
pub(super) fn read(roots: &Roots, name: &str) -> DiskFacts {
    let folder = roots.block(name);
    let text = |file: &str| read_if_there(&folder.join(file));
    let number = |file: &str| text(file).and_then(|value| value.parse().ok());
    let (schedulers, scheduler) = block::schedulers(roots, name);
    DiskFacts {
        kernel_name: name.to_owned(),
        transport: transport::of(&folder, &roots.sys).to_owned(),
        rotational: text("queue/rotational").as_deref() == Some("1"),
        queue_depth: number("device/queue_depth").or_else(|| number("queue/nr_requests")),
        size_bytes: block::size_bytes(roots, name).unwrap_or(0),
        logical_block_bytes: number("queue/logical_block_size").unwrap_or(USUAL_BLOCK_BYTES),
        model: model(&folder),
        firmware: text("device/rev").or_else(|| text("device/firmware_rev")).unwrap_or_default(),
        serial: identity::serial(roots, name).unwrap_or_default(),
        schedulers,
        scheduler,
        tunables: block::tunables(roots, name),
        limits: String::new(),
    }
}

/// Vendor and model of a SCSI disk; the vendor of a SATA disk behind libata is the word `ATA` and says nothing.
fn model(folder: &Path) -> String {
    let vendor = files::read_if_there(&folder.join("device/vendor")).filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x"));
    let model = files::read_if_there(&folder.join("device/model"));
    [vendor, model].into_iter().flatten().collect::<Vec<_>>().join(" ")
}
