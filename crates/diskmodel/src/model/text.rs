//! A disk model written: as TOML, and as a line.

use super::{DiskModel, Mechanics};

impl DiskModel {
    /// The model as a file that [`DiskModel::parse`] reads back to an equal model.
    pub fn to_toml(&self) -> String {
        let text = toml::to_string(self).expect("numbers and words have a TOML form");
        format!("{}\n", text.trim_end())
    }

    /// What is inside, in a line: `7200 rpm, seek 1 to 15 ms, ...`.
    pub fn summary(&self) -> String {
        let mut facts = match &self.mechanics {
            Mechanics::Rotational(inside) => vec![
                format!("{} rpm", inside.rpm),
                format!("average seek {} ms", inside.average_seek_ms),
                format!("{} to {} MB/s", inside.outer_mb_s, inside.inner_mb_s),
                cache("write cache", u64::from(inside.write_cache_kib), ""),
            ],
            Mechanics::Parallel(inside) => {
                let write_cache = inside.write_cache.as_ref().map_or(cache("write cache", 0, ""), |inside| {
                    cache("write cache", u64::from(inside.kib), if inside.volatile { "volatile " } else { "protected " })
                });
                let servers = if inside.servers == 1 { "1 server".to_owned() } else { format!("{} servers", inside.servers) };
                vec![servers, format!("{} µs a read", inside.read_us), format!("link {} MB/s", inside.link_mb_s), write_cache]
            }
        };
        facts.push(format!("queue of {}", self.queue_depth));
        if self.slowdown != 1.0 {
            facts.push(format!("{} times as slow", self.slowdown));
        }
        facts.join(", ")
    }
}

fn cache(name: &str, kib: u64, kind: &str) -> String {
    match kib {
        0 => format!("no {name}"),
        kib if kib % 1024 == 0 => format!("{kind}{name} {} MiB", kib / 1024),
        kib => format!("{kind}{name} {kib} KiB"),
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

    #[test]
    fn a_line_says_what_is_inside() {
        let lines: Vec<String> = PRESETS.iter().map(|(name, _)| DiskModel::preset(name).unwrap().summary()).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
