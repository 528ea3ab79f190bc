//! The TOML form of a disk model, written.

use super::DiskModel;

impl DiskModel {
    /// The model as a file that [`DiskModel::parse`] reads back to an equal model.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("numbers and words have a TOML form")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PRESETS;

    #[test]
    fn what_is_written_is_read_back() {
        for (name, _) in PRESETS {
            let model = DiskModel::preset(name).unwrap().slowed(2.5);
            assert_eq!(DiskModel::parse(name, &model.to_toml()).unwrap(), model);
        }
    }
}
