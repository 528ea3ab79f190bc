//! How a disk is attached, from the path of its device in sysfs: each transport leaves a folder of its own in it.

use std::path::Path;

use crate::sys::files;

/// `sata`, `sas`, `fc`, `iscsi`, `usb`, `nvme`, `nvme-tcp`..., `virtio`, `loop`, or empty when nothing tells.
pub(super) fn of(folder: &Path, sys: &Path) -> &'static str {
    let Ok(path) = folder.canonicalize() else { return "" };
    let parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let has = |prefix: &str| parts.iter().any(|part| numbered(part, prefix));
    let name = parts.last().map_or("", String::as_str);
    if numbered(name, "loop") {
        "loop"
    } else if has("rport-") || is_fc_host(&parts, sys) {
        "fc"
    } else if has("end_device-") {
        "sas"
    } else if has("session") {
        "iscsi"
    } else if has("usb") {
        "usb"
    } else if has("ata") {
        "sata"
    } else if name.starts_with("nvme") {
        nvme(&path)
    } else if has("virtio") {
        "virtio"
    } else if has("mmc") {
        "mmc"
    } else {
        ""
    }
}

/// `ata1`, `usb3`, `rport-3:0-1`: the word and then a digit, so that a folder called `satan` is none.
fn numbered(part: &str, prefix: &str) -> bool {
    part.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// A SCSI host that is registered with the Fibre Channel transport class.
fn is_fc_host(parts: &[String], sys: &Path) -> bool {
    parts.iter().filter(|part| numbered(part, "host")).any(|host| sys.join("class/fc_host").join(host).exists())
}

/// NVMe runs over several wires; the controller says which.
fn nvme(path: &Path) -> &'static str {
    let transport = files::read_if_there(&path.join("device/transport"));
    match transport.as_deref() {
        Some("tcp") => "nvme-tcp",
        Some("rdma") => "nvme-rdma",
        Some("fc") => "nvme-fc",
        Some(_) | None => "nvme",
    }
}
