//! The disks that come with the lab. Their files say where each figure is from.

use super::DiskModel;

/// Name and file of each shipped disk, slowest first.
pub const PRESETS: [(&str, &str); 4] = [
    ("sata-hdd", include_str!("../../presets/sata-hdd.toml")),
    ("fc-array", include_str!("../../presets/fc-array.toml")),
    ("sata-ssd", include_str!("../../presets/sata-ssd.toml")),
    ("nvme-ssd", include_str!("../../presets/nvme-ssd.toml")),
];

impl DiskModel {
    /// A shipped disk by its name.
    pub fn preset(name: &str) -> Option<DiskModel> {
        let (name, text) = PRESETS.iter().find(|(known, _)| *known == name)?;
        Some(DiskModel::parse(&format!("{name}.toml"), text).expect("shipped models are read by a test"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_read_under_its_own_name() {
        for (name, _) in PRESETS {
            assert_eq!(DiskModel::preset(name).unwrap().name, name);
        }
        assert_eq!(DiskModel::preset("floppy"), None);
    }
}
