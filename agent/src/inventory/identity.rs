//! A name for a disk that survives reboots and cable changes: the world-wide id that the disk itself carries, else its serial number.
//! Kernel names (`sda`) never do.

use blklab_model::id::DiskId;

use crate::sys::files::{self, read_if_there};
use crate::sys::roots::Roots;

/// The header of SCSI's vital product data page 0x80 before the serial number (SPC-4, 7.8.15).
const VPD_HEADER_BYTES: usize = 4;

/// The stable id of a disk, if it has one.
pub(super) fn stable_id(roots: &Roots, name: &str) -> Option<DiskId> {
    let folder = roots.block(name);
    let wwid = read_if_there(&folder.join("wwid")).or_else(|| read_if_there(&folder.join("device/wwid"))).filter(|wwid| is_unique(wwid));
    let of_mapper = || read_if_there(&folder.join("dm/uuid")).map(|uuid| format!("dm-uuid-{uuid}"));
    let of_raid = || read_if_there(&folder.join("md/uuid")).map(|uuid| format!("md-uuid-{uuid}"));
    let of_udev = || udev(roots, name, "ID_WWN").map(|wwn| format!("wwn-{wwn}"));
    let of_serial = || udev(roots, name, "ID_SERIAL").or_else(|| serial(roots, name)).map(|serial| format!("serial-{serial}"));
    let text = wwid.map(|wwid| from_wwid(&wwid)).or_else(of_mapper).or_else(of_raid).or_else(of_udev).or_else(of_serial)?;
    sanitised(&text).parse().ok()
}

/// The serial number, if the disk tells it.
pub(super) fn serial(roots: &Roots, name: &str) -> Option<String> {
    let folder = roots.block(name);
    let plain = ["serial", "device/serial"].iter().find_map(|file| read_if_there(&folder.join(file)));
    plain.or_else(|| vpd_serial(&folder.join("device/vpd_pg80"))).or_else(|| udev(roots, name, "ID_SERIAL_SHORT"))
}

fn vpd_serial(page: &std::path::Path) -> Option<String> {
    let bytes = std::fs::read(page).ok()?;
    let serial = String::from_utf8_lossy(bytes.get(VPD_HEADER_BYTES..)?).trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned();
    (!serial.is_empty()).then_some(serial)
}

/// The forms of /dev/disk/by-id where there is one: `naa.5001` is `wwn-0x5001`, `eui.0025` is `nvme-eui.0025`.
fn from_wwid(wwid: &str) -> String {
    match wwid.split_once('.') {
        Some(("naa", digits)) => format!("wwn-0x{digits}"),
        Some(("eui" | "uuid", _)) => format!("nvme-{wwid}"),
        Some(("nvme", rest)) => format!("nvme-{rest}"),
        Some(("t10", rest)) => format!("t10-{}", rest.split_whitespace().collect::<Vec<_>>().join("_")),
        Some(_) | None => format!("wwid-{wwid}"),
    }
}

/// Some cheap disks and bridges carry zeros; two of them would be one.
fn is_unique(wwid: &str) -> bool {
    let (_, value) = wwid.split_once('.').unwrap_or(("", wwid));
    value.chars().any(|c| c.is_alphanumeric() && c != '0')
}

fn sanitised(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.:+".contains(c) { c } else { '_' }).take(DiskId::MAX_LEN).collect()
}

/// A property from udev's database, where udev runs.
fn udev(roots: &Roots, name: &str, key: &str) -> Option<String> {
    let number = files::read_if_there(&roots.block(name).join("dev"))?;
    let text = std::fs::read_to_string(roots.udev.join(format!("b{number}"))).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("E:")?.strip_prefix(key)?.strip_prefix('='))?;
    (!value.trim().is_empty()).then(|| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn world_wide_ids_take_the_forms_of_by_id() {
        let forms = ["naa.50014ee2b1f5e7aa", "eui.0025385b", "nvme.144d-5336-53616d-00000001", "t10.ATA     WDC  WD20  WD-WMAY"];
        let ids = forms.map(|wwid| sanitised(&from_wwid(wwid)));
        assert_eq!(ids, ["wwn-0x50014ee2b1f5e7aa", "nvme-eui.0025385b", "nvme-144d-5336-53616d-00000001", "t10-ATA_WDC_WD20_WD-WMAY"]);
        assert!(!is_unique("eui.0000000000000000"));
        assert!(!is_unique("naa.0"));
        assert!(is_unique("naa.5000"));
    }
}
